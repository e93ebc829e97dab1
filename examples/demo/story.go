package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/localstack"
)

// batch is what the story's function prints of a batch.
type batch struct{ pid, from, to, token, attempt int }

// scene is a message, and the batches that come of it: the seqs, and at which attempt.
type scene struct {
	seq        int
	body, what string
	out        [][3]int // from, to, attempt
}

var scenes = []scene{
	{1, "", "a message", [][3]int{{1, 1, 1}}},
	{3, "", "one too early, which waits: there is a gap", nil},
	{2, "", "the missing one, which closes the gap", [][3]int{{2, 3, 1}}},
	{4, "hang", "one at which the function's process is killed", [][3]int{{4, 4, 1}, {4, 4, 2}}},
	{5, "fail", "one at which the function fails", [][3]int{{5, 5, 1}, {5, 5, 2}}},
}

// story shows, message by message, what the rest of the demo does with thousands: what is delivered
// again comes under a higher token.
func story(ctx context.Context, out io.Writer) {
	folder := filepath.Join(check.Get(localdb.Root()), "examples", "demo", "story")
	consumer := check.Get(localstack.ParseConsumer("story=" + folder))
	fmt.Fprintf(out, "==> a gap, a crash and a retry, message by message\n")
	config := localstack.Config{
		Consumers: []localstack.Consumer{consumer}, Env: map[string]string{"STREAMSORT_EVENT_BUS": ""},
		Logger: slog.New(slog.DiscardHandler),
	}
	stack := check.Get(localstack.Run(ctx, config))
	defer stack.Close()
	batches := make(chan batch, 100)
	defer stack.Subscribe(func(l localstack.Line) {
		var b batch
		if _, err := fmt.Sscan(l.Text, &b.pid, &b.from, &b.to, &b.token, &b.attempt); err == nil &&
			l.Function == "story" {
			batches <- b
		}
	})()
	c := check.Get(client.New(stack.URL()))
	token := 0
	for _, s := range scenes {
		document := fmt.Appendf(nil, `{"queue":"story","seq":%d,"body":%q}`, s.seq, s.body)
		results := check.Get(c.Put(ctx, []json.RawMessage{document}))
		fmt.Fprintf(out, "    in   seq %d, %s: %s\n", s.seq, s.what, results[0].Outcome)
		for _, want := range s.out {
			var got batch
			select {
			case got = <-batches:
			case <-ctx.Done():
				check.Must(ctx.Err())
			case <-time.After(patience):
				check.Must(fmt.Errorf("seq %d did not come out for %v", want[0], patience))
			}
			if [3]int{got.from, got.to, got.attempt} != want || got.token <= token {
				check.Must(fmt.Errorf("came out: %+v; want seqs and attempt %v, under a token above %d",
					got, want, token))
			}
			token = got.token
			fmt.Fprintf(out, "    out  seq %d to %d, token %d, attempt %d\n", got.from,
				got.to, got.token, got.attempt)
			if s.body == "hang" && got.attempt == 1 {
				check.Must(syscall.Kill(got.pid, syscall.SIGKILL))
			}
		}
	}
}
