package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/view"
)

// topCommand shows which consumers lag, on a whole terminal, or draws one queue.
type topCommand struct {
	Queue  string         `arg:"" optional:"" help:"Draw how fast this queue moves, and the greatest lag of its consumers."`
	Every  time.Duration  `help:"Read so often. A look at the whole stack costs a read unit a queue." default:"2s"`
	For    *time.Duration `help:"With a queue: read for so long, 30s where it is not given; 0 until it is interrupted."`
	Prefix string         `help:"Only those whose queue, or tag, begins so."`
	Limit  bound          `help:"Read so many consumers at most, 1000 where it is not given; 0 for all." placeholder:"N"`
}

// maxTop is how many consumers are read where nothing else is said.
const maxTop = 1000

// Run implements the verb.
func (c *topCommand) Run(s *session) error {
	limit, err := c.Limit.orAll(maxTop)
	switch {
	case err != nil:
		return err
	case c.Every < shortestWatch || c.Every > longestWatch:
		return usageError(fmt.Sprintf("--every is %v: it must be from %v to %v", c.Every, shortestWatch, longestWatch))
	case c.Queue != "" && (c.Prefix != "" || c.Limit.given):
		return usageError("--prefix and --limit are for the whole stack: without a queue")
	case c.Queue != "":
		return c.graph(s)
	case c.For != nil:
		return usageError("--for is for one queue: give its name")
	case !isTerminal(s.out) || !s.drawn():
		return usageError("top draws on a terminal, and this output is not one, or --output says another: " +
			"`streamsort doctor --every 2s` and `streamsort consumer --every 2s` print the same elsewhere")
	}
	// What would end the process must leave the terminal as it was; main has the interrupts.
	ctx, stop := signal.NotifyContext(s.ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	return s.top(ctx, func(s *session) (*reading, error) { return c.read(s, limit) }, c.Every)
}

// reading is what one read of all found.
type reading struct {
	at        time.Time
	summary   view.Summary
	consumers []listed
	more      bool  // these are not all consumers
	fault     error // why nothing could be read: it may pass
}

// read reads the states and the consumers.
func (c *topCommand) read(s *session, limit int) (*reading, error) {
	r := &reading{}
	var err error
	if r.summary, err = s.summary(c.Prefix); err != nil {
		return nil, err
	}
	err = s.pages("/consumers", pageOf(c.Prefix), "list", func(raw json.RawMessage) error {
		if len(r.consumers) == limit && limit > 0 {
			return errEnough
		}
		var it listed
		err := json.Unmarshal(raw, &it)
		r.consumers = append(r.consumers, it)
		return err
	})
	if errors.Is(err, errEnough) {
		r.more, err = true, nil
	}
	r.at = time.Now()
	return r, err
}

// readEvery sends one reading after the other, until the context ends, or the first fails, or another in a way that does
// not pass by itself: that is returned. A reader of an outage wants to see its end.
func (s *session) readEvery(ctx context.Context, read func(*session) (*reading, error), every time.Duration, to chan<- *reading) error {
	reader := *s
	reader.ctx = ctx
	for first := true; ; first = false {
		r, err := read(&reader)
		if err != nil {
			if first || ctx.Err() != nil || !passes(err) {
				return err
			}
			r = &reading{fault: err}
		}
		select {
		case to <- r:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil
		}
	}
}

// passes reports whether what failed may be better after a while.
func passes(err error) bool {
	var problem *client.Problem
	return !errors.As(err, &problem) || problem.MayPass()
}

// resizedEvery is how often it is looked whether the terminal has another size: not all systems
// tell it.
const resizedEvery = 100 * time.Millisecond

// top draws what is read, until a key, a signal or an error ends it. The terminal is as it was
// then.
func (s *session) top(ctx context.Context, read func(*session) (*reading, error), every time.Duration) (err error) {
	out, _ := s.out.(*os.File)
	in, _ := s.in.(*os.File)
	sc, err := openScreen(in, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sc.leave()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	readings, failed := make(chan *reading), make(chan error, 1)
	go func() { failed <- s.readEvery(ctx, read, every, readings) }()
	resized := time.NewTicker(resizedEvery)
	defer resized.Stop()
	v, drawn := &topView{s: s, every: every}, size{}
	for {
		again := false
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case r := <-readings:
			v.take(r)
			again = true
		case key, open := <-sc.keys:
			if !open || key == 'q' || key == 'Q' || key == ctrlC {
				return nil
			}
			again = v.key(key)
		case <-resized.C:
		}
		if now := sc.size(); again || now != drawn {
			drawn = now
			if err := sc.draw(v.lines(now), now); err != nil {
				return err
			}
		}
	}
}

// ctrlC is what Ctrl-C types where it is no signal.
const ctrlC = 3

// pageOf is a query for the longest pages of a list.
func pageOf(prefix string) url.Values {
	query := url.Values{"limit": {"100"}}
	if prefix != "" {
		query.Set("prefix", prefix)
	}
	return query
}
