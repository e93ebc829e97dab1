package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Event is what AWS calls the function with.
type Event struct {
	// Records are its records, in its order; those of a message that carries several stand for that
	// message together.
	Records []Record

	carrier carrier
	// partial tells that the mapping of a topic takes partial answers.
	partial bool
}

// Record is one record.
type Record struct {
	// Raw is the record as AWS has it, without what carried it.
	Raw json.RawMessage
	// Err is why it cannot be read, where it cannot. It never will be.
	Err error

	parts parts
	item  item
}

// carrier is what has called the function, by how it is answered.
type carrier int

const (
	// once: the call is asynchronous, and repeated as a whole.
	once carrier = iota
	// queue: each message is repeated by itself; in a FIFO queue those behind it in its group too.
	queue
	// stream: all from the first that failed on.
	stream
	// topic: the same in each partition, where the mapping takes partial answers.
	topic
)

// item is how a record is named in a partial answer, and what has to be repeated with it.
type item struct {
	id string
	// group are those in whose order a message of a FIFO queue stands, or the partition of a topic;
	// empty: none.
	group  string
	offset int64
}

var errNoEvent = errors.New("the call is no event of a source that this function takes")

// Split is the event's records. What is wrong with one of them is in its Err; an error here means
// that there are no records.
func (s *Source) Split(event json.RawMessage) (*Event, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(event, &members); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoEvent, err)
	}
	e := &Event{partial: s.Partial}
	switch {
	case members["records"] != nil:
		e.carrier = topic
		return e, s.splitTopics(e, members["records"])
	case members["Records"] != nil:
		return e, s.splitList(e, members["Records"])
	case members["detail-type"] != nil || string(members["Service"]) == `"`+testService+`"` &&
		string(members["Event"]) == `"`+testEvent+`"`:
		s.add(e, event, item{})
		return e, nil
	}
	return nil, errNoEvent
}

// splitTopics adds the records of Kafka, which are by their partitions.
func (s *Source) splitTopics(e *Event, raw json.RawMessage) error {
	var partitions map[string][]json.RawMessage
	if err := json.Unmarshal(raw, &partitions); err != nil {
		return fmt.Errorf("%w: %w", errNoEvent, err)
	}
	for _, name := range slices.Sorted(maps.Keys(partitions)) {
		for _, raw := range partitions[name] {
			r := Record{Raw: raw, item: item{group: name}}
			var at kafkaRecord
			_ = json.Unmarshal(raw, &at) // readKafka says what is wrong
			_, r.item.offset, _ = at.place()
			r.read(s.kind, "kafka")
			e.Records = append(e.Records, r)
		}
	}
	return nil
}

func (s *Source) splitList(e *Event, raw json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("%w: %w", errNoEvent, err)
	}
	for i, raw := range list {
		var carried struct {
			EventSource, MessageID string
			ARN                    string `json:"eventSourceARN"`
			Attributes             struct{ MessageGroupID string }
			Kinesis, DynamoDB      struct{ SequenceNumber string }
		}
		if err := json.Unmarshal(raw, &carried); err != nil {
			return fmt.Errorf("%w: record %d: %w", errNoEvent, i, err)
		}
		of, at := once, item{}
		switch carried.EventSource {
		case "aws:sqs":
			of, at.id = queue, carried.MessageID
			if strings.HasSuffix(carried.ARN, ".fifo") {
				at.group = carried.Attributes.MessageGroupID
			}
		case "aws:kinesis":
			of, at.id = stream, carried.Kinesis.SequenceNumber
		case "aws:dynamodb":
			of, at.id = stream, carried.DynamoDB.SequenceNumber
		}
		if i > 0 && of != e.carrier {
			return fmt.Errorf("%w: its records are of several sources", errNoEvent)
		}
		e.carrier = of
		s.add(e, raw, at)
	}
	return nil
}

// add adds what a record of AWS's carries: itself, where it is of the source's kind, or what is
// within it. One that carries nothing of the kind is a record that cannot be read.
func (s *Source) add(e *Event, raw json.RawMessage, at item) {
	found, err := s.kind.within(raw, 0)
	if err != nil {
		e.Records = append(e.Records, Record{Raw: raw, Err: err, item: at})
		return
	}
	for _, raw := range found {
		r := Record{Raw: raw, item: at}
		r.read(s.kind, "")
		e.Records = append(e.Records, r)
	}
}

// read reads the record's parts. is, where it is not empty, is the kind that it surely is.
func (r *Record) read(k *kind, is string) {
	if is != "" && is != k.name {
		r.Err = fmt.Errorf("is a record of %s, and the source is of %s", is, k.name)
		return
	}
	if r.parts, r.Err = k.read(r.Raw); r.Err == nil {
		r.parts[record] = []byte(r.Raw)
	}
}

// maxCarriers is how many carriers a record may be within: EventBridge or S3, SNS, SQS.
const maxCarriers = 3

// within are the records of the kind in a document: itself; what an event, a record of SQS or SNS,
// or the text of such a one holds. An S3 notification that only tests whether it may be sent holds
// none.
func (k *kind) within(raw json.RawMessage, depth int) ([]json.RawMessage, error) {
	var d struct {
		EventSource string
		Type        string
		DetailType  *json.RawMessage `json:"detail-type"`
		Source      string
		Body        *string
		SNS         json.RawMessage `json:"Sns"`
		TopicARN    string          `json:"TopicArn"`
		Message     *string
		Records     []json.RawMessage
		Service     string
		Event       string
	}
	if depth > maxCarriers {
		return nil, fmt.Errorf("carries nothing of %s: it is nested too deeply", k.name)
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("carries nothing of %s: %w", k.name, err)
	}
	inText := func(text *string) ([]json.RawMessage, error) {
		if text == nil {
			return nil, fmt.Errorf("carries nothing of %s", k.name)
		}
		return k.within(json.RawMessage(*text), depth+1)
	}
	switch {
	case slices.Contains(k.events, d.EventSource) && d.EventSource != "aws:sns":
		return []json.RawMessage{raw}, nil
	case d.EventSource == "aws:sns" && d.SNS != nil && k == &snsKind:
		return []json.RawMessage{d.SNS}, nil
	case d.EventSource == "aws:sns" && d.SNS != nil:
		var n notification
		if json.Unmarshal(d.SNS, &n) != nil {
			return inText(nil)
		}
		return inText(n.Message)
	case d.EventSource == "aws:sqs":
		return inText(d.Body)
	case d.Type == "Notification" && d.TopicARN != "" && d.Message != nil:
		if k == &snsKind {
			return []json.RawMessage{raw}, nil
		}
		return inText(d.Message)
	case d.DetailType != nil && (k == &eventBridgeKind || k == &s3Kind && d.Source == "aws.s3"):
		return []json.RawMessage{raw}, nil
	case k == &s3Kind && d.Service == testService && d.Event == testEvent:
		return nil, nil
	case d.EventSource == "" && d.DetailType == nil && len(d.Records) > 0:
		return k.each(d.Records, depth)
	}
	return inText(nil)
}

// each are the records of the kind in all of a list.
func (k *kind) each(list []json.RawMessage, depth int) (all []json.RawMessage, err error) {
	for _, raw := range list {
		found, err := k.within(raw, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// What S3 sends when a notification is set up.
const testService, testEvent = "Amazon S3", "s3:TestEvent"
