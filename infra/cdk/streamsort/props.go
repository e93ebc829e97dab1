package streamsort

import (
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Architecture is the processor that the functions' binaries are built for. The values are Go's
// names (GOARCH).
type Architecture string

// The architectures that Lambda has.
const (
	ARM64 Architecture = "arm64"
	AMD64 Architecture = "amd64"
)

// Removal is what happens to the tables and the logs when the stack, or one of them, is taken away.
type Removal string

const (
	// Retain keeps tables and logs, and DynamoDB refuses to delete the tables until somebody
	// switches their deletion protection off by hand.
	Retain Removal = "retain"
	// Destroy deletes tables and logs with the stack, messages included. It is for stacks that are
	// made to try something.
	Destroy Removal = "destroy"
)

// Props are the properties of the stack. A nil *Props and each zero field mean the default that the
// field names. The fields whose zero means something are pointers: new(int64(0)) is a first seq of
// 0, nil is the default.
//
// An error names a field as the app's configuration does, with a small first letter: SortBatchSize
// is sortBatchSize.
type Props struct {
	// VPC is where the functions run; none: in no VPC of yours. docs/how-to/platform.md has the
	// endpoints that it needs.
	VPC VPC

	// Tables is what the tables' names begin with, before -messages, -cursors and so on: 1 to 240
	// of a-z, A-Z, 0-9, '_', '-', '.'; the stack's id in small letters, so that two stacks in one
	// account do not meet.
	Tables string
	// Removal is what happens to tables and logs when the stack goes: Retain.
	Removal Removal
	// MaxReads and MaxWrites are the most units a second that each table of the stack takes, and
	// each index: 1 to 10,000,000; 0, the account's quota. What is above them is throttled, so that
	// a month cannot cost more than they do.
	MaxReads, MaxWrites int

	// FirstSeq is the seq that a new queue starts with, from 0 to 2^63-1; 1.
	FirstSeq *int64
	// Policy is what happens to a gap that stays open: cursor.PolicyWait, cursor.PolicySkip or
	// cursor.PolicyAlert; cursor.PolicyWait.
	Policy cursor.Policy
	// GapAfter is the age from which skip and alert take effect: 1 second to 365 days; 5 minutes.
	GapAfter time.Duration
	// MaxAhead is how far beyond the position of its queue a message may be: 1 to 10,000,000;
	// 100,000.
	MaxAhead int64
	// Settle is how long a message of a keyed queue waits for those with lesser keys: 0 to 1 hour,
	// whole milliseconds; 5 seconds. Late is what becomes of one that comes later:
	// cursor.LateDeliver, or cursor.LateDrop.
	Settle *time.Duration
	Late   cursor.LatePolicy
	// Mode is who moves a queue's cursor: cursor.ModeSync or cursor.ModeAsync; cursor.ModeSync.
	Mode cursor.Mode
	// Retention is how long a message is kept: 4 hours to 10 years, or 0 for ever; 14 days.
	Retention *time.Duration
	// Events is how raw events become messages (docs/reference/events.md#paths), as JSON: {"queue":
	// "repository.full_name", "id": "delivery.id"}. Empty means that events come as the API's own
	// messages.
	Events string

	// Functions are what the functions take, by their names: enqueue, sort, sweep, process, slow,
	// delivery, ack and webhook. slow is ProcessSlow, which calls the endpoints of queues that are
	// slow or fail.
	Functions map[string]FunctionProps

	// Consumers are those that process delivers every queue's messages to, 20 at most. None means
	// no process: consumers may be functions of your own behind the cursors' stream as well.
	Consumers []Consumer
	// ConsumersFile is a file that holds the consumers instead, as JSON: {"consumers": [{"name": …,
	// "sink": {"kind": …, "arn": …}}]}. Its members are those of Consumer and Sink, with small
	// first letters.
	ConsumersFile string
	// HTTPAllow are the addresses that sinks of the kind http may ask besides public ones, and
	// without TLS, such as "10.1.0.0/16,10.2.0.0/16": 20 prefixes at most, none of a metadata
	// service. It is for endpoints in a network of your own; no tenant's endpoint is among them.
	HTTPAllow string
	// HTTPDeny are the addresses that they never call for any URL, such as "2600:1f18:1::/48": 20
	// prefixes at most. It is for networks of your own whose addresses are public ones, as those of
	// IPv6 in a VPC are.
	HTTPDeny string

	// Webhooks are the senders that sign their requests by HMAC, 50 at most. None means no webhook,
	// and no route without IAM.
	Webhooks []Webhook
	// WebhooksFile is a file that holds the senders instead, as JSON: {"sources": [{"name": …,
	// "scheme": …, "secret": …, "queue": …}]}. Its members are those of Webhook, with small first
	// letters.
	WebhooksFile string
	// WebhookRate is how many requests a second the route of each sender takes: 1 to 10,000; 100.
	// As many come through at once.
	WebhookRate int

	// Tombstone is how long an ended chain is remembered: 1 hour to 365 days; 7 days. It must be
	// longer than anything that repeats an operation goes on.
	Tombstone time.Duration

	// SweepInterval is the time from one round of the sweep over all queues to the next: 1 minute
	// to 1 hour, whole minutes; 4 minutes, so that a gap, a lag and a dead claim are seen every 5
	// minutes. sweep is called every minute, and goes on with a round that is not over.
	SweepInterval time.Duration
	// FullSweepEvery is the time between two looks of the sweep at every queue: SweepInterval to a
	// quarter of Retention; 24 hours, or that quarter where it is less.
	FullSweepEvery time.Duration
	// SweepSegments is how many parts of the cursors a sweep reads side by side: 1 to 100; 4.
	SweepSegments int
	// EventBus is the name of the EventBridge bus that gaps are announced on: 1 to 256 of a-z, A-Z,
	// 0-9, '.', '-', '_', '/'; "default". An empty name means logs and metrics only.
	EventBus *string
	// AnnounceTopic is the ARN of an SNS topic (not a FIFO one) for the announcements of gaps and
	// stuck consumers, and for alarms; none. PageTopic is one for the alarms that cannot wait for
	// the morning; AnnounceTopic. With it there is DownAlarm, raised while one of them is.
	AnnounceTopic, PageTopic *string
	// AnnounceFunction is the ARN of a Lambda function that is invoked, asynchronously, with each
	// announcement, beside EventBus and AnnounceTopic: of gaps, of stuck consumers, and of how
	// chains end; none.
	AnnounceFunction *string
	// LagAfter is the age of the oldest waiting message from which a consumer's lag is announced,
	// and of it or an open gap from which an alarm is raised: 1 minute to 365 days; 15 minutes.
	LagAfter time.Duration
	// SavedQueries has queries for CloudWatch Logs Insights saved; true.
	SavedQueries *bool
	// SettleWithin is how long a claim of a two-phase consumer may be in doubt before its range is
	// set aside, so that later messages go on: 1 minute to 365 days; 1 hour.
	SettleWithin time.Duration
	// KnownQueues allows replies only to queues that are there, instead of making them.
	KnownQueues bool
	// DeleteDelivered has the sweep delete the messages that all consumers of their queue have got,
	// an hour or more later. A queue without consumers keeps its messages.
	DeleteDelivered bool

	// SlowShare is how many calls of ProcessSlow a tenant may have at a time: 1 to 100; 10. Beyond
	// it, its queues wait for their turn. What is no tenant's has no such bound.
	SlowShare int

	// TenantIssuer, TenantAudience and TenantClaim, all or none, make a second HTTP API, for
	// tenants: none of them can name another's queues, tags and ids, since its own name stands in
	// front of all that it names (package pkg/tenant). TenantIssuer is the iss of their tokens
	// (JWTs, signed by RSA), an https URL under which OpenID's discovery finds the keys;
	// TenantAudience the aud or client_id that they have, or several with commas between;
	// TenantClaim the claim that holds the tenant: a text of 1 to 64 letters, digits and . _ - : @
	// | + =
	TenantIssuer, TenantAudience, TenantClaim string
	// TenantProduceScope, TenantConsumeScope and TenantOperateScope are the scopes that a token
	// needs to put messages; to read, claim and acknowledge; and to set queues up and operate on
	// consumers. An empty one asks for none, but for the last: without it tenants cannot operate at
	// all.
	TenantProduceScope, TenantConsumeScope, TenantOperateScope string

	// QuotasFile is a file of what tenants may take (docs/how-to/tenants.md#quotas), as JSON:
	// {"quotas": [{"name": "*", "messages": …}]}; none means no bound but APIRate.
	QuotasFile string

	// EncryptionKey is a key of yours that tables, logs and the failure queue are encrypted with:
	// "new" makes one, with rotation; the ARN of a key takes that, whose policy must let IAM
	// policies of the account and CloudWatch Logs use it; "" leaves it to keys of AWS's own. It may
	// be changed later. A principal that reads a table, a log or the queue needs kms:Decrypt on it
	// then.
	EncryptionKey string

	// Shift is how calls move to a new version of a function: "" moves all of them at once; one of
	// CodeDeploy's ways, such as Canary10Percent5Minutes or Linear10PercentEvery1Minute, moves
	// some, waits, and goes back by itself where the function's rollback alarm is raised.
	Shift string

	// APIRate is how many requests a second each route of an HTTP API takes, of all tenants
	// together: 1 to 10,000; 1,000. As many come through at once. More than the account's own limit
	// is of no use.
	APIRate int
	// FunctionURL gives enqueue a function URL beside the HTTP API, for producers who sign for IAM:
	// POST /messages and nothing else, without an API's price, throttle and access log. Not where
	// there are tenants. An HTTP API that nobody calls costs nothing.
	FunctionURL bool
	// Tracing has X-Ray record calls of the functions, one a second and 5 % of the others, at $5 a
	// million; false.
	Tracing *bool
	// LogSuccesses is how many of a hundred calls of the API that go well are logged: 0 to 100; 1.
	// Those that are refused or fail always are, and metrics count all. At 100 Lambda's own lines
	// are kept too (START, REPORT), of which there are those of calls that fail otherwise (package
	// calllog), and the API's access log has each request's caller, id and times.
	LogSuccesses *int
	// LogQueue has each message of one queue logged until LogUntil, a time such as
	// 2026-01-02T15:04:05Z: both or none. A tenant's queue is written @TENANT/NAME.
	LogQueue, LogUntil string
	// LogRetentionDays is how long the logs are kept, a number of days that CloudWatch knows: 1, 3,
	// 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288
	// or 3653; 30.
	LogRetentionDays int

	// Architecture is the processor the functions run on: ARM64 or AMD64; ARM64.
	Architecture Architecture
	// Binaries is the folder with enqueue/bootstrap and so on for each function, built for
	// Architecture; ../../dist/arm64 (or ../../dist/amd64), which is the repository's dist as seen
	// from infra/cdk, where the CDK command runs the app.
	Binaries string
}

// VPC is a network: both fields or none.
type VPC struct {
	// Subnets and SecurityGroups are ids with commas between, which may be tokens of the CDK.
	Subnets, SecurityGroups string
}

func (p Props) checkQueueSettings(c *checker) {
	if *p.FirstSeq < 0 {
		c.fail("firstSeq", "is %d; write a number from 0 to %d", *p.FirstSeq, int64(cursor.MaxSeq))
	}
	oneOf(c, "policy", p.Policy, cursor.PolicyWait, cursor.PolicySkip, cursor.PolicyAlert)
	between(c, "gapAfter", p.GapAfter, cursor.MinGapAfter, cursor.MaxGapAfter)
	between(c, "maxAhead", p.MaxAhead, 1, cursor.MaxMaxAhead)
	oneOf(c, "mode", p.Mode, cursor.ModeSync, cursor.ModeAsync)
	between(c, "settle", *p.Settle, 0, cursor.MaxSettle)
	whole(c, "settle", *p.Settle, time.Millisecond)
	oneOf(c, "late", p.Late, cursor.LateDeliver, cursor.LateDrop)
}

func (p Props) queueVariables() map[string]string {
	// A keyed queue has all settings.
	queue := cursor.Settings{
		Kind: cursor.KindKeyed, First: *p.FirstSeq, Policy: p.Policy, GapAfter: p.GapAfter,
		MaxAhead: p.MaxAhead, Mode: p.Mode,
		Settle: *p.Settle, Late: p.Late,
	}
	variables := map[string]string{}
	for name, value := range queue.All() {
		if d, ok := value.(time.Duration); ok {
			value = text(d)
		}
		if variable := settings.QueueVariable(name); variable != "" {
			variables[variable] = fmt.Sprint(value)
		}
	}
	return variables
}
