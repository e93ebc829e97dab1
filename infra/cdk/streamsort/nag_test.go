package streamsort

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// cdk-nag finds nothing but what the template gives a reason for. It does not see point-in-time
// recovery of TableV2, nor the runtime provided.*: other tests look at them. The pack
// ServerlessChecks, which the Go binding lacks, is in TestNagServerless.
func TestNag(t *testing.T) {
	t.Run("default", func(t *testing.T) { checkNag(t, &Props{}) })
	t.Run("every option", func(t *testing.T) { checkNag(t, everyOption()) })
}

// everyOption has a key of the stack's own beside all that changedProps has.
func everyOption() *Props {
	options := changedProps()
	options.EncryptionKey, options.Architecture = NewKey, ARM64
	return options
}

func checkNag(t *testing.T, props *Props) {
	t.Helper()
	dir := t.TempDir()
	if err := fakebin.Write(dir, "arm64"); err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{StackTraces: jsii.Bool(false)})
	props.Binaries = dir
	stack, err := NewStack(app, "Streamsort", props)
	if err != nil {
		t.Fatal(err)
	}
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	annotations := assertions.Annotations_FromStack(stack.Stack)
	everything := assertions.Match_AnyValue()
	for _, finding := range append(*annotations.FindError(jsii.String("*"), everything), *annotations.FindWarning(jsii.String("*"), everything)...) {
		text, err := json.Marshal(finding)
		if err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s", text)
	}
}
