package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// data are real payloads, out of order, some of them twice.
const data = "../../../shared/data/github-webhooks.ndjson"

func TestDemo(t *testing.T) {
	for _, mode := range []string{"sync", "async"} {
		for _, chaos := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, chaos %v", mode, chaos), func(t *testing.T) {
				var out bytes.Buffer
				if err := run(t.Context(), options{count: 200, mode: mode, chaos: chaos}, &out); err != nil {
					t.Fatalf("%v\n%s", err, &out)
				}
				for _, part := range []string{"in   ", "out  ", "your function  200 messages of 3 queues", "process        200 messages of 3 queues", "order violations    0", "lost                0", "unchanged"} {
					if !strings.Contains(out.String(), part) {
						t.Errorf("no %q in\n%s", part, &out)
					}
				}
			})
		}
	}
}

func TestDemoOfRealPayloads(t *testing.T) {
	if _, err := os.Stat(data); err != nil {
		t.Logf("not here: %v", err)
		return
	}
	var out bytes.Buffer
	if err := run(t.Context(), options{input: data, mode: "sync"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, part := range []string{"286 messages", "duplicates          13", "your function  273 messages of 18 queues", "process        273 messages of 18 queues"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Setenv("MODE", "both")
	if _, err := fromEnvironment(); err == nil || !strings.Contains(err.Error(), "MODE") {
		t.Errorf("error %v", err)
	}
}
