package source_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/source/sourcetest"
)

// What is answered when some of an event's records failed: those at the places where the text
// has an x.
func TestAnswer(t *testing.T) {
	shapes := map[string]sourcetest.Shape{}
	for _, s := range sourcetest.Shapes() {
		shapes[s.Name] = s
	}
	number := sourcetest.SequenceNumber(3 * 1000)
	for _, test := range []struct {
		shape, source, failed, want string
		queues                      []int // of each record; the n-th record has n = its place + 1
	}{
		{"sqs", "", "....", `{"batchItemFailures":[]}`, []int{0, 0, 0, 0}},
		{"sqs", "", ".x.x", `{"batchItemFailures":[{"itemIdentifier":"017b1f3c-0a5d-4c2e-9000-000000000002"},{"itemIdentifier":"017b1f3c-0a5d-4c2e-9000-000000000004"}]}`, []int{0, 0, 0, 0}},
		// Those behind it in its group, and no others.
		{"sqsFifo", "", ".x..", `{"batchItemFailures":[{"itemIdentifier":"027b1f3c-0a5d-4c2e-9001-000000000002"},{"itemIdentifier":"027b1f3c-0a5d-4c2e-9001-000000000004"}]}`, []int{1, 1, 2, 1}},
		{"s3 by sqs", "", "x..", `{"batchItemFailures":[{"itemIdentifier":"097b1f3c-0a5d-4c2e-9000-000000000001"}]}`, []int{0, 0, 0}},
		// The first alone: all behind it comes again.
		{"kinesis", "", "..xx", `{"batchItemFailures":[{"itemIdentifier":"` + number + `"}]}`, []int{0, 0, 0, 0}},
		{"dynamodb", "", "..xx", `{"batchItemFailures":[{"itemIdentifier":"4421584500000000000003000"}]}`, []int{0, 0, 0, 0}},
		{"kinesis", "", "....", `{"batchItemFailures":[]}`, []int{0, 0, 0, 0}},
		// The first of each partition.
		{"kafka", `{"name":"src","kind":"kafka","partial":true}`, ".xx.x", `{"batchItemFailures":[{"itemIdentifier":{"partition":"trades-0","offset":6}},{"itemIdentifier":{"partition":"trades-1","offset":15}}]}`, []int{0, 0, 0, 1, 1}},
		{"kafka", "", ".x", "1 of 2 records have to be repeated, and so all are", []int{0, 0}},
		{"kafka", "", "..", `{"batchItemFailures":[]}`, []int{0, 0}},
		{"sns", "", "x", "1 of 1 records have to be repeated, and so all are", []int{0}},
		{"eventbridge", "", "x", "1 of 1 records have to be repeated, and so all are", []int{0}},
		{"s3", "", "x", "1 of 1 records have to be repeated, and so all are", []int{0}},
		{"s3", "", ".", `{"batchItemFailures":[]}`, []int{0}},
	} {
		shape := shapes[test.shape]
		text := test.source
		if text == "" {
			text = shape.Source
		}
		var records []json.RawMessage
		failed := make([]bool, len(test.failed))
		for i := range failed {
			records = append(records, shape.Record(test.queues[i], i+1))
			failed[i] = test.failed[i] == 'x'
		}
		e := check.Get(read(t, text).Split(shape.Event(records)))
		answer, err := e.Answer(failed)
		got := string(answer)
		if err != nil {
			got = err.Error()
		}
		check.That(t, got == test.want,
			"%s %s\ngot  %s\nwant %s", test.shape, test.failed, got, test.want)
	}
}

// An SQS message that carries several records is repeated as one.
func TestAnswerForSeveralInOne(t *testing.T) {
	shapes := map[string]sourcetest.Shape{}
	for _, s := range sourcetest.Shapes() {
		shapes[s.Name] = s
	}
	s3 := shapes["s3"]
	body, err := json.Marshal(string(s3.Event([]json.RawMessage{s3.Record(0, 1), s3.Record(0, 2)})))
	check.OK(t, err)
	e, err := read(t, s3.Source).Split(json.RawMessage(`{"Records":[{"messageId":"m","body":` + string(body) + `,"eventSource":"aws:sqs"}]}`))
	check.Need(t, err == nil && len(e.Records) == 2, "%v, %+v", err, e)
	if answer, err := e.Answer([]bool{true, true}); string(answer) != `{"batchItemFailures":[{"itemIdentifier":"m"}]}` || err != nil {
		t.Errorf("%s, %v", answer, err)
	}
	// One without a name cannot be named: all come again.
	e = check.Get(read(t, s3.Source).Split(json.RawMessage(`{"Records":[{"body":` + string(body) + `,"eventSource":"aws:sqs"}]}`)))
	answer, err := e.Answer([]bool{false, true})
	check.That(t, err != nil && strings.Contains(err.Error(), "no name"), "%s, %v", answer, err)
}
