package source

// snsKind is a notification of a topic: by itself, or within a message of SQS as it comes without
// raw delivery. Its timestamp has milliseconds.
//
// https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html
// https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html
var snsKind = kind{
	name: "sns", events: []string{"aws:sns"}, read: reading("sns", readSNS),
	fields: []string{"message", "messageId", "sequenceNumber", "subject", "timestamp", "topic"},
	// An endpoint of SNS's own signs each delivery.
	volatile: []string{record},
	body:     "message", queue: "topic", key: "timestamp", keyType: "time", id: "messageId",
}

// notification is the part of one that is read: the member "Sns" of a record, or the whole document
// where SQS carries it.
type notification struct {
	Type           string
	MessageID      string `json:"MessageId"`
	TopicARN       string `json:"TopicArn"`
	Subject        string
	Message        *string
	Timestamp      string
	SequenceNumber string
}

func readSNS(n notification) (parts, error) {
	p := parts{}
	if n.Message != nil {
		p["message"] = []byte(*n.Message)
	}
	p.set("messageId", n.MessageID)
	p.set("topic", lastOf(n.TopicARN, ":"))
	p.set("subject", n.Subject)
	p.set("timestamp", n.Timestamp)
	p.digits("sequenceNumber", n.SequenceNumber)
	return p, nil
}
