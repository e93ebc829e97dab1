package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestUsage: a line that is wrong is exit code 2, with the verb whose help says more, and a
// flag that would be ignored makes it wrong.
func TestUsage(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{"nonsense", "unexpected argument nonsense; see `streamsort --help`"},
		{"put --nope", "unknown flag --nope; see `streamsort put --help`"},
		{"put --batch 0", "--batch is 0"},
		{"put --concurrency 65", "--concurrency is 65"},
		{"put --order arrival --id a", "--order arrival is for messages"},
		{"put --order key --first 0", "--first is for messages and events with a seq"},
		{"restart-keys q", "missing flags: --reason"},
		{"tail", "a queue is needed, or --batches"},
		{"tail q --count 3", "are for --batches"},
		{"tail q --messages-table t", "are for --batches"},
		{"tail q --cursors-table t", "are for --batches"},
		{"tail --batches --count=-1", "--count is -1"},
		{"tail --batches --after 3", "--after, --from, --consumer and --follow are for a queue's messages"},
		{"tail --batches -f", "--after, --from, --consumer and --follow are for a queue's messages"},
		{"erase", "either a queue or --tenant"},
		{"erase q", "missing flags: --reason"},
		{"erase q --dry-run --id x", "--id names an operation"},
		{"configure q policy", "must be a setting"},
		{"replay q x 2 again", "from: seq is not an integer"},
		{"--sign --token a.b.c status q", "--sign and --token are both given"},
		{"local --port 99999", "--port must be from 0 to 65535"},
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), strings.Fields(c.line), strings.NewReader(""), &out, &errOut)
		if said := errOut.String(); code != 2 || !strings.HasPrefix(said, "streamsort: ") || !strings.Contains(said, c.says) || !strings.Contains(said, "; see `streamsort") {
			t.Errorf("%s: exit code %d, %s", c.line, code, said)
		}
	}
}
