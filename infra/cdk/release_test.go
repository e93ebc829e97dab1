package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// writeReleased writes the template of the release 1.2.3, once for all tests.
var writeReleased = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "released-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "made", "streamsort.template.json")
	if err := release("1.2.3", file); err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	return string(text), err
})

func released(t *testing.T) string {
	t.Helper()
	return check.Get(writeReleased())
}

// A release's template names the release's zips, all of them that it needs, as
// tools/release/goreleaser.yaml names them, and says which release it is. That file writes the
// template, publishes it, and has its checksum, which is attested. CloudFormation takes templates
// of up to 1 MB, and texts of ASCII: it shows others with question marks.
func TestRelease(t *testing.T) {
	text := released(t)
	var document struct {
		Description string
		Resources   map[string]struct{ Type string }
	}
	check.OK(t, json.Unmarshal([]byte(text), &document))
	check.Has(t, document.Description, "Streamsort 1.2.3:")
	config := string(check.Get(os.ReadFile("../../tools/release/goreleaser.yaml")))
	zips := regexp.MustCompile(`\$\{ArtifactPrefix\}([a-z]+)_1\.2\.3_\$\{Architecture\}\.zip`).
		FindAllStringSubmatch(text, -1)
	functions := 0
	for _, resource := range document.Resources {
		if resource.Type == "AWS::Lambda::Function" {
			functions++
		}
	}
	check.That(t, len(zips) == functions && functions >= 6,
		"%d functions, and zips %v", functions, zips)
	resources := len(document.Resources)
	check.That(t, resources <= 500, "%d resources, and CloudFormation takes 500", resources)
	for _, zip := range zips {
		check.Has(t, config, `name_template: '`+zip[1]+
			`_{{ .Version }}_{{ if eq .Arch "amd64" }}x86_64{{ else }}{{ .Arch }}{{ end }}'`)
	}
	const file = `.build/release/streamsort_{{ .Version }}.template.json`
	check.Has(t, config, "go -C infra/cdk run . -release {{ .Version }} -out ../../"+file)
	check.Is(t, strings.Count(config, "extra_files: [{glob: '"+file+"'"), 2)
	check.That(t, len(text) <= 900_000, "the template has %d bytes", len(text))
	at := strings.IndexFunc(text, func(r rune) bool { return r > 126 })
	check.That(t, at < 0, "not ASCII: %q", text[max(at-40, 0):max(at+10, 0)])
}

func TestReleaseRefuses(t *testing.T) {
	for _, version := range []string{"", "../x", "1.2 3", "${X}"} {
		out := filepath.Join(t.TempDir(), "out.json")
		check.That(t, release(version, out) != nil, "version %q was taken", version)
		check.Fails(t, check.Err(os.Stat(out)), os.ErrNotExist, version)
	}
	check.That(t, release("1.2.3", "") != nil, "no file was named, and none missed")
}

// A function's environment has 4 KB at most: that of each holds the longest values that the
// parameters take, for a stack with a name of 64 characters.
func TestEnvironmentFits(t *testing.T) {
	// An address is a queue's URL, or an ARN; what is short is a number, a duration or a word.
	const most, longName, address, short = 4096, 64, 200, 25
	var document struct {
		Parameters map[string]struct{ MaxLength int }
		Resources  map[string]struct {
			Properties struct {
				Environment struct{ Variables map[string]json.RawMessage }
			}
		}
	}
	check.OK(t, json.Unmarshal([]byte(released(t)), &document))
	seen := 0
	for id, resource := range document.Resources {
		size := 0
		for name, value := range resource.Properties.Environment.Variables {
			seen++
			size += len(name)
			var text string
			var ref struct{ Ref string }
			switch {
			case json.Unmarshal(value, &text) == nil:
				size += len(text)
			case json.Unmarshal(value, &ref) == nil && document.Parameters[ref.Ref].MaxLength > 0:
				size += document.Parameters[ref.Ref].MaxLength
			case strings.HasSuffix(ref.Ref, "Table") || ref.Ref == "AWS::StackName":
				size += longName + len("-consumers")
			case strings.HasSuffix(ref.Ref, "Queue") || strings.Contains(string(value), "AnnounceTopic"):
				size += address
			default:
				size += short
			}
		}
		check.That(t, size <= most, "the environment of %s may have %d bytes", id, size)
	}
	check.That(t, seen >= 100, "%d variables", seen)
}

// The parameters' bounds are those of the stack's properties.
func TestParametersAreTheStacks(t *testing.T) {
	s := synthesis{t.TempDir()}
	for _, p := range parameters() {
		if _, number := p.sample.(int); !number || p.Allowed != nil {
			continue
		}
		unit := ""
		if strings.HasSuffix(p.Name, "Seconds") {
			unit = "s"
		}
		for value, good := range map[int]bool{p.Min: true, p.Max: true, p.Min - 1: false,
			p.Max + 1: false} {
			_, err := s.template(object{p.prop: fmt.Sprint(value) + unit}, nil)
			check.That(t, value == 0 || (err == nil) == good,
				"%s, %d: the stack says %v", p.Name, value, err)
		}
	}
}

// evaluated is what CloudFormation makes of a value, with these values of parameters; empty
// variables of an environment mean what those mean that are not there.
type evaluated struct {
	parameters map[string]any
	conditions object
}

func (e evaluated) holds(condition any) bool {
	for function, value := range condition.(object) {
		list, _ := value.([]any)
		switch function {
		case "Fn::Equals":
			return fmt.Sprint(e.value(list[0])) == fmt.Sprint(e.value(list[1]))
		case "Fn::Not":
			return !e.holds(list[0])
		case "Fn::And":
			return !slices.ContainsFunc(list, func(c any) bool { return !e.holds(c) })
		}
	}
	panic("unknown condition")
}

// none is what is not there.
type none struct{}

func (e evaluated) value(value any) any {
	switch value := value.(type) {
	case object:
		if list, is := value["Fn::If"].([]any); is {
			if e.holds(e.conditions[list[0].(string)]) {
				return e.value(list[1])
			}
			return e.value(list[2])
		}
		if name, is := value["Ref"].(string); is {
			if given, is := e.parameters[name]; is {
				return given
			}
		}
		if text, is := value["Fn::Sub"].(string); is {
			for name, given := range e.parameters {
				text = strings.ReplaceAll(text, "${"+name+"}", fmt.Sprint(given))
			}
			return strings.ReplaceAll(text, "${!", "${")
		}
		made := object{}
		for key, inner := range value {
			if inner = e.value(inner); inner != (none{}) && inner != "" {
				made[key] = inner
			}
		}
		return made
	case []any:
		made := []any{}
		for _, inner := range value {
			if inner = e.value(inner); inner != (none{}) {
				made = append(made, inner)
			}
		}
		return made
	}
	return value
}

// resources are those of the release with these parameters, and the defaults of the others.
func resources(t *testing.T, given map[string]any) object {
	t.Helper()
	var document struct{ Resources, Conditions object }
	check.OK(t, json.Unmarshal([]byte(released(t)), &document))
	e := evaluated{map[string]any{"AWS::NoValue": none{}, "AWS::StackName": stackName},
		document.Conditions}
	for _, p := range parameters() {
		e.parameters[p.Name] = p.Default
	}
	e.parameters["ArtifactBucket"] = "artifacts"
	maps.Copy(e.parameters, given)
	all := object{}
	for id, value := range document.Resources {
		if condition, is := value.(object)["Condition"].(string); !is ||
			e.holds(document.Conditions[condition]) {
			all[id] = e.value(value)
			delete(all[id].(object), "Condition")
		}
	}
	return all
}

// By default the release is the stack that the CDK deploys by default.
func TestReleasedByDefault(t *testing.T) {
	got := resources(t, nil)
	template := check.Get(synthesis{t.TempDir()}.template(object{"deleteDelivered": "true"}, nil))
	plain := evaluated{}
	want := object{}
	for id, value := range template["Resources"].(object) {
		resource := plain.value(value).(object)
		delete(resource, "Metadata")
		if resource["Type"] != "AWS::Lambda::Version" {
			want[id] = resource
		}
	}
	for _, all := range []object{got, want} {
		for id, value := range all {
			properties, _ := value.(object)["Properties"].(object)
			switch value.(object)["Type"] {
			case "AWS::Lambda::Alias":
				delete(properties, "FunctionVersion")
			case "AWS::Lambda::Function":
				delete(properties, "Code")
				delete(properties, "TracingConfig")
				variables := properties["Environment"].(object)["Variables"].(object)
				for name, value := range variables {
					variables[name] = fmt.Sprint(value)
					// Without an eager consumer there is nobody to call.
					if value == "false" || name == "STREAMSORT_DELETE_DELIVERED" ||
						name == "STREAMSORT_EAGER_FUNCTION" {
						delete(variables, name)
					}
				}
			}
			delete(value.(object), "DependsOn")
			if id == "Dashboard" {
				delete(all, id) // it has lines of functions that are not there, without a name
			}
		}
	}
	check.Is(t, cmp.Diff(texts(want), texts(got)), "", "- the CDK's, + the release's")
}

var optionalParameters = map[string]any{
	"Config": "config/", "Sinks": "arn:aws:sqs:eu-west-1:123456789012:billing.fifo", "Consumers": `{"consumers":[{"name":"a"}]}`,
	"Mode": "async", "FunctionUrl": "true", "WebhookSecrets": "arn:aws:ssm:eu-west-1:123456789012:parameter/shop",
	"TenantIssuer": "https://tokens.example/pool", "TenantOperateScope": "operate", "TenantProduceScope": "produce", "TenantConsumeScope": "consume",
	"Quotas": "true", "AnnounceTopic": "arn:aws:sns:eu-west-1:123456789012:people", "PageTopic": "arn:aws:sns:eu-west-1:123456789012:pager", "Tracing": "true", "SavedQueries": "false",
	"PermissionsBoundary": "arn:aws:iam::123456789012:policy/bound", "Subnets": "subnet-1,subnet-2", "SecurityGroups": "sg-1", "Source1": "arn:aws:sqs:eu-west-1:123456789012:in", "Source3": "arn:aws:sqs:eu-west-1:123456789012:other.fifo",
}

// Whatever is switched on or off, nothing refers to what is not there.
func TestReleasedIsWhole(t *testing.T) {
	sets := []map[string]any{nil, optionalParameters}
	for name, value := range optionalParameters {
		without := maps.Clone(optionalParameters)
		delete(without, name)
		sets = append(sets, map[string]any{name: value}, without)
	}
	for _, given := range sets {
		all := resources(t, given)
		for path, value := range leaves(all) {
			name := fmt.Sprint(value)
			refers := strings.HasSuffix(path, ".Ref") || strings.HasSuffix(path, ".Fn::GetAtt[0]")
			check.That(t, !refers || strings.HasPrefix(path, "Dashboard.") ||
				strings.Contains(path, ".DependsOn") || strings.HasPrefix(name, "AWS::") || all[name] != nil,
				"with %v: %s refers to %s", slices.Sorted(maps.Keys(given)), path, name)
		}
		for id, resource := range all {
			statements, is := resource.(object)["Properties"].(object)["PolicyDocument"].(object)
			check.That(t, !is || len(statements["Statement"].([]any)) != 0, "with %v: %s allows nothing",
				slices.Sorted(maps.Keys(given)), id)
		}
	}
}

// What the configuration files describe has its rights, its routes and its triggers by parameters.
func TestReleasedTakesConfiguration(t *testing.T) {
	all := resources(t, optionalParameters)
	properties := func(id string) string {
		resource, is := all[id].(object)
		check.That(t, is, "there is no %s", id)
		return string(check.Get(json.Marshal(resource["Properties"])))
	}
	for id, wants := range map[string][]string{
		"WebhookFunction":         {`"STREAMSORT_CONFIG":"s3://artifacts/config/"`, `"STREAMSORT_QUOTAS":"true"`},
		"WebhookPolicy":           {`["kms:Decrypt","secretsmanager:GetSecretValue","ssm:GetParameter"],"Effect":"Allow","Resource":{"Fn::Split":[",","arn:aws:ssm:`, `"Action":"s3:GetObject"`},
		"PostWebhooksAnyRoute":    {`"RouteKey":"POST /webhooks/{name}"`},
		"GetWebhooksAnyRoute":     {`"RouteKey":"GET /webhooks/{name}"`},
		"ApiStage":                {`"RouteSettings":{"GET /webhooks/{name}":{"ThrottlingBurstLimit":100,"ThrottlingRateLimit":100},"POST /webhooks/{name}":`},
		"TenantAuthorizer":        {`"Issuer":"https://tokens.example/pool"`},
		"TenantPostMessagesRoute": {`"AuthorizationScopes":["produce"]`},
		"TenantPutQueuesRoute":    {`"AuthorizationScopes":["operate"]`},
		"Source1Function":         {`"STREAMSORT_SOURCE":"source1.json"`},
		"Source3Mapping":          {`"EventSourceArn":"arn:aws:sqs:eu-west-1:123456789012:other.fifo"`},
		"Source3BehindAlarm":      {`{"Name":"QueueName","Value":{"Fn::Select":[5,{"Fn::Split":[":","arn:aws:sqs:eu-west-1:123456789012:other.fifo"]}]}}`},
		"SweepFunction":           {`"STREAMSORT_READERS":"{\"consumers\":[{\"name\":\"a\"}]}"`},
		"DeliveryFunction":        {`"STREAMSORT_READERS":"{\"consumers\":[{\"name\":\"a\"}]}"`},
		"SortMapping":             {`"MaximumBatchingWindowInSeconds":0`},
		"SortFunction":            {`"VpcConfig":{"SecurityGroupIds":{"Fn::Split":[",","sg-1"]},"SubnetIds":{"Fn::Split":[",","subnet-1,subnet-2"]}}`},
		"SortRole":                {`"PermissionsBoundary":"arn:aws:iam::123456789012:policy/bound"`},
		"SortPolicy":              {`"ec2:UnassignPrivateIpAddresses"],"Effect":"Allow","Resource":"*","Sid":"Vpc"`},
		"GapAgeAlarm":             {`"AlarmActions":["arn:aws:sns:eu-west-1:123456789012:pager"]`},
		"RoundAgeAlarm":           {`"AlarmActions":["arn:aws:sns:eu-west-1:123456789012:people"]`},
		"DownAlarm":               {`{"Fn::Join":["",["ALARM(\"",{"Ref":"TenantApiFailsAlarm"},"\")"]]}`},
	} {
		for _, want := range wants {
			check.Has(t, properties(id), want, id)
		}
	}
	given := maps.Clone(optionalParameters)
	maps.DeleteFunc(given, func(name string, _ any) bool {
		return name == "Consumers" || name == "PageTopic" || name == "TenantIssuer"
	})
	all = resources(t, given)
	check.Has(t, properties("SweepFunction"), `"STREAMSORT_READERS":"consumers.json"`)
	check.Has(t, properties("GapAgeAlarm"),
		`"AlarmActions":["arn:aws:sns:eu-west-1:123456789012:people"]`)
	given["PageTopic"] = "arn:aws:sns:eu-west-1:123456789012:pager" // without tenants
	all = resources(t, given)
	check.Has(t, properties("DownAlarm"), `"FALSE"`)
}

// The functions may read what is behind Config alone: it is a folder, and no pattern of others.
func TestConfigIsAFolder(t *testing.T) {
	all := parameters()
	at := slices.IndexFunc(all, func(p parameter) bool { return p.Name == "Config" })
	pattern := regexp.MustCompile(all[at].Pattern)
	for _, good := range []string{"", "config/", "streamsort/v1.2/"} {
		check.Is(t, pattern.MatchString(good), true, good)
	}
	for _, bad := range []string{"config", "*/", "a/*b/", "../", "a/../", "/", "a?/", "${A}/"} {
		check.Is(t, pattern.MatchString(bad), false, bad)
	}
}

// texts are a template's values by their paths; durations are in seconds.
func texts(template object) map[string]string {
	all := map[string]string{}
	for path, value := range leaves(template) {
		all[path] = fmt.Sprint(value)
		if d, err := time.ParseDuration(all[path]); err == nil {
			all[path] = fmt.Sprint(d.Seconds())
		}
	}
	return all
}

// docs/how-to/without-cdk.md has every parameter.
func TestDocsNameParameters(t *testing.T) {
	text := string(check.Get(os.ReadFile("../../docs/how-to/without-cdk.md")))
	for _, p := range parameters() {
		check.That(t, strings.Contains(text, "`"+p.Name+"`"), "the page does not name %s", p.Name)
	}
}

// checkParameters checks that the release's template has what an example gives it, and that the
// example gives what has to be given.
func checkParameters[V any](t *testing.T, given map[string]V) {
	t.Helper()
	missing := maps.Clone(given)
	for _, p := range parameters() {
		_, is := given[p.Name]
		check.That(t, is || p.Default != nil, "%s is not given", p.Name)
		delete(missing, p.Name)
	}
	check.That(t, len(missing) == 0, "there are no parameters %v", missing)
}

// The Terraform example gives the stack only parameters that the release's template has.
func TestTerraformExample(t *testing.T) {
	text := check.Get(os.ReadFile("../../examples/terraform/main.tf"))
	_, block, is := strings.Cut(string(text), "  parameters = {\n")
	block, _, closed := strings.Cut(block, "\n  }\n")
	check.Need(t, is && closed, "main.tf gives no parameters")
	given := map[string]string{}
	for line := range strings.Lines(block) {
		name, value, _ := strings.Cut(line, "=")
		given[strings.TrimSpace(name)] = value
	}
	checkParameters(t, given)
}
