package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestBatchesKeepBytes(t *testing.T) {
	reader, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, "{\"a\" : 1}\n\n{\"b\":2}\n{\"c\":3}")
		_ = writer.Close()
	}()
	var got []string
	refuse := func(number int, why string) error { got = append(got, why); return nil }
	err := batches(reader, 2, 0, refuse, func(batch []numbered) error {
		for _, line := range batch {
			got = append(got, fmt.Sprintf("%d %s", line.number, line.text))
		}
		got = append(got, "|")
		return nil
	})
	if err != nil || len(got) != 5 || got[0] != `1 {"a" : 1}` || got[2] != "|" || got[3] != `4 {"c":3}` {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLinesOfAPipeDoNotWait for a whole batch; nor do those of a file that are slow to be read go
// out in parts.
func TestLinesOfAPipeDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, want := range map[time.Duration][]int{linger: {2, 1}, 0: {3}} {
			reader, writer := io.Pipe()
			go func() {
				_, _ = io.WriteString(writer, "1\n2\n")
				bubble.Sleep(10 * linger)
				_, _ = io.WriteString(writer, "3\n")
				_ = writer.Close()
			}()
			var got []int
			began, first := time.Now(), time.Duration(0)
			err := batches(reader, 25, wait, nil, func(batch []numbered) error {
				if got = append(got, len(batch)); len(got) == 1 {
					first = time.Since(began)
				}
				return nil
			})
			if err != nil || !slices.Equal(got, want) || wait > 0 && first != linger {
				t.Errorf("%v: batches of %v, want %v; the first after %v, %v", wait, got, want, first, err)
			}
		}
	})
}

func TestOnlyAPipeLingers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	check.OK(t, err)
	defer file.Close()
	reader, writer, err := os.Pipe()
	check.OK(t, err)
	defer reader.Close()
	defer writer.Close()
	for in, want := range map[io.Reader]time.Duration{file: 0, reader: linger, strings.NewReader(""): 0} {
		if got := lingers(in); got != want {
			t.Errorf("%T: %v, want %v", in, got, want)
		}
	}
}

// TestByteOrderMark: what some editors put before the first line is no part of it.
func TestByteOrderMark(t *testing.T) {
	var got []string
	refuse := func(_ int, why string) error { got = append(got, why); return nil }
	err := batches(strings.NewReader("\ufeff1\n\ufeff2\n"), 25, 0, refuse, func(batch []numbered) error {
		for _, line := range batch {
			got = append(got, string(line.text))
		}
		return nil
	})
	check.That(t, err == nil && slices.Equal(got, []string{"line 2 is not JSON", "1"}),
		"%q, %v", got, err)
}
