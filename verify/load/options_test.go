package main

import (
	"strings"
	"testing"
	"time"
)

func TestFromEnvironment(t *testing.T) {
	values := map[string]string{}
	get := func(name string) string { return values[name] }
	if o, err := fromEnvironment(get); err != nil || o != (options{rate: 200, queues: 100, batch: 1, time: time.Minute}) {
		t.Errorf("%+v, %v", o, err)
	}
	values = map[string]string{"RATE": "100000", "QUEUES": "1", "BATCH": "500", "DISORDER": "0", "TOGETHER": "1", "TIME": "1s"}
	if o, err := fromEnvironment(get); err != nil || o != (options{rate: 100_000, queues: 1, batch: 500, together: true, time: time.Second}) {
		t.Errorf("%+v, %v", o, err)
	}
	for name, wrong := range map[string][]string{
		"RATE": {"0", "100001", "x", "RATE", "a number from 1 to 100000"}, "QUEUES": {"0", "100001", "a number from 1 to 100000"},
		"BATCH": {"0", "501", "a number from 1 to 500"}, "DISORDER": {"1", "reverse", "0, 8 or 32"}, "TOGETHER": {"on", "2", "0, or 1 where DISORDER is 0"},
		"TIME": {"0s", "25h", "10", "a duration from 1s to 24h"},
	} {
		want := wrong[len(wrong)-1]
		for _, value := range wrong[:len(wrong)-1] {
			values = map[string]string{name: value}
			if _, err := fromEnvironment(get); err == nil || !strings.Contains(err.Error(), name+"="+value+" must be "+want) {
				t.Errorf("%s=%s: error %v", name, value, err)
			}
		}
	}
}
