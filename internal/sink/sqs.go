package sink

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/pkg/handoff"
)

type sqsSink struct {
	client *sqs.Client
	url    string
	limits limits
}

func newSQS(target arn.ARN, l limits, env awsenv.Settings, transport http.RoundTripper) (*sqsSink, error) {
	url, err := queueURL(target, env.Endpoint)
	return &sqsSink{url: url, limits: l, client: sqs.New(sqs.Options{
		Region: env.Region, Credentials: env.Credentials, BaseEndpoint: env.Endpoint,
		HTTPClient: &http.Client{Transport: transport, Timeout: requestTimeout},
		// The SDK's own check panics where an answer has an entry without an
		// id; put checks instead.
		DisableMessageChecksumValidation: true,
	})}, err
}

// domains are those of AWS's partitions.
var domains = map[string]string{
	"aws": "amazonaws.com", "aws-us-gov": "amazonaws.com", "aws-cn": "amazonaws.com.cn",
}

// queueURL is the URL of a queue, by which SQS's API names it.
func queueURL(target arn.ARN, endpoint *string) (string, error) {
	if endpoint != nil {
		return strings.TrimSuffix(*endpoint, "/") + "/" + target.AccountID + "/" + target.Resource, nil
	}
	domain := domains[target.Partition]
	if domain == "" {
		return "", fmt.Errorf("arn %q is of the partition %q, of which no SQS is known", bounded(target.String()), target.Partition)
	}
	return "https://sqs." + target.Region + "." + domain + "/" + target.AccountID + "/" + target.Resource, nil
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
	in := &sqs.SendMessageBatchInput{QueueUrl: &s.url, Entries: make([]types.SendMessageBatchRequestEntry, len(messages))}
	for i, m := range messages {
		in.Entries[i] = types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: &m.body, MessageGroupId: &m.group, MessageDeduplicationId: &m.dedup,
			MessageAttributes: map[string]types.MessageAttributeValue{},
		}
		for _, a := range m.attributes {
			value := types.MessageAttributeValue{DataType: &a.dataType}
			if a.dataType == "Binary" {
				value.BinaryValue = []byte(a.value)
			} else {
				value.StringValue = &a.value
			}
			in.Entries[i].MessageAttributes[a.name] = value
		}
	}
	out, err := s.client.SendMessageBatch(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("send %d messages to %s: %w", len(messages), s.url, err)
	}
	told := newVerdicts(len(messages))
	for _, taken := range out.Successful {
		i, ok := told.taken(taken.Id)
		if ok && !isSumOf(taken.MD5OfMessageBody, messages[i].body) {
			return nil, fmt.Errorf("%s took a message that was changed on its way: its deduplication id is %s", s.url, messages[i].dedup)
		}
	}
	for _, failed := range out.Failed {
		told.refused(failed.Id, failed.Code, failed.Message, failed.SenderFault)
	}
	return told.refusals(), nil
}

// isSumOf reports whether SQS's sum is that of a body; it may leave it out.
func isSumOf(sum *string, body string) bool {
	own := md5.Sum([]byte(body))
	return sum == nil || *sum == hex.EncodeToString(own[:])
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
func (v verdicts) index(id *string) (i int, ok bool) {
	i, err := strconv.Atoi(aws.ToString(id))
	return i, err == nil && i >= 0 && i < len(v)
}

func (v verdicts) taken(id *string) (i int, ok bool) {
	if i, ok = v.index(id); ok {
		v[i] = nil
	}
	return i, ok
}

func (v verdicts) refused(id, code, message *string, final bool) {
	if i, ok := v.index(id); ok {
		v[i] = &refusal{i, aws.ToString(code), aws.ToString(message), final}
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
