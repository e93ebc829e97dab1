package streamsort

import (
	"errors"
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/webhook"
)

// Streamsort is all that makes one Streamsort, as a construct, with the parts that a caller may
// want to grant access to or to watch.
type Streamsort struct {
	MessagesTable, CursorsTable, ConsumersTable, AuditTable, TroubleTable, ChainsTable,
	ArrivalsTable awsdynamodb.TableV2
	EnqueueFunction, SortFunction, SweepFunction, DeliveryFunction,
	AckFunction awslambda.Function
	// DedupTable is for functions of your own that use package dedup.
	DedupTable awsdynamodb.TableV2
	// ArchiveBucket is nil where no archive needs one.
	ArchiveBucket awss3.Bucket
	// ProcessFunction is nil where there are no consumers for it.
	ProcessFunction awslambda.Function
	// SlowFunction, which is process once more, delivers what would hold up others. It is nil where
	// no queue has an endpoint of its own.
	SlowFunction awslambda.Function
	// WebhookFunction is nil where there are no senders for it.
	WebhookFunction awslambda.Function
	FailureQueue    awssqs.Queue
	// TimerQueue carries wake-ups: retries, gaps, leases and chains' deadlines are seen to when
	// they are due, instead of with the queue's next message or the next sweep.
	TimerQueue awssqs.Queue
	// Key is nil where AWS's own keys encrypt.
	Key awskms.IKey

	scope constructs.Construct
	id    string
	// fixed says that the logical ids are those of the contract.
	fixed bool
	api   awsapigatewayv2.CfnApi
	// tenantAPI is nil where there are no tenants.
	tenantAPI awsapigatewayv2.CfnApi
	// stage is the first API's, accessLogs are the logs of both APIs' requests.
	stage      awsapigatewayv2.CfnStage
	accessLogs map[awsapigatewayv2.CfnApi]awslogs.LogGroup
	props      Props
	// readers is how many functions read the cursors' stream.
	readers   int
	dashboard awscloudwatch.CfnDashboard
	queries   []awslogs.CfnQueryDefinition
	alarms    map[string]awscloudwatch.CfnAlarm
	// down is raised while one of pages is; nil without a topic for pages.
	down  awscloudwatch.CfnCompositeAlarm
	pages []string
	// live are the functions' aliases, put is the second one of enqueue.
	live map[awslambda.Function]awslambda.Alias
	put  awslambda.Alias
	// url is enqueue's function URL, urlAlias what it calls; nil without one.
	url      awslambda.CfnUrl
	urlAlias awslambda.Alias
	// shifts is nil where the aliases are moved at once.
	shifts    awscodedeploy.LambdaApplication
	shiftRole awsiam.Role
	// quotas are the file of quotas by its name, failed what could not be packed.
	quotas map[string]string
	failed error
	// packs is how often process was packed anew.
	packs int
	// sources are the functions of the sources that were added.
	sources []named
	// eager allows to call process at once; nil where no consumer is eager.
	eager awsiam.Policy
	// consumers are those that the sweep looks after: of process, and of functions of the caller's
	// own.
	consumers []Consumer
	// senders are those of signed webhooks.
	senders []webhook.Source
}

// New makes a Streamsort within a stack of the caller's. id, a letter and then letters, digits and
// '-', 128 at most, begins the tables' names and names it in the metrics, both in small letters: no
// two in one account and region may have the same, in whichever stacks they are. nil props mean all
// defaults.
//
// The error names every property that is out of its bounds and every binary that is missing or
// built for another processor; nothing has been made then.
func New(scope constructs.Construct, id string, props *Props) (*Streamsort, error) {
	p, err := props.checked(id)
	if err != nil {
		return nil, err
	}
	s := &Streamsort{scope: constructs.NewConstruct(scope, &id), id: id, props: p}
	return s, s.addAll()
}

// Stack is a stack that has a Streamsort and nothing else.
type Stack struct {
	Stack awscdk.Stack
	*Streamsort
}

// NewStack makes the stack under scope. Its id is the stack's name too. It is as New, but for the
// logical ids, which are those that the package comment lists, and for the outputs, of which a
// consumer's own stack may import some.
func NewStack(scope constructs.Construct, id string, props *Props) (*Stack, error) {
	p, err := props.checked(id)
	if err != nil {
		return nil, err
	}
	stack := awscdk.NewStack(scope, &id, &awscdk.StackProps{
		Description: jsii.String("Streamsort: messages in any order in, in-order batches out"),
		// Nothing but our own resources in the template, so that the committed copy and the
		// deployed one are the same. The CDK command checks the bootstrap version itself, from the
		// asset manifest.
		AnalyticsReporting: jsii.Bool(false),
		Synthesizer: awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{
			GenerateBootstrapVersionRule: jsii.Bool(false),
		}),
	})
	s := &Stack{stack, &Streamsort{scope: stack, id: id, fixed: true, props: p}}
	if err := s.addAll(); err != nil {
		return nil, err
	}
	s.addOutputs()
	return s, nil
}

// checked is a copy of p with its defaults, and with the consumers of its file.
func (p *Props) checked(id string) (Props, error) {
	c, err := p.complete(id)
	if err != nil {
		return c, fmt.Errorf("stack properties:\n%w", err)
	}
	if c.Webhooks, err = c.readWebhooks(); err != nil {
		return c, err
	}
	c.WebhooksFile = ""
	return c, c.checkBinaries()
}

// complete is a copy of p with its defaults and consumers, all of it within its bounds.
func (p *Props) complete(id string) (Props, error) {
	c := p.withDefaults(id)
	all, err := c.readConsumers()
	if err == nil {
		c.Consumers, c.ConsumersFile = all, ""
	}
	return c, errors.Join(err, c.validate(id))
}

func (s *Streamsort) addAll() error {
	s.live, s.alarms = map[awslambda.Function]awslambda.Alias{}, map[string]awscloudwatch.CfnAlarm{}
	s.accessLogs = map[awsapigatewayv2.CfnApi]awslogs.LogGroup{}
	var err error
	if s.quotas, err = readQuotas(s.props.QuotasFile); err != nil {
		return err
	}
	s.addKey()
	s.addTables()
	s.props.Consumers = s.shelve(s.props.Consumers)
	s.consumers = s.props.Consumers
	s.FailureQueue = s.newFailureQueue("FailureQueue")
	s.addTimerQueue()
	if err := s.addFunctions(); err != nil {
		return err
	}
	s.addMappings()
	s.addSweepSchedule()
	s.addTimerMapping()
	s.addAPI()
	if s.props.hasTenants() {
		s.addTenants()
	}
	if s.WebhookFunction != nil {
		s.addWebhookRoutes()
		// One is enough for an alarm, as not every sender repeats it.
		s.countThrottled("WebhooksThrottled", s.api, webhooksThrottled,
			`{ $.status = "429" && $.routeKey = "POST `+webhookPath+`*" }`)
	}
	s.addFunctionURL()
	s.addAlarms()
	s.addShifts()
	s.addDashboard()
	if *s.props.SavedQueries {
		s.addQueries()
	}
	return nil
}

// nameResource gives a construct's resource the logical id that it has in the contract, without the
// hash that the CDK would put behind it. Within a stack of the caller's, that id might be taken.
func (s *Streamsort) nameResource(construct constructs.IConstruct, id string) awscdk.CfnResource {
	resource := construct.Node().DefaultChild().(awscdk.CfnResource)
	if s.fixed {
		resource.OverrideLogicalId(&id)
	}
	return resource
}

func (s *Streamsort) removalPolicy() awscdk.RemovalPolicy {
	return either(s.props.Removal == Destroy, awscdk.RemovalPolicy_DESTROY,
		awscdk.RemovalPolicy_RETAIN)
}

func either[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

// suppression is a rule of cdk-nag that a resource breaks, and why it may.
type suppression struct {
	rule string
	// the findings meant, where a rule has several: texts, or as cdk-nag writes a regular expression
	appliesTo []any
	reason    string
}

// suppress notes on a resource which of cdk-nag's rules it may break. The notes are the metadata
// that cdk-nag itself would write, so that a user's own run of it sees them; cdk-nag is not needed
// for it.
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
