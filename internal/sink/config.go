package sink

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/strictjson"
)

// Kind is a kind of sink.
type Kind string

const (
	// Lambda is a function, called synchronously.
	Lambda Kind = "lambda"
	// SQS is a FIFO queue.
	SQS Kind = "sqs"
	// SNS is a FIFO topic.
	SNS Kind = "sns"
	// EventBridge is an event bus.
	EventBridge Kind = "eventbridge"
)

// kinds are the facts about each kind: how its ARNs look, and how much one
// request takes ("Invoke", AWS Lambda API Reference; "SendMessageBatch", Amazon
// SQS API Reference; "PublishBatch", Amazon SNS API Reference; "PutEvents",
// Amazon EventBridge API Reference).
var kinds = map[Kind]struct {
	service        string // in the ARN
	prefix, suffix string // of the ARN's resource
	looks          string // what such an ARN is, for people
	usual, most    int    // bytes
	entries        int    // 0: a request has one document
}{
	Lambda: {"lambda", "function:", "", "arn:aws:lambda:REGION:ACCOUNT:function:NAME", 6 << 20, 6 << 20, 0},
	SQS:    {"sqs", "", ".fifo", "arn:aws:sqs:REGION:ACCOUNT:NAME.fifo", 1 << 20, 1 << 20, 10},
	// A topic takes 256 KiB unless its MaximumMessageSize says otherwise.
	SNS: {"sns", "", ".fifo", "arn:aws:sns:REGION:ACCOUNT:NAME.fifo", 256 << 10, 1 << 20, 10},
	// "Less than 1 MB" is read as the smaller of its two meanings.
	EventBridge: {"events", "event-bus/", "", "arn:aws:events:REGION:ACCOUNT:event-bus/NAME", 1_000_000, 1_000_000, 10},
}

// Config says which sink. In JSON it is read strictly: unknown members, and
// values out of their bounds, are errors that name the field.
type Config struct {
	// Kind is the kind of sink.
	Kind Kind `json:"kind"`
	// ARN is the sink's: of a function (with or without a version or an
	// alias), a FIFO queue, a FIFO topic or an event bus.
	ARN string `json:"arn"`
	// MaxBytes bounds one request and one message, for a queue or a topic
	// whose own bound is not the usual one; at least 1,024. 0 means 6 MiB for
	// lambda, 1 MiB for sqs, 256 KiB for sns and 1 MB for eventbridge. The
	// most is the same, but 1 MiB for sns.
	MaxBytes int `json:"maxBytes,omitempty"`
	// MaxEntries bounds the messages of one request to sqs, sns or
	// eventbridge, from 1 to 10; 0 means 10.
	MaxEntries int `json:"maxEntries,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(raw []byte) error {
	members, err := strictjson.Members(raw)
	if err != nil {
		return err
	}
	var read Config
	for _, m := range members {
		switch m.Name {
		case "kind":
			var kind string
			kind, err = strictjson.Text(m.Value)
			read.Kind = Kind(kind)
		case "arn":
			read.ARN, err = strictjson.Text(m.Value)
		case "maxBytes":
			read.MaxBytes, err = strictjson.Positive(m.Value)
		case "maxEntries":
			read.MaxEntries, err = strictjson.Positive(m.Value)
		default:
			err = errors.New("is not known: there are kind, arn, maxBytes and maxEntries")
		}
		if err != nil {
			return fmt.Errorf("%s %w", m.Name, err)
		}
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*c = read
	return nil
}

// Validate reports the first field that is out of its bounds.
func (c Config) Validate() error {
	_, err := c.check()
	return err
}

// check is Validate, and reads the ARN.
func (c Config) check() (target arn.ARN, err error) {
	kind, known := kinds[c.Kind]
	switch {
	case c.Kind == "":
		return target, errors.New("kind is missing: it must be lambda, sqs, sns or eventbridge")
	case !known:
		return target, fmt.Errorf("kind %q is not known: it must be lambda, sqs, sns or eventbridge", bounded(string(c.Kind)))
	case c.ARN == "":
		return target, fmt.Errorf("arn is missing: it must be like %s", kind.looks)
	}
	target, err = arn.Parse(c.ARN)
	wrong := func(what string) error {
		return fmt.Errorf("arn %q %s: it must be like %s", bounded(c.ARN), what, kind.looks)
	}
	name := strings.TrimSuffix(strings.TrimPrefix(target.Resource, kind.prefix), kind.suffix)
	switch {
	case err != nil:
		return target, wrong("is no ARN")
	case target.Service != kind.service:
		return target, wrong(fmt.Sprintf("is of the service %q", target.Service))
	case target.Partition == "" || target.Region == "" || target.AccountID == "":
		return target, wrong("has no partition, region or account")
	case kind.suffix != "" && !strings.HasSuffix(target.Resource, kind.suffix):
		return target, wrong("is not of a FIFO one")
	case !strings.HasPrefix(target.Resource, kind.prefix) || name == "" || kind.suffix != "" && strings.ContainsAny(name, ":/"):
		return target, wrong("names something else")
	case c.MaxBytes != 0 && (c.MaxBytes < 1024 || c.MaxBytes > kind.most):
		return target, fmt.Errorf("maxBytes is %d: for %s it must be from 1024 to %d", c.MaxBytes, c.Kind, kind.most)
	case c.MaxEntries != 0 && kind.entries == 0:
		return target, fmt.Errorf("maxEntries is set: %s has no entries, and takes it not", c.Kind)
	case c.MaxEntries < 0 || c.MaxEntries > kind.entries:
		return target, fmt.Errorf("maxEntries is %d: it must be from 1 to %d", c.MaxEntries, kind.entries)
	}
	return target, nil
}

// limits are what one request may hold.
type limits struct {
	kind    Kind
	bytes   int
	entries int
}

func (c Config) limits() limits {
	l := limits{c.Kind, kinds[c.Kind].usual, kinds[c.Kind].entries}
	if c.MaxBytes != 0 {
		l.bytes = c.MaxBytes
	}
	if c.MaxEntries != 0 {
		l.entries = c.MaxEntries
	}
	return l
}
