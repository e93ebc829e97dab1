package sqs

import (
	"encoding/json"
	"net/http"
	"time"
)

// entry is a message that a call sends.
type entry struct {
	ID           string `json:"Id"`
	MessageBody  string
	DelaySeconds *int
}

// maxDelay is the longest DelaySeconds, maxEntries the most messages of a call.
const maxDelay, maxEntries = 900, 10

// Answer carries out a call of the JSON protocol: action is what the header X-Amz-Target names
// behind the service.
func (q *Queue) Answer(action string, body []byte) (status int, document any) {
	return answer(action, body, q.takeOne)
}

// AnswerUnread is Answer of a queue that nobody reads: take gets the bodies of its messages.
func AnswerUnread(action string, body []byte, take func(body string)) (status int, document any) {
	return answer(action, body, func(e entry) string {
		take(e.MessageBody)
		return "00000000-" + md5Of(e.MessageBody)[:8]
	})
}

// answer carries out a call; take takes a message, and returns its id.
func answer(action string, body []byte, take func(entry) string) (status int, document any) {
	switch action {
	case "SendMessage":
		var in entry
		if err := json.Unmarshal(body, &in); err != nil || !in.valid() {
			return refusal("InvalidParameterValue", "the message or its delay is out of its bounds")
		}
		return http.StatusOK,
			map[string]string{"MessageId": take(in), "MD5OfMessageBody": md5Of(in.MessageBody)}
	case "SendMessageBatch":
		var in struct{ Entries []entry }
		if err := json.Unmarshal(body, &in); err != nil || len(in.Entries) == 0 ||
			len(in.Entries) > maxEntries {
			return refusal("InvalidParameterValue", "a batch has 1 to 10 entries")
		}
		return http.StatusOK, takeAll(in.Entries, take)
	}
	return refusal("UnknownOperationException",
		action+" of a queue of its own is not run by this local stack")
}

func (e entry) valid() bool {
	return e.MessageBody != "" &&
		(e.DelaySeconds == nil || *e.DelaySeconds >= 0 && *e.DelaySeconds <= maxDelay)
}

// takeOne takes one message, and returns its id.
func (q *Queue) takeOne(e entry) string {
	delay := q.config.Queue.Delay
	if e.DelaySeconds != nil {
		delay = time.Duration(*e.DelaySeconds) * time.Second
	}
	return q.send(e.MessageBody, delay)
}

func takeAll(entries []entry, take func(entry) string) any {
	type taken struct {
		ID               string `json:"Id"`
		MessageID        string `json:"MessageId"`
		MD5OfMessageBody string
	}
	type failed struct {
		ID          string `json:"Id"`
		Code        string
		SenderFault bool
	}
	out := struct {
		Successful []taken
		Failed     []failed
	}{[]taken{}, []failed{}}
	for _, e := range entries {
		if !e.valid() {
			out.Failed = append(out.Failed, failed{e.ID, "InvalidParameterValue", true})
			continue
		}
		out.Successful = append(out.Successful, taken{e.ID, take(e), md5Of(e.MessageBody)})
	}
	return out
}

func refusal(kind, message string) (int, any) {
	return http.StatusBadRequest,
		map[string]string{"__type": "com.amazonaws.sqs#" + kind, "message": message}
}
