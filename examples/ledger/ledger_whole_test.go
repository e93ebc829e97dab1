//go:build whole

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain is the consumer's copy where the ledger starts this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "consume" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestLedger(t *testing.T) {
	o := options{count: 200, kills: 1}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, part := range []string{"messages booked     200 of 3 queues", "booked twice        0", "out of order        0", "lost                0", "sum of all accounts 0"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("no %q in\n%s", part, &out)
		}
	}
	fmt.Fprint(t.Output(), &out)
}
