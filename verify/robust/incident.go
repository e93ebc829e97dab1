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

	"github.com/chromedp/chromedp"

	"github.com/streamsort/streamsort/internal/dev/browser"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/pkg/ui"
)

// incident has three things go wrong in QUEUES queues, one after the other, beside steady traffic:
// a bad message in one of about ten queues, the sink away for all, and a gap. An operator finds
// each cause and repairs it: with the command line alone, by the lines of the runbook, and then
// with the live page alone, in a browser. It prints how long that takes, and how many lines are
// typed, or clicks made. The sink takes all in the end.
func incident(ctx context.Context, w *world) {
	var repaired atomic.Bool
	sink := &lambdaSink{watched: w.Watch("lambda", traffic.Unfailing, traffic.All),
		poison: func(p traffic.Place) bool {
			return !repaired.Load() && p.Seq == 2 && strings.Contains(p.Queue, "bad/")
		}}
	o := &operator{world: w}
	o.start(ctx, sink)
	bad := max(w.number("QUEUES")*21/200, 1)
	for _, half := range []func(context.Context, int) tools{o.lines, o.screens} {
		o.tools = half(ctx, bad)
		queue := func(i int) string {
			return fmt.Sprintf("%s%s/%d", o.prefix, map[bool]string{true: "bad", false: "shop"}[i < bad], i)
		}
		each := func(from, to int64) (messages []traffic.Message) {
			for i := range w.number("QUEUES") {
				for seq := from; seq <= to; seq++ {
					messages = append(messages, traffic.Plain(queue(i), seq, fmt.Sprint(seq), ""))
				}
			}
			return messages
		}
		repaired.Store(false)
		o.handle(ctx, "bad messages", each(1, 3), o.bad, func() {
			repaired.Store(true)
			o.looks(ctx, o.redrive...)
		})
		sink.away.Store(true)
		o.handle(ctx, "the sink is away", each(4, 5), o.away, func() { sink.away.Store(false) })
		missing := traffic.Plain(queue(bad), 6, "6", "")
		o.handle(ctx, "a gap", []traffic.Message{traffic.Plain(queue(bad), 7, "7", "")}, o.gap, func() {
			if o.fill == nil { // the page puts nothing: the sender sends it again
				check.Must(o.Put(ctx, []traffic.Message{missing}))
				return
			}
			w.Account.Note(missing)
			o.input = string(missing.Document)
			o.looks(ctx, o.fill...)
		})
	}
	if err := o.steady(); !errors.Is(err, context.Canceled) {
		check.Must(err)
	}
	check.Must(o.Drain(ctx, outagePatience, nil))
}

// tools are what an operator has: how to look, what is looked at in each of the three cases, and
// what repairs the first and the last.
type tools struct {
	prefix, counted               string
	look                          func(ctx context.Context, do []string, acted *bool) (said string)
	bad, redrive, away, gap, fill []look
}

// lines are the runbook's.
func (o *operator) lines(_ context.Context, bad int) tools {
	redrive := []string{"redrive", "--consumer", consumer, "--error", "cannot be read",
		"--reason=repaired"}
	first := fmt.Sprintf("shop/%d", bad)
	return tools{counted: "lines typed", look: o.types, bad: []look{
		{"the message cannot be read", []string{"doctor"}},
		{fmt.Sprintf("%d queues blocked: ", bad), []string{"doctor"}},
		{"bad/0@2", []string{"why", "bad/0"}},
	}, redrive: []look{{fmt.Sprint(bad), redrive}, {fmt.Sprint(bad), append(redrive, "--yes")}},
		away: []look{
			{"held\twarning\t", []string{"doctor"}}, {"epair", []string{"why", first}},
		}, gap: []look{
			{"gap\twarning\t1", []string{"doctor"}},
			{first, []string{"queue", "--state", "gap"}},
			{"waits for a message", []string{"why", first}},
		}, fill: []look{{"advanced", []string{"put"}}}}
}

// screens are the page's: what is clicked on, or a field and what it is given before its form is
// sent. The overview stands open.
func (o *operator) screens(ctx context.Context, bad int) tools {
	shown := check.Get(ui.New(ui.Options{URL: o.Stack.URL(), Operate: true}))
	address := o.Serve(shown) // closed behind the browser
	first, stop, err := browser.Start(ctx)
	check.Must(err)
	o.Later(func() { stop(); shown.Close() })
	o.tab = first
	check.Must(chromedp.Do(first, chromedp.Navigate(address+"/overview")))
	overview := []string{"nav a[href=overview]"}
	return tools{prefix: "page/", counted: "clicks", look: o.clicks, bad: []look{
		{"the message cannot be read", nil},
		{fmt.Sprintf("Redrive %d blocked", bad), nil},
		{"Attempts of ", []string{"#groups a[href^=message]"}},
	}, redrive: []look{
		{"Farthest behind", overview},
		{"A new bulk operation", []string{"#groups a[href*='action=redrive']"}},
		{fmt.Sprintf("Do it to %d", bad), []string{"#a-reason", "repaired"}},
		{fmt.Sprintf("%d done", bad), []string{"#start"}},
	}, away: []look{
		{"the database does not answer", overview},
		{"held", nil},
		{"epair", []string{"#groups a[href^=queue]"}},
	}, gap: []look{
		{"waits for a message that is missing", overview},
		{"page/shop/", []string{"#state-gap"}},
		{"waits for a message that was not put", []string{"#content td a"}},
	}}
}

// start starts the stack, builds the command line, and sends good messages as long as it goes on.
func (o *operator) start(ctx context.Context, sink *lambdaSink) {
	w := o.world
	shortened(120).start(ctx, w, sink)
	o.program = filepath.Join(w.Folder(), "streamsort")
	check.Get(execute(ctx, w.Root, nil, "go", "build", "-o", o.program, "./cmd/streamsort"))
	w.During(ctx, w.sweeps)
	o.steady = w.During(ctx, func(ctx context.Context) error {
		n := int64(0)
		return w.pace(ctx, time.Hour, 20, func(int) error {
			n++ // one that is under way is sent, and counts
			return w.Put(context.WithoutCancel(ctx), []traffic.Message{traffic.Plain("steady", n, "1", "")})
		})
	})
}

// operator types lines, or clicks, and reads what is shown.
type operator struct {
	*world
	tools
	program, input string
	tab            context.Context
	did            int
	steady         func() error // ends the good messages
}

// look is what is done, and what has to be shown before the next one.
type look struct {
	want string
	do   []string
}

// types types a line, each time again, as --every does.
func (o *operator) types(ctx context.Context, line []string, _ *bool) string {
	call := exec.CommandContext(ctx, o.program, append([]string{"--url", o.Stack.URL()}, line...)...)
	call.Stdin = strings.NewReader(o.input)
	said, _ := call.CombinedOutput() // doctor's exit says how bad it is
	return string(said)
}

// clicks clicks once, and reads the screen, which is live. A screen that goes away while it is
// asked has no answer.
func (o *operator) clicks(_ context.Context, do []string, acted *bool) string {
	if len(do) > 0 && !*acted {
		act := "e.click()"
		if len(do) > 1 {
			act = fmt.Sprintf("e.value = %q, e.form.requestSubmit()", do[1])
		}
		*acted, _ = chromedp.Run(o.tab,
			chromedp.Evaluate[bool](fmt.Sprintf("(e => !!e && (%s, true))(document.querySelector(%q))", act,
				do[0])))
		return ""
	}
	shown, _ := chromedp.Run(o.tab, chromedp.Evaluate[string]("document.body.innerText"))
	return shown
}

// looks does one after the other, and waits until each shows what is awaited.
func (o *operator) looks(ctx context.Context, all ...look) {
	for _, l := range all {
		if len(l.do) > 0 {
			o.did++
		}
		acted := false
		wait := progress.Wait{Total: 1, What: l.want + " after " + strings.Join(l.do, " "),
			Patience: outagePatience, Out: o.Out}
		check.Must(wait.Until(ctx, func(ctx context.Context) (int, string, error) {
			said := o.look(ctx, l.do, &acted)
			if strings.Contains(said, l.want) {
				return 1, "", nil
			}
			return 0, fmt.Sprintf("no %q in %s", l.want, said), nil
		}))
	}
}

// handle has something go wrong, finds the cause, repairs it, and waits until all is delivered.
func (o *operator) handle(ctx context.Context, what string, messages []traffic.Message,
	looks []look, repair func()) {
	o.did = 0
	began := time.Now()
	check.Must(o.SendAll(ctx, 4, batchSize, messages))
	o.looks(ctx, looks[0])
	found := time.Since(began)
	o.looks(ctx, looks[1:]...)
	looked := time.Now()
	repair()
	check.Must(o.Drain(ctx, outagePatience, nil))
	o.Row(what, "the cause after %.1f s, all looked at after %.1f s, repaired and delivered %.1f s later, %d %s",
		found.Seconds(), looked.Sub(began).Seconds(), time.Since(looked).Seconds(), o.did, o.counted)
}
