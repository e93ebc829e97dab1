package streamsort

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskinesis"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"

	paths "github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/strictjson"
)

// Source is where records of AWS come from, and what becomes of them: docs/how-to/sources.md.
type Source struct {
	// Name begins the names of its queues, unless Queue says otherwise: 1 to 64 letters, digits,
	// '.', '-' and '_'. Empty means the id, in which it is added.
	Name string `json:"name"`
	// From is the construct that the records come from: an awssqs.IQueue, standard or FIFO; an
	// awssns.ITopic; an awsevents.IEventBus with Pattern, or an awsevents.Rule; an
	// awskinesis.IStream; an awss3.IBucket; an awsdynamodb.ITable or ITableV2 with a stream; a
	// [Kafka].
	From any `json:"-"`
	// Kind is what the records are, where From only carries them: s3, sns or eventbridge of what
	// comes by a queue, s3 of what comes by a topic or a bus. Empty means From's own.
	Kind string `json:"kind"`

	// Queue, Seq, Key, Prev, ID, Each, Body and Attributes are paths:
	// docs/reference/events.md#paths. What is empty is the kind's own. Prefix stands before a queue
	// that is found; nil means Name and a slash. KeyType is the type of the key, First where a
	// queue with a Seq starts: a seq, or here, at its first message; empty means 1. Arrival has the
	// order be that of arrival; beside Seq, each record is to be at exactly its seq.
	Queue      string            `json:"queue,omitempty"`
	Prefix     *string           `json:"prefix,omitempty"`
	Seq        string            `json:"seq,omitempty"`
	First      string            `json:"first,omitempty"`
	Key        string            `json:"key,omitempty"`
	KeyType    string            `json:"keyType,omitempty"`
	ID         string            `json:"id,omitempty"`
	Prev       string            `json:"prev,omitempty"`
	Each       string            `json:"each,omitempty"`
	Body       string            `json:"body,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Arrival    bool              `json:"-"`

	// Pattern chooses events of a bus. It is for an awsevents.IEventBus.
	Pattern *awsevents.EventPattern `json:"-"`
	// Filters choose records of a mapping, by patterns as text: five at most; for a queue, a
	// stream, a table and Kafka.
	Filters []string `json:"-"`
	// Removed has S3 tell of objects that are removed, too. It is for a bucket.
	Removed bool `json:"-"`

	// BatchSize is how many records a call gets at most: 10 of a queue (10 of a FIFO one, 10,000 of
	// another with a window), 100 of the others, to 10,000. BatchWindow is for how long they are
	// gathered: 0 to 5m; 0.
	BatchSize   int           `json:"-"`
	BatchWindow time.Duration `json:"-"`
	// Parallelization is how many calls are made at a time for a shard: 1 to 10; 1. With more,
	// records of one partition key, or item, stay in one call at a time.
	Parallelization int `json:"-"`
	// MaxConcurrency bounds how many calls a queue makes at a time: 2 to 1,000; 0 means no bound.
	MaxConcurrency int `json:"-"`
	// Retries is how often a batch of a shard is tried again, and MaxRecordAge how old its records
	// may be, before they go to the failure queue: 0 to 10,000 and 1m to 7d; 100 and 6h. Until then
	// all that stands behind them in the shard waits.
	Retries      int           `json:"-"`
	MaxRecordAge time.Duration `json:"-"`
	// BehindAfter is the age of what waits from which an alarm is raised: 1m to 7d; 15m.
	BehindAfter time.Duration `json:"-"`
	// Memory in MB and Timeout of the function: 128 to 10,240, and 5s to 15m; 256 and 30s. The
	// visibility timeout of a queue must not be shorter; AWS recommends six times.
	Memory  int           `json:"-"`
	Timeout time.Duration `json:"-"`
}

// text is a source, all of it within its bounds, as its function reads it.
func (o Source) text() (_ string, err error) {
	if err = o.check(); err == nil {
		o.Kind, err = o.kind()
	}
	if err != nil {
		return "", err
	}
	kafka, _ := o.From.(Kafka)
	raw, err := strictjson.Marshal(struct {
		Source
		Order   string `json:"order,omitempty"`
		Partial bool   `json:"partial,omitempty"`
	}{o, either(o.Arrival, "arrival", ""), kafka.Pollers > 0})
	if err == nil {
		_, err = source.Read(raw)
	}
	return string(raw), err
}

// Kafka is a topic of a cluster of MSK, or of another one.
type Kafka struct {
	// ClusterARN is that of a cluster of MSK; BootstrapServers are another one's, as HOST:PORT.
	ClusterARN       *string
	BootstrapServers []string
	Topic            string
	// ConsumerGroup is the group that the records are read as; empty: one that Lambda makes up.
	ConsumerGroup string
	// Access is how the cluster is reached and who we are there, as an event source mapping says
	// it: [{SASL_SCRAM_512_AUTH, ARN of a secret}, {VPC_SUBNET, subnet:ID}, …]. The function may
	// read each secret that is named.
	Access []KafkaAccess
	// Pollers is how many pollers read at least, where the mapping is provisioned: 1 to 200. Only
	// such a mapping takes partial answers and bounds retries: with 0, a batch comes again as a
	// whole, until it is stored.
	Pollers int
}

// KafkaAccess is a SourceAccessConfiguration of an event source mapping.
type KafkaAccess struct{ Type, URI string }

func (o Source) withDefaults(id string) Source {
	_, isQueue := o.From.(awssqs.IQueue)
	fill(&o, Source{Name: id, BatchSize: either(isQueue, 10, 100), Parallelization: 1, Retries: 100,
		MaxRecordAge: 6 * time.Hour, BehindAfter: 15 * time.Minute, Memory: 256,
		Timeout: 30 * time.Second})
	return o
}

// AddSource has the records of a source become messages, by a function of its own: what brings them
// (an event source mapping, a subscription, a rule, a notification) with partial batch responses,
// bounded retries and a failure destination; the rights for the source, for the queues that it can
// name, and no more; a failure queue of its own for records that make no message, and for what AWS
// gives up on; and alarms, with their sections in docs/reference/runbook.md.
//
// The error says what is wrong, and nothing has been made then.
func (s *Streamsort) AddSource(id string, from Source) error {
	from = from.withDefaults(id)
	text, err := from.text()
	if err != nil {
		return fmt.Errorf("source %s: %w", id, err)
	}
	added := addedSource{Streamsort: s, Source: from, id: sourceID + id, text: text}
	added.failures = s.newFailureQueue(added.id + "Failures")
	if added.addFunction(); s.failed != nil {
		return s.failed
	}
	added.connect()
	added.addAlarms()
	s.sources = append(s.sources, named{added.id, added.function})
	s.addEager()
	s.dashboard.SetDashboardBody(s.dashboardBody())
	s.pointQueries()
	return nil
}

// sourceID begins the logical ids of what a source is made of.
const sourceID = "Source"

type addedSource struct {
	*Streamsort
	Source
	id, text string
	failures awssqs.Queue
	function awslambda.Function
	live     awslambda.Alias
}

func (o Source) check() error {
	var c checker
	between(&c, "parallelization", o.Parallelization, 1, 10)
	between(&c, "retries", o.Retries, 0, 10_000)
	between(&c, "batchSize", o.BatchSize, 1, 10_000)
	between(&c, "memory", o.Memory, 128, 10_240)
	between(&c, "timeout", o.Timeout, 5*time.Second, 15*time.Minute)
	between(&c, "batchWindow", o.BatchWindow, 0, 5*time.Minute)
	between(&c, "maxRecordAge", o.MaxRecordAge, time.Minute, 7*24*time.Hour)
	between(&c, "behindAfter", o.BehindAfter, time.Minute, 7*24*time.Hour)
	if o.MaxConcurrency != 0 {
		between(&c, "maxConcurrency", o.MaxConcurrency, 2, 1000)
	}
	if len(o.Filters) > 5 {
		c.fail("filters", "are %d; a mapping has 5 at most", len(o.Filters))
	}
	if kafka, is := o.From.(Kafka); is {
		kafka.check(&c)
	}
	return errors.Join(c.errs...)
}

func (k Kafka) check(c *checker) {
	if (k.ClusterARN == nil) == (len(k.BootstrapServers) == 0) {
		c.fail("kafka", "has a clusterARN and bootstrapServers, or neither; write one of them")
	}
	if k.Topic == "" {
		c.fail("kafka", "has no topic")
	}
	between(c, "pollers", k.Pollers, 0, 200)
	for _, a := range k.Access {
		if !strings.HasPrefix(a.Type, "VPC_") && a.Type != "VIRTUAL_HOST" &&
			!strings.Contains(a.URI, ":secretsmanager:") {
			c.fail("access", "%s is %q, which is no secret of Secrets Manager", a.Type, a.URI)
		}
	}
}

// kind is what the source's records are; the error says what From cannot carry.
func (o Source) kind() (string, error) {
	own, carried := "", []string(nil)
	switch from := o.From.(type) {
	case awssqs.IQueue:
		own, carried = "sqs", []string{"sqs", "sns", "eventbridge", "s3"}
		if isTrue(from.Fifo()) {
			own, carried[0] = "sqsFifo", "sqsFifo"
			if o.BatchSize > 10 || o.BatchWindow != 0 {
				return "", errors.New("a FIFO queue has 10 messages a call at most, and no window")
			}
		} else if o.BatchSize > 10 && o.BatchWindow < time.Second {
			return "", errors.New("more than 10 messages of a queue a call need a batchWindow of 1s or more")
		}
	case awssns.ITopic:
		own, carried = "sns", []string{"sns", "s3", "eventbridge"}
		if isTrue(from.Fifo()) {
			return "", errors.New("a FIFO topic calls no function; subscribe a queue to it, and add that with Kind \"sns\"")
		}
	case awsevents.IEventBus:
		own, carried = "eventbridge", []string{"eventbridge", "s3"}
		if o.Pattern == nil {
			return "", errors.New("a bus needs a Pattern")
		}
	case awsevents.Rule:
		own, carried = "eventbridge", []string{"eventbridge", "s3"}
	case awskinesis.IStream:
		own = "kinesis"
	case awss3.IBucket:
		own = "s3"
	case awsdynamodb.ITable:
		own = "dynamodb"
		if from.TableStreamArn() == nil {
			return "", errors.New("the table has no stream; write Stream (or DynamoStream) in its props")
		}
	case Kafka:
		own = "kafka"
	default:
		return "", fmt.Errorf("a %T is no source; write in From a queue, a topic, a bus, a rule, a stream, a bucket, a table with a stream, or Kafka", from)
	}
	_, isBus := o.From.(awsevents.IEventBus)
	_, isBucket := o.From.(awss3.IBucket)
	switch {
	case o.Pattern != nil && !isBus:
		return "", errors.New("only a bus has a Pattern")
	case o.Removed && !isBucket:
		return "", errors.New("only a bucket has Removed")
	case o.Filters != nil && slices.Contains([]string{"sns", "eventbridge", "s3"}, own):
		return "", errors.New("only a queue, a stream, a table and Kafka have Filters")
	}
	switch {
	case o.Kind == "" || o.Kind == own:
		return own, nil
	case source.FieldsOf(o.Kind) == nil:
		return "", fmt.Errorf("kind %q is not known; write one of %s", o.Kind, list(source.Kinds()))
	}
	if slices.Contains(carried, o.Kind) {
		return o.Kind, nil
	}
	return "", fmt.Errorf("kind %q does not come by this source, whose own is %s", o.Kind, own)
}

// addFunction makes the function, with the rights to put into the queues that the source can name.
func (a *addedSource) addFunction() {
	s := a.Streamsort
	a.function = s.newFunction(function{
		name: "source", id: a.id, description: "Takes the records of " + a.Name,
		takes: FunctionProps{Memory: a.Memory, Timeout: a.Timeout},
		environment: merged(s.announceEnvironment(), map[string]string{
			"STREAMSORT_SOURCE": a.text, "STREAMSORT_FAILURE_QUEUE": *a.failures.QueueUrl(),
		}),
		access: a.access(), quotas: true,
	})
	a.live = s.live[a.function]
}

// access: what webhook does to store a message, in the queues that the source can name; count, set
// aside, and announce.
func (a *addedSource) access() []awsiam.PolicyStatement {
	s := a.Streamsort
	own := &paths.Mapping{Fixed: paths.FixedQueue(a.Queue), Prefix: a.Name + "/"}
	if a.Prefix != nil {
		own.Prefix = *a.Prefix
	}
	statements := s.storeIn(a.Seq != "", own)
	statements = append(statements, s.count(),
		allow([]string{"sqs:SendMessage"}, a.failures.QueueArn()))
	return append(statements, s.announce()...)
}

// addAlarms makes the alarms of the source, and has CodeDeploy move its function.
func (a *addedSource) addAlarms() {
	alarms := append(callAlarms(named{a.id, a.function}), alarm{
		id: a.id + "FailuresAlarm", section: "SourceFailuresAlarm",
		description: "Records of a source made no message, or were given up on",
		metric:      queueMetric(a.failures, visible),
		statistic:   "Maximum", threshold: 1,
	}, a.behindAlarm())
	for _, made := range alarms {
		a.addAlarm(made)
	}
	a.addShift(a.id, a.live)
}

// behindAlarm is raised where records wait for too long, by what each source tells of that.
func (a *addedSource) behindAlarm() alarm {
	made := alarm{
		id: a.id + "BehindAlarm", section: "SourceBehindAlarm", statistic: "Maximum",
		description: "Records of a source wait for " + text(a.BehindAfter) + " or longer",
	}
	switch from := a.From.(type) {
	case awssqs.IQueue:
		made.metric, made.threshold = queueMetric(from, "ApproximateAgeOfOldestMessage"),
			a.BehindAfter.Seconds()
	case awskinesis.IStream, awsdynamodb.ITable:
		made.metric, made.threshold = lambdaMetric(a.function, "IteratorAge"),
			float64(a.BehindAfter.Milliseconds())
	case Kafka:
		made.metric, made.threshold, made.periods = lambdaMetric(a.function, "OffsetLag"), kafkaLag, 3
		made.description = fmt.Sprintf("%d records of a topic wait", kafkaLag)
	default:
		made.metric, made.threshold = lambdaMetric(a.function, "AsyncEventAge"),
			float64(a.BehindAfter.Milliseconds())
	}
	return made
}

// kafkaLag is how many records of a topic may wait: Kafka tells no age.
const kafkaLag = 10_000
