package main

import (
	"context"
	"math/rand/v2"
	"os"
	"syscall"

	"github.com/streamsort/streamsort/pkg/handoff"
)

// mortal is the protocol as a process speaks it that is killed at random, right
// after one of its steps.
type mortal struct {
	handoff.Claims
	// one in so many steps is the last; 0 means that it lives.
	one int
}

// step may be the process's last.
func (m mortal) step() {
	if m.one > 0 && rand.IntN(m.one) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal comes
	}
}

// Claim implements [handoff.Claims].
func (m mortal) Claim(ctx context.Context, r handoff.Request) (handoff.Answer, error) {
	a, err := m.Claims.Claim(ctx, r)
	if a.Verdict == handoff.OK {
		m.step()
	}
	return a, err
}

// Prepare implements [handoff.Claims].
func (m mortal) Prepare(ctx context.Context, h handoff.Held) (handoff.Answer, error) {
	m.step() // its work is done, and not committed
	a, err := m.Claims.Prepare(ctx, h)
	m.step()
	return a, err
}

// CommitAndClaim implements [handoff.Claims].
func (m mortal) CommitAndClaim(ctx context.Context, h handoff.Held, r handoff.Request, replies ...handoff.Reply) (done, next handoff.Answer, err error) {
	m.step() // it is committed in the books only
	done, next, err = m.Claims.CommitAndClaim(ctx, h, r, replies...)
	m.step()
	return done, next, err
}
