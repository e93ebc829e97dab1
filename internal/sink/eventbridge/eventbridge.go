// Package eventbridge is the kind of sink that is an EventBridge bus.
package eventbridge

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/xray"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Source and DetailType are those of all events.
const (
	Source     = "streamsort"
	DetailType = "message"
	// EventDetailType is that of events whose detail is a CloudEvent.
	EventDetailType = "cloudevent"
)

// Detail is the detail of an event: the message, and where it comes from.
type Detail struct {
	// The queue's whole name.
	Queue string `json:"queue"`
	// Whose queue it is, where its name has a tenant in front.
	Tenant string `json:"tenant,omitempty"`
	// The consumer's name.
	Consumer string `json:"consumer"`
	// The claim's token: its number, a hyphen, and its request.
	Token string `json:"token" jsonschema:"pattern=^[0-9]+-"`
	// The token's number alone, which rises with every claim of the consumer.
	TokenN jsonseq.Seq `json:"tokenN"`
	// 1 the first time that the message is delivered.
	Attempt int `json:"attempt" jsonschema:"minimum=1"`
	// How often the consumer was set back.
	Rewinds int64 `json:"rewinds" jsonschema:"minimum=0"`
	message.Document
}

// Kind is an EventBridge bus.
var Kind = kind.Resource{
	Name: "eventbridge", Looks: "arn:aws:events:REGION:ACCOUNT:event-bus/NAME",
	Action: "events:PutEvents",
	// "PutEvents", Amazon EventBridge API Reference. "Less than 1 MB" is read as the smaller of its
	// two meanings.
	Bytes: 1_000_000, MaxBytes: 1_000_000, Entries: 10, Events: true,
	Open: open,
}.Kind()

type bus struct {
	client *awscall.Client
	arn    string
	limits kind.Limits
	events bool
}

func open(t kind.Target, transport http.RoundTripper) (kind.Sink, error) {
	client, err := awscall.New(awscall.EventBridge,
		awscall.Options{Region: t.ARN.Region, Transport: transport, Timeout: kind.RequestTimeout})
	return &bus{arn: t.ARN.String(), limits: t.Limits, events: t.Events, client: client}, err
}

func (s *bus) Send(ctx context.Context, b delivery.Batch) error {
	items := make([]kind.Item[awscall.PutEvent], 0, len(b.Messages))
	for i, m := range b.Messages {
		detailType := DetailType
		detail, err := detailOf(b, i)
		if s.events {
			detailType = EventDetailType
			detail, err = kind.EventOf(b, i, hasGreatInteger)
		}
		if err != nil {
			return err
		}
		event := awscall.PutEvent{EventBusName: s.arn, Source: Source, DetailType: detailType,
			Detail: string(detail), TraceHeader: xray.Header(m.Trace)}
		items = append(items, kind.Item[awscall.PutEvent]{Seq: m.Seq,
			Bytes: len(Source) + len(detailType) + len(detail), Entry: event})
	}
	return kind.SendAll(ctx, b.Queue, items, s.limits, false, s.put)
}

func detailOf(b delivery.Batch, i int) ([]byte, error) {
	of, _ := tenant.Split(b.Queue)
	written := kind.MessageOf(b, i)
	if written.Body != nil && hasGreatInteger(written.Body) {
		encoded := base64.StdEncoding.EncodeToString(b.Messages[i].Body)
		written.Body, written.BodyBase64 = nil, &encoded
	}
	return strictjson.Marshal(Detail{
		Queue: b.Queue, Tenant: of, Consumer: b.Consumer, Token: b.Token.String(),
		TokenN:  jsonseq.Seq(b.Token.N),
		Attempt: b.Attempt, Rewinds: b.Rewinds, Document: written,
	})
}

// put is one PutEvents. The answer's entries are in the order of the request's.
func (s *bus) put(ctx context.Context, events []awscall.PutEvent) ([]kind.Refusal, error) {
	results, err := s.client.PutEvents(ctx, events)
	if err != nil {
		return nil, fmt.Errorf("put %d events on %s: %w", len(events), s.arn, err)
	}
	if len(results) != len(events) {
		return nil, fmt.Errorf("put %d events on %s: the answer has %d entries",
			len(events), s.arn, len(results))
	}
	var refusals []kind.Refusal
	for i, result := range results {
		if result.EventID == "" {
			refusals = append(refusals, kind.Refusal{Index: i, Code: result.ErrorCode,
				Message: result.ErrorMessage, Away: isOwnFault(result.ErrorCode)})
		}
	}
	return refusals, nil
}

// isOwnFault reports whether an entry failed by EventBridge's own fault: it says
// ThrottlingException where there was too much ("PutEvents", Amazon EventBridge API Reference).
func isOwnFault(code string) bool {
	return code == "ThrottlingException" || code == "InternalException" || code == "InternalFailure" ||
		code == "ServiceUnavailable"
}

// hasGreatInteger reports whether a JSON document has an integer beyond 64 bits, which EventBridge
// does not take ("PutEvents", Amazon EventBridge API Reference).
func hasGreatInteger(document []byte) bool {
	if !longDigits(document) {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		number, ok := token.(json.Number)
		if !ok || bytes.ContainsAny([]byte(number), ".eE") {
			continue
		}
		if _, err := strconv.ParseInt(string(number), 10, 64); err != nil {
			return true
		}
	}
}

// longDigits reports whether there are 19 digits in a row, as many as the greatest integer has:
// most documents have not, and need no second look.
func longDigits(document []byte) bool {
	run := 0
	for _, c := range document {
		if c < '0' || c > '9' {
			run = 0
		} else if run++; run == 19 {
			return true
		}
	}
	return false
}
