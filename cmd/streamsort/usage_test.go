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
		{`put --order arrival --events {"queue":"a","id":"b"}`, "--order arrival is for messages"},
		{`put --events {"queue":"a"}`, "--events: seq is missing"},
		{"put --order key --first 0", "--first is for messages with a seq"},
		{`put --first 0 --events {"queue":"a","seq":"b"}`, "--first is for messages with a seq"},
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
		{"replay q x 2 again --bucket b", "from: seq is not an integer"},
		{"redrive --all --state lagging --reason r", `--state is "lagging": it must be one of blocked with redrive`},
		{"pause --all --reason r", "--consumer is missing"},
		{"rewind --all --consumer c --reason r", "--to belongs to rewind"},
		{"rewind --all --consumer c --to nowhere --reason r", `--to is "nowhere"`},
		{"redrive --all --rate 0 --reason r", "--rate is 0: it must be from 1 to 1000"},
		{"redrive --all --run x --reason r", `--run is "x"`},
		{"skip q c 1 --run x --reason r", "are for --all"},
		{"--sign --token a.b.c status q", "--sign and --token are both given"},
		{"local --consumer a=b --template main.go", "--consumer is for the project's own stack: without --template"},
		{"local --prefix shop/", "--prefix: there is no --consumer to read the queues"},
		{"local --consumer a=http://x/ --prefix b=shop/", "--prefix: there is no --consumer b"},
		{"local --consumer a=nope.py", "--consumer: a: there is no /"},
		{"local --consumer a=http://x/ --prefix a=shop/ --prefix a=bank/", "--prefix: a=bank/ is a second one, and a consumer has one: give a shorter one, or another --consumer"},
		{"local --consumer a=http://x/ --prefix shop/ --prefix bank/", "--prefix: bank/ is a second one"},
		{"local --consumer a=http://x/ --consumer a=http://y/", "--consumer: two consumers have the name a: each must have its own"},
		{"local --port 99999", "--port must be from 0 to 65535"},
	} {
		var out, errOut bytes.Buffer
		code := run(t.Context(), strings.Fields(c.line), strings.NewReader(""), &out, &errOut)
		if said := errOut.String(); code != 2 || !strings.HasPrefix(said, "streamsort: ") || !strings.Contains(said, c.says) || !strings.Contains(said, "; see `streamsort") {
			t.Errorf("%s: exit code %d, %s", c.line, code, said)
		}
	}
}
