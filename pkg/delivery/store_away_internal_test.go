package delivery

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/request"
)

// TestStoreAwayIsForgotten by whatever ends a claim otherwise, and by who operates: the sink is
// not away for what comes next, which did not fail alone.
func TestStoreAwayIsForgotten(t *testing.T) {
	away, refused := failure(false), failure(true)
	away.Away, refused.Away = 1, 1
	away.Alone, refused.Alone = true, true
	failedAs := func(b *bench, name string, f request.Failure) Consumer {
		c := b.claim(b.create(b.fresh(name)), "r0", 5)
		return b.answer("away", failedNow(c, f), true)(b.Fail(b.Context(), b.queue, name, c.Token, f))
	}
	again := func(b *bench, name string) Consumer { return b.claim(failedAs(b, name, away), "r1", 5) }
	for name, end := range map[string]func(*bench, string) (Consumer, bool, error){
		"commit": func(b *bench, name string) (Consumer, bool, error) {
			return b.Commit(b.Context(), b.queue, name, again(b, name).Token, Response{})
		},
		"finish": func(b *bench, name string) (Consumer, bool, error) {
			return b.Finish(b.Context(), b.queue, name, b.decide(again(b, name)).Token)
		},
		"commit prepared": func(b *bench, name string) (Consumer, bool, error) {
			return b.CommitPrepared(b.Context(), b.queue, name, b.prepare(again(b, name)).Token)
		},
		"commit prepared and claim": func(b *bench, name string) (Consumer, bool, error) {
			return b.CommitPreparedAndClaim(b.Context(), b.prepare(again(b, name)), claim("r2", 6))
		},
		"abort prepared": func(b *bench, name string) (Consumer, bool, error) {
			return b.AbortPrepared(b.Context(), b.queue, name, b.prepare(again(b, name)).Token, failure(false))
		},
		"quarantine": func(b *bench, name string) (Consumer, bool, error) {
			c := b.doubted(b.prepare(again(b, name)))
			return b.Quarantine(b.Context(), c, overNow(c))
		},
		"rewind": func(b *bench, name string) (Consumer, bool, error) {
			return b.Rewind(b.Context(), failedAs(b, name, away), 1, "op")
		},
		"unblock": func(b *bench, name string) (Consumer, bool, error) {
			return b.Unblock(b.Context(), failedAs(b, name, refused), false, "op")
		},
	} {
		each(t, func(b *bench) {
			c, made, err := end(b, name)
			check.That(b.T, err == nil && made && c.Away == 0, "%s: %+v, %v, %v", name, c, made, err)
			if name == "abort prepared" {
				return // it failed again
			}
			check.That(b.T, c.FailingSince.IsZero() && !c.Proven && (c.State != Idle || c.Together == 0),
				"%s: %+v; want nothing of what failed", name, c)
		})
	}
}
