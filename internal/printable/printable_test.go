package printable_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/printable"
)

// TestText: nothing of another's orders a terminal about, or ends a line.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"orders": "orders", "größe 訂單 \\r": "größe 訂單 \\r", "a\rb\nc\td": `a\rb\nc\td`, "\x1b[2J": `\x1b[2J`,
		"\u009b2J": `\u009b2J`, "a\u202eb": `a\u202eb`, "\u2028": `\u2028`, "\xff": "\ufffd", "\x7f": `\x7f`,
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		if got := fmt.Sprint(printable.Name(text)); got != want {
			t.Errorf("the name %q is %q, want %q", text, got, want)
		}
	}
	if got := printable.Lines("a\tb\r\nc"); got != "a\tb\\r\nc" {
		t.Errorf("%q", got)
	}
}

// TestJSON: the document stays equal, and has nothing that orders a terminal about.
func TestJSON(t *testing.T) {
	for document, want := range map[string]string{
		"{\"a\": [1,\n\"größe \U0001f600\"]}": "{\"a\": [1,\n\"größe \U0001f600\"]}",
		"\"\u009b2J\u202e\x7f\u2066\"":        `"\u009b2J\u202e\u007f\u2066"`,
		"\"\U000e0001\"":                      `"\udb40\udc01"`,
		"\"\ufffd\"":                          "\"\ufffd\"",
		"\"\x9b\"":                            `"\ufffd"`,
	} {
		got := printable.JSON([]byte(document))
		if string(got) != want {
			t.Errorf("%q is %q, want %q", document, got, want)
		}
		var before, after any
		if err := json.Unmarshal([]byte(document), &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &after); err != nil || fmt.Sprint(before) != fmt.Sprint(after) {
			t.Errorf("%q is read as %v, %v; was %v", got, after, err, before)
		}
	}
}
