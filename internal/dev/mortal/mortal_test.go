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

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/handoff/pull"
)

// calls are Claims that write down what they were called for.
type calls struct {
	pull.Claims
	seen []string
}

func (c *calls) Claim(context.Context, pull.Request) (pull.Answer, error) {
	c.seen = append(c.seen, "Claim")
	return pull.Answer{Verdict: pull.OK}, nil
}

func (c *calls) Prepare(context.Context, pull.Held) (pull.Answer, error) {
	c.seen = append(c.seen, "Prepare")
	return pull.Answer{}, nil
}

func (c *calls) CommitAndClaim(context.Context, pull.Held, pull.Request, ...handoff.Reply) (done, next pull.Answer, err error) {
	c.seen = append(c.seen, "CommitAndClaim")
	return pull.Answer{}, pull.Answer{}, nil
}

// batch takes all steps of a batch.
func batch(ctx context.Context, c pull.Claims) error {
	_, claimed := c.Claim(ctx, pull.Request{})
	_, prepared := c.Prepare(ctx, pull.Held{})
	_, _, committed := c.CommitAndClaim(ctx, pull.Held{}, pull.Request{})
	return errors.Join(claimed, prepared, committed)
}

// TestMain is also the copy that TestKeep starts: it takes a batch's steps some
// times, and where it survived them it says so and goes on.
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

func TestSteps(t *testing.T) {
	under := &calls{}
	claims := Claims{under, func(s Step) bool { under.seen = append(under.seen, string(s)); return false }}
	if err := batch(t.Context(), claims); err != nil {
		t.Fatal(err)
	}
	want := []string{"Claim", string(Claimed), string(Worked), "Prepare", string(Prepared), string(Booked), "CommitAndClaim", string(Committed)}
	if diff := cmp.Diff(want, under.seen); diff != "" {
		t.Errorf("a batch (-want +got):\n%s", diff)
	}
}

// TestKeep: a copy is started again until all kills are made; the one that lives
// is gone after Close.
func TestKeep(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	k := Keep(t.Context(), Plan{Arguments: []string{"copy", listener.Addr().String()}, Copies: 1, Kills: 3, OneStepIn: 20})
	defer k.Close()
	survivor, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer survivor.Close()
	if k.Killed() != 3 {
		t.Errorf("%d copies were killed, want 3", k.Killed())
	}
	said := bufio.NewReader(survivor)
	if line, err := said.ReadString('\n'); line != "alive\n" {
		t.Fatalf("it said %q: %v", line, err)
	}
	k.Close()
	if _, err := said.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v, want that the copy is gone", err)
	}
	if k.Killed() != 3 {
		t.Errorf("after Close %d copies were killed, want 3", k.Killed())
	}
}
