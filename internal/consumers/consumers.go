// Package consumers reads the file that says to whom
// functions/process delivers: consumers.json, which lies beside the function's program, or, where
// [TextVariable] of its environment is set, the same text in there.
//
//	{"consumers": [
//	  {"name": "billing", "sink": {"kind": "sqs", "arn": "arn:aws:sqs:eu-west-1:123456789012:billing.fifo"}},
//	  {"name": "search", "start": "latest", "prefix": "shop/", "maxMessages": 10, "maxBytes": 1000000, "maxAttempts": 3,
//	   "sink": {"kind": "lambda", "arn": "${STREAMSORT_SINK_1}"}},
//	  {"name": "slow", "retries": ["5s", "1m", "10m"], "blockAfter": "6h",
//	   "circuit": {"queues": 5, "probes": ["5s", "1m"], "wakeRate": 20},
//	   "sink": {"kind": "lambda", "arn": "${STREAMSORT_SINK_2}"}},
//	  {"name": "hooks", "batchWindow": "2s", "sink": {"kind": "lambda", "arn": "${STREAMSORT_SINK_3}"}},
//	  {"name": "words", "track": "15m", "sink": {"kind": "lambda", "arn": "${STREAMSORT_SINK_4}"}},
//	  {"name": "books"}
//	]}
//
// One without a sink is read by a function of the user's own: process passes it
// over, and the sweep, which knows of it by this, looks after it.
//
// One with track is committed when the work of its messages is done, which may
// take so long: see [handoff.Reader].
//
// It is read strictly: a member that is not known, given twice, or out of its
// bounds is an error that names it. An ARN that is only known once the stack is
// deployed is in the function's environment, and the file names the
// variable.
package consumers

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/sink"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// File is the file's name.
const File = "consumers.json"

// TextVariable is the environment variable that has the file's text in the file's place: where
// the function is deployed from a zip that is the same for everybody. All of a function's
// environment has 4 KB.
const TextVariable = "STREAMSORT_CONSUMERS"

// Variable is the environment variable of the i-th consumer's ARN, where the
// file does not hold it.
func Variable(i int) string { return fmt.Sprintf("STREAMSORT_SINK_%d", i) }

// Max is the most consumers of one file. Each reads every batch of its queues
// for itself, in the same invocation.
const Max = 20

// Consumer is one of the file: a reader, still without its handler, and where
// it delivers its batches; Sink is the zero Config where another function does.
type Consumer struct {
	Reader handoff.Reader
	Sink   sink.Config
}

// HasSink reports whether process delivers the consumer's batches.
func (c Consumer) HasSink() bool { return !c.Sink.IsZero() }

// Read reads the file's text. lookup finds the variables of the environment
// that it names, as os.LookupEnv does.
func Read(text []byte, lookup func(name string) (string, bool)) ([]Consumer, error) {
	return file.Read(text, lookup)
}

// file is what the file holds. What may stand in a variable's place is an ARN,
// which no JSON text needs to escape.
var file = assetfile.List[Consumer]{
	Name: "consumers", Max: Max, Variable: regexp.MustCompile(`\$\{(STREAMSORT_SINK_[0-9]+)\}`),
	Element: read, NameOf: func(c Consumer) string { return c.Reader.Name },
}

// read reads one consumer. Its error begins with a member's name.
func read(members []strictjson.Member) (c Consumer, err error) {
	for _, m := range members {
		switch m.Name {
		case "name":
			c.Reader.Name, err = strictjson.Text(m.Value)
		case "prefix":
			c.Reader.Prefix, err = strictjson.Text(m.Value)
			if all := c.Reader.Prefix == "@"; err == nil && tenant.IsCut(c.Reader.Prefix) && !all {
				// The queues of a tenant whose name begins so would be delivered too.
				err = errors.New("begins with '@', and with no whole tenant: it must be like @acme/, or @ for all tenants, or begin otherwise")
			}
		case "start":
			c.Reader.Start, err = start(m.Value)
		case "maxMessages":
			c.Reader.MaxMessages, err = strictjson.Positive(m.Value)
		case "maxBytes":
			c.Reader.MaxBytes, err = strictjson.Positive(m.Value)
		case "maxAttempts":
			c.Reader.MaxAttempts, err = strictjson.Positive(m.Value)
		case "blockAfter":
			c.Reader.BlockAfter, err = duration(m.Value)
		case "retries":
			c.Reader.Retries, err = durations(m.Value)
		case "circuit":
			c.Reader.Circuit, err = circuit(m.Value)
		case "batchWindow":
			c.Reader.BatchWindow, err = duration(m.Value)
		case "track":
			c.Reader.Track, err = duration(m.Value)
		case "sink":
			if err = json.Unmarshal(m.Value, &c.Sink); err != nil {
				return c, fmt.Errorf("sink: %w", err)
			}
		default:
			err = errors.New("is not known: there are name, sink, start, prefix, maxMessages, maxBytes, maxAttempts, blockAfter, retries, circuit, batchWindow and track")
		}
		if err != nil {
			return c, fmt.Errorf("%s %w", m.Name, err)
		}
	}
	c.Sink.Defaults(&c.Reader)
	var invalid *cursor.InvalidError
	if err = c.Reader.Validate(); errors.As(err, &invalid) && invalid.Field == "consumer" {
		return c, fmt.Errorf("name %s", invalid.Problem)
	}
	return c, err
}

// circuit reads the bounds of a circuit.
func circuit(raw json.RawMessage) (c handoff.Circuit, err error) {
	members, err := strictjson.Members(raw)
	if err != nil {
		return c, err
	}
	for _, m := range members {
		switch m.Name {
		case "queues":
			c.Queues, err = strictjson.Positive(m.Value)
		case "off":
			if err = json.Unmarshal(m.Value, &c.Off); err != nil || string(m.Value) == "null" {
				err = errors.New("must be true or false")
			}
		case "probes":
			c.Probes, err = durations(m.Value)
		case "wakeRate":
			c.WakeRate, err = strictjson.Positive(m.Value)
		default:
			err = errors.New("is not known: there are off, queues, probes and wakeRate")
		}
		if err != nil {
			return c, fmt.Errorf("has a member %s that %w", m.Name, err)
		}
	}
	return c, nil
}

// duration reads how long something may take.
func duration(raw json.RawMessage) (time.Duration, error) {
	text, err := strictjson.Text(raw)
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New(`must be a duration such as "90s" or "15m"`)
	}
	return d, nil
}

// durations reads a list of them.
func durations(raw json.RawMessage) ([]time.Duration, error) {
	const must = `must be a list of 1 to 10 durations such as ["1s", "1m"]`
	elements, err := strictjson.Elements(raw, 10)
	if err != nil || len(elements) == 0 {
		return nil, errors.New(must)
	}
	all := make([]time.Duration, len(elements))
	for i, element := range elements {
		if all[i], err = duration(element); err != nil {
			return nil, fmt.Errorf("%s: element %d is none", must, i)
		}
	}
	return all, nil
}

// start reads where a consumer begins: a word or a seq, the latter as a number
// or as text.
func start(raw json.RawMessage) (handoff.Start, error) {
	if seq, err := jsonseq.Read(raw); err == nil {
		return handoff.At(seq), nil
	}
	text, err := strictjson.Text(raw)
	if err == nil && text != "" {
		if begins, err := handoff.ParseStart(text); err == nil {
			return begins, nil
		}
	}
	return handoff.Start{}, errors.New("must be first, latest or a seq")
}
