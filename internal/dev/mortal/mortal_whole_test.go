//go:build whole

package mortal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestMain is also the copy that TestKeep starts: it takes a batch's steps some times, and where it
// survived them it says so and goes on.
func TestMain(m *testing.M) {
	if len(os.Args) != 3 || os.Args[1] != "copy" {
		os.Exit(m.Run())
	}
	claims := AtRandom(&calls{})
	for range 1000 {
		if err := batch(context.Background(), claims); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	parent, err := net.Dial("tcp", os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(parent, "alive")
	select {}
}

// TestKeep: a copy is started again until all kills are made; the one that lives is gone after
// Close.
func TestKeep(t *testing.T) {
	listener := check.Get(net.Listen("tcp", "127.0.0.1:0"))
	defer listener.Close()
	k := Keep(t.Context(), Plan{Arguments: []string{"copy", listener.Addr().String()}, Copies: 1, Kills: 3, OneStepIn: 20})
	defer k.Close()
	survivor := check.Get(listener.Accept())
	defer survivor.Close()
	check.Is(t, k.Killed(), 3)
	said := bufio.NewReader(survivor)
	line, err := said.ReadString('\n')
	check.Need(t, line == "alive\n", "it said %q: %v", line, err)
	k.Close()
	_, err = said.ReadByte()
	check.That(t, errors.Is(err, io.EOF), "after Close: %v, want that the copy is gone", err)
	check.Is(t, k.Killed(), 3)
}
