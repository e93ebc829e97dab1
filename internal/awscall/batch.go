package awscall

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// Attribute is a value of a message's attribute: one of the two.
type Attribute struct {
	DataType    string // String or Binary
	StringValue string `json:",omitempty"`
	BinaryValue []byte `json:",omitempty"`
}

// Entry is a message for a queue, or for a FIFO topic. The id names it in the answer.
type Entry struct {
	ID   string
	Body string
	// Group and DeduplicationID are those of a FIFO queue or topic, DelaySeconds that of another
	// queue.
	Group           string
	DeduplicationID string
	DelaySeconds    int
	Attributes      map[string]Attribute
	// Trace is the header of X-Ray, for a queue alone; empty if absent.
	Trace string
}

// Taken is an entry that was taken.
type Taken struct {
	ID string `json:"Id" xml:"Id"`
	// MD5OfMessageBody is SQS's; empty with SNS.
	MD5OfMessageBody string
}

// Failed is an entry that was refused. SenderFault means that no repeat can fix it.
type Failed struct {
	ID          string `json:"Id" xml:"Id"`
	Code        string
	Message     string
	SenderFault bool
}

// Verdicts are what an answer says of each entry of a batch. It may leave entries out.
type Verdicts struct {
	Successful []Taken  `xml:"Successful>member"`
	Failed     []Failed `xml:"Failed>member"`
}

// SendBatch sends ten messages at most to the queue of a URL.
//
// Lost response: the messages are sent again, and dropped by their deduplication ids where the
// queue is FIFO.
func (c *Client) SendBatch(ctx context.Context, queueURL string,
	entries []Entry) (Verdicts, error) {
	type entry struct {
		ID                     string `json:"Id"`
		MessageBody            string
		MessageGroupID         string               `json:"MessageGroupId,omitempty"`
		MessageDeduplicationID string               `json:"MessageDeduplicationId,omitempty"`
		DelaySeconds           int                  `json:",omitempty"`
		MessageAttributes      map[string]Attribute `json:",omitempty"`
		System                 map[string]Attribute `json:"MessageSystemAttributes,omitempty"`
	}
	in := struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []entry
	}{QueueURL: queueURL}
	for _, e := range entries {
		var system map[string]Attribute
		if e.Trace != "" {
			system = map[string]Attribute{"AWSTraceHeader": {DataType: "String", StringValue: e.Trace}}
		}
		in.Entries = append(in.Entries,
			entry{e.ID, e.Body, e.Group, e.DeduplicationID, e.DelaySeconds, e.Attributes, system})
	}
	var out Verdicts
	err := c.JSON(ctx, "application/x-amz-json-1.0", "AmazonSQS.SendMessageBatch", in, &out)
	return out, err
}

// Publish publishes a message on a topic that is not FIFO.
//
// Lost response: the message is there twice.
func (c *Client) Publish(ctx context.Context, topic, subject, message string,
	attributes map[string]Attribute) error {
	form := url.Values{"TopicArn": {topic}, "Subject": {subject}, "Message": {message}}
	addAttributes(form, "", attributes)
	var out struct{}
	return c.callQuery(ctx, "Publish", form, &out)
}

// PublishBatch publishes ten messages at most on a FIFO topic.
//
// Lost response: the messages are sent again, and dropped by their deduplication ids.
func (c *Client) PublishBatch(ctx context.Context, topic string,
	entries []Entry) (Verdicts, error) {
	form := url.Values{"TopicArn": {topic}}
	for i, e := range entries {
		at := fmt.Sprintf("PublishBatchRequestEntries.member.%d.", i+1)
		form.Set(at+"Id", e.ID)
		form.Set(at+"Message", e.Body)
		form.Set(at+"MessageGroupId", e.Group)
		form.Set(at+"MessageDeduplicationId", e.DeduplicationID)
		addAttributes(form, at, e.Attributes)
	}
	var out struct {
		Verdicts Verdicts `xml:"PublishBatchResult"`
	}
	err := c.callQuery(ctx, "PublishBatch", form, &out)
	return out.Verdicts, err
}

func addAttributes(form url.Values, at string, attributes map[string]Attribute) {
	for i, name := range slices.Sorted(maps.Keys(attributes)) {
		entry, a := fmt.Sprintf("%sMessageAttributes.entry.%d.", at, i+1), attributes[name]
		form.Set(entry+"Name", name)
		form.Set(entry+"Value.DataType", a.DataType)
		if a.BinaryValue != nil {
			form.Set(entry+"Value.BinaryValue", base64.StdEncoding.EncodeToString(a.BinaryValue))
		} else {
			form.Set(entry+"Value.StringValue", a.StringValue)
		}
	}
}

// callQuery calls an action of a service whose requests are forms and whose answers are XML.
func (c *Client) callQuery(ctx context.Context, action string, form url.Values, out any) error {
	form.Set("Action", action)
	form.Set("Version", "2010-03-31")
	answer, err := c.do(ctx, request{
		path: "/", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		body:  []byte(form.Encode()),
		words: wordsOfXML,
	})
	if err != nil {
		return err
	}
	return xml.Unmarshal(answer.body, out)
}

// wordsOfXML reads an error of such a service. It stands here so that functions that call none do
// not have a reader of XML in them.
func wordsOfXML(body []byte) (code, message string) {
	type words struct{ Code, Message string }
	var said struct {
		words // S3's
		Error words
	}
	_ = xml.Unmarshal(body, &said) // what is no XML has no words
	return said.Code + said.Error.Code, said.Message + said.Error.Message
}
