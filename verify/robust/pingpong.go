package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/examples/pingpong"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/faulty"
	"github.com/streamsort/streamsort/internal/dev/front"
	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// rally is how long the game is: each of balls is hit last+1 times, by pong first and last.
type rally struct{ balls, last int }

func newRally(rounds, balls int) rally { return rally{balls, 2*((rounds+balls-1)/balls) - 1} }

// messages is how many messages each queue has in the end.
func (r rally) messages() int { return r.balls * (r.last + 1) / 2 }

// game serves BALLS and waits until ROUNDS messages are answered in each direction, by a function
// and by a consumer with a database of examples/pingpong, while processes of the functions and
// KILLS copies of the consumer are killed, and one in a hundred responses of DynamoDB and of the
// API is lost. Then it audits both queues.
func game(ctx context.Context, w *world) {
	r := newRally(w.number("ROUNDS"), w.number("BALLS"))
	tables, api := newNetwork(front.Transport(), 1, faulty.Lost),
		newNetwork(front.Transport(), 2, faulty.Lost)
	w.Start(ctx, trial.Setup{
		Templates: []string{"examples/pingpong/streamsort.patch.json",
			"examples/pingpong/pong/pong.template.json"}, Through: tables,
		Config: localstack.Config{Chaos: localstack.Chaos{Seed: 1, Kill: 0.03, Duplicate: 0.1, Late: 0.1,
			LateBy: 50 * time.Millisecond}},
	})
	through := check.Get(front.Through(w.Stack.URL(), api))
	address := w.Serve(through)
	w.Sender = check.Get(traffic.NewSender(address))
	d, sorter := w.tables()
	folder := w.Folder()
	path := filepath.Join(folder, "ping.db")
	db := check.Get(pingpong.Open(ctx, path))
	w.Later(func() { _ = db.Close() })
	arrival := cursor.KindArrival
	for _, queue := range []string{pingpong.Pings, pingpong.Pongs} {
		check.Get(sorter.Configure(ctx, queue, cursor.Change{Kind: &arrival}))
	}
	check.Get(d.Create(ctx, pingpong.Pongs, pingpong.Consumer, delivery.First))
	w.Say("serving %d balls, each is hit %d times", r.balls, r.last+1)
	tables.disturb(true)
	api.disturb(true)
	r.serve(ctx, w)
	copies := mortal.Keep(ctx, mortal.Plan{
		Arguments: []string{"pingpong-copy", address, path, strconv.Itoa(r.last)},
		Copies:    1, Kills: w.number("KILLS"), OneStepIn: 40,
	})
	w.Later(copies.Close)
	r.over(ctx, w, d)
	copies.Close()
	tables.disturb(false)
	w.Row("killed", "%d copies of the consumer, %d processes of functions", copies.Killed(),
		w.Stack.Killed())
	w.Row("lost responses", "of DynamoDB %s, of the API %s", tables, api)
	sent, came := balls(ctx, sorter, pingpong.Pings), balls(ctx, sorter, pingpong.Pongs)
	var written []string
	readRows(ctx, db, "SELECT seq FROM hits ORDER BY line", func(row []string) {
		written = append(written, row[0])
	})
	r.audit(w, sent, came, written)
}

// serve serves all balls before the first is hit back, so that the audit knows where each answer
// has to be.
func (r rally) serve(ctx context.Context, w *world) {
	for i := range r.balls {
		body := check.Get(json.Marshal(pingpong.Ball{Ball: i + 1}))
		document := fmt.Appendf(nil, `{"queue":%q,"id":"serve-%d","body":%s}`, pingpong.Pings, i+1, body)
		check.Must(w.Sender.Put(ctx, []json.RawMessage{document}, "stored", "advanced", "duplicate"))
	}
}

// over waits until both consumers have everything.
func (r rally) over(ctx context.Context, w *world, d *delivery.Deliverer) {
	answered := w.wait(2*r.messages(), "messages are answered")
	answered.Sweep = w.Stack.Sweep
	check.Must(answered.Until(ctx, func(ctx context.Context) (count int, left string, err error) {
		for queue, name := range map[string]string{pingpong.Pings: "pong",
			pingpong.Pongs: pingpong.Consumer} {
			c := consumerOf(ctx, d, queue, name)
			count += int(c.Delivered)
			if c.State != delivery.Idle || c.Delivered != int64(r.messages()) {
				left += fmt.Sprintf("%s is %q at %d of %d: %s; ", name, c.State, c.Delivered, c.Position,
					c.Error)
			}
		}
		return count, left, nil
	}))
}

// balls reads a queue.
func balls(ctx context.Context, sorter *cursor.Sorter, queue string) (all []pingpong.Ball) {
	cur := check.Get(sorter.Status(ctx, queue))
	for m, err := range sorter.Read(ctx, queue, 0, cur.Position) {
		var b pingpong.Ball
		if err == nil {
			err = json.Unmarshal(m.Body, &b)
		}
		if err != nil {
			check.Must(fmt.Errorf("queue %s: %w", queue, err))
		}
		all = append(all, b)
	}
	return all
}

// audit checks both queues and the database. Every message of pings has an answer in pongs, at the
// same place; every ball that is hit back has its answer in pings, behind those that were served,
// at the same place; and the database has all that came, once, in order.
func (r rally) audit(w *world, sent, came []pingpong.Ball, written []string) {
	wrong, back, disorder := 0, 0, 0
	for i, pong := range came {
		// The i-th pong answers the i-th ping.
		if i >= len(sent) || pong.Answers != int64(i)+1 || pong.Ball != sent[i].Ball ||
			pong.Hits != sent[i].Hits+1 {
			wrong++
		}
		if pong.Hits >= r.last {
			continue // nobody hits it any more
		}
		at := r.balls + back
		if at >= len(sent) || sent[at].Answers != int64(i)+1 || sent[at].Ball != pong.Ball ||
			sent[at].Hits != pong.Hits+1 {
			wrong++
		}
		back++
	}
	for i, seq := range written {
		if seq != strconv.Itoa(i+1) {
			disorder++
		}
	}
	w.Row("game", "%d pings, %d pongs, %d written down", len(sent), len(came), len(written))
	for _, bad := range []struct {
		what string
		n    int
	}{
		{"not answered", max(len(sent)-len(came), 0) + max(r.balls+back-len(sent), 0)},
		{"answered twice", max(len(came)-len(sent), 0) + max(len(sent)-r.balls-back, 0)},
		{"out of order", wrong + disorder},
		{"not written down", max(len(came)-len(written), len(written)-len(came))},
		{"pings too few or too many", max(len(sent)-r.messages(), r.messages()-len(sent))},
	} {
		if bad.n > 0 {
			w.Not("%d %s", bad.n, bad.what)
		}
	}
}
