package lambda

import (
	"strings"
	"testing"
	"time"
)

// TestAFunctionDefersItsBatch: what it may answer.
func TestAFunctionDefersItsBatch(t *testing.T) {
	for answer, want := range map[string]time.Duration{
		``: 0, `null`: 0, `{}`: 0, `{"deferSeconds":null}`: 0, `{"deferSeconds":900}`: 15 * time.Minute,
		`{"DEFERSECONDS":2592000,"more":[1]}`: 30 * 24 * time.Hour,
	} {
		if said, err := readAnswer([]byte(answer)); err != nil || said.work != want {
			t.Errorf("%s: %s, %v; want %s", answer, said.work, err, want)
		}
	}
	for answer, want := range map[string]string{
		`{"deferSeconds":0}`:                      "deferSeconds is 0: it must be from 1 to 2592000",
		`{"deferSeconds":2592001}`:                "deferSeconds is 2592001: it must be from 1 to 2592000",
		`{"deferSeconds":"900"}`:                  "no whole number of seconds",
		`{"deferSeconds":1.5}`:                    "no whole number of seconds",
		`{"deferSeconds":900,"DeferSeconds":900}`: "a member twice",
	} {
		if said, err := readAnswer([]byte(answer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", answer, said, err, want)
		}
	}
}
