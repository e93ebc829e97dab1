package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

type seqRange struct {
	From string `help:"The first seq; the oldest that is stored where none is given." placeholder:"SEQ"`
	To   string `help:"The last one; the queue's position where none is given." placeholder:"SEQ"`
}

type proof struct {
	cursor.Verified
	consumers []provenConsumer
}

type provenConsumer struct {
	Consumer  string      `json:"consumer"`
	Delivered jsonseq.Seq `json:"delivered"`
	Problem   string      `json:"problem,omitempty"`
}

type fault struct {
	From    jsonseq.Seq `json:"from"`
	To      jsonseq.Seq `json:"to"`
	Problem string      `json:"problem"`
}

// verify proves that a queue is whole. It reads only, in the tables themselves.
func (c *doctorCommand) verify(s *session) error {
	of, err := c.seqs()
	if err != nil {
		return err
	}
	client, sorter, err := c.open(s, nil)
	if err != nil {
		return err
	}
	store := delivery.NewDynamo(client, delivery.Names{Consumers: s.tableName("Consumers")})
	// Before the position is read, which only rises: none of them may be beyond it.
	consumers, unreadable, err := consumersOf(s.ctx, store, c.Queue)
	var p proof
	shown := s.progress()
	for v, ended := range sorter.Verify(s.ctx, c.Queue, of) {
		if p.Verified, err = v, errors.Join(err, ended); err != nil {
			break
		}
		shown.say(fmt.Sprintf("%d of %d", v.Last-v.From, v.To-v.From))
	}
	shown.end()
	switch {
	case errors.Is(err, ddb.ErrNoTable):
		names := s.names()
		return fmt.Errorf("%w: they are called %q, %q, %q and %q here; use a context of the stack, which knows their names, or --table",
			err, names.Messages, names.Cursors, names.Arrivals, s.tableName("Consumers"))
	case err != nil:
		return fmt.Errorf("queue %q: %w", c.Queue, err)
	}
	for _, consumer := range consumers {
		p.consumers = append(p.consumers,
			provenConsumer{consumer.Name, jsonseq.Seq(consumer.Delivered), p.problem(consumer)})
	}
	if unreadable != nil {
		p.consumers = append(p.consumers, provenConsumer{Consumer: "-", Problem: unreadable.Error()})
	}
	return p.print(s)
}

// seqOf reads the seq of a flag, where it is given.
func seqOf(flag, given string, into *int64) (err error) {
	if given == "" {
		return nil
	}
	if *into, err = cursor.ParseSeq(given); err != nil {
		return usage("%s: %v", flag, err)
	}
	return nil
}

func (c *seqRange) seqs() (cursor.Range, error) {
	of := cursor.Range{To: cursor.MaxSeq}
	if err := cmp.Or(seqOf("--from", c.From, &of.From), seqOf("--to", c.To, &of.To)); err != nil {
		return of, err
	}
	of.From-- // it is the seq before the first
	if of.To <= of.From {
		return of, usage("--to is %d: it must be %d, which --from is, or more", of.To, of.From+1)
	}
	return of, nil
}

// consumersOf are the consumers of a queue, and why some cannot be read.
func consumersOf(ctx context.Context, store *delivery.Store,
	queue string) (all []delivery.Consumer, unreadable, err error) {
	for after := ""; ; {
		page, next, err := store.Requests(request.Inside{}).Consumers(ctx, queue, after)
		if errors.Is(err, delivery.ErrUnreadable) {
			unreadable, err = err, nil
		}
		all = append(all, page...)
		if after = next; err != nil || after == "" {
			return all, unreadable, err
		}
	}
}

func (p proof) problem(c delivery.Consumer) string {
	first, position := p.Cursor.Settings.First, p.Cursor.Position
	switch {
	case c.Delivered > position:
		return fmt.Sprintf("is past %d, and the queue's position is %d", c.Delivered, position)
	case c.Delivered < first-1:
		return fmt.Sprintf("is at %d, and the queue begins with %d", c.Delivered, first)
	case c.Claimed() && (c.From != c.Delivered || c.To <= c.From || c.To > position):
		return fmt.Sprintf("is past %d, and has claimed %d to %d of %d", c.Delivered,
			c.From+1, c.To, position)
	case c.Delivered < p.GoneTo && c.Starting == "":
		return fmt.Sprintf("is past %d, and what it is to have up to %d is not stored any more",
			c.Delivered, p.GoneTo)
	}
	return ""
}

// print prints what was found, and is critical where something is wrong.
func (p proof) print(s *session) error {
	wrong := p.Wrong
	faults := make([]fault, len(p.Faults))
	var said strings.Builder
	for i, f := range p.Faults {
		faults[i] = fault{jsonseq.Seq(f.From + 1), jsonseq.Seq(f.To), f.Problem}
		fmt.Fprintf(&said, "%s\t%s\t%s\n", p.Cursor.Queue, seqsOf(f.Range), f.Problem)
	}
	if more := p.Wrong - len(p.Faults); more > 0 {
		fmt.Fprintf(&said, "%s\t-\tand %d more like these\n", p.Cursor.Queue, more)
	}
	for _, c := range p.consumers {
		if c.Problem != "" {
			wrong++
			fmt.Fprintf(&said, "%s\t%s\t%s\n", p.Cursor.Queue, c.Consumer, c.Problem)
		}
	}
	err := s.print(map[string]any{
		"queue": p.Cursor.Queue, "from": jsonseq.Seq(p.From + 1), "to": jsonseq.Seq(p.To), "position": jsonseq.Seq(p.Cursor.Position),
		"messages": p.Messages, "skipped": p.Tombstones, "gone": p.Gone,
		"consumers": p.consumers, "faults": faults, "wrong": wrong,
	}, "%s\t%s\t%s\n%s", p.Cursor.Queue, seqsOf(p.Range), p.summary(), &said)
	if err != nil || wrong == 0 {
		return err
	}
	fmt.Fprintf(s.errOut, "streamsort: queue %q is not whole: %s\n", printable.Text(p.Cursor.Queue),
		count(wrong, "problem", "problems"))
	return unwell{critical}
}

func (p proof) summary() string {
	said := count(p.Messages, "message", "messages")
	if p.Tombstones > 0 {
		said += fmt.Sprintf(", %d skipped", p.Tombstones)
	}
	if p.Gone > 0 {
		said += fmt.Sprintf(", %d expired or deleted", p.Gone)
	}
	return said + "; " + count(len(p.consumers), "consumer", "consumers")
}

// seqsOf are the seqs of a range, as people write them.
func seqsOf(of cursor.Range) string {
	switch of.To - of.From {
	case 0:
		return "nothing"
	case 1:
		return fmt.Sprint(of.To)
	}
	return fmt.Sprintf("%d to %d", of.From+1, of.To)
}
