package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
)

type putCommand struct {
	File        string `arg:"" optional:"" help:"A file with a message a line; standard input where it is - or none is given." type:"existingfile"`
	Batch       int    `help:"Messages a call, 1 to 500." default:"25"`
	Concurrency int    `help:"Calls at once, 1 to 64. With 1, messages arrive in the order of the lines; where the queue numbers them, it ends at the first that is refused." default:"1"`
	Order       string `help:"What orders the messages: 'number', their seqs; 'append', their seqs too, each of which has to be the next one of a queue in arrival order; 'arrival', the queue as they come; or 'key', their keys. With the last two, what the lines say of a seq is left out, and each needs an id." enum:"number,append,arrival,key" default:"number"`
	KeyType     string `help:"With --order key: what the keys are, where the put makes the queue: number, time, utc, lsn, ulid, semver, hex, text, rank(P|P), or up to three of them with commas between." placeholder:"TYPE"`
	First       string `help:"Where a queue starts that the put makes, of messages with a seq: a seq, or 'here', at the least one of the call that makes it. At 1 where it is not given." placeholder:"SEQ"`
	Events      string `help:"The lines are events as they are, which become messages by these paths (docs/reference/events.md#paths): queue, seq with first, id, key with keyType, prev, each, body, attributes, prefix." placeholder:"JSON"`
}

func (c *putCommand) Run(s *session) error {
	if err := cmp.Or(bounded("--batch", c.Batch, 1, 500),
		bounded("--concurrency", c.Concurrency, 1, 64)); err != nil {
		return err
	}
	props, events, err := c.events()
	switch {
	case err != nil:
		return err
	case events != nil && c.Order != "number":
		return usageError("--order " + c.Order +
			" is for messages; what orders events is in --events: a seq, a key, or neither")
	case c.KeyType != "" && c.Order != "key":
		return usageError("--key-type is for --order key")
	case c.First != "" && (c.Order == "arrival" || c.Order == "key" || events != nil):
		return usageError("--first is for messages with a seq; where a queue of events starts is in --events")
	}
	in := s.in
	if c.File != "" && c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	api, err := client.Open(s.access())
	if err != nil {
		return err
	}
	said := client.Query("keyType", c.KeyType, "first", c.First)
	if c.Order == "append" {
		said.Set("kind", "arrival")
	}
	p := putting{
		api: api, props: props, bare: c.Order == "arrival" || c.Order == "key", said: said,
		tally:   newTally(),
		ordered: c.Order == "arrival" || c.Order == "append", shown: s.progress(),
	}
	if events != nil {
		p.ordered = !events.Numbered() && !events.Keyed()
		if p.lists = events.Splits(); p.lists {
			c.Batch = 1
		}
	}
	p.ordered = p.ordered && c.Concurrency == 1
	err = p.all(s, in, c.Batch, c.Concurrency)
	p.shown.end()
	return errors.Join(p.tally.print(s), p.tally.refusals(), p.tally.rest(err))
}

// events is how the lines become messages, also as the API's query has it; nil where they are
// messages.
func (c *putCommand) events() (url.Values, *mapping.Mapping, error) {
	if c.Events == "" {
		return nil, nil, nil
	}
	m, err := mapping.Read([]byte(c.Events), mapping.Kind{Request: true})
	if err != nil {
		return nil, nil, usageError("--events: " + err.Error())
	}
	members, err := strictjson.Members([]byte(c.Events))
	props := url.Values{}
	for _, member := range members {
		text, wrong := strictjson.Text(member.Value)
		if wrong != nil { // attributes
			text = string(member.Value)
		}
		props.Set(member.Name, text)
	}
	return props, m, err
}

type putting struct {
	api   *client.Client
	props url.Values
	// bare puts messages without their seqs; said are members of each that does not have them.
	bare bool
	said url.Values
	// ordered means that the queues keep the order of the lines: nothing may be put behind a line
	// that was refused.
	ordered bool
	// lists means that a line may be several messages, and is a call.
	lists bool
	tally *tally
	shown *progress
}

// stopError is why a put in the order of arrival ends at a line.
type stopError struct{ line int }

func (e *stopError) Error() string {
	return fmt.Sprintf("stopped at line %d, which was not taken: the lines behind it must not be put before it", e.line)
}

// refuse notes a line that was not taken. The error is that nothing may be put behind it.
func (p *putting) refuse(line int, why string) error {
	p.tally.refuse(line, why)
	return p.stop(line)
}

// stop is the error that nothing may be put behind a line; nil where it may.
func (p *putting) stop(line int) error {
	if !p.ordered {
		return nil
	}
	return &stopError{line}
}

// all puts all lines, and goes on behind those that are refused. The error is why it stopped before
// the end.
func (p *putting) all(s *session, in io.Reader, size, concurrency int) error {
	// An interrupt ends the reading; what is under way may still be answered.
	calls, cut := context.WithCancel(context.WithoutCancel(s.ctx))
	defer cut()
	defer context.AfterFunc(s.ctx, func() { time.AfterFunc(s.grace, cut) })()
	group, calls := errgroup.WithContext(calls)
	read := make(chan []numbered)
	readErr := make(chan error, 1)
	go func() { // nothing interrupts the reading of a terminal: it is not waited for
		readErr <- batches(p.shown.reads(in), size, lingers(in), p.refuse, func(batch []numbered) error {
			select {
			case read <- batch:
				return nil
			case <-calls.Done():
				return calls.Err()
			}
		})
		close(read)
	}()
	for range concurrency {
		group.Go(func() error { return p.putUntil(s.ctx, calls, read) })
	}
	err := group.Wait()
	switch {
	case s.ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil:
		return err
	}
	return <-readErr
}

// putUntil puts one batch after the other until there are no more, or an interrupt.
func (p *putting) putUntil(interrupted, calls context.Context, read <-chan []numbered) error {
	for {
		select {
		case <-interrupted.Done():
			return nil
		case <-calls.Done():
			return nil
		case batch, more := <-read:
			if !more || interrupted.Err() != nil {
				return nil
			}
			if err := p.put(calls, batch); err != nil {
				return err
			}
		}
	}
}

// put puts a batch, again without the lines for which the whole call is refused. The error is why
// nothing is put behind it.
func (p *putting) put(ctx context.Context, batch []numbered) error {
	batch, stop := p.legible(batch)
	for len(batch) > 0 {
		err := p.call(ctx, batch)
		r, ok := refusalOf(err, batch, p.lists)
		if !ok {
			return cmp.Or(err, stop)
		}
		first := batch[r.from].number
		if over := p.refuse(first, r.why); over != nil {
			batch, stop = batch[:r.from], over
			continue
		}
		batch = slices.Delete(batch, r.from, r.to)
	}
	return stop
}

// legible are the lines of a batch that can be put. The error is that nothing may be put behind
// them.
func (p *putting) legible(batch []numbered) ([]numbered, error) {
	if !p.bare && len(p.said) == 0 {
		return batch, nil
	}
	var taken []numbered
	for _, line := range batch {
		text, err := p.prepared(line.text)
		if err == nil {
			taken = append(taken, numbered{number: line.number, text: text})
			continue
		}
		if over := p.refuse(line.number, fmt.Sprintf("line %d%v", line.number, err)); over != nil {
			return taken, over
		}
	}
	return taken, nil
}

// call puts lines in one call, and notes what became of them. The error is why the next call may
// not be made, or would fail as well.
func (p *putting) call(ctx context.Context, batch []numbered) error {
	messages := make([]json.RawMessage, len(batch))
	for i, line := range batch {
		messages[i] = line.text
	}
	p.tally.begin(batch)
	var results []client.Outcome
	var err error
	if len(p.props) > 0 {
		results, err = p.api.PutEvents(ctx, p.props, messages)
	} else {
		results, err = p.api.Put(ctx, messages)
	}
	p.tally.end(batch, results, notStored(err))
	p.shown.say(p.tally.String())
	if err != nil {
		return err
	}
	for i, r := range results {
		// One that is stale was stored before, in its place.
		if r.Status >= http.StatusBadRequest && r.Outcome != "stale" {
			return p.stop(lineOf(batch, i).number)
		}
	}
	return nil
}

// notStored reports whether an error says that nothing was stored: not that nobody knows.
func notStored(err error) bool {
	var problem *client.Problem
	return errors.As(err, new(*client.NoCredentialsError)) ||
		errors.As(err, &problem) && !problem.MayPass()
}

// prepared is a message as it is put. The error is put behind the line's number.
func (p *putting) prepared(message json.RawMessage) (json.RawMessage, error) {
	members, err := strictjson.Members(message)
	if err != nil {
		return nil, fmt.Errorf(" %w", err)
	}
	if id := strictjson.Get(members, "id"); p.bare && (id == nil || string(id) == `""`) {
		return nil, errors.New(": id is missing: without a seq, a message is known by it")
	}
	for _, name := range slices.Sorted(maps.Keys(p.said)) {
		if strictjson.Get(members, name) != nil {
			continue
		}
		written, err := strictjson.Marshal(p.said.Get(name))
		if err != nil {
			return nil, err
		}
		members = append(members, strictjson.Member{Name: name, Value: written})
		if message, err = strictjson.Object(members); err != nil {
			return nil, err
		}
	}
	if !p.bare {
		return message, nil
	}
	return strictjson.Without(message, "seq")
}

// refused are the lines of a call from one on, and up to before another, for which the whole call
// was refused, and why.
type refused struct {
	from, to int
	why      string
}

// refusalOf is what an error of a call says of its lines, which are named in it; ok is false for an
// error about none of them.
func refusalOf(err error, batch []numbered, lists bool) (r refused, ok bool) {
	var problem *client.Problem
	if !errors.As(err, &problem) {
		return refused{}, false
	}
	if len(problem.Errors) > 0 {
		f := problem.Errors[0]
		if lists && problem.Status < http.StatusInternalServerError {
			return refused{0, 1, fmt.Sprintf("%d: line %d: %s %s", problem.Status, batch[0].number, f.Field,
				f.Detail)}, true
		}
		if name, i, ok := f.Of("messages"); ok && i < len(batch) {
			return refused{i, i + 1, lineProblem(problem.Status, f, name, batch)}, true
		}
	}
	which := lines(batch[0].number, batch[len(batch)-1].number)
	return refused{0, len(batch), fmt.Sprintf("%s: %v", which, problem)},
		problem.Status == http.StatusRequestEntityTooLarge
}

func lineProblem(status int, f client.FieldError, name string, batch []numbered) string {
	text := fmt.Sprintf("%d: line %d", status, batch[*f.Index].number)
	if name != "" {
		text += ": " + name
	}
	if f.Other != nil && *f.Other < len(batch) {
		return fmt.Sprintf("%s is that of line %d, which is a different message", text,
			batch[*f.Other].number)
	}
	return text + " " + f.Detail
}
