// Package repliessim plugs replies into the simulator: processes answer each message of a queue to
// another one, pushed ones by [delivery.Deliverer.Deliver], pulling ones by [pull.Consume] with a
// database of their own, and every request to the tables and to the database fails, is lost, or is
// their last. Its model checks after every step that
//
//	R1 a reply that is visible is of a claim that is to be committed, or is
//	R2 no reply is there twice, and no message is answered twice
//	R3 the replies of a claim that is committed are visible, but for those that
//	   could never be stored
//	R4 the replies of a claim are behind those of the claims before it, save for
//	   claims that were in quarantine
//	R5 what is decided is never claimed again, failed or aborted
//
// and in the end that
//
//	L  every message is answered, by the claim that is committed, and what was
//	   refused is on record and announced
package repliessim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/past"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/verify/sim"
	"github.com/streamsort/streamsort/verify/sim/consumers"
	"github.com/streamsort/streamsort/verify/sim/simdb"
)

const (
	// consumers.Queue is answered to target, and by numbers to numbers.
	target, numbers = "x", "n"
	overLease       = consumers.OverLease
	within          = consumers.Within
	keep            = 24 * time.Hour
	attempts        = 4
)

// answer is a reply that became visible.
type answer struct {
	queue string
	// seq is the message that it answers, token the claim that it is of.
	seq   int64
	token delivery.Token
}

// model is the consumer, and what more the invariants need to know.
type model struct {
	consumers.Model
	// byNumber: the answers to numbers go with the others. taken is a seq there that another
	// message has; 0 for none.
	byNumber bool
	taken    int64
	// failing: the handler may fail after it has answered.
	failing bool
	// aside are the claims that were in quarantine.
	aside map[delivery.Token]bool
	// visible are the answers in the order in which they became so.
	visible []answer
	seen    map[string]int64 // positions
}

func newModel(run *sim.Run, messages int64) *model {
	m := &model{
		Model: consumers.NewModel(run, messages), aside: map[delivery.Token]bool{},
		seen: map[string]int64{},
	}
	m.Attempts, m.Retention = attempts, keep
	m.Seen, m.Effect, m.Model.Check = m.queueView, m.effect, m.Check
	for i, kind := range []cursor.Kind{cursor.KindArrival, cursor.KindNumbered} {
		queue := []string{target, numbers}[i]
		sim.Must(m.Plain().Configure(context.Background(), queue, cursor.Change{Kind: &kind}))
	}
	m.Begin()
	return m
}

// queueView is the queues' tables as one process sees them. What is asked of the queue that is
// answered is no point, and a read is one only where it may be stale.
func (m *model) queueView(p *sim.Proc) ddb.Engine {
	return m.World.View(p, func(r ddb.Request) bool {
		switch r.Name() {
		case "put arrival", "allocation", "move", "put message":
			return true
		}
		return m.Past != nil && !ddb.Writes(r) && !past.IsStrong(r)
	}, simdb.Hooks{Older: m.Past.Older, Hash: m.HashAnswer})
}

// effect answers a batch, and fails where it may.
func (m *model) effect(p *sim.Proc, b delivery.Batch) error {
	if err := m.replies(b); err != nil {
		m.Run.Violation("a reply was not taken: %w", err)
	}
	if m.failing && p.Choose(sim.Labelf("the effect of %v", b.Token), nil, "", "fails") != 0 {
		return errors.New("no")
	}
	return nil
}

func (m *model) replies(b delivery.Batch) error {
	for _, message := range b.Messages {
		body := fmt.Appendf(nil, "%d %v", message.Seq, b.Token)
		if err := b.Reply(delivery.Reply{Queue: target, Body: body}); err != nil {
			return err
		}
		if seq := message.Seq; m.byNumber {
			if err := b.Reply(delivery.Reply{Queue: numbers, Seq: &seq, Body: body}); err != nil {
				return err
			}
		}
	}
	return nil
}

// push is a process that is pushed to, a number of times.
func (m *model) push(p *sim.Proc, rounds int) {
	d := m.Deliverer(p)
	reader := delivery.Reader{
		Name: consumers.Consumer, MaxMessages: 1, MaxAttempts: attempts, BlockAfter: time.Second,
		Handle: func(_ context.Context, b delivery.Batch) error { return m.effect(p, b) },
	}
	for range rounds {
		m.Running++
		d.Deliver(context.Background(), consumers.Queue, reader, -1)
		m.Running--
		if p.Dead() || p.Choose(sim.Labelf("look again"), nil, "") < 0 {
			return
		}
	}
}

// pull is a process that pulls; rounds is how often it waits for something.
func (m *model) pull(p *sim.Proc, rounds int) error {
	return m.Pull(p, consumers.Patience{
		Waits: rounds, Points: true, Now: func() time.Time { return m.Now },
		Claims: func(c delivery.Claims) delivery.Claims { return counted{c, m} },
	})
}

// counted notes what a process is at.
type counted struct {
	delivery.Claims
	m *model
}

func (c counted) CommitAndClaim(ctx context.Context, h delivery.Held, r delivery.Request,
	replies ...delivery.Reply) (done, next delivery.Answer, err error) {
	c.m.Running++
	defer func() { c.m.Running-- }()
	return c.Claims.CommitAndClaim(ctx, h, r, replies...)
}

func (c counted) Settle(ctx context.Context, h delivery.Held, outcome delivery.TokenOutcome,
	reason string, replies ...delivery.Reply) (delivery.Answer, error) {
	c.m.Running++
	defer func() { c.m.Running-- }()
	return c.Claims.Settle(ctx, h, outcome, reason, replies...)
}
