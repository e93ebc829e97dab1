package cursor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
)

// TestPrintsAreOfAllBehindPrintsFrom: however many seqs the places take, and however often the tail
// is trimmed, an entry whose place has left the tail is never said to be without one, by whatever
// position before its place.
func TestPrintsAreOfAllBehindPrintsFrom(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		most := []int{1, 2, 30, maxArrivalMessages}[random.IntN(4)]
		settings := DefaultSettings()
		settings.Kind, settings.First = KindArrival, random.Int64N(2)*random.Int64N(1<<40)
		c := newCursor("q", settings, time.Time{})
		var left []place
		for range 1 + random.IntN(8) {
			for n := queuelog.OrderItemEntries +
				random.IntN(queuelog.MaxTail-queuelog.OrderItemEntries+1) - c.Tail.Len(); n > 0; n-- {
				e := queuelog.Entry{Key: sortkey.HashOf(fmt.Sprint(random.Uint64())),
					Count: 1 + random.IntN(most), Seen: queuelog.ShortSeen(c.Position)}
				c.Tail, c.Position = c.Tail+queuelog.NewTail(e), c.Position+int64(e.Count)
			}
			first, _ := c.Tail.First(queuelog.OrderItemEntries)
			for p := range placesOf(first, c.TailFrom) {
				left = append(left, p)
			}
			c = c.trimmed(queuelog.OrderItemEntries)
			err := c.checkFingerprints()
			check.Need(t, err == nil, "seed %d: %v", seed, err)
			for _, p := range left {
				for _, seen := range []int64{p.seqs.From, max(c.FingerprintsFrom, p.seqs.From-1),
					c.FingerprintsFrom, p.seqs.From - 1000} {
					check.Need(t, seen > p.seqs.From || !c.without(p.Entry, seen),
						"seed %d: the place of the seqs %v is overlooked by one that has seen %d, before a tail from %d with fingerprints from %d",
						seed, p.seqs, seen, c.TailFrom, c.FingerprintsFrom)
				}
			}
			// What comes later has no print, so the last 24 places are none of its.
			if e := (queuelog.Entry{Key: "0123456789", Count: 1}); c.Fingerprints.len() > maxFingerprints ||
				!c.Fingerprints.mayHave(e) &&
					!c.without(e, left[len(left)-queuelog.OrderItemEntries].seqs.From) {
				t.Fatalf("seed %d: %d fingerprints from %d say nothing of the last order item, before %d", seed,
					c.Fingerprints.len(), c.FingerprintsFrom, c.TailFrom)
			}
		}
	}
}

// TestDamagedPrintsAreRefused: where fingerprints are missing, a place would be given twice.
func TestDamagedPrintsAreRefused(t *testing.T) {
	names := Names{}.withDefaults()
	settings := DefaultSettings()
	settings.Kind, settings.First = KindArrival, 11
	good := newCursor("q", settings, time.Time{})
	for i := range 72 {
		e := queuelog.Entry{Key: sortkey.HashOf(fmt.Sprint(i)), Count: 1 + i%3}
		good.Tail, good.Position = good.Tail+queuelog.NewTail(e), good.Position+int64(e.Count)
	}
	for range 3 {
		check.Get(decodeCursor(encodeCursor(good, names), names))
		good = good.trimmed(queuelog.OrderItemEntries)
	}
	none := ddb.Value{}
	for name, change := range map[string]ddb.Fields{
		"no prints":                 {attrFingerprints: none},
		"prints of another type":    {attrFingerprints: ddb.Int(1)},
		"no begin":                  {attrFingerprintsFrom: none},
		"none":                      {attrFingerprints: ddb.Text("")},
		"a part of one":             {attrFingerprints: ddb.Text(string(good.Fingerprints[:190]))},
		"more than there are":       {attrFingerprints: ddb.Text(string(good.Fingerprints + "abcd"))},
		"a begin behind the tail's": {attrFingerprintsFrom: ddb.Int(good.TailFrom + 1)},
		"a begin that is too late":  {attrFingerprintsFrom: ddb.Int(good.TailFrom - 47)},
		"a begin that is too early": {attrFingerprints: ddb.Text("abcd"), attrTailFrom: ddb.Int(1000), attrPosition: ddb.Int(1000)},
		"a begin before the queue":  {attrFingerprintsFrom: ddb.Int(9)},
	} {
		it := ddb.Fields{}
		for attribute, value := range encodeCursor(good, names).All() {
			it[ddb.Path(attribute)] = value
		}
		maps.Copy(it, change)
		if c, err := decodeCursor(it.Item(), names); err == nil ||
			!strings.Contains(err.Error(), `"prints`) {
			t.Errorf("%s: %+v, %v; want an error of the prints", name, c, err)
		}
	}
}

// TestDamagedPlacesAreRefused: those of no message would be passed over for ever, and those of too
// many take the seqs of others.
func TestDamagedPlacesAreRefused(t *testing.T) {
	names := Names{}.withDefaults()
	settings := DefaultSettings()
	settings.Kind = KindArrival
	for count, right := range map[int]bool{0: false, 1: true, maxArrivalMessages: true,
		maxArrivalMessages + 1: false} {
		entries := queuelog.NewTail(queuelog.Entry{Key: sortkey.HashOf("a"), Count: count})
		c := newCursor("q", settings, time.Time{})
		c.Tail, c.Position = entries, int64(count)
		if _, err := decodeCursor(encodeCursor(c, names), names); (err == nil) != right {
			t.Errorf("a tail with an entry of %d messages: error %v", count, err)
		}
		o := queuelog.OrderItem{Queue: "q", Last: 1000, Entries: entries}
		if _, err := decodeOrderItem(encodeOrderItem(o, names), names); (err == nil) != right {
			t.Errorf("an order item with an entry of %d messages: error %v", count, err)
		}
		c.Position++
		if _, err := decodeCursor(encodeCursor(c, names), names); err == nil {
			t.Errorf("an entry of %d messages, and the position is %d: no error", count, c.Position)
		}
	}
	short := ddb.Blob([]byte("1234567890123"))
	for name, entries := range map[string]ddb.Value{
		"none": ddb.ListOf(), "a part of one": ddb.ListOf(short), "texts": ddb.ListOf(ddb.Text("12345678901234")), "no list": short,
	} {
		it := encodeOrderItem(queuelog.OrderItem{Queue: "q", Last: 1000,
			Entries: queuelog.NewTail(queuelog.Entry{Key: sortkey.HashOf("a"), Count: 1})}, names)
		if _, err := decodeOrderItem(it.Merge(ddb.Fields{attrEntries: entries}.Item()),
			names); err == nil {
			t.Errorf("an order item with %s: no error", name)
		}
	}
}

// TestDamagedKeyedCursorsAreRefused, whatever is missing.
func TestDamagedKeyedCursorsAreRefused(t *testing.T) {
	names := Names{}.withDefaults()
	settings := DefaultSettings()
	settings.Kind, settings.KeyType = KindKeyed, "time"
	good := encodeCursor(newCursor("q", settings, time.Time{}), names)
	for _, name := range []ddb.Path{attrKeyType, attrSettle, attrLate, attrLow, attrTail} {
		others := ddb.Fields{}
		for at, value := range good.All() {
			others[ddb.Path(at)] = value
		}
		delete(others, name)
		if c, err := decodeCursor(others.Item(), names); err == nil ||
			!strings.Contains(err.Error(), `"`+string(name)+`"`) {
			t.Errorf("without %s: %+v, %v; want an error of it", name, c, err)
		}
	}
}

// TestEverySettingIsAFixedAttribute: no key may be called as what a cursor keeps.
func TestEverySettingIsAFixedAttribute(t *testing.T) {
	names := Names{}.withDefaults()
	for name := range encodeCursor(Cursor{Queue: "q", Settings: DefaultSettings()}, names).All() {
		if at := ddb.Path(name); at != names.queueKey() && !slices.Contains(fixedAttributes, at) {
			t.Errorf("a key may be called %s", name)
		}
	}
}
