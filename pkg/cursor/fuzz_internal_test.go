package cursor

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/stream"
)

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
