package ui

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// The bounds of the overview's consumers.
const (
	overviewLooks  = 20              // how many that are behind are asked for one by one, or queues: a read unit each
	overviewBehind = "100"           // among how many the longest behind are looked for
	lagKept        = 3 * time.Second // for how long one's lag is not asked for again
	askedAtOnce    = 8
)

// known is what a consumer's lag was at a time.
type known struct {
	at time.Time
	trouble
}

// held are the states whose consumers fall behind: lagging has none of those that do not move at all.
var held = []string{"lagging", "blocked", "missing", "in-doubt"}

// laggards are those of the consumers that are behind who have been for the longest, with their lags, and whether
// there are more. Each is asked for, at most once in lagKept, however many look; a list of a state is, where anybody
// is in it.
func (u *UI) laggards(ctx context.Context, states map[string]stateCount) (list []trouble, more bool, err error) {
	for _, state := range held {
		if states[state].Count == 0 {
			continue
		}
		var behind troubles
		if err := u.get(ctx, "/consumers", values("state", state, "limit", overviewBehind), &behind); err != nil {
			return nil, false, err
		}
		more = more || behind.Next != ""
		for _, c := range behind.List {
			if !slices.ContainsFunc(list, c.same) {
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b trouble) int { return a.Since.Compare(b.Since) })
	more = more || len(list) > overviewLooks
	list = list[:min(len(list), overviewLooks)]
	who := u.who(ctx)
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(askedAtOnce)
	for i := range list {
		group.Go(func() error { return u.lagOf(asking, who, &list[i]) })
	}
	err = group.Wait()
	// One that is gone since has no place.
	list = slices.DeleteFunc(list, func(c trouble) bool { return c.State == "" })
	return list, more, err
}

// same reports whether another row is of the same consumer.
func (t trouble) same(o trouble) bool { return t.Queue == o.Queue && t.Consumer == o.Consumer }

// lagOf brings a consumer up to date; its state is empty where it is not there any more.
func (u *UI) lagOf(ctx context.Context, who string, c *trouble) error {
	key := who + c.Consumer + "\x00" + string(c.Queue)
	if was, is := u.lags.Get(key); is && time.Since(was.at) < lagKept {
		*c = was.trouble
		return nil
	}
	var found struct{ Consumers []consumer }
	err := u.get(ctx, "/consumers", values("queue", string(c.Queue), "consumer", c.Consumer), &found)
	if err != nil && !notFound(err) {
		return err
	}
	c.State = ""
	if len(found.Consumers) > 0 {
		is := found.Consumers[0]
		c.State, c.Delivered, c.Position, c.Lag, c.Paused = is.State, is.Delivered, is.Position, is.Lag, is.Paused != nil
	}
	u.lags.Add(key, known{time.Now(), *c})
	return nil
}

// firstFound are the consumers of the first queues that the API finds, and whether there are more.
func (u *UI) firstFound(ctx context.Context) ([]trouble, bool, error) {
	var found troubles
	err := u.get(ctx, "/consumers", values("limit", strconv.Itoa(overviewLooks)), &found)
	return found.List, found.Next != "", err
}

// who is a mark of who looks, where each has a token: what was seen by one is not shown to another, of whose tenant
// a queue may have the same name.
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
