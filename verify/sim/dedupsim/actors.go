package dedupsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/verify/sim"
)

type call struct {
	do action
	// payload, where it is not empty, comes with the id.
	payload string
}

type action string

const (
	once       action = "once"
	refused    action = "once, whose effect fails"
	remembered action = "once, whose error is remembered"
	manual     action = "try start, extend, complete"
	invalidate action = "invalidate"
	release    action = "release"
	force      action = "release by force"
)

func calls(actions ...action) []call {
	all := make([]call, len(actions))
	for i, a := range actions {
		all[i] = call{do: a}
	}
	return all
}

var (
	errRefused    = errors.New("refused")
	errRemembered = errors.New("remembered")
)

type process struct {
	*model
	p     *sim.Proc
	by    string
	calls []call
	d     *dedup.Deduplicator[string, string]
	clock func() time.Time
	made  int
	// swaps is what the last swap does.
	swaps kind
	// elsewhere, where it is not nil, are other tables, which every request goes to.
	elsewhere ddb.Engine
	// tokens are those of the call under way; token is the last one, asked the clock as it was made
	// for a claim, and fence that of the last run.
	tokens map[dedup.Token]bool
	token  dedup.Token
	asked  time.Time
	fence  int64
	// begun is the row and the clock as the call began, at which of its calls the process stands,
	// and how many tokens it had made before.
	begun          dedup.Row
	began          time.Time
	at, madeBefore int
	// asks is how many requests the call has made; looked: the first of them was a read that need
	// not be strong. invalidated is the fence up to which the process has invalidated results, and
	// forgotten the highest one that it may have begun with.
	asks                   int
	looked                 bool
	invalidated, forgotten int64
	// knows: the call is a Once that has not got its claim; reads and latest are how often it has
	// looked and what the latest row was that it saw.
	knows  bool
	reads  int
	latest dedup.Row
}

func (m *model) options(now func() time.Time,
	token func() dedup.Token) dedup.Options[string, string] {
	return dedup.Options[string, string]{
		Lease: lease, TTL: m.ttl, Margin: margin,
		Wait:        time.Duration(3-2*m.fewer) * 100 * time.Millisecond, // two looks, or one
		MaxAttempts: m.maxAttempts, CacheSize: m.cache, CacheAge: 30 * time.Second, CompressOver: -1,
		Now: now, NewToken: token, Random: func() float64 { return 0 },
		OnError: func(err error) dedup.Failure {
			if errors.Is(err, errRemembered) {
				return dedup.Remember
			}
			return dedup.Forget
		},
	}
}

func (m *model) process(p *sim.Proc) *process {
	c := &process{
		model: m, p: p, by: p.Name(), clock: m.Clock(p), tokens: map[dedup.Token]bool{},
	}
	if m.alike {
		p.Alike(c.owned)
	}
	o := m.options(c.clock, func() dedup.Token {
		c.made++
		m.asking++
		t := dedup.Token{byte(c.made)}
		copy(t[1:], p.Name())
		c.tokens[t], c.token, c.asked = true, t, c.clock()
		return t
	})
	// Nothing passes but time, and that is the clock's part.
	o.Sleep = func(context.Context, time.Duration) error {
		if p.Dead() {
			return sim.ErrDead
		}
		return nil
	}
	c.d = sim.Must(dedup.New(c.table(), processor, &o))
	if !m.looks {
		c.meetNew()
	}
	return c
}

// meetNew lets the process meet new ids, elsewhere, until it no longer looks first.
func (c *process) meetNew() {
	c.elsewhere = ddb.NewMemory(dedup.Names{}.Tables()...)
	for i := range 4 {
		_, _ = c.d.Once(context.Background(), fmt.Sprint("elsewhere ", i),
			func(context.Context) (string, error) { return "", nil })
	}
	c.elsewhere = nil
	c.made, c.asking = 0, 0
	clear(c.tokens)
}

// share feeds what the process knows of the duplicates that it met lately: whether it looks first
// depends on it.
func (c *process) share(d *sim.Digest) {
	share := reflect.ValueOf(c.d).Elem().FieldByName("lately").FieldByName("share")
	d.Int(int64(math.Float64bits(share.Float())))
}

// caller makes its calls one after the other, in one process, and repeats one that a fault ended,
// once.
func (m *model) caller(name string, all ...call) {
	m.Run.Go(name, func(p *sim.Proc) {
		c := m.process(p)
		c.calls = all
		for i, made := range all {
			for attempt := range 2 {
				if p.Choose(sim.Labelf("%s", made.do), nil, "") < 0 {
					return
				}
				c.begin(2*i + attempt)
				err := c.make(made)
				if p.Dead() {
					return
				}
				if !errors.Is(err, sim.ErrFault) {
					break
				}
			}
		}
	})
}

// begin is the start of a call: what the process knows then is where it stands, what it has seen in
// its cache, and how the row is.
func (c *process) begin(at int) {
	clear(c.tokens)
	c.asks, c.looked = 0, false
	c.begun, c.began = c.row, c.clock()
	if c.cache > 0 {
		return
	}
	d := c.p.Forget()
	c.at, c.madeBefore, c.reads, c.latest = at, c.made, 0, dedup.Row{}
	sim.Feed(d, at, c.made, c.invalidated, c.forgotten, c.began)
	c.share(d)
	c.hash(d, c.begun)
}

// learns is what a process knows after an answer in the course of Once, until its claim is made:
// the answer, the latest row that it has seen, and where it stands. All earlier answers are
// forgotten, as the code forgets them.
func (c *process) learns(k kind, r dedup.Row, done bool) {
	if c.cache > 0 || !c.knows {
		return
	}
	if k == reading {
		c.reads++
	}
	if k != reading || r.Fence >= c.latest.Fence {
		c.latest = r
	}
	d := c.p.Forget()
	sim.Feed(d, c.at, c.madeBefore, c.made, c.reads, c.invalidated, c.forgotten, c.looked, c.began,
		string(k), done)
	c.share(d)
	c.hash(d, c.begun)
	c.hash(d, r)
	c.hash(d, c.latest)
}

// hash feeds a row as this process can distinguish it from others. Where processes may change
// places, another's token says no more than the row's fence, under which owned has its owner.
func (c *process) hash(d *sim.Digest, r dedup.Row) {
	if c.alike {
		own := 0
		if r.Exists() && string(r.Token[1:1+len(c.by)]) == c.by {
			own = int(r.Token[0])
		}
		d.Int(int64(own))
		r.Token = dedup.Token{}
	}
	hashRow(d, r)
}

// owned feeds what the process does, and the fences that it has got.
func (c *process) owned(d *sim.Digest) {
	d.Int(int64(c.Clocks[c.by]))
	for _, does := range c.calls {
		sim.Feed(d, string(does.do), does.payload)
	}
	for _, fence := range slices.Sorted(maps.Keys(c.owners)) {
		if c.owners[fence] == c.by {
			d.Int(fence)
		}
	}
}

func (c *process) make(made call) error {
	switch made.do {
	case invalidate:
		seen := c.row.Fence
		forgotten, err := c.d.Invalidate(context.Background(), id)
		if forgotten && err == nil {
			c.invalidated = max(c.invalidated, seen)
		}
		return err
	case release, force:
		_, err := c.d.Release(context.Background(), id,
			dedup.Audit{By: "operator", Reason: "test", Force: made.do == force})
		return err
	case manual:
		return c.manually()
	}
	var payload [][]byte
	if made.payload != "" {
		payload = append(payload, []byte(made.payload))
	}
	c.knows = true
	defer func() { c.knows = false }()
	out, err := c.d.Once(context.Background(), id, func(ctx context.Context) (string, error) {
		c.knows = false
		run, _ := dedup.RunOf(ctx)
		if !run.LeaseUntil.After(c.clock()) {
			c.Run.Violation("D5: %s runs after its lease", c.by)
		}
		if err := c.effect(run); err != nil {
			return "", err
		}
		switch made.do {
		case refused:
			return "", errRefused
		case remembered:
			return "", errRemembered
		}
		return c.value(run, made.payload), nil
	}, payload...)
	if !c.p.Dead() {
		c.checkAnswer(out, err, made.payload)
	}
	return err
}

// manually runs the effect in an attempt that is extended.
func (c *process) manually() error {
	started, err := c.d.TryStart(context.Background(), id)
	if err != nil || started.Attempt == nil {
		if !c.p.Dead() {
			c.checkAnswer(started.Duplicate, err, "")
		}
		return err
	}
	a := started.Attempt
	c.fence = a.Run().Fence
	if err := a.Extend(context.Background(), 2*lease); err != nil {
		return err
	}
	if err := c.effect(a.Run()); err != nil {
		_ = a.Fail(context.Background(), err)
		return err
	}
	err = a.Complete(context.Background(), c.value(a.Run(), ""))
	if !c.p.Dead() {
		c.checkAnswer(dedup.Outcome[string]{Value: c.value(a.Run(), ""), Attempt: a.Run().Attempt}, err,
			"")
	}
	return err
}

// effect is the effect: a moment at which anything else may happen. No process dies there: that is
// the same as a death before the write that follows.
func (c *process) effect(run dedup.Run) error {
	if c.owners[run.Fence] != c.by {
		c.Run.Violation("%s runs under fence %d, which is not its own", c.by, run.Fence)
	}
	c.fence = run.Fence
	c.p.Knows().Int(run.Fence)
	_, err := sim.Do(c.p, sim.Labelf("effect, attempt %d", run.Attempt), false, func() (bool, error) {
		return true, nil
	})
	return err
}

// value is the result of a run: no two have the same.
func (c *process) value(run dedup.Run, payload string) string {
	// A fence has one owner; who it is must not be visible where all are alike.
	value := fmt.Sprintf("%s %d", payload, run.Fence)
	if !c.alike {
		value = fmt.Sprintf("%s %s %d", payload, c.by, run.Fence)
	}
	if c.large {
		value += strings.Repeat(" ", 2000)
	}
	return value
}

func (c *process) checkAnswer(out dedup.Outcome[string], err error, payload string) {
	wrong := func(format string, arguments ...any) {
		c.Run.Violation("%s was answered %q, %v: %s", c.by, strings.TrimSpace(out.Value), err,
			fmt.Sprintf(format, arguments...))
	}
	var (
		busy *dedup.StillRunningError
		lost *dedup.LostError
		bad  *dedup.RowError
	)
	switch {
	case errors.As(err, &bad):
		wrong("the row is right")
	case errors.As(err, &busy):
		// A claim that took longer than its lease is nobody's any more.
		if c.tokens[c.row.Token] && !isCompleted(c.row) && c.row.LeaseUntil.After(c.clock()) && !c.late {
			wrong("it waits for itself")
		}
	case errors.As(err, &lost):
		if c.row.Fence == lost.Fence && isCompleted(c.row) {
			wrong("it has completed")
		}
	case err == nil && out.Replayed:
		c.checkReplay(out, payload, wrong)
	case err == nil:
		if c.completed(out.Value) == 0 {
			wrong("D2: its result was never remembered")
		}
	}
}

// completed is the fence that a value was completed under, 0 for none.
func (m *model) completed(value string) int64 {
	for fence, c := range m.completions {
		if c.result == fmt.Sprintf("json%q", value) {
			return fence
		}
	}
	return 0
}

func (c *process) checkReplay(out dedup.Outcome[string], payload string,
	wrong func(string, ...any)) {
	fence := c.completed(out.Value)
	switch {
	case fence == 0:
		wrong("D3: nobody completed with it")
	case payload != "" && !strings.HasPrefix(out.Value, payload+" ") &&
		!strings.HasPrefix(out.Value, " "):
		wrong("D4: it is another payload's")
	case fence <= c.invalidated:
		wrong("D3: it has invalidated it itself")
	case !c.completions[fence].validUntil.After(c.began):
		wrong("D3: it had expired before the call began")
	case c.cache > 0 || c.looked:
		// May answer for a while what another process invalidated.
	case c.begun.Fence > fence ||
		c.begun.Fence == fence && isCompleted(c.begun) && !c.begun.ValidUntil.After(c.began):
		wrong("D3: it was over before the call began")
	}
}

// passes lets time pass, a step at a time. The long steps wait until no copy of a request is under
// way: rows outlive their end by more than a request takes.
func (m *model) passes(steps ...time.Duration) {
	m.Run.Clock(&m.Now, func(step time.Duration) bool {
		return step < time.Hour || len(m.strays) == 0 && m.asking == 0
	}, steps...)
}

// expiry is TTL: it deletes what has expired, a number of times, after a time.
func (m *model) expiry(steps ...time.Duration) {
	m.Run.Go("expiry", func(p *sim.Proc) {
		for _, step := range steps {
			if p.Choose(sim.Labelf("TTL deletes after"), func() bool {
				return len(m.strays) == 0 && m.asking == 0
			}, step.String()) < 0 {
				return
			}
			m.Now = m.Now.Add(step)
			if m.Tables.Expire(m.Now) > 0 {
				if !m.standing().Exists() {
					m.older, m.item, m.row = []ddb.Item{m.item}, ddb.Item{}, dedup.Row{}
				}
			}
		}
	})
}

// network delivers copies of requests that were answered long ago: one of those that are under way,
// a number of times; then all others are lost.
func (m *model) network(copies int) {
	m.Run.Go("network", func(p *sim.Proc) {
		for range copies {
			way := p.Choose(sim.Labelf("a late copy"), func() bool {
				return len(m.strays) > 0
			}, "is dropped", "arrives", "2 arrives", "3 arrives", "4 arrives")
			if way <= 0 {
				break
			}
			if at := way - 1; at < len(m.strays) {
				w := m.strays[at]
				m.strays = append(m.strays[:at:at], m.strays[at+1:]...)
				p.Knows().Text(string(w.kind))
				_, _ = m.perform(w)
			}
		}
		m.copying, m.strays = false, nil
	})
}
