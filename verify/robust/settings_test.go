package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/template"
)

// TestSettings: each scenario's are within their bounds in both forms, and what is wrong is named.
func TestSettings(t *testing.T) {
	for _, s := range scenarios {
		for _, setting := range s.settings {
			for _, value := range []int64{setting.usual, setting.short} {
				check.That(t, value >= setting.least && value <= setting.most,
					"%s: %s is %d, from %d to %d", s.name, setting.name, value, setting.least, setting.most)
			}
		}
	}
	set := map[string]string{"TIME": "30s", "SHORT": "1"}
	get := func(name string) string { return set[name] }
	chosen, got, err := choose([]string{"load", "wordcount"}, get)
	want := values{"TIME": 30e9, "RATE": 100, "QUEUES": 20, "BATCH": 1, "DISORDER": 0, "TOGETHER": 0}
	check.That(t, err == nil && len(chosen) == 2 && maps.Equal(got[0], want) &&
		got[0].String() == "BATCH=1 DISORDER=0 QUEUES=20 RATE=100 TIME=30s TOGETHER=0", "%v, %v", got,
		err)
	for _, c := range []struct{ names, name, value, says string }{
		{"load", "TIME", "1ms", "TIME=1ms must be from 1s to 24h0m0s"},
		{"load outage", "QUEUES", "9", "QUEUES=9 must be from 10 to 100000"},
		{"load", "RATE", "much", "RATE=much must be from 1 to 100000"},
		{"load", "BATCH", "501", "BATCH=501 must be from 1 to 500"},
		{"outage wordcount", "RATE", "1", "RATE=1: it is no setting of outage or wordcount"},
		{"nothing", "", "", `scenario "nothing" must be one of soak, load`},
	} {
		set = map[string]string{c.name: c.value}
		_, _, err := choose(strings.Fields(c.names), get)
		check.Says(t, err, c.says, c)
	}
	set = map[string]string{"SEED": "7", "SUITE": "log"}
	_, got = check.Get2(choose([]string{"sim"}, get))
	check.Is(t, len(got[0]), 0, got)
	var out bytes.Buffer
	err = run(t.Context(), nil, get, &out)
	check.That(t, err == nil && strings.Count(out.String(), "\n") == 2*len(scenarios), "%v: %s", err,
		&out)
}

// TestTemplatesAreThere: the scenarios themselves are whole tests, and run in make check.
func TestTemplatesAreThere(t *testing.T) {
	for _, file := range []string{"soak/streamsort.patch.json", "soak/sinks.template.json",
		"hooks/streamsort.patch.json"} {
		_, err := template.ReadFile(file)
		check.That(t, err == nil, "%v", err)
	}
}

// A body comes out of its other form byte for byte, and the rest stays.
func TestInBase64(t *testing.T) {
	for _, body := range []string{`{"a": 1,"b":"<é>"}`, `null`, `"x"`, `1e3`} {
		a := check.Get(traffic.NewMessage([]byte(`{"queue":"q","seq":7,"id":"i","body":` + body + `}`)))
		check.OK(t, inBase64(&a))
		var m struct {
			Queue, ID  string
			Seq        int64
			Body       json.RawMessage
			BodyBase64 []byte
		}
		check.OK(t, json.Unmarshal(a.Document, &m))
		check.That(t, string(m.BodyBase64) == body && m.Body == nil && m.Queue == "q" && m.ID == "i" &&
			m.Seq == 7, "%s became %s", body, a.Document)
	}
}

// TestMust: an error ends the scenario with the stage's name before it, and all that was started.
func TestMust(t *testing.T) {
	var folder string
	ended := false
	s := scenario{name: "one", run: func(ctx context.Context, w *world) {
		folder = w.Folder()
		w.During(ctx, func(ctx context.Context) error { <-ctx.Done(); ended = true; return nil })
		w.stages(ctx, []stage{{"a stage", func(context.Context) { check.Must(errors.New("its error")) }}})
		t.Error("it goes on")
	}}
	err := s.play(t.Context(), values{}, t.Output())
	check.Need(t, err != nil, "no error")
	check.Has(t, err.Error(), "a stage: its error")
	_, left := os.Stat(folder)
	check.That(t, ended && os.IsNotExist(left), "ended %t, folder %v", ended, left)
}
