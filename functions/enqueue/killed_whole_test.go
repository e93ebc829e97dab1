//go:build whole

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/child"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/producer"
)

func TestMain(m *testing.M) {
	if os.Getenv(childRun) != "" {
		if err := runProducer(); err != nil {
			fmt.Fprintln(os.Stderr, "producer:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The environment of a child process, which runs the tests' own binary and sends messages.
const (
	childAPI   = "TEST_API"   // where
	childSpool = "TEST_SPOOL" // the folder
	childRun   = "TEST_RUN"   // which run it is; "last" sends nothing of its own
	childFrom  = "TEST_FROM"  // the first seqs, one for each numbered queue
)

// numberedQueues and arrivalQueues are how many of each a child sends to.
const numberedQueues, arrivalQueues = 3, 2

// seqBody is the body of a message of a numbered queue: the same in each run.
func seqBody(queue string, seq int64) string { return fmt.Sprintf(`{"queue":%q,"seq":%d}`, queue, seq) }

// runProducer sends messages to all queues until it is killed, and prints a line for each that is spooled.
func runProducer() error {
	transport, err := producer.HTTP(os.Getenv(childAPI))
	if err != nil {
		return err
	}
	p, err := producer.New(transport, &producer.Options{
		Spool: &producer.Spool{Dir: os.Getenv(childSpool)}, MaxBytes: 2 << 20, Batch: 25, MinBackOff: time.Millisecond, MaxBackOff: 20 * time.Millisecond,
		RequestTimeout: time.Second,
	})
	if err != nil {
		return err
	}
	ctx := context.Background()
	run := os.Getenv(childRun)
	if run == "last" {
		return p.Close(ctx)
	}
	var from [numberedQueues]int64
	if err := json.Unmarshal([]byte(os.Getenv(childFrom)), &from); err != nil {
		return err
	}
	failed := make(chan error)
	stream := func(next func(n int64) (producer.Message, string)) {
		for n := int64(0); ; {
			var futures []*producer.Future
			var lines []string
			for range 1 + rand.N(20) {
				m, line := next(n)
				f, err := p.Send(ctx, m)
				if err != nil {
					failed <- err
					return
				}
				futures, lines = append(futures, f), append(lines, line)
				n++
			}
			for i, f := range futures {
				if err := f.Spooled(ctx); err != nil {
					failed <- err
					return
				}
				fmt.Println(lines[i])
			}
		}
	}
	for i := range numberedQueues {
		queue := fmt.Sprint("n", i)
		go stream(func(n int64) (producer.Message, string) {
			seq := from[i] + n
			return producer.Message{Queue: queue, Seq: &seq, Body: []byte(seqBody(queue, seq))}, fmt.Sprintf("%s %d", queue, seq)
		})
	}
	for i := range arrivalQueues {
		queue := fmt.Sprint("a", i)
		go stream(func(n int64) (producer.Message, string) {
			return producer.Message{Queue: queue, Body: fmt.Appendf(nil, `{"run":%s,"n":%d}`, run, n)}, fmt.Sprintf("%s %d", queue, n)
		})
	}
	return <-failed
}

// TestProducerIsKilled: a producer with a spool is killed at random moments, many times, while answers get
// lost. Each message that it was told of as spooled is in its queue once, in order; none is there twice.
func TestProducerIsKilled(t *testing.T) {
	const kills = 60
	store := cursor.NewMemory()
	sorter, err := cursor.New(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	handle := (&service{sorter: sorter, now: time.Now}).api(emf.New(io.Discard, emf.Names{})).Handle
	var requests, lost, refused atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it was killed
		}
		requests.Add(1)
		chance := rand.N(100)
		if chance < 5 {
			refused.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		// What has begun goes on, as a function does whose caller has died.
		raw, err := handle(context.WithoutCancel(r.Context()), json.RawMessage(httpapitest.V2(r.Method, r.URL.Path, "", string(body), false)))
		var answer struct {
			StatusCode int
			Body       string
		}
		if err != nil || json.Unmarshal(raw, &answer) != nil || chance < 15 {
			lost.Add(1)
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(answer.StatusCode)
		_, _ = io.WriteString(w, answer.Body)
	}))
	defer api.Close()
	starter := child.NewStarter()
	defer starter.Close()
	spool := t.TempDir()

	// told are the messages that a child said were spooled: of a numbered queue the last seq, of one
	// in arrival order those of each run.
	next := [numberedQueues]int64{1, 1, 1}
	told := map[string]bool{}
	for run := range kills {
		from, _ := json.Marshal(next)
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), childAPI+"="+api.URL, childSpool+"="+spool, fmt.Sprint(childRun, "=", run), childFrom+"="+string(from))
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var wrong strings.Builder
		command.Stderr = &wrong
		if err := starter.Start(command); err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				break // what it died in was told to nobody
			}
			// It may die as soon as it has told of one.
			once.Do(func() {
				time.AfterFunc(rand.N(150*time.Millisecond), func() { child.Signal(command, syscall.SIGKILL) })
			})
			var queue string
			var n int64
			if _, err := fmt.Sscan(line, &queue, &n); err != nil {
				t.Fatal(err)
			}
			if queue[0] == 'n' {
				next[queue[1]-'0'] = max(next[queue[1]-'0'], n+1)
				continue
			}
			told[fmt.Sprintf(`%s {"run":%d,"n":%d}`, queue, run, n)] = true
		}
		_ = command.Wait()
		if wrong.Len() > 0 {
			t.Fatal(wrong.String())
		}
	}
	last := exec.Command(os.Args[0])
	last.Env = append(os.Environ(), childAPI+"="+api.URL, childSpool+"="+spool, childRun+"=last")
	if text, err := last.CombinedOutput(); err != nil || len(text) > 0 {
		t.Fatalf("%v: %s", err, text)
	}

	all := 0
	for i, next := range next {
		queue := fmt.Sprint("n", i)
		status, err := sorter.Status(t.Context(), queue)
		if err != nil || status.Position < next-1 {
			t.Fatalf("%s is at %d, and %d were spooled: %v", queue, status.Position, next-1, err)
		}
		seq := int64(0)
		for m, err := range sorter.Read(t.Context(), queue, 0, status.Position) {
			if seq++; err != nil || m.Seq != seq || string(m.Body) != seqBody(queue, seq) {
				t.Fatalf("%s at %d: seq %d, %s, %v", queue, seq, m.Seq, m.Body, err)
			}
		}
		if seq != status.Position {
			t.Errorf("%s has %d messages up to %d", queue, seq, status.Position)
		}
		all += int(seq)
	}
	for i := range arrivalQueues {
		queue := fmt.Sprint("a", i)
		status, err := sorter.Status(t.Context(), queue)
		if err != nil {
			t.Fatal(err)
		}
		type place struct{ Run, N int }
		before := place{-1, 0}
		for m, err := range sorter.Read(t.Context(), queue, 0, status.Position) {
			if err != nil {
				t.Fatal(err)
			}
			var now place
			if err := json.Unmarshal(m.Body, &now); err != nil {
				t.Fatal(err)
			}
			// Each next one is the next of its run, or the first of a later one: so none is twice, out of order, or left
			// out between two that are there.
			if now.Run == before.Run && now.N != before.N+1 || now.Run != before.Run && (now.Run < before.Run || now.N != 0) {
				t.Fatalf("%s: %+v behind %+v", queue, now, before)
			}
			before = now
			delete(told, queue+" "+string(m.Body))
			all++
		}
	}
	for lost := range told {
		t.Errorf("lost: %s", lost)
	}
	t.Logf("%d kills, %d messages, %d requests: %d answers lost, %d refused", kills, all, requests.Load(), lost.Load(), refused.Load())
	if lost.Load() == 0 || refused.Load() == 0 || all < 100*kills/4 {
		t.Error("that is no test")
	}
}
