package lambda

import (
	"fmt"
	"strings"
	"testing"
)

// TestUpTo: an answer says how far a document is done, of the seqs 5 to 8.
func TestUpTo(t *testing.T) {
	for answer, want := range map[string]string{
		``: "8", `null`: "8", `{}`: "8", `{"taken":1,"Taken":2}`: "8", `{"done":null,"batchItemFailures":null}`: "8", `{"batchItemFailures":[]}`: "8",
		`{"done":8}`: "8", `{"done":7}`: "7", `{"Done":"6"}`: "6", `{"done":4}`: "4",
		`{"batchItemFailures":[{"itemIdentifier":"8"}]}`: "7", `{"batchItemFailures":[{"itemIdentifier":"8"},{"itemIdentifier":6}]}`: "5",
		`{"batchItemFailures":[{"itemIdentifier":"5"}]}`: "4", `{"done":7,"batchItemFailures":[{"itemIdentifier":"7"}]}`: "6",
		`{"done":9}`: "must be from 4 to 8", `{"done":3}`: "must be from 4 to 8", `{"done":true}`: "done, which must be", `{"done":7,"done":8}`: "twice",
		`{"batchItemFailures":7}`: "must be a list", `{"batchItemFailures":[{"itemIdentifier":""}]}`: "no seq", `{"batchItemFailures":[{}]}`: "no seq",
		`{"batchItemFailures":[{"itemIdentifier":"4"}]}`: "must be from 4 to 8", `{"batchItemFailures":[{"itemIdentifier":"secret"}]}`: "no seq",
	} {
		_, _, upTo, err := readAnswer([]byte(answer), 4, 8)
		got := fmt.Sprint(upTo)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
	if _, _, upTo, err := readAnswer([]byte(`{"done":-1}`), -1, 3); err != nil || upTo != -1 {
		t.Errorf("nothing of a queue that begins at 0: %d, %v", upTo, err)
	}
	for answer, want := range map[string]int64{`<p>`: 8, `"done"`: 8, `{"done":true}`: 8, `{"done":99}`: 8, `{"done":6}`: 6} {
		if upTo, err := UpTo([]byte(answer), 4, 8); err != nil || upTo != want {
			t.Errorf("of an endpoint %s: %d, %v; want %d", answer, upTo, err, want)
		}
	}
	if _, err := UpTo([]byte(`{"batchItemFailures":7}`), 4, 8); err == nil {
		t.Error("what an endpoint did not take is nothing")
	}
}

// TestAFunctionDefersItsBatch: what it may answer.
func TestAFunctionDefersItsBatch(t *testing.T) {
	for answer, want := range map[string]string{
		``: "", `null`: "", `{}`: "", `{"deferSeconds":null}`: "null", `{"deferSeconds":900}`: "900",
		`{"DEFERSECONDS":2592000,"more":[1]}`: "2592000", `{"replies":[],"deferSeconds":"900"}`: `"900"`,
	} {
		if _, deferred, _, err := readAnswer([]byte(answer), 4, 8); err != nil || deferred != want {
			t.Errorf("%s: %s, %v; want %s", answer, deferred, err, want)
		}
	}
	if _, _, _, err := readAnswer([]byte(`{"deferSeconds":900,"DeferSeconds":900}`), 4, 8); err == nil || !strings.Contains(err.Error(), "a member twice") {
		t.Errorf("twice: %v", err)
	}
}
