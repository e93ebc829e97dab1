package ui

import (
	"context"
	"crypto/sha256"
	"time"

	"github.com/streamsort/streamsort/internal/client"
)

type answer struct {
	at    time.Time
	value any
}

// kept is what find finds, at most once in a while for each who looks.
func kept[T any](ctx context.Context, u *UI, what string, lasts time.Duration, find func() (T, error)) (T, error) {
	key := u.who(ctx) + what
	if was, is := u.answers.Get(key); is && time.Since(was.at) < lasts {
		value, _ := was.value.(T)
		return value, nil
	}
	value, err := find()
	if err == nil {
		u.answers.Add(key, answer{time.Now(), value})
	}
	return value, err
}

// who is a mark of who looks, where each has a token: what was seen by one is not shown to another,
// of whose tenant a queue may have the same name.
func (u *UI) who(ctx context.Context) string {
	if u.options.Token == nil {
		return ""
	}
	token, err := u.options.Token(ctx)
	if err != nil {
		return "" // no request is made then
	}
	sum := sha256.Sum256([]byte(token))
	return string(sum[:8])
}

// hasChains reports whether the stack has any chain: only then is there a list of them to lead to.
func (u *UI) hasChains(ctx context.Context) bool {
	has, _ := kept(ctx, u, "chains", time.Minute, func() (bool, error) {
		for _, state := range []string{"open", "failed", "timed-out"} {
			var some rows
			if err := u.get(ctx, "/chains", client.Query("state", state, "limit", "1"), &some); err != nil {
				return false, err
			}
			if len(some.List) > 0 || some.Next != "" {
				return true, nil
			}
		}
		return false, nil
	})
	return has
}
