package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/template"
)

func TestFromEnvironment(t *testing.T) {
	set := map[string]string{}
	get := func(name string) string { return set[name] }
	if o, err := fromEnvironment(get); err != nil || o != (options{10_000, 65}) {
		t.Errorf("%+v, %v", o, err)
	}
	set = map[string]string{"QUEUES": "300", "MINUTES": "90"}
	if o, err := fromEnvironment(get); err != nil || o != (options{300, 90}) || o.away() != 45*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
	for name, value := range map[string]string{"QUEUES": "9", "MINUTES": "1h"} {
		set = map[string]string{name: value}
		if _, err := fromEnvironment(get); err == nil || !strings.Contains(err.Error(), name+"="+value) {
			t.Errorf("%s=%s: error %v", name, value, err)
		}
	}
}

// TestPatch: the template is there, and what it says of the consumer is within the bounds.
func TestPatch(t *testing.T) {
	folder := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	base, err := filepath.Rel(folder, filepath.Join(here, "..", "..", "examples", "demo", "streamsort.patch.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := shortened()
	text, err := s.patch(base)
	file := filepath.Join(folder, "streamsort.patch.json")
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err == nil {
		_, err = template.ReadFile(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(map[string]any{"consumers": []any{s.settings()}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := consumers.Read(settings, os.LookupEnv)
	if err != nil || all[0].Reader.BlockAfter != 30*time.Second || len(all[0].Reader.Circuit.Probes) != 4 || !all[0].HasSink() {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestIntervals(t *testing.T) {
	s := schedule{probes: []time.Duration{time.Second, 3 * time.Second}, retries: []time.Duration{time.Second, 3 * time.Second}}
	for in, want := range map[time.Duration]int{0: 1, time.Second: 2, 4 * time.Second: 3, 7 * time.Second: 4} {
		if n := s.tries(in); n != want {
			t.Errorf("%v: %d tries, want %d", in, n, want)
		}
	}
	for open, want := range map[time.Duration]int64{0: 0, time.Second - 1: 0, time.Second: 1, 4 * time.Second: 2, 9 * time.Second: 3, 10 * time.Second: 4} {
		if n := s.intervals(open); n != want {
			t.Errorf("%v: %d intervals, want %d", open, n, want)
		}
	}
}

// TestSink: what it takes is watched; it takes nothing while it is away, and never what is poisoned.
func TestSink(t *testing.T) {
	_, due, err := messages(10)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{watcher: traffic.NewWatcher(io.Discard, 0, due), poisonQueue: poisonQueue, poison: poison, away: true}
	call := func(queue, text string) (failed bool) {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"queue":"`+queue+`","tokenN":1,`+text+`}`)))
		return answer.Header().Get("X-Amz-Function-Error") != ""
	}
	const first = `"from":0,"to":1,"messages":[{"seq":1,"body":{"queue":0,"n":1}}]`
	if !call("shop/0", first) || len(s.calledWhileAway()) != 1 {
		t.Error("it took something while it was away")
	}
	s.isAway(false)
	if call("shop/0", first) {
		t.Error("it took nothing when it was back")
	}
	if state := s.watcher.State(); state.Messages != 1 || len(state.Violations) > 0 {
		t.Errorf("%+v", state)
	}
	if !call(poisonQueue, `"from":0,"to":2,"messages":[]`) || !call(poisonQueue, `"from":1,"to":2,"messages":[]`) || s.refusals() != 2 {
		t.Error("it took the poison")
	}
	if len(s.calledWhileAway()) != 1 {
		t.Error("it counts calls when it is back")
	}
}

// TestVerdict: a check that never fails checks nothing.
func TestVerdict(t *testing.T) {
	opened := time.Unix(1e9, 0)
	for says, change := range map[string]func(*result){
		"":              func(*result) {},
		"out of order":  func(r *result) { r.state.Violations = []string{"out of order"} },
		"9 messages":    func(r *result) { r.state.Messages = 9 },
		"blocked 1":     func(r *result) { r.blockedAway = []string{"shop/1"} },
		"0 queues are":  func(r *result) { r.blocked = nil },
		"2 queues are":  func(r *result) { r.blocked = append(r.blocked, "shop/1") },
		"did not open":  func(r *result) { r.circuit.opened = time.Time{} },
		"closed":        func(r *result) { r.circuit.again = true },
		"no probe":      func(r *result) { r.circuit.probes, r.calls = 0, nil },
		"4 probes in 3": func(r *result) { r.circuit.probes = 4 },
		"21 calls in": func(r *result) {
			for range 18 {
				r.calls = append(r.calls, opened.Add(time.Second))
			}
		},
		"3 calls while": func(r *result) { r.calls = append(r.calls, opened.Add(time.Minute)) },
	} {
		r := result{
			queues: 10, tries: 2, due: 10, intervals: 3, blocked: []string{poisonQueue}, state: traffic.State{Messages: 10},
			circuit: circuit{opened: opened, probes: 2},
			calls: []time.Time{
				opened.Add(-time.Second), opened.Add(remembered), opened.Add(remembered), opened.Add(remembered),
				opened.Add(remembered + 1), opened.Add(time.Minute),
			},
		}
		change(&r)
		if err := r.verdict(); says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", says, err)
		}
	}
}
