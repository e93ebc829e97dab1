package streamsort

import (
	"fmt"
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

// TestURLIsWatched: the alias that the URL calls is watched and moved as the others are, and is one
// that enqueue knows. The golden templates have the rest.
func TestURLIsWatched(t *testing.T) {
	tmpl := withURL()
	alarm := []any{object{"Name": ref("EnqueueUrlRollbackAlarm")}}
	shift := tmpl.properties(t, "EnqueueUrlShift", "AWS::CodeDeploy::DeploymentGroup")
	diff(t, "EnqueueUrlShift", object{"Enabled": true, "Alarms": alarm}, shift["AlarmConfiguration"])
	if all := alarms(t, tmpl); all["EnqueueUrlRollbackAlarm"] != all["EnqueueRollbackAlarm"] {
		t.Errorf("the alias's alarm is of %s", all["EnqueueUrlRollbackAlarm"])
	}
	text, err := os.ReadFile("../../../functions/enqueue/handler.go")
	for _, alias := range []string{"put", "url"} {
		if known := fmt.Sprintf("const %sAlias = %[1]q", alias); err != nil || !strings.Contains(string(text), known) {
			t.Errorf("enqueue does not know the alias %s: %v", alias, err)
		}
	}
}

// TestGrantOfTheURL: a producer may send requests to the URL, and call the function in no other way
// by that alias.
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
