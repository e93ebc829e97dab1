// Package fifo is the two kinds of sink that are FIFO: queues of SQS and topics of SNS. They have
// in common the entries of a request, and what its answer says of each.
package fifo

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/xray"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Attributes are what the message attributes of SQS and SNS say of a message, by their names. Each
// is a String, but a Binary of the same UTF-8 bytes where it has characters that SQS does not take.
type Attributes struct {
	// The queue's whole name.
	Queue string `json:"queue"`
	// Whose queue it is, where its name has a tenant in front. Not of a keyed queue.
	Tenant string `json:"tenant,omitempty"`
	// The message's seq in its queue, in decimal.
	Seq string `json:"seq" jsonschema:"pattern=^[0-9]+$"`
	// The consumer's name.
	Consumer string `json:"consumer"`
	// The claim's token: its number, which rises with every claim of the consumer, a hyphen, and
	// its request.
	Token string `json:"token" jsonschema:"pattern=^[0-9]+-"`
	// The token of the message's work, of a tracked consumer alone.
	Edge string `json:"edge,omitempty"`
	// The media type of the body, before its encoding.
	ContentType string `json:"contentType"`
	// The message's id, if it has one.
	ID string `json:"id,omitempty"`
	// The message's own attributes, if it has any: a JSON object of texts.
	Own string `json:"attributes,omitempty"`
	// How the body is encoded: not at all where this is missing. Neither service takes an empty
	// body: a hyphen stands for it.
	Encoding string `json:"encoding,omitempty" jsonschema:"enum=base64,enum=empty"`
	// For a keyed queue alone: a JSON object with the message's key, and with late and unlinked
	// where it is.
	Keyed string `json:"keyed,omitempty"`
	// The trace context that the message came with, if it did, and as far as ten attributes go.
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
}

const maxAttributes = 10

// Keyed is what the attribute "keyed" says, in JSON, as the documents for other sinks do.
type Keyed struct {
	Key      json.RawMessage `json:"key"`
	Late     bool            `json:"late,omitempty"`
	Unlinked bool            `json:"unlinked,omitempty"`
	// The trace context, where there is no room for its attributes.
	Traceparent string `json:"traceparent,omitempty"`
	Tracestate  string `json:"tracestate,omitempty"`
}

// byName are those that are not empty, as requests have them.
func (a Attributes) byName() map[string]awscall.Attribute {
	all := map[string]awscall.Attribute{}
	for name, value := range map[string]string{
		"queue":       a.Queue,
		"tenant":      a.Tenant,
		"seq":         a.Seq,
		"consumer":    a.Consumer,
		"token":       a.Token,
		"edge":        a.Edge,
		"contentType": a.ContentType,
		"id":          a.ID,
		"attributes":  a.Own,
		"encoding":    a.Encoding,
		"keyed":       a.Keyed,
		"traceparent": a.Traceparent,
		"tracestate":  a.Tracestate,
	} {
		switch {
		case value == "":
		case allowed(value):
			all[name] = awscall.Attribute{DataType: "String", StringValue: value}
		default:
			all[name] = awscall.Attribute{DataType: "Binary", BinaryValue: []byte(value)}
		}
	}
	return all
}

// itemsOf are the messages of a batch, or where events is set, CloudEvents in JSON: then the
// attributes say of the event what they say of a message.
func itemsOf(b delivery.Batch, events bool) ([]kind.Item[awscall.Entry], error) {
	group, dedup := groupOf(b.Queue), dedupPrefix(b)
	of, _ := tenant.Split(b.Queue)
	items := make([]kind.Item[awscall.Entry], 0, len(b.Messages))
	for i, m := range b.Messages {
		entry := awscall.Entry{Group: group, DeduplicationID: dedupOf(dedup, m.Seq, b.Rewinds)}
		if b.Edges != nil {
			// Delivered again it is other work, which must not be dropped: its first edge's chain
			// has failed.
			entry.DeduplicationID += "." + b.Edges[i].Op().String()
		}
		attributes := Attributes{
			Queue: b.Queue, Tenant: of, Seq: strconv.FormatInt(m.Seq, 10), Consumer: b.Consumer,
			Token:       b.Token.String(),
			Edge:        kind.EdgeOf(b, i),
			ContentType: cmp.Or(m.ContentType, cursor.DefaultContentType), ID: m.ID,
		}
		if len(m.Attributes) > 0 {
			own, err := strictjson.Marshal(m.Attributes)
			if err != nil {
				return nil, err
			}
			attributes.Own = string(own)
		}
		body := m.Body
		if events {
			var err error
			if body, err = kind.EventOf(b, i, nil); err != nil {
				return nil, err
			}
			attributes.ContentType = cloudevents.MediaType
		}
		entry.Body, attributes.Encoding = textOf(body)
		attributes.Traceparent, attributes.Tracestate, entry.Trace = m.Trace.Parent, m.Trace.State,
			xray.Header(m.Trace)
		if m.Key != "" {
			if err := attributes.sayKeyed(m); err != nil {
				return nil, err
			}
		}
		// The queue's name has the tenant too, and the W3C allows to leave the tracestate out.
		for _, spare := range []*string{&attributes.Tenant, &attributes.Tracestate} {
			if len(attributes.byName()) > maxAttributes {
				*spare = ""
			}
		}
		entry.Attributes = attributes.byName()
		// What it takes of the services' limits.
		size := len(entry.Body)
		for name, a := range entry.Attributes {
			size += len(name) + len(a.DataType) + len(a.StringValue) + len(a.BinaryValue)
		}
		items = append(items, kind.Item[awscall.Entry]{Seq: m.Seq, Bytes: size, Entry: entry})
	}
	return items, nil
}

// sayKeyed says what a keyed queue knows of a message, in the place of the tenant, which the
// queue's name has too. Where the message has all attributes that there are, its trace is there as
// well.
func (a *Attributes) sayKeyed(m cursor.Message) error {
	said := Keyed{Key: m.Key.JSON(), Late: m.Late, Unlinked: m.Unlinked}
	a.Keyed, a.Tenant = "{}", ""
	if len(a.byName()) > maxAttributes {
		said.Traceparent, said.Tracestate = a.Traceparent, a.Tracestate
		a.Traceparent, a.Tracestate = "", ""
	}
	keyed, err := strictjson.Marshal(said)
	a.Keyed = string(keyed)
	return err
}

// textOf is a body as a text that SQS takes, and how it is encoded.
func textOf(body []byte) (text, encoding string) {
	switch {
	case len(body) == 0:
		return "-", "empty"
	case allowed(string(body)):
		return string(body), ""
	}
	return base64.StdEncoding.EncodeToString(body), "base64"
}

// allowed reports whether SQS takes a text as it is: UTF-8, of the characters that XML has
// ("SendMessage", Amazon SQS API Reference). It would refuse others, or put U+FFFD in their place.
func allowed(text string) bool {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return false
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
			return false
		}
		i += size
	}
	return true
}

const (
	maxGroup    = 128
	hashedGroup = "sha256:"
)

// groupOf is the group of a queue's messages. No two queues share one: a name that looks like a
// hash is hashed as well.
func groupOf(queue string) string {
	fits := len(queue) >= 1 && len(queue) <= maxGroup
	for i := 0; fits && i < len(queue); i++ {
		fits = queue[i] > ' ' && queue[i] < 0x7F // letters, digits, punctuation
	}
	if fits && (len(queue) < len(hashedGroup) || queue[:len(hashedGroup)] != hashedGroup) {
		return queue
	}
	sum := sha256.Sum256([]byte(queue))
	return hashedGroup + hex.EncodeToString(sum[:])
}

// dedupPrefix stands for the consumer and the queue, each length-prefixed, in 32 hex digits.
func dedupPrefix(b delivery.Batch) string {
	hash := sha256.New()
	for _, part := range []string{b.Consumer, b.Queue} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		hash.Write(size[:])
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// dedupOf is the id by which SQS and SNS drop a repeat, at most 74 characters; that of a tracked
// message has 17 more.
func dedupOf(prefix string, seq, rewinds int64) string {
	return prefix + "." + strconv.FormatInt(seq, 10) + "." + strconv.FormatInt(rewinds, 10)
}

// SQS is an SQS FIFO queue.
var SQS = kind.Resource{
	Name: "sqs", Looks: "arn:aws:sqs:REGION:ACCOUNT:NAME.fifo", Action: "sqs:SendMessage",
	// "SendMessageBatch", Amazon SQS API Reference.
	Bytes: 1 << 20, MaxBytes: 1 << 20, Entries: 10, Events: true,
	Open: func(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
		client, err := client(awscall.SQS, t, transport)
		if err != nil {
			return nil, err
		}
		// SQS's API names a queue by its URL.
		url := client.Endpoint() + "/" + t.ARN.AccountID + "/" + t.ARN.Resource
		return &sink{url, client.SendBatch, t}, nil
	},
}.Kind()

// SNS is an SNS FIFO topic.
var SNS = kind.Resource{
	Name: "sns", Looks: "arn:aws:sns:REGION:ACCOUNT:NAME.fifo", Action: "sns:Publish",
	// "PublishBatch", Amazon SNS API Reference. A topic takes 256 KiB unless its MaximumMessageSize
	// says otherwise.
	Bytes: 256 << 10, MaxBytes: 1 << 20, Entries: 10,
	Open: func(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
		client, err := client(awscall.SNS, t, transport)
		return &sink{t.ARN.String(), client.PublishBatch, t}, err
	},
}.Kind()

func client(of awscall.Service, t kind.Target,
	transport http.RoundTripper) (*awscall.Client, error) {
	return awscall.New(of, awscall.Options{Region: t.ARN.Region, Transport: transport,
		Timeout: kind.RequestTimeout})
}

// sink is a queue or a topic, by what requests name it by, and what makes one to it.
type sink struct {
	name      string
	sendBatch func(context.Context, string, []awscall.Entry) (awscall.Verdicts, error)
	kind.Target
}

// Send implements [kind.Sink].
func (s *sink) Send(ctx context.Context, b delivery.Batch) error {
	items, err := itemsOf(b, s.Events)
	if err != nil {
		return err
	}
	return kind.SendAll(ctx, b.Queue, items, s.Limits, true, s.put)
}

// put is one request. Its answer names entries by ids, which are their places here; one that the
// answer does not name was not taken, as far as we know.
func (s *sink) put(ctx context.Context, entries []awscall.Entry) ([]kind.Refusal, error) {
	for i := range entries {
		entries[i].ID = strconv.Itoa(i)
	}
	out, err := s.sendBatch(ctx, s.name, entries)
	if err != nil {
		return nil, fmt.Errorf("send %d messages to %s: %w", len(entries), s.name, err)
	}
	taken, failed := map[string]awscall.Taken{}, map[string]awscall.Failed{}
	for _, t := range out.Successful {
		taken[t.ID] = t
	}
	for _, f := range out.Failed {
		failed[f.ID] = f
	}
	var refusals []kind.Refusal
	for i, e := range entries {
		t, isTaken := taken[e.ID]
		f, hasFailed := failed[e.ID]
		switch {
		case isTaken && !isSumOf(t.MD5OfMessageBody, e.Body):
			return nil,
				fmt.Errorf("%s took a message that was changed on its way: its deduplication id is %s",
					s.name, e.DeduplicationID)
		case hasFailed:
			refusals = append(refusals, kind.Refusal{
				Index: i, Code: f.Code, Message: f.Message, Final: f.SenderFault, Away: !f.SenderFault,
			})
		case !isTaken:
			refusals = append(refusals, kind.Refusal{
				Index: i, Code: "NoVerdict", Message: "the answer does not name the message",
			})
		}
	}
	return refusals, nil
}

// isSumOf reports whether SQS's sum is that of a body. It may leave it out, and SNS has none.
func isSumOf(sum, body string) bool {
	own := md5.Sum([]byte(body))
	return sum == "" || sum == hex.EncodeToString(own[:])
}
