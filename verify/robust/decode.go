package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// taking has a watcher take the messages of a queue, as they are read.
func taking(
	w *traffic.Watcher, read func(types.Message) (traffic.Output, error),
) func(types.Message) error {
	return func(m types.Message) error {
		o, err := read(m)
		if err == nil {
			w.Take(o)
		}
		return err
	}
}

// outputOfFIFO reads a message of a FIFO queue by its attributes, whether a consumer or a topic put
// it there.
func outputOfFIFO(m types.Message) (o traffic.Output, err error) {
	attribute := func(name string) string {
		value := m.MessageAttributes[name]
		if value.BinaryValue != nil {
			return string(value.BinaryValue)
		}
		return aws.ToString(value.StringValue)
	}
	o.Queue = attribute("queue")
	if o.Seq, err = strconv.ParseInt(attribute("seq"), 10, 64); err != nil {
		return o, fmt.Errorf("attribute seq: %w", err)
	}
	number, _, _ := strings.Cut(attribute("token"), "-")
	if o.Token, err = strconv.ParseInt(number, 10, 64); err != nil {
		return o, fmt.Errorf("attribute token: %w", err)
	}
	sent, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)],
		10, 64)
	if err != nil {
		return o, fmt.Errorf("attribute SentTimestamp: %w", err)
	}
	o.At = time.UnixMilli(sent)
	body := []byte(aws.ToString(m.Body))
	switch encoding := attribute("encoding"); encoding {
	case "":
	case "empty":
		body = nil
	case "base64":
		if body, err = base64.StdEncoding.DecodeString(string(body)); err != nil {
			return o, err
		}
	default:
		return o, fmt.Errorf("encoding %q is not known", encoding)
	}
	o.Sums = traffic.SumsOf(body)
	return o, nil
}

// event is an event of a bus as a queue behind it gets it.
type event struct {
	DetailType string          `json:"detail-type"`
	Detail     json.RawMessage `json:"detail"`
}

// outputOfEvent reads a message by the event in it.
func outputOfEvent(m types.Message) (o traffic.Output, err error) {
	var e event
	if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &e); err != nil {
		return o, err
	}
	var d struct {
		Queue       string
		Seq, TokenN int64
		Body        json.RawMessage
		BodyBase64  []byte
	}
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return o, err
	}
	o = traffic.Output{Place: traffic.At(d.Queue, d.Seq), Token: d.TokenN, At: time.Now()}
	if d.Body != nil {
		o.Sums, o.Rewritten = traffic.SumsOf(d.Body), true
	} else {
		o.Sums = traffic.SumsOf(d.BodyBase64)
	}
	return o, nil
}
