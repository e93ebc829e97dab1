//go:build whole

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/pkg/producer/producertest"
)

// TestClients: the packages for Python and Node keep to all cases. They run again when a file of
// the packages has changed.
func TestClients(t *testing.T) {
	files, err := filepath.Glob("../../clients/*/*")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../clients/python/streamsort/*.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
	}
	cases, err := producertest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	// They mostly wait: more go at once than there are processors.
	var running errgroup.Group
	running.SetLimit(8)
	for _, command := range [][]string{
		{"python3", "-B", "../../clients/testdata/producer.py"},
		{"node", "../../clients/testdata/producer.mjs"},
	} {
		for _, c := range cases {
			// An answer that a busy machine brings late is no lost one.
			timeout := 15 * time.Second
			if slices.ContainsFunc(c.Faults, func(f producertest.Fault) bool { return f.Do == "hang" }) {
				timeout = producertest.RequestTimeout
			}
			running.Go(func() error {
				for _, wrong := range c.Serve(t.Context(), driveBy(command, timeout)) {
					t.Errorf("%s, %s: %s", command[0], c.Name, wrong)
				}
				return nil
			})
		}
	}
	_ = running.Wait()
}
