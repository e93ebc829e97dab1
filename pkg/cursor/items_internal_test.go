package cursor

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/stream"
)

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
		c, err := decodeCursor(it.Item(), names)
		check.Says(t, err, `"prints`, name, c)
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
		_, err := decodeOrderItem(it.Merge(ddb.Fields{attrEntries: entries}.Item()), names)
		check.That(t, err != nil, "an order item with %s: no error", name)
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
		c, err := decodeCursor(others.Item(), names)
		check.Says(t, err, `"`+string(name)+`"`, name, c)
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

// imageOf is an item as a stream shows it.
func imageOf(t *testing.T, it ddb.Item) json.RawMessage {
	t.Helper()
	if !it.Exists() {
		return nil
	}
	return check.Get(attributevalue.MarshalMapJSON(dynamo.ToSDK(it)))
}

// TestARecordIsEnoughToReadArrivals with no other read of the cursor.
func TestARecordIsEnoughToReadArrivals(t *testing.T) {
	var names Names
	tables := ddb.NewMemory(append(names.Tables(), names.ArrivalsTable())...)
	process := func(engine ddb.Engine) *Sorter {
		store := check.Get(NewStore(engine, names))
		s, err := New(store, nil)
		check.OK(t, err)
		return s
	}
	var records []json.RawMessage
	tables.OnChange(func(c ddb.Change) {
		if c.Table.Name != "streamsort-cursors" {
			return
		}
		record := stream.Record{EventName: "MODIFY"}
		if !c.Before.Exists() {
			record.EventName = "INSERT"
		}
		record.Change.SequenceNumber = fmt.Sprint(len(records))
		record.Change.OldImage, record.Change.NewImage = imageOf(t, c.Before), imageOf(t, c.After)
		records = append(records, check.Get(json.Marshal(record)))
	})
	s := process(tables)
	for i := range 100 {
		var put []Message
		for n := range 1 + i%3 {
			put = append(put,
				Message{Queue: "q", Seq: NoSeq, PutID: fmt.Sprint(i), Body: fmt.Appendf(nil, "%d.%d", i, n)})
		}
		check.OK(t, s.Put(t.Context(), put...)[0].Err)
	}
	reader := process(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		check.That(t, r.Name() != "get cursor", "a cursor was read")
		return tables.Do(ctx, r)
	}))
	var got []string
	last := int64(0)
	for _, record := range records {
		cur, moved, err := AdvanceOf(record, Names{})
		check.OK(t, err)
		batch := check.Get(inside{reader}.ReadBatchAt(t.Context(), cur, cur.Queue, moved.From, moved.To))
		check.That(t, batch.From == last && batch.To == moved.To,
			"a batch of %d to %d, and the last one ended at %d", batch.From, batch.To, last)
		last = batch.To
		for _, m := range batch.Messages {
			got = append(got, string(m.Body))
		}
	}
	check.That(t, len(got) == 199 && got[0] == "0.0" && got[2] == "1.1" && got[198] == "99.0",
		"%d messages: %v", len(got), got)
}

// TestEras: each is greater than the one before, whatever the keys are, is read back, and is let
// through by the stream's filter for keyed queues.
func TestEras(t *testing.T) {
	before := sortkey.SortKey("")
	for _, era := range []sortkey.Era{"", sortkey.Era("").Next(), sortkey.Era("").Next().Next(),
		sortkey.LastEra} {
		first, last := era.SortKey("\x00", "a"),
			era.SortKey(sortkey.Key(rune(sortkey.TagHex))+"\xff", "b")
		for _, key := range []sortkey.SortKey{first, last} {
			check.That(t, key.Era() == era &&
				strings.HasPrefix(base64.StdEncoding.EncodeToString([]byte(key)), "AQ"),
				"era %x: %x is of %x", string(era), string(key), string(key.Era()))
		}
		check.That(t, first > before && last < sortkey.EverySortKey && (era == "" ||
			era.Begin() > before), "era %x: from %x to %x, behind %x", string(era), string(first),
			string(last), string(before))
		before = last
	}
}

// FuzzDecodeItem: an item that anybody may have written is decoded or refused, and what is decoded
// as a message or a cursor is the same after one round through the table.
func FuzzDecodeItem(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"queue":{"S":"q"}}`,
		`{"queue":{"S":"q"},"seq":{"N":"1"},"v":{"N":"1"},"body":{"B":"AA=="},"digest":{"B":"AA=="},"op":{"B":"AA=="},"enqueuedAt":{"N":"1"}}`,
		`{"queue":{"S":"q"},"seq":{"N":"1"},"v":{"N":"1"},"enqueuedAt":{"N":"1"},"trace":{"B":"Cvdll2kWzUPdhEjrIRyAMZy3rWtpFiAzMQFhPTE="}}`,
		`{"queue":{"S":"q"},"seq":{"N":"1"},"v":{"N":"5"},"enqueuedAt":{"N":"1"},"count":{"N":"2"},"frames":{"B":"AAABMQAAAAEyAA=="},"traces":{"B":"AAA="}}`,
		`{"queue":{"S":"q"},"seq":{"N":"1"},"v":{"N":"1"},"attributes":{"M":{"a":{"N":"1"}}}}`,
		`{"queue":{"S":"q"},"seq":{"N":"1"},"v":{"N":"1"},"tombstone":{"S":"why"},"enqueuedAt":{"N":"1"},"expiresOn":{"N":"2"}}`,
		`{"queue":{"S":"q"},"seq":{"N":"1.5"},"v":{"N":"1"}}`, `{"queue":{"S":"q"},"seq":{"N":"1"},"v":{"N":"2"}}`,
		`{"queue":{"S":"q"},"v":{"N":"1"},"first":{"N":"1"},"position":{"N":"4"},"parked":{"N":"0"},"gapSince":{"N":"0"},"policy":{"S":"wait"},"gapAfter":{"N":"1000"},"maxAhead":{"N":"9"},"mode":{"S":"sync"},"announced":{"N":"3"}}`,
	} {
		f.Add([]byte(seed))
	}
	for _, seed := range []string{
		`{"queue":{"S":"q"},"v":{"N":"1"},"first":{"N":"1"},"position":{"N":"1"},"parked":{"N":"0"},"gapSince":{"N":"0"},"policy":{"S":"wait"},"gapAfter":{"N":"1000"},"maxAhead":{"N":"9"},"mode":{"S":"sync"},"tailFrom":{"N":"0"},"tail":{"L":[{"B":"AAAAAAAAAAAAAACAAAA="}]},"printsFrom":{"N":"0"},"prints":{"S":""}}`,
		`{"queue":{"S":"q"},"v":{"N":"1"},"seq":{"N":"1"},"entries":{"B":"AAAAAAAAAAAAAACAAAA="},"expiresOn":{"N":"5"}}`,
		`{"queue":{"S":"q"},"v":{"N":"1"},"sortKey":{"B":"AAAAAAAAAAAAAA=="},"id":{"S":"i"},"seen":{"N":"4"},"count":{"N":"2"},"frames":{"B":"AAABMQAAAAEyAA=="},"digest":{"B":"AA=="},"enqueuedAt":{"N":"1"}}`,
		`{"queue":{"S":"q"},"v":{"N":"1"},"sortKey":{"B":"AAAAAAAAAAAAAA=="},"id":{"S":"i"},"seen":{"N":"4"},"count":{"N":"2"},"deflated":{"B":"AAABMQAAAAEyAA=="}}`,
	} {
		f.Add([]byte(seed))
	}
	names := Names{}.withDefaults()
	f.Fuzz(func(t *testing.T, text []byte) {
		var record stream.Record
		record.Change.NewImage = text
		it, err := record.New()
		if err != nil {
			return
		}
		if m, err := decodeMessage(it, names); err == nil && m.Tombstone == "" && !m.EnqueuedAt.IsZero() {
			again, err := decodeMessage(encodeMessage(m, names), names)
			check.Need(t, err == nil, "%+v cannot be read again: %v", m, err)
			check.That(t, again.Queue == m.Queue && again.Seq == m.Seq &&
				bytes.Equal(again.Body, m.Body) && again.digestString() == m.digestString() &&
				again.Trace == m.Trace, "%+v became %+v", m, again)
		}
		if o, err := decodeOrderItem(it, names); err == nil {
			again, err := decodeOrderItem(encodeOrderItem(o, names), names)
			check.That(t, err == nil && reflect.DeepEqual(again, o), "%+v became %+v, %v", o, again, err)
		}
		if a, err := decodeArrival(it, names, false); err == nil && a.ID != "" && len(a.Messages) > 1 {
			again, err := decodeArrival(encodeArrival(a, names), names, false)
			check.That(t, err == nil && bytes.Equal(again.digest(), a.digest()),
				"%+v became %+v, %v", a, again, err)
		}
		if c, err := decodeCursor(it, names); err == nil && c.Exists() {
			again, err := decodeCursor(encodeCursor(c, names), names)
			check.Need(t, err == nil, "%+v cannot be read again: %v", c, err)
			// A cursor without the time comes back with one.
			again.MovedAt = c.MovedAt
			check.That(t, reflect.DeepEqual(again, c), "%+v became %+v", c, again)
		}
	})
}

func FuzzProgress(f *testing.F) { ddbtest.FuzzCodec(f, sweepItems, nil, attrVersion) }

func (m Message) digestString() string { return string(m.digest()) }
