package sink

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/edge"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/handoff"
)

// Source and DetailType are those of all events.
const (
	Source     = "streamsort"
	DetailType = "message"
)

// Detail is the detail of an event: the message, and where it comes from.
type Detail struct {
	Queue    string      `json:"queue"`
	Consumer string      `json:"consumer"`
	Token    string      `json:"token"`
	TokenN   jsonseq.Seq `json:"tokenN"`
	Attempt  int         `json:"attempt"`
	Rewinds  int64       `json:"rewinds"`
	edge.Message
}

type eventBridgeSink struct {
	client *eventbridge.Client
	arn    string
	limits limits
}

func newEventBridge(arn string, l limits, env awsenv.Settings, transport http.RoundTripper) *eventBridgeSink {
	return &eventBridgeSink{arn: arn, limits: l, client: eventbridge.New(eventbridge.Options{
		Region: env.Region, Credentials: env.Credentials, BaseEndpoint: env.Endpoint,
		HTTPClient: &http.Client{Transport: transport, Timeout: requestTimeout},
	})}
}

// Send implements Sink.
func (s *eventBridgeSink) Send(ctx context.Context, b handoff.Batch) error {
	items := make([]item[string], 0, len(b.Messages))
	for _, m := range b.Messages {
		written := edge.NewMessage(m)
		if written.Body != nil && hasGreatInteger(written.Body) {
			encoded := base64.StdEncoding.EncodeToString(m.Body)
			written.Body, written.BodyBase64 = nil, &encoded
		}
		detail, err := edge.Marshal(Detail{
			Queue: b.Queue, Consumer: b.Consumer, Token: b.Token.String(), TokenN: jsonseq.Seq(b.Token.N),
			Attempt: b.Attempt, Rewinds: b.Rewinds, Message: written,
		})
		if err != nil {
			return err
		}
		items = append(items, item[string]{m.Seq, len(Source) + len(DetailType) + len(detail), string(detail)})
	}
	return sendAll(ctx, b.Queue, items, s.limits, false, s.put)
}

// put is one PutEvents. The answer's entries are in the order of the request's.
func (s *eventBridgeSink) put(ctx context.Context, details []string) ([]refusal, error) {
	in := &eventbridge.PutEventsInput{Entries: make([]types.PutEventsRequestEntry, len(details))}
	for i := range details {
		in.Entries[i] = types.PutEventsRequestEntry{
			EventBusName: &s.arn, Source: aws.String(Source), DetailType: aws.String(DetailType), Detail: &details[i],
		}
	}
	out, err := s.client.PutEvents(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("put %d events on %s: %w", len(details), s.arn, err)
	}
	if len(out.Entries) != len(details) {
		return nil, fmt.Errorf("put %d events on %s: the answer has %d entries", len(details), s.arn, len(out.Entries))
	}
	var refusals []refusal
	for i, entry := range out.Entries {
		if entry.EventId == nil {
			refusals = append(refusals, refusal{index: i, code: aws.ToString(entry.ErrorCode), message: aws.ToString(entry.ErrorMessage)})
		}
	}
	return refusals, nil
}

// hasGreatInteger reports whether a JSON document has an integer beyond 64
// bits, which EventBridge does not take ("PutEvents", Amazon EventBridge API
// Reference).
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

// longDigits reports whether there are 19 digits in a row, as many as the
// greatest integer has: most documents have not, and need no second look.
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
