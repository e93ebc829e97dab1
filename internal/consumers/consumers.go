// Package consumers reads the file that says to whom functions/process delivers: consumers.json,
// which lies beside the function's program, or, where [TextVariable] of its environment is set, the
// same text in there.
//
//	{"consumers": [
//	  {"name": "billing", "sink": {"kind": "sqs", "arn": "arn:aws:sqs:eu-west-1:123456789012:billing.fifo"}},
//	  {"name": "slow", "start": "latest", "prefix": "shop/", "eager": true, "maxMessages": 10,
//	   "retries": ["5s", "1m", "10m"], "blockAfter": "6h",
//	   "circuit": {"queues": 5, "probes": ["5s", "1m"], "wakeRate": 20},
//	   "sink": {"kind": "lambda", "arn": "${STREAMSORT_SINK_1}"}},
//	  {"name": "words", "track": "15m", "sink": {"kind": "lambda", "arn": "${STREAMSORT_SINK_2}"}},
//	  {"name": "books"}
//	]}
//
// One without a sink is read by a function of the user's own: process passes it over, and the
// sweep, which knows of it by this, looks after it. An eager one is delivered to as soon as a queue
// has moved, by a call beside the stream. One with track is committed when the work of its messages
// is done, which may take so long: see [delivery.Reader].
//
// It is read strictly: a member that is not known, given twice, or out of its bounds is an error
// that names it. An ARN that is only known once the stack is deployed is in the function's
// environment, and the file names the variable.
package consumers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/sink"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// File is the file's name.
const File = "consumers.json"

// TextVariable is the environment variable that has the file's text in the file's place: where the
// function is deployed from a zip that is the same for everybody. All of a function's environment
// has 4 KB.
const TextVariable = "STREAMSORT_CONSUMERS"

const (
	// SlowVariable is the environment variable with the ARN of the function that process calls for
	// what would hold up other queues: its own program, deployed once more.
	SlowVariable = "STREAMSORT_SLOW_FUNCTION"
	// ShareVariable is that of such a function: how many of its invocations a tenant may have at a
	// time.
	ShareVariable = "STREAMSORT_SLOW_SHARE"
)

// Variable is the environment variable of the i-th consumer's ARN, where the file does not hold it.
func Variable(i int) string { return fmt.Sprintf("STREAMSORT_SINK_%d", i) }

// Max is the most consumers of one file. Each reads every batch of its queues for itself, in the
// same invocation.
const Max = 20

// Consumer is one of the file: a reader, still without its handler, and where it delivers its
// batches; Sink is the zero Config where another function does.
type Consumer struct {
	Reader delivery.Reader
	Sink   sink.Config
}

// HasSink reports whether process delivers the consumer's batches.
func (c Consumer) HasSink() bool { return !c.Sink.IsZero() }

// Read reads the file's text. lookup finds the variables of the environment that it names, as
// os.LookupEnv does.
func Read(text []byte, lookup func(name string) (string, bool)) ([]Consumer, error) {
	return file.Read(text, lookup)
}

// file is what the file holds. What may stand in a variable's place is an ARN, which no JSON text
// needs to escape.
var file = assetfile.List[Consumer]{
	Name: "consumers", Max: Max, Variable: regexp.MustCompile(`\$\{(STREAMSORT_SINK_[0-9]+)\}`),
	Element: read, NameOf: func(c Consumer) string { return c.Reader.Name },
}

// document is a consumer as it is written. The bounds of its numbers are those of
// [delivery.Reader].
type document struct {
	Name        string          `json:"name"`
	Sink        sink.Config     `json:"sink"`
	Start       delivery.Start  `json:"start"`
	Prefix      string          `json:"prefix"`
	MaxMessages int             `json:"maxMessages"`
	MaxBytes    int             `json:"maxBytes"`
	MaxAttempts int             `json:"maxAttempts"`
	BlockAfter  time.Duration   `json:"blockAfter"`
	Retries     []time.Duration `json:"retries" bounds:"1..10" like:"[\"1s\", \"1m\"]"`
	Circuit     circuit         `json:"circuit"`
	Track       time.Duration   `json:"track"`
	Eager       bool            `json:"eager"`
}

type circuit struct {
	Off      bool            `json:"off"`
	Queues   int             `json:"queues"`
	Probes   []time.Duration `json:"probes" bounds:"1..10" like:"[\"5s\", \"1m\"]"`
	WakeRate int             `json:"wakeRate"`
}

func read(raw json.RawMessage) (Consumer, error) {
	var d document
	if err := strictjson.Decode(raw, &d); err != nil {
		return Consumer{}, err
	}
	if tenant.IsCut(d.Prefix) && d.Prefix != "@" {
		// The queues of a tenant whose name begins so would be delivered too.
		return Consumer{}, invalid.New(invalid.Malformed, "prefix",
			"begins with '@', and with no whole tenant: it must be like @acme/, or @ for all "+
				"tenants, or begin otherwise")
	}
	c := Consumer{delivery.Reader{
		Name: d.Name, Start: d.Start, Prefix: d.Prefix, MaxMessages: d.MaxMessages, MaxBytes: d.MaxBytes,
		MaxAttempts: d.MaxAttempts, BlockAfter: d.BlockAfter, Retries: d.Retries,
		Circuit: delivery.Circuit(d.Circuit), Track: d.Track, Eager: d.Eager,
	}, d.Sink}
	if d.Eager && !c.HasSink() {
		return Consumer{}, invalid.New(invalid.Clash, "eager",
			"is true, and there is no sink: only process is called at once; leave it out")
	}
	err := cmp.Or(c.Sink.Defaults(&c.Reader), c.Reader.Validate())
	if wrong := (*invalid.Error)(nil); errors.As(err, &wrong) && wrong.Field == "consumer" {
		err = invalid.Named("name", err)
	}
	return c, err
}
