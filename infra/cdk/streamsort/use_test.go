package streamsort

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// own is a stack of a user's own with two Streamsorts in it, of which the first has the properties,
// and a function.
func own(t *testing.T,
	props Props) (stack awscdk.Stack, s *Streamsort, function awslambda.Function) {
	t.Helper()
	stack = awscdk.NewStack(awscdk.NewApp(nil), jsii.String("Shop"), nil)
	props.Binaries = binaries[ARM64]
	s, err := New(stack, "Orders", &props)
	if err == nil {
		_, err = New(stack, "Returns", &Props{Binaries: binaries[ARM64]})
	}
	check.OK(t, err)
	function = awslambda.NewFunction(stack, jsii.String("Books"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: jsii.String("bootstrap"),
		Code: awslambda.Code_FromAsset(jsii.String(binaries[ARM64]+"/process"), nil),
	})
	return stack, s, function
}

// TestUse pins what the construct's methods make of a stack of the user's own: consumers behind the
// cursors' stream and grants, with a key and a function URL; and sinks of each kind, one by one, of
// which some put messages in turn (no circle), some are called at once, and some have endpoints.
func TestUse(t *testing.T) {
	for file, c := range map[string]struct {
		props Props
		use   func(awscdk.Stack, *Streamsort, awslambda.Function) error
	}{
		"testdata/grants.txt": {Props{EncryptionKey: NewKey, FunctionURL: true},
			func(stack awscdk.Stack, s *Streamsort, function awslambda.Function) error {
				for name, grant := range map[string]func(awsiam.IGrantable){
					"Producer": s.GrantProduce, "Owner": s.GrantConfigure, "Operator": s.GrantOperate,
					"Puller": s.GrantConsume, "Worker": s.GrantAck,
				} {
					grant(awsiam.NewUser(stack, &name, nil))
				}
				return s.AddConsumer("Books", function, Consumer{Name: "books", Prefix: "shop/", Track: "1m"})
			}},
		"testdata/sinks.txt": {Props{Shift: "AllAtOnce"},
			func(stack awscdk.Stack, s *Streamsort, function awslambda.Function) (err error) {
				function.AddEnvironment(jsii.String("ENQUEUE"), s.EnqueueFunction.FunctionArn(), nil)
				s.GrantProduce(function)
				secret := awssecretsmanager.NewSecret(stack, jsii.String("Hooks"), nil)
				for _, c := range append(
					sinks(stack, function),
					Consumer{Name: "shelf", To: awss3.NewBucket(stack, jsii.String("Shelf"), nil)},
					Consumer{Name: "made", Sink: &Sink{Kind: "s3"}},
					Consumer{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{
						URL: "https://example.com/hooks", Mode: "batch", Timeout: "5s", Ports: []int{443},
						Headers: map[string]string{"X-Env": "prod"},
						Sign: &Sign{Scheme: "standard", Secret: secret.SecretFullArn(),
							Key: awskms.NewKey(stack, jsii.String("HooksKey"), nil).KeyArn()},
					}}},
					Consumer{Name: "plain",
						Sink: &Sink{Kind: "http", HTTP: HTTP{URL: "https://example.com/plain"}}},
					Consumer{Name: "endpoints", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}},
					Consumer{Name: "more", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}},
					Consumer{Name: "eager", To: function, Eager: true},
					Consumer{Name: "prefixed", To: function, Prefix: "a/", Eager: true},
				) {
					err = errors.Join(err, s.AddSink(c))
				}
				return err
			}},
	} {
		base, _, _ := own(t, c.props)
		stack, s, function := own(t, c.props)
		check.OK(t, c.use(stack, s, function))
		pinned(t, file, differences(t, written(stack), written(base)))
	}
}

// Two functions read the cursors' stream at most, process among them.
func TestStreamsReaders(t *testing.T) {
	_, s, function := own(t, Props{})
	for _, id := range []string{"A", "B"} {
		check.OK(t, s.AddConsumer(id, function))
	}
	if err := s.AddConsumer("Third", function); err == nil ||
		!strings.Contains(err.Error(), "two functions read the cursors' stream") {
		t.Errorf("error %v", err)
	}
	err := s.AddSink(Consumer{Name: "c", To: function})
	check.That(t, err != nil && strings.Contains(err.Error(), "process"), "error %v", err)
}
