package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
	"github.com/streamsort/streamsort/infra/cdk/streamsort"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/whole"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestReadProps(t *testing.T) {
	got := check.Get(readProps(map[string]any{
		"tables": "orders", "firstSeq": "0", "policy": "skip", "gapAfter": "90s", "retention": "0",
		"maxAhead": 10_000_000.0, "sortBatchSize": "7", "eventBus": "", "apiRate": 5.0, "architecture": "amd64",
		"deleteDelivered": true, "consumersFile": "consumers.json",
	}))
	functions := map[string]streamsort.FunctionProps{}
	for _, name := range streamsort.FunctionNames() {
		functions[name] = streamsort.FunctionProps{}
	}
	functions["sort"] = streamsort.FunctionProps{BatchSize: 7}
	want := &streamsort.Props{
		Tables: "orders", FirstSeq: new(int64(0)), Policy: cursor.PolicySkip, GapAfter: 90 * time.Second,
		Retention: new(time.Duration(0)), MaxAhead: 10_000_000, EventBus: new(""), APIRate: 5,
		Architecture: streamsort.AMD64, DeleteDelivered: true, ConsumersFile: "consumers.json",
		Functions: functions,
	}
	check.Is(t, cmp.Diff(want, got), "")
}

func TestReadPropsErrors(t *testing.T) {
	_, err := readProps(map[string]any{"sortBatchSiez": "7", "gapAfter": "5", "sortMemory": "many",
		"firstSeq": 1.5, "env": "prod", "deleteDelivered": "yes", "consumers": "x"})
	check.Need(t, err != nil, "no error")
	for _, want := range []string{
		"streamsort:sortBatchSiez", "ackConcurrency",
		`streamsort:gapAfter is "5"`, "336h",
		`streamsort:sortMemory is "many"`,
		`streamsort:firstSeq is "1.5"`,
		"streamsort:env",
		`streamsort:deleteDelivered is "yes"`, "true", "false",
		"streamsort:consumers ",
	} {
		check.That(t, strings.Contains(err.Error(), want), "no %q in:\n%v", want, err)
	}
}

func TestAddStackReadsContext(t *testing.T) {
	app := newApp(t, map[string]any{"streamsort:stack": "Orders", "streamsort:sortBatchSize": "20000"})
	check.Has(t, fmt.Sprint(check.Err(addStack(app))), "sortBatchSize is 20000")
	check.Get(addStack(newApp(t, map[string]any{"streamsort:stack": "Orders"})))
}

// A permissions boundary is every role's, or an error.
func TestPermissionsBoundary(t *testing.T) {
	_, err := addStack(newApp(t, map[string]any{boundaryKey: "limits"}))
	check.Has(t, fmt.Sprint(err), `"limits", and the CDK takes an object`)
	app := newApp(t, map[string]any{boundaryKey: map[string]any{"name": "limits"}})
	stack := check.Get(addStack(app))
	roles := assertions.Template_FromStack(stack.Stack, nil).FindResources(
		jsii.String("AWS::IAM::Role"), nil)
	for id, role := range *roles {
		check.Has(t, fmt.Sprint(*role), "policy/limits", id)
	}
}

// TestSettingsAreListed holds docs/reference/settings.md to the keys of the context and to the
// members of the files of consumers and webhooks: it lists each, and no other.
func TestSettingsAreListed(t *testing.T) {
	text := check.Get(os.ReadFile("../../docs/reference/settings.md"))
	keys := map[string]bool{"stack": true}
	for key := range settable(&streamsort.Props{}, nil) {
		keys[key] = true
	}
	props := reflect.TypeFor[streamsort.FunctionProps]()
	for i := range props.NumField() {
		keys["…"+props.Field(i).Name] = true
	}
	for section, want := range map[string]map[string]bool{
		"Of a stack":      keys,
		"Consumers":       members(reflect.TypeFor[streamsort.Consumer](), reflect.TypeFor[streamsort.Sink]()),
		"Webhook senders": members(reflect.TypeFor[streamsort.Webhook]()),
	} {
		_, after, _ := strings.Cut(string(text), "\n## "+section+"\n")
		page, _, _ := strings.Cut(after, "\n## ")
		got := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(page, -1) {
			cell, _, _ := strings.Cut(row[1], " of ")
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
				got[name[1]] = true
			}
		}
		check.Is(t, cmp.Diff(want, got), "", "settings.md (- there are, + listed)", section)
	}
}

// members are what JSON calls the fields of structs, and of those embedded in them.
func members(structs ...reflect.Type) map[string]bool {
	all := map[string]bool{}
	for _, s := range structs {
		for _, field := range reflect.VisibleFields(s) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
				all[name] = true
			}
		}
	}
	return all
}

// asApp makes the test binary be the app: that is how the CDK command runs it in
// TestCommandSynthesizesGolden.
const asApp = "STREAMSORT_TEST_AS_APP"

func TestMain(m *testing.M) {
	if os.Getenv(asApp) != "" {
		main()
		return
	}
	// Checking templates against CloudFormation's rules takes longer than to write them; jsii has
	// the environment of when it was initialised, and begins anew.
	if !whole.Tests {
		if err := os.Setenv("CDK_VALIDATION", "false"); err != nil {
			panic(err)
		}
		jsii.Close()
	}
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// newApp is an app with the context of cdk.json, as the CDK command would pass it, and with
// binaries that can be deployed, if not run.
func newApp(t *testing.T, context map[string]any) awscdk.App {
	t.Helper()
	all := check.Get(ownContext())
	all[prefix+"binaries"] = binaries(t)
	for key, value := range context {
		all[key] = value
	}
	return awscdk.NewApp(&awscdk.AppProps{Context: &all, Outdir: jsii.String(t.TempDir())})
}

// synthesize is the template of the stack that the context describes, with what is added to it.
func synthesize(t *testing.T, app awscdk.App, add func(*streamsort.Stack) error) []byte {
	t.Helper()
	stack, err := addStack(app)
	if err == nil && add != nil {
		err = add(stack)
	}
	check.OK(t, err)
	directory := *app.Synth(nil).Directory()
	return check.Get(os.ReadFile(filepath.Join(directory, "Streamsort.template.json")))
}

func binaries(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, fakebin.Write(dir, "arm64"))
	return dir
}
