package cloudformation

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parameter is what a user of the template sets.
type Parameter struct {
	// Prop is the property of the stack that it is, as the app's configuration writes it;
	// with a capital first letter, and Unit behind it, it is the parameter's name.
	Prop string
	// Group is the heading that it stands under in the console.
	Group       string
	Description string
	// Default is an int, or a text; nil where it has to be given.
	Default any
	// Min and Max bound an int.
	Min, Max int
	// Allowed are the values that it may have, and Pattern is what they look like; not both.
	Allowed []any
	Pattern string
	// Longest bounds a text, in characters; 0: nothing does.
	Longest int
	// Unit is what a number counts, where the property is a duration: Seconds, Milliseconds or Hours.
	Unit string

	// sample is another value, to see where it goes: as the property has it. It appears
	// nowhere else in the template. Empty for a parameter without a property.
	sample string
	// condition, where it is set, is the name of the condition that the property is on, and not
	// off: parts of the template are there then, or are others. offValue is the parameter's
	// value for off, where that is another text.
	condition, on, off, offValue string
}

// Name is the parameter's in the template.
func (p Parameter) Name() string { return strings.ToUpper(p.Prop[:1]) + p.Prop[1:] + p.Unit }

// Property is the text that the app's configuration has for a value of the parameter.
func (p Parameter) Property(value any) string { return fmt.Sprint(value) + units[p.Unit].suffix }

// unit is what durations are counted in.
type unit struct {
	suffix string
	length time.Duration
}

var units = map[string]unit{
	"":             {},
	"Milliseconds": {"ms", time.Millisecond},
	"Seconds":      {"s", time.Second},
	"Hours":        {"h", time.Hour},
}

const (
	code      = "The release"
	delivery  = "Delivery"
	queues    = "New queues"
	functions = "Functions"
	doors     = "Ways in"
	watching  = "Watching"
	year      = 365 * 24 * 3600
)

// noSinks is what Sinks is where process has consumers, and nothing that has an ARN.
const noSinks = "none"

// arn is what an ARN in Sinks looks like: that of a bucket may have a consumer's objects behind it.
const arn = `arn:aws[a-z-]*:((lambda|sqs|sns|events|kms|secretsmanager|ssm):[^,\s*]+|s3:::[a-z0-9.-]+(/[^,\s*/]+/\*)?)`

// switched are the values of a parameter that switches something.
var switched = []any{"true", "false"}

// Parameters are all that the template has, in the order of the console.
func Parameters() []Parameter {
	all := []Parameter{
		{
			Prop: "artifactBucket", Group: code, Description: "The bucket, in the stack's region, that the release's zips are in",
			Pattern: `^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`,
		},
		{
			Prop: "artifactPrefix", Group: code, Description: "What the keys of the zips begin with: empty, or a path that ends in /",
			Default: "streamsort/", Pattern: `^([A-Za-z0-9!_.*'()-]+/)*$`, Longest: 500,
		},
		{
			Prop: "architecture", Group: code, Description: "The processor that the functions run on",
			Default: "arm64", Allowed: []any{"arm64", "x86_64"}, condition: "IsArm64", on: "arm64", off: "amd64", offValue: "x86_64",
		},

		{
			Prop: "consumers", Group: delivery, Default: "", Longest: 1800,
			Description: `To whom process delivers, as consumers.json has it: {"consumers": [{"name": "NAME", "sink": {"kind": "KIND", "arn": "ARN"}}]}`,
		},
		{
			Prop: "sinks", Group: delivery, Default: "", Longest: 4000,
			Description: "The ARNs of all sinks in Consumers, of what signs their requests and of the keys that encrypt them, with commas between: what process may use (of a bucket, its ARN and the same with /NAME/* behind it, by the consumer's name). " +
				"The word " + noSinks + ": there are HTTP endpoints only, and nothing is signed. Empty: there is no process",
			Pattern:   `^$|^` + noSinks + `$|^` + arn + `(,` + arn + `)*$`,
			condition: "HasSinks", // consumersFile is on or off by it
		},
		{Prop: "processBatchSize", Group: delivery, Description: "The most stream records of one call of process", Default: 100, Min: 1, Max: 10_000},
		{Prop: "processTimeout", Unit: "Seconds", Group: delivery, Description: "How long a call of process may take, its sinks' answers included", Default: 60, Min: 1, Max: 900},
		{
			Prop: "knownQueues", Group: delivery, Description: "Whether replies go only to queues that are there, instead of making them",
			Default: "false", Allowed: switched, condition: "RepliesToKnownQueues", on: "true", off: "false",
		},

		{
			Prop: "mode", Group: queues, Description: "Who moves a queue's cursor: the one who puts (sync), or the stream's handler (async)",
			Default: "sync", Allowed: []any{"sync", "async"}, condition: "IsSync", on: "sync", off: "async",
		},
		{
			Prop: "policy", Group: queues, Description: "What happens to a gap that stays open",
			Default: "wait", Allowed: []any{"wait", "skip", "alert"}, sample: "skip",
		},
		{Prop: "gapAfter", Unit: "Seconds", Group: queues, Description: "The age of a gap from which skip and alert take effect", Default: 300, Min: 1, Max: year},
		{Prop: "maxAhead", Group: queues, Description: "How far beyond its queue's position a message may be", Default: 100_000, Min: 1, Max: 10_000_000},
		{Prop: "firstSeq", Group: queues, Description: "The seq that a new queue starts with", Default: 1, Min: 0, Max: 1 << 53},
		{Prop: "settle", Unit: "Milliseconds", Group: queues, Description: "How long a message of a keyed queue waits for those with lesser keys", Default: 5000, Min: 0, Max: 3_600_000},
		{Prop: "late", Group: queues, Description: "What becomes of a message of a keyed queue that comes later", Default: "deliver", Allowed: []any{"deliver", "drop"}, sample: "drop"},
		{
			Prop: "retention", Unit: "Hours", Group: queues, Description: "How long messages are kept: 96 to 87600, or 0 for ever", Default: "336",
			Pattern: `^(0|9[6-9]|[1-9][0-9]{2,3}|[1-7][0-9]{4}|8[0-6][0-9]{3}|87[0-5][0-9]{2}|87600)$`, sample: "731h1s",
		},
		{
			Prop: "deleteDelivered", Group: queues, Description: "Whether the sweep deletes what all consumers of a queue have",
			Default: "false", Allowed: switched, condition: "DeletesDelivered", on: "true", off: "false",
		},

		{Prop: "sortBatchSize", Group: functions, Description: "The most stream records of one call of sort", Default: 1000, Min: 1, Max: 10_000},
	}
	for _, name := range []string{"enqueue", "sort", "sweep", "process", "delivery", "ack"} {
		all = append(all, Parameter{
			Prop: name + "Memory", Group: functions, Description: "Memory of " + name + " in MB; Lambda gives processor time by it",
			Default: 512, Min: 128, Max: 10_240,
		})
	}
	return append(
		all,
		Parameter{Prop: "apiRate", Group: doors, Description: "Requests that each route of the HTTP API takes, a second and at once", Default: 1000, Min: 1, Max: 10_000},
		Parameter{
			Prop: "functionUrl", Group: doors, Description: "Whether enqueue has a function URL for puts beside the HTTP API, without its price",
			Default: "false", Allowed: switched, condition: "HasFunctionUrl", on: "true", off: "false",
		},
		Parameter{
			Prop: "events", Group: doors, Default: "", Pattern: `^$|^\{.+\}$`, sample: `{"queue":"sample.queue","id":"sample.id"}`, Longest: 800,
			Description: `How raw events become messages, as {"queue": "repository.full_name | 'other'", "id": "delivery.id"}; empty: there are none`,
		},

		Parameter{
			Prop: "announceTopic", Group: watching, Description: "The ARN of an SNS topic, not FIFO, that alarms and announcements go to; empty: none", Default: "",
			Pattern: `^$|^arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,256}$`,
			sample:  "arn:aws:sns:us-east-1:123456789012:sample", condition: "HasTopic", on: "arn:aws:sns:us-east-1:123456789012:topic", off: "",
		},
		Parameter{Prop: "eventBus", Group: watching, Description: "The name of the EventBridge bus that announcements go to", Default: "default", Pattern: `^[A-Za-z0-9._/-]{1,256}$`, sample: "sample-bus"},
		Parameter{Prop: "lagAfter", Unit: "Seconds", Group: watching, Description: "The age of a waiting message from which its consumer's lag is announced, and of it or an open gap from which an alarm is raised", Default: 900, Min: 60, Max: year},
		Parameter{
			Prop: "logRetentionDays", Group: watching, Description: "How long logs are kept", Default: 30, sample: "1827",
			Allowed: []any{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653},
		},
		Parameter{Prop: "logSuccesses", Group: watching, Description: "Of a hundred calls that go well, how many are logged", Default: 1, Min: 0, Max: 99, sample: "37"},
		Parameter{
			Prop: "tracing", Group: watching, Description: "Whether X-Ray records calls, at a price", Default: "true",
			Allowed: switched, condition: "HasTracing", on: "true", off: "false",
		},
		Parameter{
			Prop: "savedQueries", Group: watching, Description: "Whether queries for CloudWatch Logs Insights are saved", Default: "true",
			Allowed: switched, condition: "HasSavedQueries", on: "true", off: "false",
		},
	)
}

// withSamples are the parameters, each number with a sample that no other one has.
func withSamples() []Parameter {
	all := Parameters()
	for i, p := range all {
		if number, is := p.Default.(int); is && p.sample == "" {
			all[i].sample = p.Property(701 + i)
			if 701+i == number || 701+i > p.Max {
				panic(p.Prop + " needs a sample of its own")
			}
		}
	}
	return all
}

// declaration is the parameter as the template has it.
func (p Parameter) declaration() map[string]any {
	d := map[string]any{"Type": "String", "Description": p.Description}
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

// written says what stands in the template for the parameter, by the text or the number
// that stands there for its sample.
func (p Parameter) written() (texts map[string]any, numbers map[float64]any) {
	ref := map[string]any{"Ref": p.Name()}
	texts, numbers = map[string]any{}, map[float64]any{}
	if p.Unit != "" {
		d, err := time.ParseDuration(p.sample)
		if err != nil {
			panic(err) // the table above says it
		}
		texts[d.String()] = map[string]any{"Fn::Sub": "${" + p.Name() + "}" + units[p.Unit].suffix}
		if p.Unit == "Seconds" {
			numbers[d.Seconds()] = ref
		}
		return texts, numbers
	}
	texts[p.sample] = ref
	if n, err := strconv.ParseFloat(p.sample, 64); err == nil {
		numbers[n] = ref
	}
	return texts, numbers
}
