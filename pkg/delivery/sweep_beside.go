package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/tally"
	"github.com/streamsort/streamsort/pkg/cursor"
)

type consumerSweep struct {
	deliverer *Deliverer
	options   SweepOptions

	mu     sync.Mutex
	report SweepReport
	errs   []error
	// visited are the queues that the round of the gaps has come to: the full round neither
	// announces nor notifies again.
	visited map[string]bool
	// rest are the queues of which something is left.
	rest []*sweepRun
}

// of names the readers: the consumer of a new one is missing in queues that have been quiet for
// long, too. It is empty where there are none.
func (s *consumerSweep) of() string {
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

// maxSweepErrors is how many errors a run tells.
const maxSweepErrors = 10

func (s *consumerSweep) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && len(s.errs) < maxSweepErrors {
		s.errs = append(s.errs, err)
	}
}

// comeTo reports whether a queue is to be seen to: once a run.
func (s *consumerSweep) comeTo(queue string, full bool) bool {
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

// visit handles the consumers of a queue. The next round looks at one that failed again: because it
// was notified, else because it looks as far back as this one.
func (s *consumerSweep) visit(ctx context.Context, it cursor.Cursor, full bool,
	seen *tally.Tally) error {
	if it.Erased() || !s.comeTo(it.Queue, full) {
		return nil // erase handles it
	}
	run := &sweepRun{Deliverer: s.deliverer, options: s.options, seen: seen,
		until: s.deliverer.now().Add(sweepTurn)}
	run.report.Queues++
	err := run.queue(ctx, it)
	if isErased(err, it.Queue) {
		err = nil // since it was seen
	}
	unseen := false
	if err != nil {
		run.report.Failed++
		unseen = s.deliverer.sorter.Notify(ctx, it.Queue) != nil
		err = fmt.Errorf("sweep of queue %q: %w", it.Queue, err)
	}
	s.did(run)
	if unseen {
		return err
	}
	s.fail(err)
	if run.held > 0 && !full {
		return cursor.ErrLookBack // nothing notified it, and it lags
	}
	return nil
}

func (s *consumerSweep) did(run *sweepRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.add(run.report)
	if len(run.left) > 0 || run.more {
		s.rest = append(s.rest, run)
	}
}

// goOn goes on with the queues of which something is left. Consumers were woken up: whom this does
// not come to the next round does.
func (s *consumerSweep) goOn(ctx context.Context) {
	rest := s.rest
	s.rest = nil
	s.deliverer.forEach(len(rest), func(i int) {
		run, left, more := rest[i], rest[i].left, rest[i].more
		run.report, run.seen, run.until, run.left, run.more = SweepReport{}, &tally.Tally{},
			time.Time{}, nil, false
		_, err := run.each(ctx, left, run.at)
		if more {
			err = errors.Join(err, run.retire(ctx, run.at))
		}
		if err != nil {
			run.report.Failed++
			s.fail(fmt.Errorf("sweep of queue %q: %w", run.at.Queue, err))
		}
		s.did(run)
	})
}
