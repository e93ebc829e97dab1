package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/runtime/runtimetest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func (s *server) post(query, body string) httpapitest.Answer {
	return s.Request("POST", "/messages", query, body)
}

func (s *server) get(path, query string) httpapitest.Answer {
	return s.Request("GET", path, query, "")
}

// made makes a queue with these settings.
func (s *server) made(settings string) {
	s.Want("made", s.Request("PUT", "/queues", "", settings), 200)
}

// settle gives places to all of a queue that is due by the server's clock.
func (s *server) settle(t *testing.T, queue string) {
	t.Helper()
	check.Get(s.sorter(t).Settle(t.Context(), queue, sortkey.EverySortKey))
}

// TestMessagesWithKeys: they wait for their queue's window, come out by their keys, and what is
// late is marked.
func TestMessagesWithKeys(t *testing.T) {
	s := newServer(t, nil)
	put := func(key, id, more string) httpapitest.Answer {
		return s.post("", `{"queue":"q","key":`+key+`,"id":"`+
			id+`","keyType":" time ","body":"`+id+`"`+more+`}`)
	}
	s.Want("first", put(`"2026-01-02T03:04:05.5+01:00"`, "b", ""), 202, `{"status":202,"outcome":"waiting","queue":"q","settlesAt":"2026-01-02T03:04:10Z"}`)
	s.now = s.now.Add(2 * time.Second)
	s.Want("repeat", put(`1767319445.5`, "b", ""), 200, `{"status":200,"outcome":"duplicate","queue":"q","settlesAt":"2026-01-02T03:04:10Z"}`)
	s.Want("less", put(`"2026-01-01T00:00:00Z"`, "a", ""), 202, `"settlesAt":"2026-01-02T03:04:12Z"`)
	s.Want("other bytes", s.post("", `{"queue":"q","key":1767319445.5,"id":"b","body":"other"}`), 409,
		"problems/conflict", "this key and id")
	s.Want("another key", put(`"2026-01-03T00:00:00Z"`, "b", `,"prev":"none"`), 202)
	s.Want("status", s.get("/queues", "queue=q"), 200, `"kind":"keyed"`, `"keyType":"time"`,
		`"settle":"5s"`, `"late":"deliver"`, `"position":0`, `"gapOpen":false`, `"parked":0`,
		`"waiting":3`, `"oldestWaiting":"2026-01-02T03:04:05Z"`, `"dueAt":"2026-01-02T03:04:10Z"`,
		`"lateSoFar":0`)
	s.now = s.now.Add(5 * time.Second)
	s.settle(t, "q")
	s.Want("late", put(`"2025-01-01T00:00:00Z"`, "c", `,"prev":"none"`), 200,
		`{"status":200,"outcome":"advanced","queue":"q","seq":4,"late":true}`)
	s.Want("repeats", s.post("", `{"messages":[{"queue":"q","key":"2025-01-01T00:00:00Z","id":"c","prev":"none","body":"c"},{"queue":"q","key":"2026-01-01T00:00:00Z","id":"a","body":"a"},{"queue":"n","seq":1,"body":0}]}`), 200,
		`{"status":200,"outcome":"duplicate","queue":"q","seq":4,"late":true}`,
		`{"status":200,"outcome":"duplicate","queue":"q","seq":1}`, `"queue":"n","seq":1`)
	s.Want("read", s.get("/messages", "queue=q"), 200,
		`{"seq":1,"key":"2026-01-01T00:00:00Z","id":"a","body":"a"`,
		`{"seq":2,"key":"2026-01-02T02:04:05.5Z","id":"b"`,
		`{"seq":3,"key":"2026-01-03T00:00:00Z","unlinked":true,"id":"b"`,
		`{"seq":4,"key":"2025-01-01T00:00:00Z","late":true,"unlinked":true,"id":"c"`)
	s.Want("status", s.get("/queues", "queue=q"), 200, `"highKey":"2026-01-03T00:00:00Z"`,
		`"waiting":0`, `"lateSoFar":1`, `"position":4`)
	a := s.get("/queues", "queue=q")
	check.That(t, !strings.Contains(a.Body, "oldestWaiting") &&
		!strings.Contains(a.Body, "dueAt"), "nothing waits: %s", a.Body)
	s.logsHave(`"MessagesStored":1`, `"Duplicates":1`, `"Conflicts":1`, `"Duplicates":2`, `"Late":1`,
		`"Unlinked":1`)
	// Where the queue drops what is late, the answer says so.
	s.Want("made", s.Request("PUT", "/queues", "", `{"queue":"d","kind":"keyed","keyType":"number,rank(a|*)","settle":0,"late":"drop"}`), 200,
		`"keyType":"number,rank(a|*)"`, `"settle":"0s"`, `"late":"drop"`)
	s.Want("first", s.post("", `{"queue":"d","key":[7,"b"],"id":"x","body":1}`), 202,
		`"outcome":"waiting"`)
	s.settle(t, "d")
	s.Want("dropped", s.post("", `{"queue":"d","key":["7.0","a"],"id":"y","body":2}`), 200,
		`{"status":200,"outcome":"dropped","queue":"d","seq":2,"late":true}`)
	s.Want("status", s.get("/queues", "queue=d"), 200, `"highKey":[7,1]`)
	s.Want("read", s.get("/messages", "queue=d"), 200, `{"seq":1,"key":[7,1],"id":"x","body":1`,
		`{"seq":2,"key":[7,0],"late":true,"tombstone":"dropped: it came too late"}`)
	s.Want("changed", s.Request("PUT", "/queues", "", `{"queue":"d","settle":"1h","late":"deliver"}`),
		200, `"settle":"1h0m0s"`, `"late":"deliver"`)
	s.Want("waits", s.post("", `{"queue":"d","key":[8,"a"],"id":"z","body":3}`), 202,
		`"settlesAt":"2026-01-02T04:04:12Z"`)
}

// TestRawEventsWithKeys: the key is at the paths that the query, the document or the stack names.
func TestRawEventsWithKeys(t *testing.T) {
	const event = `{"customer":"acme","id":"evt_1","data":{"type":"x.created"},"created":1767319445}`
	for name, post := range map[string]func(*server) httpapitest.Answer{
		"query": func(s *server) httpapitest.Answer {
			return s.post("queue=customer&id=id&key=created,data.type&keyType=time,rank(*.created|*)", event)
		},
		"several": func(s *server) httpapitest.Answer {
			return s.post("queue=customer&id=id&key=created,data.type&keyType=time,rank(*.created|*)",
				"["+event+"]")
		},
		"direct": func(s *server) httpapitest.Answer {
			return httpapitest.Answer{Body: s.Invoke(`{"queue":"customer","id":"id","key":"created,data.type","keyType":"time,rank(*.created|*)","event":` + event + `}`)}
		},
		"stack": func(s *server) httpapitest.Answer { return httpapitest.Answer{Body: s.Invoke(event)} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(of *service) {
				if name == "stack" {
					of.events = raw(mapping.Texts{Queue: "customer", ID: "id", Key: "created,data.type",
						KeyType: "time,rank(*.created|*)"})
				}
			})
			a := post(s)
			check.Need(t, strings.Contains(a.Body, `"outcome":"waiting","queue":"acme"`), "%+v", a)
			s.now = s.now.Add(time.Minute)
			s.settle(t, "acme")
			s.Want("read", s.get("/messages", "queue=acme"), 200,
				`"key":["2026-01-02T02:04:05Z",0],"id":"evt_1","body":{"customer"`)
		})
	}
	s := newServer(t, nil)
	s.Want("an array in one field",
		s.post("queue=q&id=id&key=k&keyType=number,text", `{"q":"q","id":1,"k":[1,"x"]}`), 202)
	// An event names the one before it, where there is one.
	s.Want("put", s.post("queue=q&id=id&key=k&keyType=number&prev=before.id",
		`[{"q":"l","id":1,"k":1},{"q":"l","id":2,"k":2,"before":{"id":1}},{"q":"l","id":3,"k":3,"before":{"id":"1"}},{"q":"l","id":4,"k":4,"before":{"id":null}},{"q":"l","id":5,"k":5,"before":null}]`), 200)
	s.now = s.now.Add(time.Minute)
	s.settle(t, "l")
	a := s.get("/messages", "queue=l")
	s.Want("read", a, 200, `"seq":5`, `"key":3,"unlinked":true`)
	check.That(t, strings.Count(a.Body, "unlinked") == 1, "%s", a.Body)
}

// TestWordsOfKeys: what is wrong with a key has its code, field and bound, and nothing is stored.
func TestWordsOfKeys(t *testing.T) {
	s := newServer(t, nil)
	s.made(`{"queue":"time","kind":"keyed","keyType":"time"}`)
	s.made(`{"queue":"text","kind":"keyed","keyType":"text"}`)
	s.Want("made", s.post("", `{"messages":[{"queue":"numbered","seq":1,"body":1},{"queue":"arrival","id":"a","body":1}]}`), 200)
	for _, c := range []struct{ name, query, body, code, field, names string }{
		{"no key", "", `{"queue":"time","id":"a","body":1}`, "missing", "key", "keyed"},
		{"empty key", "", `{"queue":"time","key":[],"id":"a","body":1}`, "missing", "key", "keyed"},
		{"null", "", `{"queue":"time","key":null,"id":"a","body":1}`, "missing", "key", "a string or a number"},
		{"no id", "", `{"queue":"time","key":1,"body":1}`, "missing", "id", "1 to 1024"},
		{"wrong type", "", `{"queue":"time","key":"x","id":"a","body":1}`, "malformed", "key", "RFC 3339"},
		{"no such day", "", `{"queue":"time","key":"2026-02-30T00:00:00Z","id":"a","body":1}`, "out-of-range", "key", "does not exist"},
		{"long", "", `{"queue":"text","key":"` + strings.Repeat("x", 65) + `","id":"a","body":1}`, "too-large", "key", "0 to 64"},
		{"two parts for one", "", `{"queue":"text","key":["a","b"],"id":"a","body":1}`, "out-of-range", "key", "have 1, text"},
		{"a seq too", "", `{"queue":"time","seq":1,"key":1,"id":"a","body":1}`, "clash", "key", "seq"},
		{"numbered", "", `{"queue":"numbered","key":1,"id":"a","body":1}`, "misplaced", "key", "put it with a seq and no key, or make a queue of another kind with PUT /queues"},
		{"arrival", "", `{"queue":"arrival","key":1,"id":"a","body":1}`, "misplaced", "key", "put it with an id, no seq and no key"},
		{"a seq", "", `{"queue":"time","seq":1,"body":1}`, "misplaced", "seq", "put it with a key, an id and no seq"},
		{"new", "", `{"queue":"new","key":1,"id":"a","body":1}`, "missing", "keyType", `PUT /queues {\"kind\": \"keyed\", \"keyType\": \"time\"}`},
		{"another type", "", `{"queue":"time","keyType":"number","key":1,"id":"a","body":1}`, "clash", "keyType", "time"},
		{"no type", "", `{"queue":"time","keyType":"date","key":1,"id":"a","body":1}`, "unknown", "keyType", "number, time, utc, lsn, ulid, semver, hex, text or rank"},
		{"type without a key", "", `{"queue":"time","keyType":"time","id":"a","body":1}`, "misplaced", "keyType", "without a key"},
		{"prev without a key", "", `{"queue":"q","prev":"a","id":"a","body":1}`, "misplaced", "prev", "without a key"},
		{"prev too long", "", `{"queue":"time","key":1,"prev":"` + strings.Repeat("x", 1025) + `","id":"a","body":1}`, "too-large", "prev", "1024"},
		{"a malformed prev", "queue=q&id=i&key=k&prev=p", `{"q":"text","i":1,"k":"a","p":{}}`, "malformed", "prev", "(p is an object)"},
		{"no field", "queue=q&id=i&key=a.b", `[{"q":"time","i":1,"a":{}}]`, "missing", "messages[0].key", "at a.b: the event has no a.b"},
		{"a malformed part", "queue=q&id=i&key=a,b", `{"q":"time","i":1,"a":1,"b":{}}`, "malformed", "key", "part 2 of 2"},
		{"in a list", "", `{"messages":[{"queue":"time","key":1,"id":"a","body":1},{"queue":"time","key":1,"id":"","body":1}]}`, "missing", "messages[1].id", "1 to 1024"},
		{"of the type in a list", "", `{"messages":[{"queue":"fresh","seq":1,"body":1},{"queue":"time","keyType":"time","key":"x","id":"a","body":1}]}`, "malformed", "messages[1].key", "RFC 3339"},
		{"mixed", "", `{"messages":[{"queue":"fresh","seq":1,"body":1},{"queue":"fresh","key":1,"keyType":"time","id":"a","body":1}]}`, "missing", "messages[0].key", "with a key or without"},
		{"mixed with arrivals", "", `{"messages":[{"queue":"fresh","key":1,"keyType":"time","id":"a","body":1},{"queue":"fresh","id":"b","body":1}]}`, "missing", "messages[1].key", "with a key or without"},
	} {
		s.Want(c.name, s.post(c.query, c.body), 400, `"code":"`+c.code+`"`,
			`"field":"`+c.field+`"`, c.names)
	}
	for body, names := range map[string]string{
		`{"queue":"new","kind":"keyed"}`:                                  `"field":"keyType"`,
		`{"queue":"new","kind":"keyed","keyType":"time","settle":"soon"}`: `"field":"settle"`,
		`{"queue":"numbered","late":"drop"}`:                              `"field":"late"`,
	} {
		s.Want(body, s.Request("PUT", "/queues", "", body), 400, names)
	}
	s.Want("another type", s.Request("PUT", "/queues", "", `{"queue":"time","keyType":"number"}`), 409,
		"problems/setting-fixed", `"field":"keyType"`)
	s.Want("another kind", s.Request("PUT", "/queues", "", `{"queue":"time","kind":"arrival"}`), 409,
		"problems/setting-fixed")
	for _, queue := range []string{"time", "text"} {
		s.Want("nothing came of it", s.get("/queues", "queue="+queue), 200, `"waiting":0`)
	}
	for _, queue := range []string{"new", "fresh", "q"} {
		s.Want("no queue", s.get("/queues", "queue="+queue), 404)
	}
	// A key that is not for its queue fails its message alone: what a queue takes, it only knows
	// itself.
	s.Want("put", s.post("", `{"messages":[{"queue":"time","key":"a","id":"a","body":1},{"queue":"time","key":1,"id":"b","body":1}]}`), 200,
		`{"status":400,"queue":"time","detail":"key must be a time as RFC 3339`, `"code":"malformed"`,
		`{"status":202,"outcome":"waiting"`)
	s.Want("status", s.get("/queues", "queue=time"), 200, `"waiting":1`)
}

// TestManyThatWait are counted as far as a page shows.
func TestManyThatWait(t *testing.T) {
	s := newServer(t, nil)
	for call := range 3 {
		var all []string
		for i := range 500 {
			all = append(all,
				fmt.Sprintf(`{"queue":"q","keyType":"number","key":%d,"id":"x","body":1}`, 500*call+i))
		}
		s.Want("put", s.post("", `{"messages":[`+strings.Join(all, ",")+`]}`), 200)
	}
	s.Want("status", s.get("/queues", "queue=q"), 200, `"waiting":1000`, `"waitingMore":true`)
}

// TestAClockThatIsAhead: the refusal says what is taken, what to do, and makes no queue.
func TestAClockThatIsAhead(t *testing.T) {
	s := newServer(t, nil)
	ahead := func() httpapitest.Answer {
		return s.post("", `{"queue":"q","key":"2099-01-01T00:00:00Z","keyType":"time","id":"a","body":1}`)
	}
	s.Want("refused", ahead(), 400, `"field":"key"`, "is 2099-01-01T00:00:00Z, and at most 2026-01-03T03:04:05Z are taken, 24h0m0s ahead of now",
		`set the sender's clock, or \"clockAhead\" with PUT /queues`)
	s.Want("no queue", s.get("/queues", "queue=q"), 404)
	s.Want("another bound",
		s.Request("PUT", "/queues", "",
			`{"queue":"q","kind":"keyed","keyType":"time","clockAhead":"87600h"}`), 200,
		`"clockAhead":"87600h0m0s"`)
	s.Want("out of its bounds", s.Request("PUT", "/queues", "", `{"queue":"q","clockAhead":"90000h"}`),
		400, `"field":"clockAhead"`, "is 90000h0m0s: it must be from 1s to 87600h")
	s.Want("still", ahead(), 400, `"field":"key"`)
	s.Want("of a queue without times",
		s.Request("PUT", "/queues", "",
			`{"queue":"n","kind":"keyed","keyType":"number","clockAhead":"1h"}`), 400,
		`"field":"clockAhead"`)
}

// TestALateOneIsCountedOnce, also where a settler has placed it before its writer looks.
func TestALateOneIsCountedOnce(t *testing.T) {
	tables := runtimetest.Tables()
	s := newServer(t, func(of *service) {
		defaults := cursor.DefaultSettings()
		defaults.Settle = 0
		of.sorter = runtimetest.Sorter(
			ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				a, err := tables.Do(ctx, r)
				if r.Name() == "put arrival" {
					check.Get(of.sorter.Settle(ctx, "q", sortkey.EverySortKey))
				}
				return a, err
			}), &cursor.Options{Defaults: &defaults, Now: of.now})
	})
	put := func(key int) httpapitest.Answer {
		return s.post("", fmt.Sprintf(`{"queue":"q","key":%d,"id":"a","keyType":"number","body":1}`, key))
	}
	s.Want("first", put(2), 200)
	s.Want("late", put(1), 200, `"outcome":"advanced","queue":"q","seq":2,"late":true`)
	check.That(t, !strings.Contains(s.logs.String(), `"Late":`),
		"the settler counts it, and so does enqueue: %s", &s.logs)
}

// TestAQueueStartsWhereItsFirstMessageSays; a refused put makes none, and its answer says what to
// do.
func TestAQueueStartsWhereItsFirstMessageSays(t *testing.T) {
	s := newServer(t, nil)
	s.Want("0", s.post("", `{"queue":"q","seq":0,"body":1}`), 410, `"first":1`,
		`a new queue starts at seq 1, and none was made: put \"first\": 0, or \"here\", beside the message, or make it with PUT /queues {\"queue\": \"q\", \"first\": 0}`)
	s.Want("no queue", s.get("/queues", "queue=q"), 404)
	s.Want("0, said so", s.post("", `{"queue":"q","seq":0,"first":0,"body":1}`), 200,
		`"outcome":"advanced","queue":"q","seq":0`)
	s.Want("another", s.post("", `{"queue":"q","seq":1,"first":"1","body":1}`), 400, `"field":"first"`,
		"starts at seq 0")
	s.Want("in the middle", s.post("", `{"queue":"m","seq":4711,"body":1}`), 202, `"outcome":"parked"`,
		`it waits for seq 1, with which the queue starts`)
	s.Want("here", s.post("", `{"queue":"h","seq":4711,"first":"here","body":1}`), 200,
		`"outcome":"advanced","queue":"h","seq":4711`)
	a := s.post("", `{"queue":"h","seq":4713,"body":1}`) // behind a gap
	check.That(t, !strings.Contains(a.Body, "detail"), "parked: %s", a.Body)
	s.Want("beyond a queue in arrival order",
		s.post("", `{"queue":"a","seq":4711,"kind":"arrival","body":1}`), 409, `"outcome":"ahead"`,
		`"first":1`, "none was made", `\"kind\": \"arrival\", \"first\": 4711}`)
	s.Want("of an event", s.post("queue=q&seq=n&first=here", `{"q":"e","n":9}`), 200,
		`"outcome":"advanced","queue":"e","seq":9`)
	for body, problem := range map[string]string{
		`{"queue":"q","first":1,"body":1}`:               "must not be given without a seq",
		`{"queue":"q","seq":1,"first":-1,"body":1}`:      "here",
		`{"queue":"q","seq":1,"first":"there","body":1}`: "here",
	} {
		s.Want(body, s.post("", body), 400, `"field":"first"`, problem)
	}
	got := s.Invoke(`{"queue":"d","seq":7,"first":"here","body":1}`)
	check.That(t, strings.Contains(got, `"outcome":"advanced","queue":"d","seq":7`), "%v", got)
}
