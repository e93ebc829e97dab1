package streamsort

import (
	"maps"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// withURL has a function URL, and traces.
var withURL = sync.OnceValue(func() template {
	return synthesize("Streamsort", &Props{FunctionURL: true, Shift: "AllAtOnce", Tracing: new(true)})
})

// TestFunctionURL: it asks for a signature, and calls the alias that puts, which is watched
// and moved as the others are.
func TestFunctionURL(t *testing.T) {
	tmpl := withURL()
	diff(t, "EnqueuePutUrl", object{
		"AuthType": "AWS_IAM", "TargetFunctionArn": get("EnqueueFunction", "Arn"), "Qualifier": "url",
	}, tmpl.properties(t, "EnqueuePutUrl", "AWS::Lambda::Url"))
	diff(t, "it is made after", []any{"EnqueueUrlAlias"}, tmpl.Resources["EnqueuePutUrl"]["DependsOn"])
	diff(t, "PutUrl", get("EnqueuePutUrl", "FunctionUrl"), tmpl.Outputs["PutUrl"]["Value"])
	got := maps.Clone(tmpl.properties(t, "EnqueueUrlAlias", "AWS::Lambda::Alias"))
	delete(got, "Description")
	diff(t, "EnqueueUrlAlias", object{"FunctionName": ref("EnqueueFunction"), "FunctionVersion": get(tmpl.version(t, "Enqueue"), "Version"), "Name": "url"}, got)
	diff(t, "EnqueueUrlShift", object{"Enabled": true, "Alarms": []any{object{"Name": ref("EnqueueUrlRollbackAlarm")}}},
		tmpl.properties(t, "EnqueueUrlShift", "AWS::CodeDeploy::DeploymentGroup")["AlarmConfiguration"])
	if want := wantAlarms(false)["EnqueueRollbackAlarm"]; alarms(t, tmpl)["EnqueueUrlRollbackAlarm"] != want {
		t.Errorf("the alias's alarm is %+v, want %+v", alarms(t, tmpl)["EnqueueUrlRollbackAlarm"], want)
	}
	if defaults().Resources["EnqueuePutUrl"] != nil || defaults().Resources["EnqueueUrlAlias"] != nil {
		t.Error("there is a URL that nobody asked for")
	}
	text, err := os.ReadFile("../../../functions/enqueue/handler.go")
	if err != nil || !strings.Contains(string(text), `const urlAlias = "url"`) {
		t.Errorf("enqueue does not know the alias url: %v", err)
	}
}

// TestGrantOfTheURL: a producer may send requests to the URL, and call the function in no
// other way by that alias.
func TestGrantOfTheURL(t *testing.T) {
	dir := t.TempDir()
	if err := fakebin.Write(dir, "arm64"); err != nil {
		t.Fatal(err)
	}
	stack := awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Shop"), nil)
	s, err := New(stack, "Orders", &Props{Binaries: dir, FunctionURL: true})
	if err != nil {
		t.Fatal(err)
	}
	s.GrantProduce(awsiam.NewUser(stack, jsii.String("Producer"), nil))
	conditions := map[string]any{}
	for _, value := range written(t, stack).find(t, "AWS::IAM::Policy", "Producer")["PolicyDocument"].(object)["Statement"].([]any) {
		statement := value.(object)
		if strings.Contains(name(statement["Resource"]), "OrdersEnqueueUrlAlias") {
			conditions[statement["Action"].(string)] = statement["Condition"]
		}
	}
	diff(t, "conditions", object{
		"lambda:InvokeFunctionUrl": object{"StringEquals": object{"lambda:FunctionUrlAuthType": "AWS_IAM"}},
		"lambda:InvokeFunction":    object{"Bool": object{"lambda:InvokedViaFunctionUrl": "true"}},
	}, conditions)
}
