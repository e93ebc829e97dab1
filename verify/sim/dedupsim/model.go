// Package dedupsim plugs pkg/dedup into the simulator: its actors are the package's own code, its
// Store among it, on tables in memory, and its model checks, at every write and every answer:
//
//	D1 one token is valid at a time, and fences only rise
//	D2 only the valid token completes, fails or extends
//	D3 a completed id gives the same bytes until it expires
//	D4 another payload is refused
//	D5 a second run begins only after the lease is over, within the margin
//	L  no id is stuck for longer than a lease and one more call
//
// and that attempts count the claims of a life, that no row vanishes but by TTL, that nobody waits
// for itself or runs without a claim of its own, and that each answer says what was so.
package dedupsim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/world"
)

const (
	processor = "p"
	// id is the one that all calls are about.
	id     = "x"
	lease  = 10 * time.Second
	margin = 2 * time.Second
	ttl    = time.Minute
)

var (
	key       = dedup.Key{ID: id, Processor: processor}
	tableName = dedup.Names{}.Tables()[0].Name
)

// settings are what differs between scenarios.
type settings struct {
	maxAttempts int
	// looks: processes have met no new ids yet, and look first.
	looks bool
	cache int
	ttl   time.Duration
	// farApart: clocks differ by more than the margin, so D5 does not hold.
	farApart bool
	// late: the network may deliver copies of requests long afterwards.
	late bool
	// large: results have an item of their own.
	large bool
	// alike: callers that do the same by the same clock may change places; nothing is late, and no
	// cache has a result.
	alike bool
	// fewer is by how much fewer than two looks a waiter has.
	fewer int
}

type completion struct {
	result     string
	validUntil time.Time
}

// model is the table and all that the invariants need to know.
type model struct {
	*world.World
	settings
	// table is for the model's own eyes: none of its requests is a step.
	table interface {
		dedup.Store
		Decode(ddb.Item) (dedup.Row, error)
	}

	// item and row are what stands there, none where nothing does; older are the states before it
	// that a stale read may show.
	item  ddb.Item
	row   dedup.Row
	older []ddb.Item
	// owners are who made the claims, by their fences, completions the results.
	owners      map[int64]string
	completions map[int64]completion
	// claims counts writes that made an owner.
	claims int
	// strays are copies of requests that are still under way, as long as the network keeps any.
	strays  []write
	copying bool
	// asking counts processes that have looked at their clock for a claim that is not made yet:
	// that takes shorter than a row outlives its end.
	asking int
}

func newModel(run *sim.Run, s settings) *model {
	m := &model{
		World: world.New(run, dedup.Names{}.Tables()...), settings: s,
		owners: map[int64]string{}, completions: map[int64]completion{}, copying: s.late,
	}
	m.table = dedup.NewTable(m.Tables, dedup.Names{})
	return m
}

// Check implements [sim.Model]: all is checked where it happens.
func (m *model) Check() error { return nil }

type write struct {
	kind kind
	by   string
	// token is that of a claim, and clock when it was made; token and fence are those of a claim
	// that is ended.
	token dedup.Token
	clock time.Time
	fence int64
	do    func() (ddb.Answer, error)
}

// perform makes a write and checks what it did.
func (m *model) perform(w write) (ddb.Answer, error) {
	before, item := m.row, m.item
	a, err := w.do()
	m.item = m.standing()
	m.row = m.rowOf(m.item)
	if !m.item.Equal(item) {
		m.older = append(m.older, item)
		if len(m.older) > 2 {
			m.older = m.older[1:]
		}
		m.check(w, before, m.row)
	}
	return a, err
}

// standing is the item of the row; the zero Item if absent.
func (m *model) standing() ddb.Item {
	for _, it := range m.Tables.Items(tableName) {
		if !it.Has("resultOf") {
			return it
		}
	}
	return ddb.Item{}
}

// sameEnd reports whether two rows were completed alike.
func sameEnd(a, b dedup.Row) bool {
	return a.CompletedAt.Equal(b.CompletedAt) && a.Failed == b.Failed &&
		a.Result.Place == b.Result.Place &&
		bytes.Equal(a.Result.Bytes, b.Result.Bytes)
}

func isCompleted(r dedup.Row) bool { return !r.CompletedAt.IsZero() }

func (m *model) check(w write, before, after dedup.Row) {
	clock := m.Now.Add(m.Clocks[w.by])
	if w.kind.claims() {
		clock = w.clock
	}
	wrong := func(format string, arguments ...any) {
		m.Run.Violation("%s by %s: %s", w.kind, w.by, fmt.Sprintf(format, arguments...))
	}
	valid := before.Exists() && before.ValidUntil.After(clock)
	if !after.Exists() {
		wrong("the row is gone")
	}
	if after.Fence < before.Fence || after.Fence == before.Fence && after.Token != before.Token {
		wrong("D1: token %v of fence %d after %v of %d", after.Token, after.Fence,
			before.Token, before.Fence)
	}
	if valid && isCompleted(before) && w.kind != invalidating && !sameEnd(before, after) {
		wrong("D3: a completed row was changed")
	}
	switch w.kind {
	case claiming, replacing:
		m.checkClaim(w, before, after, valid, wrong)
	case completing, failing, extending:
		if before.Token != w.token || before.Fence != w.fence || isCompleted(before) {
			wrong("D2: it is not the owner")
		}
		if w.kind == completing {
			m.completions[after.Fence] = completion{m.result(after), after.ValidUntil}
		}
	case invalidating:
		if !isCompleted(before) {
			wrong("it is not completed")
		}
	case overriding:
		if isCompleted(before) {
			wrong("it is completed")
		}
		m.owners[after.Fence] = w.by
	}
}

func (m *model) checkClaim(w write, before, after dedup.Row, valid bool,
	wrong func(string, ...any)) {
	m.claims++
	want := int64(1)
	if valid {
		want = before.Attempt + 1
	}
	if after.Attempt != want {
		wrong("attempt %d, want %d", after.Attempt, want)
	}
	if m.maxAttempts > 0 && after.Attempt > int64(m.maxAttempts) {
		wrong("attempt %d of %d", after.Attempt, m.maxAttempts)
	}
	for fence := range m.owners {
		if after.Fence <= fence {
			wrong("D1: fence %d after %d", after.Fence, fence)
		}
	}
	if after.Token != w.token || !after.StartedAt.Equal(w.clock) {
		wrong("token %v, started at %v; want %v at %v", after.Token, after.StartedAt, w.token, w.clock)
	}
	if valid && before.Payload != nil && !bytes.Equal(before.Payload, after.Payload) {
		wrong("D4: it was begun with another payload")
	}
	if was := m.lastOwned(before); was.Exists() && !m.farApart && !isCompleted(was) {
		by := m.owners[was.Fence]
		if clock := m.Now.Add(m.Clocks[by]); clock.Before(was.LeaseUntil) {
			wrong("D5: the lease of %s goes on for %v", by, was.LeaseUntil.Sub(clock))
		}
	}
	m.owners[after.Fence] = w.by
}

// lastOwned is the row before a claim, even if TTL took it.
func (m *model) lastOwned(before dedup.Row) dedup.Row {
	if before.Exists() || len(m.older) == 0 {
		return before
	}
	return m.rowOf(m.older[0])
}

// result is what a completed row remembers, by its place.
func (m *model) result(r dedup.Row) string {
	if r.Result.Place == dedup.InItem {
		body, _ := m.table.Result(context.Background(), key, r.Token, true)
		return r.Result.Codec + string(body)
	}
	return r.Result.Codec + string(r.Result.Bytes)
}

// Final implements [sim.Model].
func (m *model) Final() error {
	m.strays = nil
	remembered := m.row.Exists() && isCompleted(m.row)
	// Every lease is over now by every clock, and nothing has expired but what had already.
	m.Now = m.Now.Add(lease + margin + 20*time.Minute)
	if m.farApart {
		m.Now = m.Now.Add(40 * time.Minute)
	}
	o := m.options(func() time.Time { return m.Now }, func() dedup.Token { return dedup.Token{0xff} })
	o.CacheSize = 0
	d, err := dedup.New(m.table, processor, &o)
	if err != nil {
		return err
	}
	remembered = remembered && m.row.ValidUntil.After(m.Now)
	ran := false
	out, err := d.Once(context.Background(), id, func(context.Context) (string, error) {
		ran = true
		return "last", nil
	})
	var (
		stopped *dedup.QuarantinedError
		failed  *dedup.RememberedError
	)
	switch {
	case errors.As(err, &stopped):
		if m.maxAttempts == 0 || m.row.Attempt < int64(m.maxAttempts) {
			return fmt.Errorf("quarantined after %d attempts of %d", m.row.Attempt, m.maxAttempts)
		}
		return nil
	case errors.As(err, &failed) && m.row.Failed:
		return nil
	case err != nil:
		return fmt.Errorf("after all leases are over a call fails (L): %w", err)
	case remembered && ran:
		return errors.New("D3: a completed id ran again")
	case !remembered && !ran:
		return fmt.Errorf("D3: %q was returned, and nothing was remembered", out.Value)
	}
	return nil
}

// Snapshot implements [sim.Model].
func (m *model) Snapshot(d *sim.Digest) {
	d.Int(m.Now.UnixMilli())
	m.hashRow(d, m.row)
	d.Int(int64(len(m.older)))
	for _, it := range m.older {
		m.hashRow(d, m.rowOf(it))
	}
	// Fences are the clock's and their number: those of two schedules are alike where the last one
	// and their number are.
	d.Int(int64(len(m.owners)))
	if !m.alike {
		d.Text(m.owners[m.row.Fence])
	}
	sim.Feed(d, m.copying, m.asking, len(m.strays))
	for _, w := range m.strays {
		sim.Feed(d, string(w.kind), string(w.token[:]), w.clock)
	}
}

// hashRow feeds a row of the table. Where processes may change places, its token says which of its
// owner's it is, and the owners say whose.
func (m *model) hashRow(d *sim.Digest, r dedup.Row) {
	if m.alike {
		r.Token = dedup.Token{r.Token[0]}
	}
	hashRow(d, r)
}

func hashRow(d *sim.Digest, r dedup.Row) {
	d.Bool(r.Exists())
	if !r.Exists() {
		return
	}
	sim.Feed(d, r.Fence, r.Attempt, string(r.Token[:]), r.LeaseUntil, r.ValidUntil, string(r.Payload),
		isCompleted(r), r.Failed, string(r.Result.Bytes), string(r.Result.Place))
}
