package streamsort

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Stack is a Streamsort stack, with the parts that a caller may want to grant
// access to or to watch.
type Stack struct {
	Stack awscdk.Stack

	MessagesTable, CursorsTable, SweepsTable, ConsumersTable, ActsTable awsdynamodb.TableV2
	EnqueueFunction, SortFunction, SweepFunction, HandoffFunction       awslambda.Function
	// DedupTable is nil where the stack has none.
	DedupTable awsdynamodb.TableV2
	// ProcessFunction is nil where the stack has no consumers of its own.
	ProcessFunction awslambda.Function
	FailureQueue    awssqs.Queue

	api   awsapigatewayv2.CfnApi
	props Props
}

// NewStack makes the stack under scope. Its id is the stack's name too, a
// letter and then letters, digits and '-', 128 at most. nil props mean all
// defaults.
//
// The error names every property that is out of its bounds and every binary
// that is missing or built for another processor; nothing has been made then.
func NewStack(scope constructs.Construct, id string, props *Props) (*Stack, error) {
	p := props.withDefaults(id)
	if err := p.validate(id); err != nil {
		return nil, fmt.Errorf("stack properties:\n%w", err)
	}
	all, err := p.readConsumers()
	if err != nil {
		return nil, err
	}
	p.Consumers, p.ConsumersFile = all, ""
	if err := p.checkBinaries(); err != nil {
		return nil, err
	}
	s := &Stack{props: p}
	s.Stack = awscdk.NewStack(scope, &id, &awscdk.StackProps{
		Env:         p.Env,
		Description: jsii.String("Streamsort: messages in any order in, in-order batches out"),
		// Nothing but our own resources in the template, so that the committed
		// copy and the deployed one are the same. The CDK command checks the
		// bootstrap version itself, from the asset manifest.
		AnalyticsReporting: jsii.Bool(false),
		Synthesizer: awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{
			GenerateBootstrapVersionRule: jsii.Bool(false),
		}),
	})
	s.addTables()
	s.addFailureQueue()
	if err := s.addFunctions(); err != nil {
		return nil, err
	}
	s.addSortMapping()
	if s.ProcessFunction != nil {
		s.addProcessMapping()
	}
	s.addSweepSchedule()
	s.addSweepAlarm()
	s.addAPI()
	s.addOutputs()
	return s, nil
}

// nameResource gives a construct's resource the logical id that it has in the
// contract, without the hash that the CDK would put behind it.
func nameResource(construct constructs.IConstruct, id string) awscdk.CfnResource {
	resource := construct.Node().DefaultChild().(awscdk.CfnResource)
	resource.OverrideLogicalId(&id)
	return resource
}

func (s *Stack) removalPolicy() awscdk.RemovalPolicy {
	if s.props.Removal == Destroy {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}

// suppression is a rule of cdk-nag that a resource breaks, and why it may.
type suppression struct {
	rule      string
	appliesTo []string // the findings meant, where a rule has several
	reason    string
}

// suppress notes on a resource which of cdk-nag's rules it may break. The
// notes are the metadata that cdk-nag itself would write, so that a user's own
// run of it sees them; cdk-nag is not needed for it.
func suppress(resource awscdk.CfnResource, suppressions ...suppression) {
	var rules []any
	for _, s := range suppressions {
		rule := map[string]any{"id": s.rule, "reason": s.reason}
		if s.appliesTo != nil {
			rule["applies_to"] = s.appliesTo
		}
		rules = append(rules, rule)
	}
	resource.AddMetadata(jsii.String("cdk_nag"), map[string]any{"rules_to_suppress": rules})
}
