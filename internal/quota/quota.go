// Package quota bounds what each tenant takes of a stack: messages and bytes a second, new queues
// and new chains a minute. [Read] reads the limits, [Keeper.Take] has a request pass or be refused
// with 429, before anything of it is stored. [Leases] bound how many calls of a tenant run at a
// time.
//
// # How it counts
//
// Time is cut into windows, of ten seconds for messages and bytes and of a minute for what is new,
// and a [Store] has an account for each tenant and length: how much of the window's limit was
// taken. A process takes a share of it at a time, not each request's part: as much as it used in
// the window before, and when that is used up as much again as it has used in this one, as far as
// there is so much. So a steady tenant costs one write a process and window, and a few more where
// it speeds up or several processes share it. What a process does not use of its share is lost with
// the window.
//
// A request passes while something is left, however large it is. What it takes beyond that is a
// debt: each window that begins pays its limit back, and nothing is taken until it is paid. So
//
//   - in any windows in a row a tenant takes no more than their limits, and one request more;
//   - a debt of d is over after d/limit windows, and a request passes within two windows then
//     if others use less than a quarter of the limit in each: what processes take at a time
//     comes to less than the limit together, so that something is left.
//
// A hundredth of each limit is free in each process: a tenant that stays below it there costs
// nothing. It is put on the account with the first share that is taken, so that a tenant gets no
// more than its limit and a hundredth of it for each process that has nothing but that.
//
// Once an account says that nothing is left, no more is asked of it until the window in which there
// is: a tenant that goes on costs nothing.
//
// # What is stored
//
// An item of the trouble table for each tenant and length, which expires a month after its window's
// end:
//
//	state      "quota " and the tenant
//	at         seconds that its windows have
//	begins     second that the window begins in that was last taken from
//	op         the request that changed it last, by a name of its own
//	expiresOn  when DynamoDB may delete it (TTL)
//	messages   how many messages were taken, with the debt; so do
//	bytes      bytes of bodies and attributes,
//	newQueues  queues that were to be made, and
//	newChains  chains
//
// It has no version: an account that cannot be read is a counter that does not answer.
//
// The leases of a tenant are one item of the consumers table, under "leases " and the tenant, and "
// calls". For each of its places it has
//
//	until0  when the lease ends, ms, and
//	by0     which lease it is, by a name of its own; both are gone where the place is free
//
// # What it does not do
//
// A quota is for fairness, and not part of what is promised of messages: it hangs on clocks (one
// that is far ahead pays debts back), and where the counters do not answer, tenants go on without a
// bound, until the window's end. Refusing them then would stop all tenants for the sake of what
// stops one.
package quota

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/streamsort/streamsort/internal/emf"
)

// Keeper holds tenants to their quotas. A nil Keeper lets everything pass. It may be used by any
// number of goroutines.
type Keeper struct {
	store *Store
	// own are the limits of those tenants that have an entry, others those of the rest.
	own    map[string]Amounts
	others Amounts
	now    func() time.Time
	newOp  func() string

	mu sync.Mutex
	// shares is guarded by mu.
	shares *simplelru.LRU[account, *share]
}

type account struct {
	tenant string
	window time.Duration
}

// maxShares is how many accounts a process remembers. One that was forgotten takes a share anew.
const maxShares = 2000

// patience is how long a counter may take to answer.
const patience = time.Second

// NewKeeper returns a Keeper of these quotas.
func NewKeeper(store *Store, quotas []Quota, now func() time.Time) *Keeper {
	shares, err := simplelru.NewLRU[account, *share](maxShares, nil)
	if err != nil {
		panic(err) // unreachable: the size is a positive constant
	}
	k := &Keeper{store: store, own: map[string]Amounts{}, now: now, newOp: rand.Text, shares: shares}
	for _, q := range quotas {
		if q.Name == everyone {
			k.others = q.Limits
			continue
		}
		k.own[q.Name] = q.Limits
	}
	return k
}

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

// Take takes what a request of a tenant's needs, or refuses it: the error is an [httpapi.Problem],
// 429, of the first kind of which there is not enough. No tenant, and one without quotas, has no
// bound, and costs nothing.
//
// What was taken of the kinds before that one stays taken.
func (k *Keeper) Take(ctx context.Context, metrics *emf.Metrics, tenant string,
	need Amounts) error {
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

// Within is what to take for an operation whose cost has no bound: no more of a kind than a tenant
// has in one window, so that it owes no more than that.
func (k *Keeper) Within(tenant string, need Amounts) Amounts {
	limits := k.limits(tenant)
	for kind := range kinds {
		if limits[kind] > 0 {
			need[kind] = min(need[kind], limits.inWindow(kind))
		}
	}
	return need
}

func (k *Keeper) take(ctx context.Context, metrics *emf.Metrics, of account,
	limits, need Amounts) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	s := k.share(of, Window{now.Truncate(of.window), of.window}, limits)
	kind, refused := k.refill(ctx, metrics, of, s, need, limits)
	if !refused {
		kind, refused = s.use(need)
	}
	if !refused {
		return nil
	}
	metrics.Of("quota", kind.String()).Count("QuotaExceeded", 1)
	return s.exceeded(kind, limits, now)
}

// maxLosses is how often a request asks again of an account that others change meanwhile. It is
// refused then, and comes again.
const maxLosses = 10

// refill takes from the account what a request lacks. It reports the kind of which nothing is left.
func (k *Keeper) refill(ctx context.Context, metrics *emf.Metrics, of account, s *share,
	need, limits Amounts) (kind Kind, refused bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for range maxLosses {
		asks, kind, refused := s.asks(need, limits)
		if !asks || refused {
			return kind, refused
		}
		take, most := s.ask(need, limits)
		there, taken, err := k.takeFrom(ctx, of.tenant, s, take, most, limits)
		if err != nil {
			slog.WarnContext(ctx,
				"a quota cannot be looked at: the tenant has none until the end of the window", "tenant",
				of.tenant, "error", err)
			metrics.Count("QuotaUnknown", 1)
			s.open = true
			break
		}
		s.there, s.seen = there, true
		if taken {
			s.give(take)
			break
		}
	}
	return 0, false
}

// takeFrom takes from an account that is at the share's window, or has not been seen, and moves one
// that is at another.
func (k *Keeper) takeFrom(ctx context.Context, tenant string, s *share,
	take, most, limits Amounts) (Account, bool, error) {
	w := Window{s.at(), s.window.Length}
	if !s.seen || s.there.Window.Equal(w.Start) {
		return k.store.Take(ctx, tenant, w, take, most, k.newOp())
	}
	taken := s.there.in(w, limits)
	for kind, n := range take {
		taken[kind] += n
	}
	return k.store.Move(ctx, tenant, w, s.there, taken, k.newOp())
}

func (k *Keeper) share(of account, w Window, limits Amounts) *share {
	last, found := k.shares.Get(of)
	if found && last.window == w {
		return last
	}
	if !found {
		last = &share{}
	}
	s := last.next(w, limits)
	k.shares.Add(of, s)
	return s
}
