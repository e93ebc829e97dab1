package invalid_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/invalid"
)

func Example() {
	err := invalid.Within("messages", 7, &invalid.Error{
		Field: "body", Code: invalid.TooLarge,
		Problem: "has 9 bytes: at most 5 are taken", Size: 9, Most: 5,
	})
	var wrong *invalid.Error
	if errors.As(err, &wrong) && wrong.Code == invalid.TooLarge {
		fmt.Printf("message %d: %d bytes too many\n", wrong.At[0].Index, wrong.Size-wrong.Most)
	}
	fmt.Println(err)
	// Output:
	// message 7: 4 bytes too many
	// messages[7].body has 9 bytes: at most 5 are taken
}

func TestSentences(t *testing.T) {
	group := invalid.Element{List: "messages", Index: 3}
	for want, err := range map[string]error{
		"id is missing":              invalid.New(invalid.Missing, "id", "is missing"),
		"must be a string":           invalid.New(invalid.Malformed, "", "must be a string"),
		"seqs[2] must be an integer": invalid.Within("seqs", 2, invalid.New(invalid.Malformed, "", "must be an integer")),
		"arrivals[1].messages[0].id is not valid UTF-8": invalid.Within("arrivals", 1,
			invalid.Within("messages", 0,
				invalid.New(invalid.Malformed, "id", "is not valid UTF-8"))),
		"seq is that of messages[3], which is another": &invalid.Error{Field: "seq", Twin: &group, Problem: "which is another"},
		`queue "a\"b" is not there`:                    &invalid.Error{Field: "queue", Queue: `a"b`, Problem: "is not there"},
		`id is taken (queue "q")`:                      &invalid.Error{Field: "id", Queue: "q", Problem: "is taken"},
		"token must be a string":                       invalid.Named("token", invalid.New(invalid.Malformed, "", "must be a string")),
		"token EOF":                                    invalid.Named("token", errors.New("EOF")),
		"EOF":                                          invalid.Within("messages", 0, errors.New("EOF")),
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// What is put around an error leaves that one as it was, and is what it was.
func TestCauses(t *testing.T) {
	cause := errors.New("cause")
	inner := &invalid.Error{Field: "edge", Code: invalid.Clash, Err: cause}
	outer := invalid.Within("operations", 1, fmt.Errorf("here: %w", invalid.Named("parent", inner)))
	var wrong *invalid.Error
	if !errors.Is(outer, cause) || !errors.As(outer, &wrong) || wrong.Code != invalid.Clash ||
		wrong.Path() != "operations[1].parent" || inner.Path() != "edge" {
		t.Errorf("%v of %v", outer, inner)
	}
}

func TestTextCode(t *testing.T) {
	for text, want := range map[string]invalid.Code{"": invalid.Missing,
		strings.Repeat("x", 6): invalid.TooLarge, "\xff": invalid.Malformed} {
		if got := invalid.TextCode(text, 5); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
