package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
	"github.com/streamsort/streamsort/infra/cdk/streamsort"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/whole"
)

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
