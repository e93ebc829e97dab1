package dedup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"time"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Deduplicator runs effects once for each id, for one processor: one kind of work. It may be used
// by any number of goroutines; make one a process, not one a call, for calls that share one wait
// for each other.
type Deduplicator[ID, R any] struct {
	store     Store
	processor string
	options   Options[ID, R]
	cache     *cache
	flights   flights
	pace      pace
	lately    lately
	packer    packer
}

// New returns a Deduplicator for the processor: 1 to 255 bytes of UTF-8 that name the kind of work,
// the same in all processes that do it. nil options mean all defaults. The error is an
// [InvalidError].
func New[ID, R any](store Store, processor string,
	options *Options[ID, R]) (*Deduplicator[ID, R], error) {
	if options == nil {
		options = &Options[ID, R]{}
	}
	if isNil(reflect.ValueOf(store)) {
		return nil, missing("store")
	}
	complete, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := (Key{ID: "any", Processor: processor}).validate(); err != nil {
		return nil, err
	}
	return &Deduplicator[ID, R]{
		store: store, processor: processor, options: complete,
		cache:  newCache(complete.CacheSize, complete.CacheAge),
		lately: lately{share: firstShare},
	}, nil
}

// Outcome is how an effect ended.
type Outcome[R any] struct {
	// Value is the result; the zero value where it is omitted.
	Value R
	// Replayed: the effect ran earlier, or in another call, and not in this one.
	Replayed bool
	// Omitted: the effect is done, and its result is not known: it was too large to keep, or could
	// not be encoded.
	Omitted bool
	// Attempt is the run that this is the outcome of, from 1: how often the effect was begun. 0
	// where deduplication is switched off.
	Attempt int64
	// CompletedAt is when the effect was done, by the clock of the process that ran it; the zero
	// Time for the call that ran it.
	CompletedAt time.Time
}

// made reports a Deduplicator that New did not return: nil, or the zero one.
func (d *Deduplicator[ID, R]) made() error {
	if d == nil || d.store == nil {
		return invalid.New(invalid.Missing, "deduplicator", "must be one that New returned")
	}
	return nil
}

// Key is the key under which the table stores an id.
func (d *Deduplicator[ID, R]) Key(id ID) (Key, error) {
	if err := d.made(); err != nil {
		return Key{}, err
	}
	text, err := idText(id)
	if err != nil {
		return Key{}, invalidID(err)
	}
	k := Key{ID: text, Processor: d.processor}
	return k, k.validate()
}

// payloadHash is the SHA-256 of the parts of a payload, nil where there are none. Each part's
// length goes first, so that parts joined do not look alike.
func payloadHash(parts [][]byte) []byte {
	if len(parts) == 0 {
		return nil
	}
	hash := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		hash.Write(length[:])
		hash.Write(part)
	}
	return hash.Sum(nil)
}

// leaseFor is the lease of a claim that is made now: as the options say, or the time that the
// context leaves.
func (d *Deduplicator[ID, R]) leaseFor(ctx context.Context) (time.Duration, error) {
	if d.options.Lease > 0 {
		return d.options.Lease, nil
	}
	deadline, has := ctx.Deadline()
	if !has {
		return defaultLease, nil
	}
	lease := time.Until(deadline) - beforeDeadline
	if lease < shortestLease {
		return 0, ErrNoTime
	}
	return min(lease, longestLease), nil
}

// validity is how long a row is valid, and when TTL may take it, where its lease ends at
// leaseUntil, or is over where that is the zero Time. By any clock, a row is valid until after its
// lease is over: an expired row may be taken without a look at the lease.
func (d *Deduplicator[ID, R]) validity(now,
	leaseUntil time.Time) (validUntil, expiresOn time.Time) {
	validUntil = now.Add(d.options.TTL)
	if !leaseUntil.IsZero() && validUntil.Before(leaseUntil.Add(d.options.Margin)) {
		validUntil = leaseUntil.Add(d.options.Margin)
	}
	return validUntil, deletionTime(validUntil, now)
}

// deletionTime is the ExpiresOn of a row: whole seconds, as TTL has them.
func deletionTime(validUntil, now time.Time) time.Time {
	if validUntil.Before(now) {
		validUntil = now
	}
	return validUntil.Add(grace + time.Second).Truncate(time.Second).UTC()
}
