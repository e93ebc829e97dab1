package lambda

import (
	"strings"
	"testing"
)

// TestAFunctionDefersItsBatch: what it may answer.
func TestAFunctionDefersItsBatch(t *testing.T) {
	for answer, want := range map[string]string{
		``: "", `null`: "", `{}`: "", `{"deferSeconds":null}`: "null", `{"deferSeconds":900}`: "900",
		`{"DEFERSECONDS":2592000,"more":[1]}`: "2592000", `{"replies":[],"deferSeconds":"900"}`: `"900"`,
	} {
		if _, deferred, err := readAnswer([]byte(answer)); err != nil || deferred != want {
			t.Errorf("%s: %s, %v; want %s", answer, deferred, err, want)
		}
	}
	if _, _, err := readAnswer([]byte(`{"deferSeconds":900,"DeferSeconds":900}`)); err == nil || !strings.Contains(err.Error(), "a member twice") {
		t.Errorf("twice: %v", err)
	}
}
