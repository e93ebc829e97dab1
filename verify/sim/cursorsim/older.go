package cursorsim

import (
	"context"
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

// layoutBeforePacks is the newest layout of items that the version before packed runs knows.
const layoutBeforePacks = 4

// olderSorter is a process of the version before packed runs: it refuses each item of a newer layout
// where it decodes it, makes queues without packed runs, and does all else as this version does in such. What it is
// shown of a newer layout ends its operation, so it cannot come to anything that it would do otherwise.
func (m *model) olderSorter(p *sim.Proc) *cursor.Sorter {
	_, v := m.sorter(p)
	settings := m.settings
	settings.Packs = cursor.PacksNone
	s, err := cursor.New(simdb.Queues(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		a, err := v.Do(ctx, r)
		if err != nil {
			return a, err
		}
		if queue := queueOf(r); r.Writes() && a.Held && m.cursor(queue).Settings.Packs != cursor.PacksNone {
			m.run.Violation("an older version wrote to queue %s, which has packed runs: %s", queue, r.Name())
		}
		for _, it := range append([]ddb.Item{a.Item}, a.Items...) {
			d := ddb.Decoder{Item: it}
			if d.Layout("v", layoutBeforePacks); it.Exists() && d.Err != nil {
				return ddb.Answer{}, d.Err
			}
			if it.Has("count") {
				m.run.Violation("an older version takes a packed run for a message")
			}
		}
		return a, nil
	})), &cursor.Options{
		ForEach: fanout.OneByOne, Defaults: &settings, Now: func() time.Time { return m.now },
		NewOp: func() []byte { return []byte(p.Name()) },
	})
	if err != nil {
		panic(err) // a scenario with settings out of bounds
	}
	return s
}

// queueOf is the queue that a write is about.
func queueOf(r ddb.Request) string {
	switch r := r.(type) {
	case ddb.Put:
		return r.Item.Get("queue").Str()
	case ddb.Update:
		return r.Key.Get("queue").Str()
	}
	return ""
}

// olderVersion is a process of the version before packed runs that makes a call, as a producer; heals the queue, as
// the handler of its record; and reads all, as a consumer, with nothing that it remembers in between. Of a queue that
// has packed runs it is refused each.
func (m *model) olderVersion(name string, c put) {
	m.run.Go(name, func(p *sim.Proc) {
		messages := c.messages()
		queue := messages[0].Queue
		m.tried(messages)
		for i, operation := range []func(*cursor.Sorter) error{
			func(s *cursor.Sorter) error { return m.olderPut(p, s, messages) },
			func(s *cursor.Sorter) error {
				_, err := s.Heal(context.Background(), queue, messages[0].Seq)
				return err
			},
			func(s *cursor.Sorter) error { return m.olderRead(s, queue) },
		} {
			p.Forget().Int(int64(i))
			m.running++
			err := operation(m.olderSorter(p))
			m.running--
			if p.Dead() {
				m.unfinished = true
				return
			}
			packs, refused := m.cursor(queue).Settings.Packs != cursor.PacksNone, errors.Is(err, table.ErrNewerLayout)
			if packs && !refused && (err == nil || !m.run.Failed()) || refused && !packs {
				m.run.Violation("an older version was at operation %d on a queue with packed runs (%v), and heard: %v", i, packs, err)
			}
		}
	})
}

// olderPut is a call of a producer of an older version.
func (m *model) olderPut(p *sim.Proc, s *cursor.Sorter, messages []cursor.Message) error {
	before := m.settings.First - 1
	if at := m.cursor(messages[0].Queue); at.Exists() {
		before = at.Position
	}
	results, err := s.PutGroup(context.Background(), messages)
	for i, r := range results {
		if r.Err == nil && !p.Dead() {
			m.checkAnswer(messages[i], r, before)
		}
		m.unfinished = m.unfinished || r.Err != nil || r.Deferred != nil
		err = errors.Join(err, r.Err)
	}
	return err
}

// olderRead reads all that was passed when it began.
func (m *model) olderRead(s *cursor.Sorter, queue string) error {
	upTo := max(m.cursor(queue).Position, m.settings.First)
	for read, err := range s.Read(context.Background(), queue, m.settings.First-1, upTo) {
		if err != nil {
			return err
		}
		if !same(read, m.stored[place{queue, read.Seq}]) {
			m.run.Violation("an older version read seq %d as %q", read.Seq, read.Body)
		}
	}
	return nil
}
