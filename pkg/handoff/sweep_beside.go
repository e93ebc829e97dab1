package handoff

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// ConsumerSweep is a run that looks after the consumers in the rounds of the sorter's
// sweep.
type ConsumerSweep struct {
	deliverer *Deliverer
	options   SweepOptions

	mu     sync.Mutex
	report SweepReport
	errs   []error
	// visited are the queues that the round of those that moved has come to: the full round
	// neither announces nor nudges again.
	visited map[string]bool
}

// SweepBeside makes a run of [Deliverer.Sweep] that makes no rounds of its own: give its
// Beside to the sorter's sweep, in [cursor.SweepOptions], and ask for its Report afterwards.
func (d *Deliverer) SweepBeside(options SweepOptions) (*ConsumerSweep, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	return &ConsumerSweep{deliverer: d, options: o, visited: map[string]bool{}}, nil
}

// quiet reports whether nothing waits in a queue that was neither moved nor nudged for
// long: a consumer that lags is nudged by every round. What is archived and deleted comes in steps,
// which nudge nobody.
func (s *ConsumerSweep) quiet() bool { return !s.options.Delete && s.options.Archive == nil }

// of names the readers: the consumer of a new one is missing in queues that have been quiet
// for long, too. It is empty where there are none.
func (s *ConsumerSweep) of() string {
	if len(s.options.Readers) == 0 {
		return ""
	}
	var names []string
	for _, r := range s.options.Readers {
		names = append(names, fmt.Sprintf("%q", []string{r.Name, r.Prefix}))
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "")))
	return "/" + hex.EncodeToString(sum[:8])
}

// Beside is what [cursor.SweepOptions] takes.
func (s *ConsumerSweep) Beside() cursor.Beside {
	return cursor.Beside{Visit: s.visit, Quiet: s.quiet(), Of: s.of()}
}

// Report is what the run did, and what the round saw that ended in it.
func (s *ConsumerSweep) Report(round cursor.Round) (SweepReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.whole(round)
	return s.report, errors.Join(s.errs...)
}

// maxSweepErrors is how many errors a run tells.
const maxSweepErrors = 10

func (s *ConsumerSweep) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && len(s.errs) < maxSweepErrors {
		s.errs = append(s.errs, err)
	}
}

// comeTo reports whether a queue is to be seen to: once a run.
func (s *ConsumerSweep) comeTo(queue string, full bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.visited[queue] {
		return false
	}
	if !full {
		s.visited[queue] = true
	}
	return true
}

// visit sees to the consumers of a queue. The next round looks at one that failed
// again: because it was nudged, else because it looks as far back as this one.
func (s *ConsumerSweep) visit(ctx context.Context, it cursor.Cursor, full bool, seen *cursor.Tally) error {
	if it.Erased() || !s.comeTo(it.Queue, full) {
		return nil // cursor.SweepOptions.Erase sees to what was erased
	}
	run := sweepRun{Deliverer: s.deliverer, options: s.options, seen: seen}
	run.report.Queues++
	err := run.queue(ctx, it)
	if isErased(err, it.Queue) {
		err = nil // since it was seen
	}
	unseen := false
	if err != nil {
		run.report.Failed++
		unseen = s.deliverer.sorter.Nudge(ctx, it.Queue) != nil
		err = fmt.Errorf("sweep of queue %q: %w", it.Queue, err)
	}
	s.mu.Lock()
	s.report.add(run.report)
	s.mu.Unlock()
	if unseen {
		return err
	}
	s.fail(err)
	return nil
}
