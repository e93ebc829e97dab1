package sink

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/pkg/handoff"
)

type sqsSink struct {
	client *awscall.Client
	url    string
	limits limits
}

// newSQS names the queue by its URL, as SQS's API does.
func newSQS(target arn.ARN, l limits, transport http.RoundTripper) (*sqsSink, error) {
	client, err := awscall.New(awscall.SQS, awscall.Options{Region: target.Region, Transport: transport, Timeout: requestTimeout})
	if err != nil {
		return nil, err
	}
	return &sqsSink{client: client, url: client.Endpoint() + "/" + target.AccountID + "/" + target.Resource, limits: l}, nil
}

// Send implements Sink.
func (s *sqsSink) Send(ctx context.Context, b handoff.Batch) error {
	items, err := fifoItems(b)
	if err != nil {
		return err
	}
	return sendAll(ctx, b.Queue, items, s.limits, true, s.put)
}

// put is one SendMessageBatch. SQS names entries by ids, which are their places
// here; one that the answer does not name was not taken, as far as we know.
func (s *sqsSink) put(ctx context.Context, messages []fifoMessage) ([]refusal, error) {
	out, err := s.client.SendBatch(ctx, s.url, entriesOf(messages))
	if err != nil {
		return nil, fmt.Errorf("send %d messages to %s: %w", len(messages), s.url, err)
	}
	told := newVerdicts(len(messages))
	for _, taken := range out.Successful {
		i, ok := told.taken(taken.ID)
		if ok && !isSumOf(taken.MD5OfMessageBody, messages[i].body) {
			return nil, fmt.Errorf("%s took a message that was changed on its way: its deduplication id is %s", s.url, messages[i].dedup)
		}
	}
	told.refused(out.Failed)
	return told.refusals(), nil
}

// entriesOf are messages as requests have them: the ids are their places.
func entriesOf(messages []fifoMessage) []awscall.Entry {
	entries := make([]awscall.Entry, len(messages))
	for i, m := range messages {
		entries[i] = awscall.Entry{
			ID: strconv.Itoa(i), Body: m.body, Group: m.group, DeduplicationID: m.dedup, Attributes: map[string]awscall.Attribute{},
		}
		for _, a := range m.attributes {
			value := awscall.Attribute{DataType: a.dataType}
			if a.dataType == "Binary" {
				value.BinaryValue = []byte(a.value)
			} else {
				value.StringValue = a.value
			}
			entries[i].Attributes[a.name] = value
		}
	}
	return entries
}

// isSumOf reports whether SQS's sum is that of a body; it may leave it out.
func isSumOf(sum, body string) bool {
	own := md5.Sum([]byte(body))
	return sum == "" || sum == hex.EncodeToString(own[:])
}

// verdicts are what an answer of SQS or SNS tells of each entry of a request.
type verdicts []*refusal

func newVerdicts(n int) verdicts {
	v := make(verdicts, n)
	for i := range v {
		v[i] = &refusal{index: i, code: "NoVerdict", message: "the answer does not name the message"}
	}
	return v
}

// index is the place of an entry in the request, where the answer names one.
func (v verdicts) index(id string) (i int, ok bool) {
	i, err := strconv.Atoi(id)
	return i, err == nil && i >= 0 && i < len(v)
}

func (v verdicts) taken(id string) (i int, ok bool) {
	if i, ok = v.index(id); ok {
		v[i] = nil
	}
	return i, ok
}

func (v verdicts) refused(failed []awscall.Failed) {
	for _, f := range failed {
		if i, ok := v.index(f.ID); ok {
			v[i] = &refusal{i, f.Code, f.Message, f.SenderFault}
		}
	}
}

func (v verdicts) refusals() []refusal {
	var all []refusal
	for _, r := range v {
		if r != nil {
			all = append(all, *r)
		}
	}
	return all
}
