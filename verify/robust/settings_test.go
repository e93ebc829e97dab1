package main

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
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
	if err != nil || len(chosen) != 2 || !maps.Equal(got[0], want) ||
		got[0].String() != "BATCH=1 DISORDER=0 QUEUES=20 RATE=100 TIME=30s TOGETHER=0" {
		t.Errorf("%v, %v", got, err)
	}
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
		check.That(t, err != nil && strings.Contains(err.Error(), c.says), "%+v: error %v", c, err)
	}
	set = map[string]string{"SEED": "7", "SUITE": "log"}
	_, got = check.Get2(choose([]string{"sim"}, get))
	check.Is(t, len(got[0]), 0, got)
	var out bytes.Buffer
	if err := run(t.Context(), nil, get, &out); err != nil ||
		strings.Count(out.String(), "\n") != 2*len(scenarios) {
		t.Errorf("%v: %s", err, &out)
	}
}

// TestTemplatesAreThere: the scenarios themselves are whole tests, and run in make check.
func TestTemplatesAreThere(t *testing.T) {
	for _, file := range []string{"soak/streamsort.patch.json", "soak/sinks.template.json",
		"hooks/streamsort.patch.json"} {
		_, err := template.ReadFile(file)
		check.That(t, err == nil, "%v", err)
	}
}
