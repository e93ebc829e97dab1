package printable_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/printable"
)

// TestText: nothing of another's orders a terminal about, or ends a line.
func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"orders": "orders", "größe 訂單 \\r": "größe 訂單 \\r", "a\rb\nc\td": `a\rb\nc\td`, "\x1b[2J": `\x1b[2J`,
		"\u009b2J": `\u009b2J`, "a\u202eb": `a\u202eb`, "\u2028": `\u2028`, "\xff": "\ufffd", "\x7f": `\x7f`,
	} {
		check.Is(t, printable.Text(text), want, text)
		check.Is(t, fmt.Sprint(printable.Name(text)), want, "the name", text)
	}
	check.Is(t, printable.Lines("a\tb\r\nc"), "a\tb\\r\nc")
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
		check.Is(t, string(got), want, document)
		var before, after any
		check.OK(t, json.Unmarshal([]byte(document), &before))
		check.OK(t, json.Unmarshal(got, &after))
		check.Is(t, fmt.Sprint(after), fmt.Sprint(before), document)
	}
}
