package streamsort

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
)

// versionHash ends a version's logical id: it is another for each code and each
// configuration.
var versionHash = regexp.MustCompile(`^(\w+FunctionCurrentVersion)[0-9A-Za-z]+$`)

// version is the logical id of a function's version.
func (t template) version(tb testing.TB, id string) string {
	tb.Helper()
	for name := range t.Resources {
		if strings.HasPrefix(name, id+"FunctionCurrentVersion") {
			return name
		}
	}
	tb.Fatalf("%s has no version", id)
	return ""
}

// Each function has a version that stays, and an alias on it.
func TestVersions(t *testing.T) {
	for _, id := range []string{"Enqueue", "Sort", "Sweep", "Delivery", "Ack", "Process", "Webhook"} {
		version := changed().version(t, id)
		diff(t, version, object{"FunctionName": ref(id + "Function")}, changed().properties(t, version, "AWS::Lambda::Version"))
		checkRemoval(t, changed(), version, true)
		got := maps.Clone(changed().properties(t, id+"Alias", "AWS::Lambda::Alias"))
		delete(got, "Description")
		diff(t, id+"Alias", object{"FunctionName": ref(id + "Function"), "FunctionVersion": get(version, "Version"), "Name": "live"}, got)
	}
}

// enqueue has a second alias on the same version, by which it puts and does nothing
// else: the name is the function's own.
func TestPutAlias(t *testing.T) {
	got := maps.Clone(defaults().properties(t, "EnqueuePutAlias", "AWS::Lambda::Alias"))
	delete(got, "Description")
	diff(t, "EnqueuePutAlias", object{"FunctionName": ref("EnqueueFunction"), "FunctionVersion": get(defaults().version(t, "Enqueue"), "Version"), "Name": "put"}, got)
	text, err := os.ReadFile("../../../functions/enqueue/handler.go")
	if err != nil || !strings.Contains(string(text), `const putAlias = "put"`) {
		t.Errorf("enqueue does not know the alias put: %v", err)
	}
}

// bare is a function that is named without its alias.
var bare = regexp.MustCompile(`"(Ref|Fn::GetAtt)":\[?"\w+Function"`)

// Nothing that is deployed calls a function but by its alias.
func TestEverythingCallsTheAlias(t *testing.T) {
	for _, tmpl := range []template{defaults(), changed()} {
		for id, resource := range tmpl.Resources {
			switch resource["Type"] {
			case "AWS::Lambda::EventSourceMapping", "AWS::Lambda::Permission", "AWS::ApiGatewayV2::Integration", "AWS::Events::Rule":
				text := asText(t, resource["Properties"])
				if bare.MatchString(text) || !strings.Contains(text, `Alias"`) {
					t.Errorf("%s calls %s", id, text)
				}
			}
		}
	}
}

// An update moves the alias, and touches no event source mapping: there is one
// for a stream at all times, with its place in the stream.
func TestAnUpdateKeepsTheMappings(t *testing.T) {
	before := synthesize("Streamsort", &Props{})
	after := synthesize("Streamsort", &Props{MaxAhead: 5, Functions: map[string]FunctionProps{"sort": {Memory: 1024}}})
	if before.version(t, "Sort") == after.version(t, "Sort") {
		t.Error("another function has the same version")
	}
	mappings := 0
	for id, resource := range before.Resources {
		if resource["Type"] == "AWS::Lambda::EventSourceMapping" {
			mappings++
			diff(t, id, resource, after.Resources[id])
		}
	}
	if mappings != 4 {
		t.Errorf("%d mappings", mappings)
	}
}

// Without Shift, CloudFormation moves the aliases; with it, CodeDeploy does, and
// goes back where the function's rollback alarm is raised.
func TestShift(t *testing.T) {
	if policy := defaults().Resources["SortAlias"]["UpdatePolicy"]; policy != nil {
		t.Errorf("by default, the alias is moved by %v", policy)
	}
	tmpl := changed()
	for _, id := range []string{"Enqueue", "EnqueuePut", "Sort", "Sweep", "Delivery", "Ack", "Process", "Webhook"} {
		diff(t, id, object{"CodeDeployLambdaAliasUpdate": object{"ApplicationName": ref("Shifts"), "DeploymentGroupName": ref(id + "Shift")}},
			tmpl.Resources[id+"Alias"]["UpdatePolicy"])
		got := tmpl.properties(t, id+"Shift", "AWS::CodeDeploy::DeploymentGroup")
		diff(t, id+"Shift", object{
			"AlarmConfiguration":        object{"Enabled": true, "Alarms": []any{object{"Name": ref(id + "RollbackAlarm")}}},
			"AutoRollbackConfiguration": object{"Enabled": true, "Events": []any{"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_REQUEST", "DEPLOYMENT_STOP_ON_ALARM"}},
			"ApplicationName":           ref("Shifts"), "DeploymentConfigName": "CodeDeployDefault.LambdaCanary10Percent5Minutes",
			"DeploymentStyle": object{"DeploymentOption": "WITH_TRAFFIC_CONTROL", "DeploymentType": "BLUE_GREEN"},
			"ServiceRoleArn":  get("ShiftRole", "Arn"),
		}, got)
	}
}

// A process that AddSink makes is shifted as the others are.
func TestShiftOfALaterProcess(t *testing.T) {
	_, s, function, read := own(t)
	s.props.Shift = "AllAtOnce"
	s.addShifts()
	if err := s.AddSink(Consumer{Name: "c", To: function}); err != nil {
		t.Fatal(err)
	}
	read().find(t, "AWS::CodeDeploy::DeploymentGroup", "OrdersProcessShift")
}
