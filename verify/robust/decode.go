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
)

// fifo takes a message of a FIFO queue, whether a consumer or a topic put it there.
func (w *watcher) fifo(m types.Message) error {
	o, err := outputOfFIFO(m)
	if err == nil {
		w.take(o)
	}
	return err
}

// outputOfFIFO reads a message by its attributes.
func outputOfFIFO(m types.Message) (o output, err error) {
	attribute := func(name string) string {
		value := m.MessageAttributes[name]
		if value.BinaryValue != nil {
			return string(value.BinaryValue)
		}
		return aws.ToString(value.StringValue)
	}
	o.queue = attribute("queue")
	if o.seq, err = strconv.ParseInt(attribute("seq"), 10, 64); err != nil {
		return o, fmt.Errorf("attribute seq: %w", err)
	}
	number, _, _ := strings.Cut(attribute("token"), "-")
	if o.token, err = strconv.ParseInt(number, 10, 64); err != nil {
		return o, fmt.Errorf("attribute token: %w", err)
	}
	sent, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64)
	if err != nil {
		return o, fmt.Errorf("attribute SentTimestamp: %w", err)
	}
	o.at = time.UnixMilli(sent)
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
	o.sums = sumsOf(body)
	return o, nil
}

// event is an event of a bus as a queue behind it gets it.
type event struct {
	DetailType string          `json:"detail-type"`
	Detail     json.RawMessage `json:"detail"`
}

// event takes an event of a message.
func (w *watcher) event(m types.Message) error {
	o, err := outputOfEvent(m)
	if err == nil {
		w.take(o)
	}
	return err
}

func outputOfEvent(m types.Message) (o output, err error) {
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
	o = output{place: place{d.Queue, d.Seq}, token: d.TokenN, at: time.Now()}
	if d.Body != nil {
		o.sums, o.rewritten = sumsOf(d.Body), true
	} else {
		o.sums = sumsOf(d.BodyBase64)
	}
	return o, nil
}
