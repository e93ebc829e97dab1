package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/localstack"
)

// incident has three things go wrong in QUEUES queues, one after the other, beside steady traffic:
// a bad message in one of about ten queues, the sink away for all, and a gap. An operator who has
// the command line alone finds each cause and repairs it, by the lines of the runbook. It prints
// how long that takes, and how many lines are typed. The sink takes all in the end.
func incident(ctx context.Context, w *world) error {
	var repaired atomic.Bool
	sink := &lambdaSink{watched: w.watch("lambda", unfailing, all), poison: func(p place) bool {
		return !repaired.Load() && p.seq == 2 && strings.HasPrefix(p.queue, "bad/")
	}}
	o := &operator{world: w}
	if err := o.start(ctx, sink); err != nil {
		return err
	}
	bad := max(w.number("QUEUES")*21/200, 1)
	queue := func(i int) string {
		if i < bad {
			return fmt.Sprintf("bad/%d", i)
		}
		return fmt.Sprintf("shop/%d", i)
	}
	each := func(from, to int64) (messages []message) {
		for i := range w.number("QUEUES") {
			for seq := from; seq <= to; seq++ {
				messages = append(messages, plain(queue(i), seq, fmt.Sprint(seq), ""))
			}
		}
		return messages
	}
	reason := "--reason=repaired"
	redrive := []string{"redrive", "--consumer", consumer, "--error", "cannot be read", reason}
	err := o.handle(ctx, "bad messages", each(1, 3), []look{
		{": the message cannot be read, such as bad/", []string{"doctor"}},
		{fmt.Sprintf("%d queues blocked: ", bad), []string{"doctor"}},
		{"bad/0@2", []string{"why", "bad/0"}},
	}, func() error {
		repaired.Store(true)
		return o.types(ctx, look{fmt.Sprint(bad), redrive}, look{fmt.Sprint(bad), append(redrive, "--yes")})
	})
	if err == nil {
		sink.isAway(true)
		err = o.handle(ctx, "the sink is away", each(4, 5), []look{
			{"held\twarning\t", []string{"doctor"}}, {"epair", []string{"why", queue(bad)}},
		}, func() error { sink.isAway(false); return nil })
	}
	if err == nil {
		missing := plain(queue(bad), 6, "6", "")
		err = o.handle(ctx, "a gap", []message{plain(queue(bad), 7, "7", "")}, []look{
			{"gap\twarning\t1", []string{"doctor"}},
			{queue(bad), []string{"queue", "--state", "gap"}},
			{"waits for a message", []string{"why", queue(bad)}},
		}, func() error {
			w.account.note(missing)
			o.input = string(missing.document)
			return o.types(ctx, look{"advanced", []string{"put"}})
		})
	}
	if failed := o.steady(); err == nil && !errors.Is(failed, context.Canceled) {
		err = failed
	}
	if err == nil {
		err = o.drain(ctx, outagePatience, nil)
	}
	return err
}

// start starts the stack, builds the command line, and sends good messages as long as it goes on.
func (o *operator) start(ctx context.Context, sink *lambdaSink) error {
	w := o.world
	arn := map[string]any{"kind": "lambda", "arn": "arn:aws:lambda:us-east-1:000000000000:function:shop"}
	template, err := shortened(120).template(w, arn)
	if err != nil {
		return err
	}
	if err := w.start(ctx, setup{templates: []string{template}, config: localstack.Config{
		Env: map[string]string{
			"STREAMSORT_EVENT_BUS": "", "ProcessFunction.AWS_ENDPOINT_URL_LAMBDA": w.serve(sink),
		},
		Failed: func(string, string) {}, // what fails here fails on purpose
	}}); err != nil {
		return err
	}
	o.program = filepath.Join(filepath.Dir(template), "streamsort")
	if _, err := execute(ctx, w.root, nil, "go", "build", "-o", o.program, "./cmd/streamsort"); err != nil {
		return err
	}
	var sweeps sweeps
	w.during(ctx, func(ctx context.Context) error { return sweeps.run(ctx, w.stack) })
	o.steady = w.during(ctx, func(ctx context.Context) error {
		n := int64(0)
		return w.pace(ctx, time.Hour, 20, func(int) error {
			n++ // one that is under way is sent, and counts
			return w.put(context.WithoutCancel(ctx), []message{plain("steady", n, "1", "")})
		})
	})
	return nil
}

// operator types lines, and reads what is printed.
type operator struct {
	*world
	program, input string
	typed          int
	steady         func() error // ends the good messages
}

// look is a line, and what it has to print before the next one is typed.
type look struct {
	want string
	line []string
}

// types types lines, each again until it prints what is awaited, as --every does.
func (o *operator) types(ctx context.Context, looks ...look) error {
	for _, l := range looks {
		o.typed++
		wait := progress.Wait{Total: 1, What: strings.Join(l.line, " "), Patience: outagePatience, Out: o.out}
		if err := wait.Until(ctx, func(ctx context.Context) (int, string, error) {
			call := exec.CommandContext(ctx, o.program, append([]string{"--url", o.stack.URL()}, l.line...)...)
			call.Stdin = strings.NewReader(o.input)
			said, _ := call.CombinedOutput() // doctor's exit says how bad it is
			if strings.Contains(string(said), l.want) {
				return 1, "", nil
			}
			return 0, fmt.Sprintf("no %q in %s", l.want, said), nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// handle has something go wrong, finds the cause, repairs it, and waits until all is delivered.
func (o *operator) handle(ctx context.Context, what string, messages []message, looks []look, repair func() error) error {
	o.typed = 0
	began := time.Now()
	if err := o.sendAll(ctx, 4, batchSize, messages); err != nil {
		return err
	}
	err := o.types(ctx, looks[0])
	found := time.Since(began)
	if err == nil {
		err = o.types(ctx, looks[1:]...)
	}
	looked := time.Now()
	if err == nil {
		if err = repair(); err == nil {
			err = o.drain(ctx, outagePatience, nil)
		}
	}
	o.row(what, "the cause after %.1f s, repaired and delivered %.1f s after the last look, %d lines typed",
		found.Seconds(), time.Since(looked).Seconds(), o.typed)
	return err
}
