// Package quota bounds what each tenant takes of a stack: messages and bytes a second,
// new queues and new chains a minute. [Read] reads the limits, [Keeper.Take] has a
// request pass or be refused with 429, before anything of it is stored.
//
// # How it counts
//
// Time is cut into windows, of ten seconds for messages and bytes and of a minute for
// what is new, and a [Store] has one item for each tenant and window: how much of the
// window's limit was taken. A process takes a share of it at a time, not each request's
// part: as much as it used in the window before, and when that is used up as much again
// as it has used in this one. So a steady tenant costs one write a process and window,
// and one that speeds up a few more. What a process does not use of its share is lost
// with the window.
//
// A hundredth of each limit is free in each process: a tenant that stays below it
// there costs nothing. It is put on the account with the first share that is taken, so
// that a tenant gets no more than its limit and a hundredth of it for each process that
// has nothing but that.
//
// Once a counter says that the limit is reached, no more is asked of it in its window: a
// tenant that goes on costs nothing.
//
// # What is stored
//
// An item for each tenant and window, which expires an hour after the window's end:
//
//	window     tenant, seconds that the window has, second that it begins in, with
//	           slashes between: a tenant has none
//	expiresOn  when DynamoDB may delete it (TTL)
//	messages   how many messages were taken; so do
//	bytes      bytes of bodies and attributes,
//	newQueues  queues that were to be made, and
//	newChains  chains
//
// It has no version: it is read in its own window alone, by who adds to it.
//
// # What it does not do
//
// A quota is for fairness, and not part of what is promised of messages: it hangs on
// clocks (processes whose clocks differ count in different windows), and where the
// counters do not answer, tenants go on without a bound, until the window's end.
// Refusing them then would stop all tenants for the sake of what stops one.
package quota

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/streamsort/streamsort/internal/emf"
)

// Keeper holds tenants to their quotas. A nil Keeper lets everything pass. It may be
// used by any number of goroutines.
type Keeper struct {
	store *Store
	// own are the limits of those tenants that have an entry, others those of the rest.
	own    map[string]Amounts
	others Amounts
	now    func() time.Time

	mu sync.Mutex
	// shares is guarded by mu.
	shares *simplelru.LRU[account, *share]
}

// account is what is counted together.
type account struct {
	tenant string
	window time.Duration
}

// maxShares is how many accounts a process remembers. One that was forgotten takes a
// share anew.
const maxShares = 2000

// patience is how long a counter may take to answer.
const patience = time.Second

// NewKeeper returns a Keeper of these quotas.
func NewKeeper(store *Store, quotas []Quota, now func() time.Time) *Keeper {
	shares, err := simplelru.NewLRU[account, *share](maxShares, nil)
	if err != nil {
		panic(err) // unreachable: the size is a positive constant
	}
	k := &Keeper{store: store, own: map[string]Amounts{}, now: now, shares: shares}
	for _, q := range quotas {
		if q.Name == everyone {
			k.others = q.Limits
			continue
		}
		k.own[q.Name] = q.Limits
	}
	return k
}

// limits are those of a tenant: none for no tenant.
func (k *Keeper) limits(tenant string) Amounts {
	if k == nil || tenant == "" {
		return Amounts{}
	}
	if own, ok := k.own[tenant]; ok {
		return own
	}
	return k.others
}

// Bounds reports whether a tenant has a quota of a kind.
func (k *Keeper) Bounds(tenant string, kind Kind) bool { return k.limits(tenant)[kind] > 0 }

// Take takes what a request of a tenant's needs, or refuses it: the error is an
// [httpapi.Problem], 429, of the first kind of which there is not enough. No tenant, and
// one without quotas, has no bound, and costs nothing.
//
// What was taken of the kinds before that one stays taken.
func (k *Keeper) Take(ctx context.Context, metrics *emf.Metrics, tenant string, need Amounts) error {
	limits := k.limits(tenant)
	for _, window := range windows {
		part, some := Amounts{}, false
		for kind := range kinds {
			if limits[kind] > 0 && terms[kind].window == window {
				part[kind] = need[kind]
				some = some || need[kind] > 0
			}
		}
		if !some {
			continue
		}
		if err := k.take(ctx, metrics, account{tenant, window}, limits, part); err != nil {
			return err
		}
	}
	return nil
}

// Within is what to take for a request that cannot be split: no more of a kind than a tenant
// has in one window, so that it passes in one of which nothing was taken.
func (k *Keeper) Within(tenant string, need Amounts) Amounts {
	limits := k.limits(tenant)
	for kind := range kinds {
		if limits[kind] > 0 {
			need[kind] = min(need[kind], limits.inWindow(kind))
		}
	}
	return need
}

// take takes a request's part of one account.
func (k *Keeper) take(ctx context.Context, metrics *emf.Metrics, of account, limits, need Amounts) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	s := k.share(of, windowAt(now, of.window), limits)
	kind, refused := s.without(need, limits)
	if !refused {
		k.refill(ctx, metrics, of, s, s.toAsk(need, limits), limits)
		kind, refused = s.use(need)
	}
	if !refused {
		return nil
	}
	metrics.Of("quota", kind.String()).Count("QuotaExceeded", 1)
	return exceeded(kind, limits, need[kind], s.window.end().Sub(now))
}

// refill takes what is asked for from the account.
func (k *Keeper) refill(ctx context.Context, metrics *emf.Metrics, of account, s *share, ask, limits Amounts) {
	if ask == (Amounts{}) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sums, err := k.store.Take(ctx, of.tenant, s.window, ask)
	if err != nil {
		slog.WarnContext(ctx, "a quota cannot be looked at: the tenant has none until the end of the window", "tenant", of.tenant, "error", err)
		metrics.Count("QuotaUnknown", 1)
		s.open = true
		return
	}
	s.give(ask, sums, limits)
}

// share is the process's share of an account in this window.
func (k *Keeper) share(of account, w Window, limits Amounts) *share {
	last, found := k.shares.Get(of)
	if found && last.window == w {
		return last
	}
	s := &share{window: w}
	if found && last.window.end().Equal(w.Start) {
		s.before = last.used
	}
	for kind := range kinds {
		s.given[kind] = limits.inWindow(kind) / 100
	}
	s.owed = s.given
	k.shares.Add(of, s)
	return s
}
