package main

import (
	"fmt"
	"sync"

	"github.com/streamsort/streamsort/internal/settings"
)

type parameter struct {
	Name, Group, Description string
	// Default is an int, or a text; nil where it has to be given.
	Default any
	// Min and Max bound an int.
	Min, Max int
	// Allowed are the values that it may have, and Pattern is what they look like; not both.
	Allowed []any
	Pattern string
	// Longest bounds a text, in characters; 0: nothing does.
	Longest int

	// variable is the functions' environment variable that has its value, with unit behind it.
	variable, unit string
	// prop is a property of the stack, and sample what it is synthesised with: where exactly that
	// stands in the template, the parameter does.
	prop   string
	sample any
}

const (
	code     = "The release"
	network  = "Network and rights"
	deliver  = "Delivery"
	queues   = "New queues"
	programs = "Functions"
	ways     = "Ways in"
	tenants  = "Tenants"
	watching = "Watching"
	year     = 365 * 24 * 3600
)

// noSinks is what Sinks is where process has consumers, and nothing that has an ARN.
const noSinks = "none"

// arn is what an ARN in Sinks looks like: that of a bucket may have a consumer's objects behind it.
const arn = `arn:aws[a-z-]*:((lambda|sqs|sns|events|kms|secretsmanager|ssm):[^,\s*]+|s3:::[a-z0-9.-]+(/[^,\s*/]+/\*)?)`

const secretARN = `arn:aws[a-z-]*:(kms|secretsmanager|ssm):[^,\s*]+`

var switched = []any{"true", "false"}

// sources are how many queues of SQS the template takes messages from.
const sources = 3

// parameters are all that the template has, in the order of the console.
var parameters = sync.OnceValue(func() []parameter {
	all := []parameter{
		{
			Name: "ArtifactBucket", Group: code, Description: "The bucket, in the stack's region, with the release's zips and the configuration files",
			Pattern: `^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`,
		},
		{
			Name: "ArtifactPrefix", Group: code, Description: "What the keys of the zips begin with: empty, or a path that ends in /",
			Default: "streamsort/", Pattern: `^([A-Za-z0-9!_.*'()-]+/)*$`, Longest: 500,
		},
		{
			// It stands in policies: no wildcard, and no way out.
			Name: "Config", Group: code, Default: "", Pattern: `^([A-Za-z0-9!_'()-][A-Za-z0-9!_.'()-]*/)*$`, Longest: 500,
			Description: "What the keys of consumers.json, webhooks.json, quotas.json and source1.json begin with in ArtifactBucket, such as streamsort/config/; empty: there are none",
		},
		{
			Name: "Architecture", Group: code, Description: "The processor that the functions run on",
			Default: "arm64", Allowed: []any{"arm64", "x86_64"}, sample: "arm64",
		},

		ids("Subnets", "subnet", "the functions' subnets, with SecurityGroups; empty: in no VPC"),
		ids("SecurityGroups", "sg", "their security groups"),
		{
			Name: "PermissionsBoundary", Group: network, Default: "", Longest: 500,
			Pattern:     `^$|^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/\S+$`,
			Description: "The ARN of the policy that bounds all roles; empty: none does",
		},

		{
			Name: "Consumers", Group: deliver, Default: "", Longest: 1800,
			Description: `In place of consumers.json, its text: {"consumers": [{"name": "NAME", "sink": {"kind": "KIND", "arn": "ARN"}}]}`,
		},
		{
			Name: "Sinks", Group: deliver, Default: "", Longest: 4000,
			Description: "The ARNs of all sinks of the consumers, of what signs their requests and of the keys that encrypt them, with commas between: what process may use (of a bucket, its ARN and the same with /NAME/* behind it, by the consumer's name). " +
				"The word " + noSinks + ": there are HTTP endpoints only, and nothing is signed. Empty: there is no process",
			Pattern: `^$|^` + noSinks + `$|^` + arn + `(,` + arn + `)*$`,
		},
		{Name: "ProcessBatchSize", Group: deliver, Description: "The most stream records of one call of process", Default: 100, Min: 1, Max: 10_000, prop: "processBatchSize", sample: 707},
		{Name: "ProcessTimeoutSeconds", Group: deliver, Description: "How long a call of process may take, its sinks' answers included", Default: 60, Min: 1, Max: 900, prop: "processTimeout", sample: 708},
		{
			Name: "KnownQueues", Group: deliver, Description: "Whether replies go only to queues that are there, instead of making them",
			Default: "false", Allowed: switched, variable: "STREAMSORT_KNOWN_QUEUES",
		},

		{
			Name: "Mode", Group: queues, Description: "Who moves a queue's cursor: the one who puts (sync), or the stream's handler (async)",
			Default: "sync", Allowed: []any{"sync", "async"}, variable: settings.QueueVariable("mode"),
		},
		{
			Name: "Policy", Group: queues, Description: "What happens to a gap that stays open",
			Default: "wait", Allowed: []any{"wait", "skip", "alert"}, variable: settings.QueueVariable("policy"),
		},
		{Name: "GapAfterSeconds", Group: queues, Description: "The age of a gap from which skip and alert take effect", Default: 300, Min: 1, Max: year, variable: settings.QueueVariable("gapAfter"), unit: "s"},
		{Name: "MaxAhead", Group: queues, Description: "How far beyond its queue's position a message may be", Default: 100_000, Min: 1, Max: 10_000_000, variable: settings.QueueVariable("maxAhead")},
		{Name: "FirstSeq", Group: queues, Description: "The seq that a new queue starts with", Default: 1, Min: 0, Max: 1 << 53, variable: settings.QueueVariable("first")},
		{Name: "SettleMilliseconds", Group: queues, Description: "How long a message of a keyed queue waits for those with lesser keys", Default: 5000, Min: 0, Max: 3_600_000, variable: settings.QueueVariable("settle"), unit: "ms"},
		{Name: "Late", Group: queues, Description: "What becomes of a message of a keyed queue that comes later", Default: "deliver", Allowed: []any{"deliver", "drop"}, variable: settings.QueueVariable("late")},
		{
			Name: "RetentionHours", Group: queues, Description: "How long messages are kept: 96 to 87600, or 0 for ever", Default: "336",
			Pattern: `^(0|9[6-9]|[1-9][0-9]{2,3}|[1-7][0-9]{4}|8[0-6][0-9]{3}|87[0-5][0-9]{2}|87600)$`, variable: "STREAMSORT_RETENTION", unit: "h",
		},
		{
			Name: "DeleteDelivered", Group: queues, Description: "Whether the sweep deletes what all consumers of a queue have",
			Default: "false", Allowed: switched, variable: "STREAMSORT_DELETE_DELIVERED",
		},

		{Name: "SortBatchSize", Group: programs, Description: "The most stream records of one call of sort", Default: 1000, Min: 1, Max: 10_000, prop: "sortBatchSize", sample: 709},
	}
	for i, name := range []string{"Enqueue", "Sort", "Sweep", "Process", "Delivery", "Ack"} {
		all = append(all, parameter{
			Name: name + "Memory", Group: programs,
			Description: "Memory of " + name + " in MB; Lambda gives processor time by it",
			Default:     512, Min: 128, Max: 10_240, prop: propOf(name) + "Memory", sample: 701 + i,
		})
	}
	all = append(
		all,
		parameter{Name: "ApiRate", Group: ways,
			Description: "Requests that each route of the HTTP APIs takes, a second and at once",
			Default:     1000, Min: 1, Max: 10_000, prop: "apiRate", sample: 710},
		parameter{
			Name: "FunctionUrl", Group: ways, Description: "Whether enqueue has a function URL for puts beside the HTTP API, without its price",
			Default: "false", Allowed: switched,
		},
		parameter{
			Name: "Events", Group: ways, Default: "", Pattern: `^$|^\{.+\}$`, Longest: 800,
			variable:    "STREAMSORT_EVENTS",
			Description: `How raw events become messages, as {"queue": "repository.full_name | 'other'", "id": "delivery.id"}; empty: there are none`,
		},
		parameter{
			Name: "WebhookSecrets", Group: ways, Default: "", Longest: 4000,
			Pattern:     `^$|^` + secretARN + `(,` + secretARN + `)*$`,
			Description: "The ARNs of all secrets in webhooks.json, and of the keys that encrypt them, with commas between: what webhook may read. Empty: there are no webhooks",
		},
		parameter{Name: "WebhookRate", Group: ways,
			Description: "Requests that all senders of webhooks together may make, a second and at once",
			Default:     100, Min: 1, Max: 10_000, prop: "webhookRate", sample: 712},
	)
	for i := range sources {
		all = append(all, parameter{
			Name: fmt.Sprintf("Source%d", i+1), Group: ways, Default: "",
			Pattern:     `^$|^arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?$`,
			Description: fmt.Sprintf("The ARN of a queue of SQS whose messages come in, of which source%d.json says how; empty: none. Topics, buses and buckets send to such a queue", i+1),
			sample:      sampleQueue(i),
		})
	}
	return append(
		all,
		parameter{
			Name: "TenantIssuer", Group: tenants, Default: "",
			Pattern: `^$|^https://[^/?#@\s]+(/[^?#\s]*)?$`, Longest: 500,
			Description: "The iss of the tenants' tokens, a URL; empty: there are no tenants",
			prop:        "tenantIssuer", sample: "https://sample.example/issuer",
		},
		parameter{Name: "TenantAudience", Group: tenants,
			Description: "The aud or client_id of the tokens, or several with commas between", Default: "",
			Longest: 1000},
		parameter{
			Name: "TenantClaim", Group: tenants, Default: "", Pattern: `^$|^[!-~]{1,256}$`,
			Description: "The claim of the tokens that holds the tenant",
			prop:        "tenantClaim", sample: "sample:tenant",
		},
		scope("Produce", "put messages; empty: none"),
		scope("Consume", "read, claim and acknowledge; empty: none"),
		scope("Operate", "set up queues and operate consumers; empty: tenants cannot"),
		parameter{Name: "Quotas", Group: tenants,
			Description: "Whether quotas.json bounds what each tenant takes", Default: "false",
			Allowed: switched, variable: "STREAMSORT_QUOTAS"},

		topic("AnnounceTopic", "alarms and announcements; empty: none"),
		topic("PageTopic", "the alarms that cannot wait; empty: they go to AnnounceTopic"),
		parameter{
			Name: "LagAfterSeconds", Group: watching, Description: "The age of a waiting message from which its consumer's lag is announced, and of it or an open gap from which an alarm is raised",
			Default: 900, Min: 60, Max: year, variable: "STREAMSORT_LAG_AFTER", unit: "s",
			prop: "lagAfter", sample: 711,
		},
		parameter{
			Name: "LogRetentionDays", Group: watching, Description: "How long logs are kept", Default: 30,
			prop: "logRetentionDays", sample: 1827,
			Allowed: []any{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192,
				2557, 2922, 3288, 3653},
		},
		parameter{Name: "LogSuccesses", Group: watching,
			Description: "Of a hundred calls that go well, how many are logged", Default: 1, Min: 0, Max: 99,
			variable: "STREAMSORT_LOG_SUCCESSES"},
		parameter{Name: "Tracing", Group: watching,
			Description: "Whether X-Ray records calls, at a price", Default: "false", Allowed: switched},
		parameter{Name: "SavedQueries", Group: watching,
			Description: "Whether queries for CloudWatch Logs Insights are saved", Default: "true",
			Allowed: switched},
	)
})

func ids(name, kind, what string) parameter {
	return parameter{
		Name: name, Group: network, Default: "", Longest: 1000,
		Pattern:     "^$|^" + kind + "-[0-9a-f]+(," + kind + "-[0-9a-f]+)*$",
		Description: "The ids, with commas between, of " + what,
		prop:        "vpc" + name, sample: kind + "-5a3b1e00",
	}
}

func topic(name, what string) parameter {
	return parameter{
		Name: name, Group: watching, Default: "",
		Pattern:     `^$|^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$`,
		Description: "The ARN of an SNS topic, not FIFO, for " + what,
		prop:        propOf(name), sample: "arn:aws:sns:us-east-1:123456789012:sample-" + name,
	}
}

func scope(class, what string) parameter {
	return parameter{
		Name: "Tenant" + class + "Scope", Group: tenants, Default: "", Pattern: `^$|^[!-~]{1,64}$`,
		Description: "The scope that a token needs to " + what,
		prop:        "tenant" + class + "Scope", sample: "sample/" + class,
	}
}

// sampleQueue is the ARN of a source's queue while the stack is synthesised.
func sampleQueue(i int) string {
	return fmt.Sprintf("arn:aws:sqs:us-east-1:123456789012:sample%d", i+1)
}

func (p parameter) declaration() object {
	d := object{"Type": "String", "Description": p.Description}
	if p.Default != nil {
		d["Default"] = p.Default
	}
	if _, number := p.Default.(int); number {
		d["Type"] = "Number"
		if p.Allowed == nil {
			d["MinValue"], d["MaxValue"] = p.Min, p.Max
		}
	}
	if p.Allowed != nil {
		d["AllowedValues"] = p.Allowed
	}
	if p.Pattern != "" {
		d["AllowedPattern"] = p.Pattern
	}
	if p.Longest != 0 {
		d["MaxLength"] = p.Longest
	}
	return d
}
