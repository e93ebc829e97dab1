package source

import (
	"encoding/json"
	"fmt"
)

// Answer is what the function answers where some of the records have to be repeated: those for
// which failed is true. An error means that the whole event is.
//
//   - SQS repeats each message that is named. In a FIFO queue all of the group that stand
//     behind it are named as well, as AWS asks for: the queue would hand them out before it.
//   - Kinesis and DynamoDB Streams repeat the first that is named, and all behind it.
//   - Kafka does so in each partition, where its mapping is made for it: one that is not takes
//     an answer for a success, whatever it says.
//   - An asynchronous call, of SNS, EventBridge and S3, is repeated as a whole, twice.
//
// What is repeated without need is known by its id.
//
// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
// https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html
// https://docs.aws.amazon.com/lambda/latest/dg/kafka-retry-configurations.html
func (e *Event) Answer(failed []bool) (json.RawMessage, error) {
	many := 0
	for _, f := range failed {
		if f {
			many++
		}
	}
	if many > 0 && (e.carrier == once || e.carrier == topic && !e.partial) {
		return nil, fmt.Errorf("%d of %d records have to be repeated, and so all are", many, len(failed))
	}
	type failure struct {
		ItemIdentifier any `json:"itemIdentifier"`
	}
	answer := struct {
		BatchItemFailures []failure `json:"batchItemFailures"`
	}{[]failure{}}
	for _, at := range e.repeated(failed) {
		if at.id == "" && e.carrier != topic {
			return nil,
				fmt.Errorf("%d of %d records have to be repeated, and one has no name", many, len(failed))
		}
		f := failure{at.id}
		if e.carrier == topic {
			f.ItemIdentifier = struct {
				Partition string `json:"partition"`
				Offset    int64  `json:"offset"`
			}{at.group, at.offset}
		}
		answer.BatchItemFailures = append(answer.BatchItemFailures, f)
	}
	return json.Marshal(answer)
}

// repeated are the items that the answer names, each once.
func (e *Event) repeated(failed []bool) (all []item) {
	named := map[item]bool{}
	held := map[string]bool{} // groups and partitions of which one has failed
	for i, r := range e.Records {
		at := r.item
		switch {
		case named[at]:
			continue
		case e.carrier == queue && at.group != "" && held[at.group]:
			// behind one that failed
		case !failed[i], e.carrier == topic && held[at.group]:
			continue
		}
		named[at], held[at.group] = true, true
		if all = append(all, at); e.carrier == stream {
			break
		}
	}
	return all
}

// Alone reports whether a record that is repeated holds up no other one: it comes again by itself,
// or in a call of its own. A stream's holds up all behind it, a FIFO queue's all of its group.
func (e *Event) Alone(i int) bool {
	return e.carrier == once || e.carrier == queue && e.Records[i].item.group == ""
}
