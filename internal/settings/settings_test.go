package settings_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/calllog"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func tables(t *testing.T) {
	t.Helper()
	t.Setenv("STREAMSORT_MESSAGES_TABLE", "m-1")
	t.Setenv("STREAMSORT_CURSORS_TABLE", "c-1")
	t.Setenv("STREAMSORT_TROUBLE_TABLE", "s-1")
}

func TestDefaults(t *testing.T) {
	tables(t)
	s := check.Get(settings.FromEnvironment())
	check.That(t, s.Defaults == cursor.DefaultSettings() && s.Retention == 336*time.Hour &&
		!s.KeepForever && s.Names.Trouble == "s-1", "%+v", s)
}

func TestEverything(t *testing.T) {
	tables(t)
	for name, value := range map[string]string{
		"STREAMSORT_FIRST_SEQ": "0",
		"STREAMSORT_POLICY":    "skip", "STREAMSORT_GAP_AFTER": "90s", "STREAMSORT_MAX_AHEAD": "10", "STREAMSORT_MODE": "async",
		"STREAMSORT_RETENTION": "0", "STREAMSORT_EVENTS": `{"queue":"a.b","seq":"c","id":"d"}`,
		"STREAMSORT_EVENT_BUS": "default", "STREAMSORT_FULL_SWEEP_EVERY": "2h", "STREAMSORT_SWEEP_SEGMENTS": "2", "STREAMSORT_SWEEP_EVERY": "4m",
		"STREAMSORT_ARRIVALS_TABLE": "a-1",
		"STREAMSORT_READERS":        `{"consumers":[{"name":"a"},{"name":"b","prefix":"shop/","maxAttempts":3,"circuit":{"wakeRate":7}},{"name":"c","sink":{"kind":"s3","arn":"arn:aws:s3:::books"}}]}`,
		"STREAMSORT_LOG_SUCCESSES":  "100", "STREAMSORT_LOG_QUEUE": "q", "STREAMSORT_LOG_UNTIL": "2026-01-02T15:04:05Z",
	} {
		t.Setenv(name, value)
	}
	s := check.Get(settings.FromEnvironment())
	want := settings.Settings{
		Names:     cursor.Names{Messages: "m-1", Cursors: "c-1", Trouble: "s-1", Arrivals: "a-1"},
		Consumers: delivery.Names{Trouble: "s-1"},
		Defaults: cursor.Settings{Policy: cursor.PolicySkip, GapAfter: 90 * time.Second, MaxAhead: 10,
			Mode: cursor.ModeAsync, Settle: 5 * time.Second, Late: cursor.LateDeliver,
			ClockAhead: 24 * time.Hour},
		KeepForever: true, Events: raw(t, mapping.Texts{Queue: "a.b", Seq: "c", ID: "d"}),
		EventBus: "default",
		Readers: []delivery.Reader{{Name: "a"},
			{Name: "b", Prefix: "shop/", MaxAttempts: 3, Circuit: delivery.Circuit{WakeRate: 7}},
			{Name: "c"}},
		Buckets:    map[string]string{"c": "arn:aws:s3:::books"},
		SweepEvery: 4 * time.Minute, FullSweepEvery: 2 * time.Hour, SweepSegments: 2,
		Log: calllog.Log{Successes: 100, Queue: "q", Until: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)},
	}
	check.That(t, reflect.DeepEqual(s, want), "%+v, want %+v", s, want)
}

// The sweep takes who reads what from the text that process has.
func TestReadersOfConsumers(t *testing.T) {
	tables(t)
	t.Setenv("STREAMSORT_READERS", `{"consumers":[{"name":"a","sink":{"kind":"sqs","arn":"x"}},
		{"name":"b","prefix":"shop/","start":7,"maxAttempts":3,"circuit":{"wakeRate":7},"sink":{"kind":"s3","arn":"arn:aws:s3:::books"}}]}`)
	s, err := settings.FromEnvironment()
	want := []delivery.Reader{{Name: "a"},
		{Name: "b", Prefix: "shop/", MaxAttempts: 3, Circuit: delivery.Circuit{WakeRate: 7}}}
	if err != nil || !reflect.DeepEqual(s.Readers, want) ||
		!reflect.DeepEqual(s.Buckets, map[string]string{"b": "arn:aws:s3:::books"}) {
		t.Errorf("%+v, %v, %v; want %+v", s.Readers, s.Buckets, err, want)
	}
	t.Setenv("STREAMSORT_READERS", `{"consumers":{"name":"a"}}`)
	_, err = settings.FromEnvironment()
	check.That(t, err != nil && strings.Contains(err.Error(), "STREAMSORT_READERS"), "error %v", err)
}

func TestErrorsNameTheVariable(t *testing.T) {
	for name, value := range map[string]string{
		"STREAMSORT_MESSAGES_TABLE": "", "STREAMSORT_CURSORS_TABLE": "", "STREAMSORT_TROUBLE_TABLE": "",
		"STREAMSORT_FIRST_SEQ": "-1", "STREAMSORT_POLICY": "never", "STREAMSORT_GAP_AFTER": "5", "STREAMSORT_MAX_AHEAD": "0",
		"STREAMSORT_MODE": "both", "STREAMSORT_RETENTION": "1h", "STREAMSORT_EVENTS": "a",
		"STREAMSORT_FULL_SWEEP_EVERY": "daily", "STREAMSORT_SWEEP_SEGMENTS": "x",
		"STREAMSORT_LAG_AFTER": "-1s", "STREAMSORT_DELETE_DELIVERED": "yes", "STREAMSORT_KNOWN_QUEUES": "yes", "STREAMSORT_SETTLE_WITHIN": "soon",
		"STREAMSORT_READERS": `{"consumers":[{"name":"a b"}]}`, "STREAMSORT_SETTLE": "61m", "STREAMSORT_LATE": "never",
		"STREAMSORT_LOG_SUCCESSES": "few", "STREAMSORT_LOG_UNTIL": "noon", "STREAMSORT_TOMBSTONE": "soon",
	} {
		t.Run(name, func(t *testing.T) {
			tables(t)
			t.Setenv(name, value)
			check.Says(t, check.Err(settings.FromEnvironment()), name)
		})
	}
}

func raw(t *testing.T, texts mapping.Texts) *mapping.Mapping {
	t.Helper()
	return check.Get(texts.Parse(mapping.Kind{Request: true}))
}

// TestRawEvents: the error of the document names its member.
func TestRawEvents(t *testing.T) {
	for events, names := range map[string]string{
		`{"queue":"q","id":"i","key":"created,type","keyType":"time,rank(a|*)"}`: "",
		`{"queue":"q"}`:                   "seq is missing, and so is id",
		`{"id":"i"}`:                      "queue is missing",
		`{"queue":"q..r","id":"i"}`:       "queue has an empty name",
		`{"queue":"q","queue":"r"}`:       "twice",
		`{"queue":"q","id":"i","ids":""}`: "ids is not known: there are queue, seq, first, id, key",
		`{"queue":7}`:                     "queue must be a string",
		`[]`:                              "must be a JSON object",
	} {
		tables(t)
		t.Setenv("STREAMSORT_EVENTS", events)
		s, err := settings.FromEnvironment()
		switch {
		case names != "":
			check.Says(t, err, "STREAMSORT_EVENTS is how raw events become messages: ", events)
			check.Says(t, err, names, events)
		case err != nil || !s.Events.Keyed() || s.Events.KeyType != "time,rank(a|*)":
			t.Errorf("%s: %+v, %v", events, s, err)
		}
	}
}

// TestSettingsOfNewKeyedQueues have variables, but for the type of the keys.
func TestSettingsOfNewKeyedQueues(t *testing.T) {
	tables(t)
	t.Setenv("STREAMSORT_SETTLE", "90s")
	t.Setenv("STREAMSORT_LATE", "drop")
	s := check.Get(settings.FromEnvironment())
	check.Is(t, s.Defaults.Settle, 90*time.Second)
	check.Is(t, s.Defaults.Late, cursor.LateDrop)
}

// TestChains: what an Acker needs is asked for only by what has one.
func TestChains(t *testing.T) {
	tables(t)
	for _, c := range []struct{ table, tombstone, want string }{
		{"c-1", "90m", ""},
		{"", "", "STREAMSORT_CHAINS_TABLE is not set"},
		{"c-1", "5m", "STREAMSORT_TOMBSTONE must be at least 1h0m0s"},
	} {
		t.Setenv("STREAMSORT_CHAINS_TABLE", c.table)
		t.Setenv("STREAMSORT_TOMBSTONE", c.tombstone)
		s := check.Get(settings.FromEnvironment())
		if err := s.NeedChains(); c.want == "" && err != nil ||
			c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v", c, err)
		}
		if want := (xorack.Names{Chains: "c-1"}); c.want == "" &&
			(s.Chains != want || s.Tombstone != 90*time.Minute) {
			t.Errorf("%+v, %v", s.Chains, s.Tombstone)
		}
	}
}

// TestReadersOfAFile: who reads what may be in a file, as process has it.
func TestReadersOfAFile(t *testing.T) {
	tables(t)
	folder := t.TempDir()
	t.Setenv("LAMBDA_TASK_ROOT", folder)
	t.Setenv("STREAMSORT_READERS", "consumers.json")
	check.Says(t, check.Err(settings.FromEnvironment()), "consumers.json", "without the file")
	file := filepath.Join(folder, "consumers.json")
	for text, want := range map[string]string{
		`{"consumers":[{"name":"hooks","sink":{"kind":"http","endpoints":true}},{"name":"b","eager":true,"sink":{"kind":"sqs","arn":"x"}}]}`: "",
		// What says nothing, also by mistake, would have the sweep look after nobody.
		``:                                      file + " must be names and prefixes of consumers, as JSON: ",
		`{}`:                                    file + " has no consumers: ",
		`{"consumer":[{"name":"a"}]}`:           file + " has no consumers: ",
		`{"consumers":[]}`:                      file + " has no consumers: ",
		`{"consumers":[{"name":"not a name"}]}`: file + ` has the reader "not a name": `,
	} {
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
		s, err := settings.FromEnvironment()
		if want != "" {
			check.That(t, err != nil && strings.Contains(err.Error(), want), "error %v, want %s", err, want)
		} else if err != nil || len(s.Readers) != 2 || !s.Readers[1].Eager || len(s.Endpoints) != 1 ||
			s.Endpoints[0] != "hooks" {
			t.Errorf("%+v, %v of %v", s.Readers, s.Endpoints, err)
		}
	}
}
