package streamsort

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/eager"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// ownNames are the names that are the same in every stack and do not meet: each is distinguished by
// what it belongs to, or names something of AWS's.
var ownNames = map[string]string{
	"AWS::ApiGatewayV2::Authorizer Name":                    "within its API",
	"AWS::ApiGatewayV2::Stage StageName":                    "within its API",
	"AWS::CloudWatch::Alarm MetricName":                     "the metric; its dimensions distinguish stacks",
	"AWS::CodeDeploy::DeploymentGroup DeploymentConfigName": "AWS's own configuration",
	"AWS::IAM::Policy PolicyName":                           "within its role",
	"AWS::Lambda::Alias Name":                               "within its function",
}

// Two stacks of one app and account, with every option on, share no name: of a table, an API, a
// saved query, an export, or of whatever else is given one. What has no name in the template gets
// one of CloudFormation's, that nothing else has.
func TestTwoStacksDoNotMeet(t *testing.T) {
	app := awscdk.NewApp(&awscdk.AppProps{StackTraces: jsii.Bool(false)})
	var stacks [2]awscdk.Stack
	for i, id := range []string{"Orders", "Orders-2"} {
		props := everyOption()
		props.Binaries = binaries[ARM64]
		props.SavedQueries = new(true)
		// The names by default: those that a user gives are the user's to distinguish.
		props.Tables = ""
		stack := check.Get(NewStack(app, id, props))
		stacks[i] = stack.Stack
	}
	// What has a name in each, by type, property and name.
	named := [2]map[string]string{names(t, written(stacks[0])), names(t, written(stacks[1]))}
	for name, what := range named[0] {
		check.Is(t, named[1][name], "", name, what)
	}
	for _, must := range []string{
		"AWS::DynamoDB::GlobalTable TableName orders-messages", "AWS::DynamoDB::GlobalTable TableName orders-arrivals",
		"AWS::ApiGatewayV2::Api Name Orders-tenants", "AWS::Logs::QueryDefinition Name Orders/What fails", "Export Orders-CursorsStreamArn",
		"Streamsort RoundAge orders",
		`AWS::CloudWatch::Alarm SELECT MAX(GapAge) FROM SCHEMA("Streamsort", service, tenant) WHERE service = 'orders' GROUP BY tenant ORDER BY MAX() DESC`,
	} {
		check.That(t, named[0][must] != "", "the test does not see %q", must)
	}
}

// names are a template's, each with the logical id of what has it: literal names, exports, and our
// own metrics by their dimensions. One that refers to another resource is no name of its own.
func names(t *testing.T, tmpl template) map[string]string {
	t.Helper()
	found := map[string]string{}
	for id, resource := range tmpl.Resources {
		typ, _ := resource["Type"].(string)
		properties, _ := resource["Properties"].(object)
		for key, value := range properties {
			name, literal := value.(string)
			if !literal || !strings.HasSuffix(key, "Name") || ownNames[typ+" "+key] != "" {
				continue
			}
			found[typ+" "+key+" "+name] = id
		}
		if queries, ok := properties["Metrics"].([]any); ok {
			found[typ+" "+queries[0].(object)["Expression"].(string)] = id
		}
		if typ == "AWS::CloudWatch::Alarm" && properties["Namespace"] == metricsNamespace {
			metric := metricsNamespace + " " + properties["MetricName"].(string)
			for _, dimension := range properties["Dimensions"].([]any) {
				if name, literal := dimension.(object)["Value"].(string); literal {
					metric += " " + name
				}
			}
			found[metric] = id
		}
	}
	for id, output := range tmpl.Outputs {
		if export, ok := output["Export"].(object); ok {
			found["Export "+export["Name"].(string)] = id
		}
	}
	return found
}

// TestEagerNames: process's name has its bound, and is made of the tables' names: stacks with
// tables of their own do not make it under one name.
func TestEagerNames(t *testing.T) {
	name, err := processName("orders-Beta.1", nil)
	check.That(t, err == nil && name == "orders-Beta-1-process", "%s, %v", name, err)
	id := strings.Repeat("a", 57)
	all := []Consumer{{Name: "books", Eager: true,
		Sink: &Sink{Kind: "lambda", ARN: new("arn:aws:lambda:eu-west-1:123456789012:function:books")}}}
	err = (&Props{Consumers: all}).withDefaults(id).validate(id)
	check.Says(t, err, "has 65 characters; 64 is the most")
	all[0].Eager = false
	err = (&Props{Consumers: all}).withDefaults(id).validate(id)
	check.That(t, err == nil, "%v", err)
}

// TestAliasesAreKnown: enqueue knows the aliases by which it puts, and does nothing else.
func TestAliasesAreKnown(t *testing.T) {
	text, err := os.ReadFile("../../../functions/enqueue/main.go")
	for _, alias := range []string{putAlias, urlAlias} {
		known := fmt.Sprintf("const %sAlias = %[1]q", alias)
		check.That(t, err == nil && strings.Contains(string(text), known),
			"enqueue does not know the alias %s: %v", alias, err)
	}
}

var variable = regexp.MustCompile(`"(STREAMSORT_[A-Z_]+)"`)

// What the stack tells its functions is what they read: a variable that only one side knows of
// would be a setting without an effect.
func TestFunctionsReadWhatTheyAreGiven(t *testing.T) {
	read := map[string]bool{}
	files, err := filepath.Glob("../../../internal/settings/*.go")
	check.Need(t, err == nil && len(files) != 0, "files %v, error %v", files, err)
	files = append(files, "../../../internal/calllog/calllog.go")
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := check.Get(os.ReadFile(file))
		for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
			read[found[1]] = true
		}
	}
	all := cursor.DefaultSettings()
	all.Kind = cursor.KindKeyed // it has all settings
	for name := range all.All() {
		if variable := settings.QueueVariable(name); variable != "" {
			read[variable] = true
		}
	}
	for _, shared := range []string{ // by the packages that read them
		eager.Variable, endpoint.ConsumersVariable, egress.AllowVariable, egress.DenyVariable,
		consumers.ShareVariable, consumers.SlowVariable,
	} {
		read[shared] = true
	}
	given := map[string]bool{}
	for _, tmpl := range []template{defaults(), changed()} {
		for _, resource := range tmpl.Resources {
			properties, _ := resource["Properties"].(object)
			environment, _ := properties["Environment"].(object)
			variables, _ := environment["Variables"].(object)
			for name := range variables {
				if strings.HasPrefix(name, "STREAMSORT_") && !strings.HasPrefix(name, "STREAMSORT_SINK_") &&
					!strings.HasPrefix(name, "STREAMSORT_WEBHOOK_") {
					given[name] = true
				}
			}
		}
	}
	check.Is(t, cmp.Diff(slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(given))), "")
}
