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
		`{"batchItemFailures":[{"itemIdentifier":"4"}]}`: "itemIdentifier 4, which must be from 5 to 8", `{"batchItemFailures":[{"itemIdentifier":9}]}`: "itemIdentifier 9, which must be from 5 to 8",
		`{"done":8,"batchItemFailures":[{"itemIdentifier":"7"},{"itemIdentifier":"900"}]}`: "itemIdentifier 900", `{"done":9,"batchItemFailures":[{"itemIdentifier":"7"}]}`: "up to 9, which must be from 4 to 8",
		`{"batchItemFailures":[{"itemIdentifier":"secret"}]}`: "no seq",
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
}

// TestUpToOfAnEndpoint: a number is refused as a function's is, and so is what says something of parts that cannot be separated.
func TestUpToOfAnEndpoint(t *testing.T) {
	for answer, want := range map[string]int64{
		`OK`: 8, `<p>`: 8, `"done"`: 8, `{"done":true}`: 8, `{"done":"yes"}`: 8, `{"done":{"n":1}}`: 8, `{"done":6}`: 6, `{"done":"6"}`: 6,
		`{"done":true,"batchItemFailures":[]}`: 8, `{"done":true,"batchItemFailures":[{"itemIdentifier":"7"}]}`: 6,
		"\ufeff{\"done\":6}": 6, "\ufeff \n{\"done\":6}": 6, "\ufeffOK": 8,
	} {
		if upTo, err := UpTo([]byte(answer), 4, 8); err != nil || upTo != want {
			t.Errorf("of an endpoint %s: %d, %v; want %d", answer, upTo, err, want)
		}
	}
	for _, answer := range []string{
		`{"batchItemFailures":7}`, `{"done":99}`, `{"done":"99"}`, `{"done":3}`, `{"done":-5}`, `{"done":6.0}`, `{"done":6e0}`,
		`{"done":6,"DONE":6}`, `{"batchItemFailures":[],"batchItemFailures":[{"itemIdentifier":"6"}]}`, `{"batchItemFailures":[{"itemIdentifier":"9"}]}`,
	} {
		if upTo, err := UpTo([]byte(answer), 4, 8); err == nil {
			t.Errorf("of an endpoint %s: up to %d", answer, upTo)
		}
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
