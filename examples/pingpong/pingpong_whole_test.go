//go:build whole

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain is the consumer's copy where the game starts this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "ping" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestPingpong(t *testing.T) {
	o := options{rounds: 100, balls: 10, kills: 1}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, part := range []string{"pings            100", "pongs            100", "not answered     0", "answered twice   0", "out of order     0"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
	fmt.Fprint(t.Output(), &out)
}
