package streamsort

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// TestHatches: what no property says, the CDK says, as README.md has it.
func TestHatches(t *testing.T) {
	dir := t.TempDir()
	if err := fakebin.Write(dir, "arm64"); err != nil {
		t.Fatal(err)
	}
	stack, err := NewStack(awscdk.NewApp(nil), "Streamsort", &Props{Binaries: dir})
	if err != nil {
		t.Fatal(err)
	}
	mapping := stack.Stack.Node().FindChild(jsii.String("SortMapping")).(awslambda.CfnEventSourceMapping)
	mapping.SetMaximumRetryAttempts(jsii.Number(9))
	awscdk.Tags_Of(stack.Stack).Add(jsii.String("team"), jsii.String("books"), nil)
	awsiam.PermissionsBoundary_Of(stack.Stack).Apply(
		awsiam.ManagedPolicy_FromManagedPolicyArn(stack.Stack, jsii.String("Boundary"), jsii.String("arn:aws:iam::123456789012:policy/boundary")))
	made := written(t, stack.Stack)
	if got := made.properties(t, "SortMapping", "AWS::Lambda::EventSourceMapping")["MaximumRetryAttempts"]; got != 9.0 {
		t.Errorf("sort tries again %v times", got)
	}
	for id, resource := range made.Resources {
		text := asText(t, resource)
		if typ := resource["Type"]; typ == "AWS::IAM::Role" && !strings.Contains(text, "policy/boundary") ||
			typ == "AWS::Lambda::Function" && !strings.Contains(text, `"Value":"books"`) {
			t.Errorf("%s: %s", id, text)
		}
	}
}
