package xorack_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
)

// A database is split into files and the files into words: each handler ends its own edge and
// starts those of the work that it passes on, in one write.
func Example() {
	ctx := context.Background()
	acker, err := xorack.New(xorack.NewMemory(), nil)
	if err != nil {
		log.Fatal(err)
	}
	created, err := acker.Create(ctx, "database", nil)
	if err != nil {
		log.Fatal(err)
	}
	// step is what a handler does with the edge that came with its work.
	step := func(token string, parts int) []string {
		edge, err := xorack.ParseEdge(token)
		if err != nil {
			log.Fatal(err)
		}
		children := edge.Children(parts)
		result, err := acker.Done(ctx, edge, children...)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %d of %d edges ended\n", result.Outcome, result.Chain.EdgesEnded(),
			result.Chain.Edges)
		tokens := make([]string, len(children))
		for i, child := range children {
			tokens[i] = child.String()
		}
		return tokens
	}
	files := step(created.Root.String(), 2)
	words := step(files[0], 2)
	step(words[1], 0)
	words = append(words, step(files[1], 1)...)
	step(files[1], 1) // the message comes a second time
	step(words[2], 0)
	step(words[0], 0)
	step(words[0], 0)
	// Output:
	// applied, 1 of 3 edges ended
	// applied, 2 of 5 edges ended
	// applied, 3 of 5 edges ended
	// applied, 4 of 6 edges ended
	// applied, 4 of 6 edges ended
	// applied, 5 of 6 edges ended
	// ended, 6 of 6 edges ended
	// ended, 6 of 6 edges ended
}

// A thousand pieces of work go as chains of about a hundred under one.
func ExampleAcker_Fan() {
	ctx := context.Background()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	acker, err := xorack.New(xorack.NewMemory(), &xorack.Options{Now: func() time.Time { return now }})
	if err != nil {
		log.Fatal(err)
	}
	created, err := acker.Create(ctx, "campaign", nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := acker.Fan(ctx, created.Root, 1000); err != nil {
		log.Fatal(err)
	}
	for _, letter := range created.Root.Fan(1000) {
		if _, err := acker.Done(ctx, letter); err != nil {
			log.Fatal(err)
		}
	}
	// The stream's handler carries the parts' ends at once; here the sweep does, when it comes to
	// look.
	now = now.Add(15 * time.Minute)
	if _, err := acker.Sweep(ctx, nil); err != nil {
		log.Fatal(err)
	}
	chain, err := acker.Get(ctx, "campaign")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(chain.End())
	// Output: DONE
}

// A chain that nobody finishes times out, and is announced once it has.
func ExampleAcker_Sweep() {
	ctx := context.Background()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	acker, err := xorack.New(xorack.NewMemory(), &xorack.Options{Now: func() time.Time { return now }})
	if err != nil {
		log.Fatal(err)
	}
	options := xorack.CreateOptions{Deadline: time.Hour, Idle: 10 * time.Minute}
	if _, err := acker.Create(ctx, "night run", &options); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		now = now.Add(10 * time.Minute)
		report, err := acker.Sweep(ctx, func(_ context.Context, c xorack.Chain) error {
			fmt.Printf("%s %s after %v: %s\n", c.Tag, c.End(), c.Age(now), c.Reason)
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("timed out:", report.TimedOut)
	}
	// Output:
	// night run TIMED_OUT after 10m0s: no progress for 10m0s
	// timed out: 1
	// timed out: 0
}
