package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// trackTime is how long the work of a batch may take before it comes again.
const trackTime = "10s"

// trackedTemplate writes the stack's template with its consumer tracked, and the environment that
// goes with that.
func trackedTemplate(path, folder string, env map[string]string) (string, error) {
	text, err := template.ReadFile(path)
	if err != nil {
		return "", err
	}
	const name = `{\"name\":\"receiver\",`
	if strings.Count(string(text), name) != 1 {
		return "", fmt.Errorf("%s has not one consumer of the name receiver", path)
	}
	path = filepath.Join(folder, "streamsort.template.json")
	env["ProcessFunction.STREAMSORT_CHAINS_TABLE"] = "streamsort-chains"
	tracked := strings.Replace(string(text), name, name+`\"track\":\"`+trackTime+`\",`, 1)
	return path, os.WriteFile(path, []byte(tracked), 0o600)
}

// trees watches that nothing is committed before its work is done. nil watches nothing.
type trees struct {
	queues []string
	store  *delivery.Store

	mu sync.Mutex
	// done are the messages whose work was done, by queue and seq.
	done map[string]map[int64]bool
	// committed is how far each queue was seen to be committed.
	committed map[string]int64
	commits   int
	early     []string
}

func watchTrees(stack *localstack.Stack, endpoint string, arrivals []traffic.Arrival) (*trees, error) {
	client, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	if err != nil {
		return nil, err
	}
	w := &trees{
		store: delivery.NewDynamo(client, delivery.Names{Consumers: stack.Outputs()["streamsort"]["ConsumersTableName"]}),
		done:  map[string]map[int64]bool{}, committed: map[string]int64{},
	}
	for _, a := range arrivals {
		if w.done[a.Queue] == nil {
			w.done[a.Queue] = map[int64]bool{}
			w.queues = append(w.queues, a.Queue)
		}
	}
	return w, nil
}

// line takes a line of the worker's log, which it writes before it says that the work is done.
func (w *trees) line(text string) {
	var l struct {
		Message, Queue string
		Seq            jsonseq.Seq
	}
	if json.Unmarshal([]byte(text), &l) != nil || l.Message != "work" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if seqs := w.done[l.Queue]; seqs != nil {
		seqs[int64(l.Seq)] = true
	}
}

// behind is how long a line of the log may take to get here.
const behind = 3 * time.Second

// look looks how far the queues are committed, and whether the work of all that is was done.
func (w *trees) look(ctx context.Context) (total int64, err error) {
	for _, queue := range w.queues {
		c, err := w.store.Requests(request.Inside{}).Consumer(ctx, queue, "receiver")
		if err != nil {
			return 0, err
		}
		total += c.Delivered
		if c.Delivered == w.committed[queue] {
			continue
		}
		w.commits++
		for seq := w.committed[queue] + 1; seq <= c.Delivered; seq++ {
			if !w.isDone(ctx, queue, seq) {
				w.early = append(w.early, fmt.Sprintf("queue %s: %d is committed, and its work is not done", queue, seq))
			}
		}
		w.committed[queue] = c.Delivered
	}
	return total, nil
}

func (w *trees) isDone(ctx context.Context, queue string, seq int64) bool {
	for waited := time.Now(); ; {
		w.mu.Lock()
		done := w.done[queue][seq]
		w.mu.Unlock()
		if done || ctx.Err() != nil || time.Since(waited) > behind {
			return done
		}
		<-time.After(10 * time.Millisecond)
	}
}

// wait watches until everything is committed.
func (w *trees) wait(ctx context.Context, want int, out io.Writer) error {
	if w == nil {
		return nil
	}
	committed := progress.Wait{
		Total: want, What: "messages are committed", Patience: patience, Killed: true, Out: out,
	}
	return committed.Until(ctx, func(ctx context.Context) (int, string, error) {
		total, err := w.look(ctx)
		return int(total), "", err
	})
}

// row is what the summary says, and what is wrong.
func (w *trees) row() (string, []error) {
	var errs []error
	for _, early := range w.early {
		errs = append(errs, errors.New(early))
	}
	works := 0
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, seqs := range w.done {
		works += len(seqs)
	}
	return fmt.Sprintf("the work of %d messages was done; %d commits seen, %d before their tree was done", works, w.commits, len(w.early)), errs
}
