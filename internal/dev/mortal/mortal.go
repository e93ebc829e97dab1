// Package mortal kills consumers in the middle of the two-phase protocol, as a crash does: by
// SIGKILL, after a step of their own.
//
// A program that starts copies of itself calls [Keep], which starts another where one died; each
// copy consumes through [AtRandom]. Where a certain step is to be the last, [Claims] has it as an
// option. What a death leaves behind is what any crash leaves: claims until their lease ends, and
// transactions that were not committed.
package mortal

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"

	"github.com/streamsort/streamsort/pkg/delivery"
)

// Step is a step of the protocol, after which a consumer may die.
type Step string

// The steps, in the order in which a batch takes them.
const (
	// Claimed: the batch is claimed, and nothing is done.
	Claimed Step = "claimed"
	// Worked: the work is done in the transaction, which is not prepared.
	Worked Step = "worked"
	// Prepared: the transaction may be committed, and is not.
	Prepared Step = "prepared"
	// Booked: the transaction is committed, and the queue does not know.
	Booked Step = "committed in the database"
	// Committed: both know, and the next batch may be claimed.
	Committed Step = "committed"
)

// Claims is the protocol as a process speaks it that dies.
type Claims struct {
	delivery.Claims
	// Last reports whether a step that was taken is the process's last.
	Last func(Step) bool
}

// variable holds for a copy how many steps it survives on average; 0 or none means that it lives.
const variable = "MORTAL_ONE_STEP_IN"

// AtRandom is the protocol as a copy speaks it that [Keep] started: it survives [Plan.OneStepIn]
// steps on average, while there are kills left. In a process that Keep did not start it is the
// protocol itself.
func AtRandom(claims delivery.Claims) Claims {
	one, _ := strconv.Atoi(os.Getenv(variable))
	return Claims{claims, func(Step) bool { return one > 0 && rand.IntN(one) == 0 }}
}

// step dies, if it was the last.
func (c Claims) step(taken Step) {
	if c.Last(taken) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the signal comes
	}
}

// Claim implements [delivery.Claims].
func (c Claims) Claim(ctx context.Context, r delivery.Request) (delivery.Answer, error) {
	a, err := c.Claims.Claim(ctx, r)
	if a.Outcome == delivery.OK {
		c.step(Claimed)
	}
	return a, err
}

// Prepare implements [delivery.Claims].
func (c Claims) Prepare(ctx context.Context, h delivery.Held) (delivery.Answer, error) {
	c.step(Worked)
	a, err := c.Claims.Prepare(ctx, h)
	c.step(Prepared)
	return a, err
}

// CommitAndClaim implements [delivery.Claims].
func (c Claims) CommitAndClaim(ctx context.Context, h delivery.Held, r delivery.Request,
	replies ...delivery.Reply) (done, next delivery.Answer, err error) {
	c.step(Booked)
	done, next, err = c.Claims.CommitAndClaim(ctx, h, r, replies...)
	c.step(Committed)
	return done, next, err
}
