package streamsort

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// cdk-nag finds nothing but what the template gives a reason for. It does not see point-in-time
// recovery of TableV2, nor the runtime provided.*: other tests look at them. The pack
// ServerlessChecks, which the Go binding lacks, is in TestNagServerless.
func TestNag(t *testing.T) {
	for _, props := range []*Props{{}, everyOption()} {
		app := awscdk.NewApp(&awscdk.AppProps{StackTraces: jsii.Bool(false)})
		props.Binaries = binaries[ARM64]
		stack := check.Get(NewStack(app, "Streamsort", props))
		checkNag(t, app, stack.Stack, "")
	}
	app, stack := sourcesStack(t, &Props{})
	checkNag(t, app, stack.Stack, "/Source") // what is beside the sources is the user's own
}

// everyOption has a key of the stack's own beside all that changedProps has.
func everyOption() *Props {
	options := changedProps()
	options.EncryptionKey, options.Architecture = NewKey, ARM64
	return options
}

// checkNag reports what cdk-nag finds at paths that hold a text.
func checkNag(t *testing.T, app awscdk.App, stack awscdk.Stack, at string) {
	t.Helper()
	awscdk.Aspects_Of(app).
		Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	annotations := assertions.Annotations_FromStack(stack)
	everything := assertions.Match_AnyValue()
	for _, finding := range append(*annotations.FindError(jsii.String("*"), everything),
		*annotations.FindWarning(jsii.String("*"), everything)...) {
		text := asText(t, finding)
		check.That(t, !strings.Contains(text, at), "%.600s", text)
	}
}
