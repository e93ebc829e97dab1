package streamsort

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/sink"
	"github.com/streamsort/streamsort/internal/sink/s3"
)

// Consumer is one that process delivers every queue's messages to.
type Consumer struct {
	// Name is its name: 1 to 128 of a-z, A-Z, 0-9, '.', '-' and '_'. Its place in each queue is
	// stored under it.
	Name string `json:"name"`
	// Sink is where process delivers its batches; nil where a function of your own reads under this
	// name. The sweep has to know of both: it wakes up those whose stream record was dropped.
	Sink *Sink `json:"sink,omitempty"`
	// To is the sink as a construct, in place of its kind and ARN: an awslambda.IFunction (an alias
	// or a version too), a FIFO awssqs.IQueue, a FIFO awssns.ITopic, an awsevents.IEventBus or an
	// awss3.IBucket. process is allowed to use it, and its key where it has one. Sink may still
	// bound what a request to it takes.
	To constructs.IConstruct `json:"-"`
	// Start is where it begins in a queue that it has never read: "first", "latest" or a seq;
	// "first".
	Start string `json:"start,omitempty"`
	// Prefix limits it to the queues whose names begin so.
	Prefix string `json:"prefix,omitempty"`
	// MaxMessages is the most messages of a batch, 1 to 1,000; 100.
	MaxMessages int `json:"maxMessages,omitempty"`
	// MaxBytes bounds the bodies of a batch, 1 to 16 MB; 4 MB.
	MaxBytes int `json:"maxBytes,omitempty"`
	// MaxAttempts is how often a message is tried alone before the consumer is blocked in its
	// queue, 2 to 1,000; 5.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// BlockAfter is how long after its first failure a message that failed so often blocks its
	// consumer, if the sink takes others or no other queue fails, "1s" to "720h"; "1h".
	BlockAfter string `json:"blockAfter,omitempty"`
	// Retries is how long after each failure a message is tried again, the last one again and
	// again: 1 to 10 of "100ms" to "1h"; "1s", "10s", "1m" and "5m".
	Retries []string `json:"retries,omitempty"`
	// Circuit is when nothing but a probe is delivered any more, because the sink is away; nil for
	// the defaults.
	Circuit *Circuit `json:"circuit,omitempty"`
	// Track, where it is not empty, is how long the work of a batch may take, such as "15m": "1s"
	// to "720h". Each message then carries an edge, and the batch is committed when the work of all
	// of them was reported to ack as done, else it comes again.
	Track string `json:"track,omitempty"`
	// Eager has process called as soon as one of its queues has moved, beside the stream: a message
	// need not wait until that is polled, at the price of a call for each request that moves
	// queues. It needs a sink.
	Eager bool `json:"eager,omitempty"`
}

// Circuit is when a sink is taken for away, and how it is found to be back.
type Circuit struct {
	// Off has it never open: where each queue has a sink of its own, many that fail say nothing
	// about the others.
	Off bool `json:"off,omitempty"`
	// Queues is how many queues fail, with nothing taken for 10 seconds, until the circuit is open,
	// 2 to 10; 3.
	Queues int `json:"queues,omitempty"`
	// Probes is how long it is to the first probe, and after each that fails to the next, the last
	// time again and again: 1 to 10 of "100ms" to "1h"; "5s", "15s", "1m" and "2m".
	Probes []string `json:"probes,omitempty"`
	// WakeRate is how many queues a second are woken up when the sink is back, 1 to 1,000; 50.
	WakeRate int `json:"wakeRate,omitempty"`
}

// Sink takes batches.
type Sink struct {
	// Kind is lambda, sqs, sns, eventbridge, http or s3.
	Kind string `json:"kind"`
	// ARN is that of a function, a FIFO queue, a FIFO topic, an event bus or a bucket. It may be
	// one that is known after the deployment only. process is allowed to use it. Without one, a
	// sink of the kind s3 has a bucket of the stack's.
	ARN *string `json:"arn,omitempty"`
	// HTTP is of the kind http alone.
	HTTP
	// MaxBytes bounds one request and one message: at least 1,024. 0 means 6 MiB for lambda, 1 MiB
	// for sqs and http, 256 KiB for sns and 1 MB for eventbridge.
	MaxBytes int `json:"maxBytes,omitempty"`
	// MaxEntries bounds the messages of one request to sqs, sns or eventbridge, 1 to 10; 10.
	MaxEntries int `json:"maxEntries,omitempty"`
	// Format is cloudevents where sqs, eventbridge or http are to get each message as a CloudEvent.
	Format string `json:"format,omitempty"`
	// Key is the ARN of the key of yours that messages there are encrypted with, for process to be
	// allowed to use it; nil without one. A To knows its own.
	Key *string `json:"-"`
}

// HTTP is an endpoint that takes POST requests.
type HTTP struct {
	// URL is where requests go to: https://, and an address that is public, or that Props.HTTPAllow
	// allows.
	URL string `json:"url,omitempty"`
	// Endpoints, in its place, has each queue, or all queues of a prefix, go to an endpoint of its
	// own, which PUT /endpoints sets while the stack runs; a tenant sets those of its queues. Each
	// has secrets of its own. A queue without one waits.
	Endpoints bool `json:"endpoints,omitempty"`
	// Mode is "single", a request a message, or "batch", one a batch; "single".
	Mode string `json:"mode,omitempty"`
	// Sign is how requests are signed; nil for not at all.
	Sign *Sign `json:"sign,omitempty"`
	// Timeout is how long a request may take, "1s" to "1m"; "10s".
	Timeout string `json:"timeout,omitempty"`
	// Ports are those that URL may have, 20 at most; 443.
	Ports []int `json:"ports,omitempty"`
	// Headers are added to each request, 10 at most.
	Headers map[string]string `json:"headers,omitempty"`
}

// Sign is how requests to an endpoint are signed.
type Sign struct {
	// Scheme is standard (Standard Webhooks), hmac or bearer.
	Scheme string `json:"scheme"`
	// Secret is the whole ARN of a secret of Secrets Manager, or of a parameter of Systems Manager.
	// It may be one that is known after the deployment only. Its value is one secret, or a JSON
	// list of those that are valid at a time, the newest first. process is allowed to read it.
	Secret *string `json:"secret"`
	// Header has the signature of the scheme hmac, in hexadecimal digits, behind Prefix.
	Header string `json:"header,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	// Key is the ARN of the customer-managed key that the secret is encrypted with, for process to
	// be allowed to use it; nil without one.
	Key *string `json:"-"`
}

// readConsumers is p.Consumers, or what p.ConsumersFile holds in its place.
func (p Props) readConsumers() ([]Consumer, error) {
	if p.ConsumersFile == "" {
		return aim(p.Consumers)
	}
	if p.Consumers != nil {
		return nil, errors.New("consumersFile is set beside consumers; write one of them")
	}
	var file struct{ Consumers []fileConsumer }
	if err := readFile(p.ConsumersFile, &file, func(text []byte) error {
		_, err := consumers.Read(text, hidden{}.look)
		return err
	}); err != nil {
		return nil, fmt.Errorf("consumersFile %w", err)
	}
	all := make([]Consumer, len(file.Consumers))
	for i, c := range file.Consumers {
		all[i] = Consumer(c.consumer)
		all[i].Start = c.start()
	}
	return all, nil
}

// fileConsumer is a Consumer whose start may be written as a number.
type fileConsumer struct {
	consumer
	Start json.RawMessage `json:"start"`
}

type consumer Consumer

func (c fileConsumer) start() string {
	var text string
	if json.Unmarshal(c.Start, &text) == nil {
		return text
	}
	return string(c.Start)
}

// consumersFile is what process is configured by: the file's text, and the variables that hold the
// ARNs which are known after the deployment only. No consumers make no file.
func consumersFile(all []Consumer) (text string, variables map[string]string, err error) {
	if len(all) == 0 {
		return "", nil, nil
	}
	arns := newHidden()
	file := make([]Consumer, len(all))
	for i, c := range all {
		if c.Sink != nil {
			to := *c.Sink
			kind, _ := sink.KindOf(to.Kind) // one that is not known is reported with the rest
			arn := &to.ARN
			if to.Sign != nil { // the one that is hidden is what its requests are signed with
				sign := *to.Sign
				to.Sign, arn = &sign, &sign.Secret
			}
			*arn = arns.hide(*arn, consumers.Variable(i), kind.Example)
			c.Sink = &to
		}
		file[i] = c
	}
	raw, err := json.Marshal(struct {
		Consumers []Consumer `json:"consumers"`
	}{file})
	if err != nil {
		return "", nil, err
	}
	_, err = consumers.Read(raw, arns.look)
	return string(raw), arns.variables, err
}

// toSinks allows process to hand batches to the sinks, and to use their keys.
func toSinks(all []Consumer) []awsiam.PolicyStatement {
	var statements []awsiam.PolicyStatement
	for _, c := range all {
		if c.Sink == nil {
			continue
		}
		// consumersFile has read it: its kind is known.
		kind, _ := sink.KindOf(c.Sink.Kind)
		if c.Sink.Kind == "http" {
			statements = append(statements, toSecret(c.Sink.Sign)...)
			continue
		}
		statement := allow([]string{kind.Action}, c.Sink.ARN)
		switch c.Sink.Kind {
		case "eventbridge":
			statement = ownEvents(statement)
		case s3.Name:
			statement = allow([]string{kind.Action}, c.objects())
		}
		statements = append(statements, statement)
		if c.Sink.Key != nil {
			statements = append(statements,
				allow([]string{"kms:Decrypt", "kms:GenerateDataKey"}, c.Sink.Key))
		}
	}
	return statements
}

func toSecret(sign *Sign) []awsiam.PolicyStatement {
	if sign == nil {
		return nil
	}
	statements := []awsiam.PolicyStatement{readSecret(*sign.Secret)}
	if sign.Key != nil {
		statements = append(statements, allow([]string{"kms:Decrypt"}, sign.Key))
	}
	return statements
}

// withEndpoints are the names of those whose queues have endpoints of their own: process delivers
// by calls of its own what would hold up others.
func withEndpoints(all []Consumer) (names []string) {
	for _, c := range all {
		if c.Sink != nil && c.Sink.Endpoints {
			names = append(names, c.Name)
		}
	}
	return names
}

// tracks reports whether a consumer is tracked: its reader works on chains.
func tracks(all []Consumer) bool {
	return slices.ContainsFunc(all, func(c Consumer) bool { return c.Track != "" })
}

// readersText is what of the consumers' file the sweep, and what moves queues of eager consumers,
// get.
func readersText(all []Consumer) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	file := struct {
		Consumers []Consumer `json:"consumers"`
	}{make([]Consumer, len(all))}
	for i, c := range all {
		// MaxAttempts bounds what kills a worker, too; the sweep's function wakes queues up.
		read := Consumer{Name: c.Name, Prefix: c.Prefix, MaxAttempts: c.MaxAttempts, Eager: isEager(c)}
		if c.Circuit != nil && c.Circuit.WakeRate > 0 {
			read.Circuit = &Circuit{WakeRate: c.Circuit.WakeRate}
		}
		if c.isArchive() { // the sweep erases it with its queue
			read.Sink = &Sink{Kind: s3.Name, ARN: c.Sink.ARN}
		}
		file.Consumers[i] = read
	}
	text, err := json.Marshal(file)
	if err == nil && len(text) > maxReadersText {
		err = fmt.Errorf("consumers: their names and prefixes take %d bytes; make them shorter, %d is the most", len(text), maxReadersText)
	}
	return string(text), err
}

// maxReadersText is what of the 4 KB that a function's environment may have is left for the
// readers.
const maxReadersText = 2000
