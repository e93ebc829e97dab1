//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/pkg/ui"
)

// withoutBus empties the name of the event bus, where nothing else is said: there is no bus without
// --services, and a sweep that cannot announce a gap does not skip it. What is announced stays in
// the functions' logs.
func withoutBus(env map[string]string) map[string]string {
	const bus = "STREAMSORT_EVENT_BUS"
	for name := range env {
		if name == bus || strings.HasSuffix(name, "."+bus) {
			return env
		}
	}
	without := map[string]string{bus: ""}
	maps.Copy(without, env)
	return without
}

// register makes the context of a local stack, until it is forgotten: local, or, where that is of
// another stack that runs, local-PORT. One with the stack's own URL is of a stack that was killed.
func register(p place) (name string, forget func(), err error) {
	name = localContext
	err = changePlaces(func(all *places) error {
		if old := all.Contexts[name]; old.URL != p.URL && runs(old) {
			name += "-" + p.URL[strings.LastIndexByte(p.URL, ':')+1:]
		}
		all.Contexts[name] = p
		return nil
	})
	if err != nil {
		return "", func() {}, err
	}
	return name, func() {
		_ = changePlaces(func(now *places) error { // the next stack replaces what stays
			if now.Contexts[name].URL == p.URL {
				now.forget(name)
			}
			return nil
		})
	}, nil
}

func runs(p place) bool {
	if p.URL == "" {
		return false
	}
	answer, err := (&http.Client{Timeout: time.Second}).Get(p.URL + "/_streamsort/health")
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

func (c *localCommand) consumers() ([]localstack.Consumer, error) {
	var all []localstack.Consumer
	prefixes := map[string]string{}
	for _, text := range c.Prefix {
		name, prefix, of := strings.Cut(text, "=")
		if !of {
			name, prefix = "", text
		}
		if _, twice := prefixes[name]; twice {
			return nil, usage("--prefix: %s is a second one, and a consumer has one: give a shorter one, or another --consumer", text)
		}
		prefixes[name] = prefix
	}
	for _, text := range c.Consumer {
		consumer, err := localstack.ParseConsumer(text)
		if err != nil {
			return nil, usageError("--consumer: " + err.Error())
		}
		if slices.ContainsFunc(all, func(c localstack.Consumer) bool { return c.Name == consumer.Name }) {
			return nil, usage("--consumer: two consumers have the name %s: each must have its own",
				consumer.Name)
		}
		prefix, own := prefixes[consumer.Name]
		if consumer.Prefix = prefixes[""]; own {
			consumer.Prefix = prefix
		}
		all = append(all, consumer)
		delete(prefixes, consumer.Name)
	}
	if len(all) > 0 {
		delete(prefixes, "")
	}
	for name := range prefixes {
		return nil, usage("--prefix: there is no --consumer %s", cmp.Or(name, "to read the queues"))
	}
	return all, nil
}

// show prints the log of the consumers' functions, and what fails.
func show(s *session, config *localstack.Config) (lines func(localstack.Line)) {
	prints, logs := map[string]bool{}, map[string]bool{}
	for _, c := range config.Consumers {
		prints[c.Name], logs[c.Name] = c.Prints(), c.Logs()
	}
	config.Failed = func(function, text string) {
		// What Lambda says of a function, its runtime does not print.
		if !prints[function] || strings.HasPrefix(text, "Runtime.") ||
			strings.HasPrefix(text, "Sandbox.") {
			fmt.Fprintf(s.errOut, "%s failed: %s\n", function,
				strings.ReplaceAll(printable.Lines(text), "\n", "\n    "))
		}
	}
	return func(l localstack.Line) {
		var warned struct{ Message, Consumer, Error string }
		if logs[l.Function] {
			fmt.Fprintf(s.out, "%s | %s\n", l.Function, printable.Lines(l.Text))
		} else if l.LogicalID == "ProcessFunction" && json.Unmarshal([]byte(l.Text), &warned) == nil &&
			warned.Error != "" && !logs[warned.Consumer] {
			fmt.Fprintf(s.out, "%s | %s: %s\n", warned.Consumer, warned.Message,
				printable.Lines(warned.Error))
		}
	}
}

func (c *localCommand) Run(s *session) error {
	consumers, err := c.consumers()
	if err != nil {
		return err
	}
	config := localstack.Config{
		Templates: c.Template, Parameters: c.Parameter, Env: c.Env, Server: c.Server, Data: c.Data,
		Watch: c.Watch, Port: c.Port,
		Services: c.Services, Issuers: c.Issuer, Zips: c.Zips, Version: fetchable(build()),
		Chaos:  localstack.Chaos{Seed: 1, Kill: c.Kill, Duplicate: c.Duplicate},
		Logger: slog.New(slog.NewTextHandler(s.errOut, nil)), Consumers: consumers,
	}
	lines := show(s, &config)
	if !c.Services {
		config.Env = withoutBus(config.Env)
	}
	began := time.Now()
	stack, err := localstack.Run(s.ctx, config)
	if err != nil {
		return err
	}
	defer stack.Close()
	defer stack.Subscribe(lines)()
	if err := stack.Warm(); err != nil {
		return err
	}
	name, forget, err := register(place{URL: stack.URL(), DynamoDB: stack.DynamoDB(),
		Tables: stack.Tables()})
	if err != nil {
		fmt.Fprintln(s.errOut, "streamsort: this stack has no context:", err)
	}
	defer forget()
	fmt.Fprintf(s.out, "%s runs after %.1fs; interrupt to end\n", stack.URL(),
		time.Since(began).Seconds())
	if name != "" && name != localContext {
		fmt.Fprintf(s.out, "  another stack is the context %s; this one is --context %s\n",
			localContext, name)
	}
	for _, a := range stack.Addresses() {
		fmt.Fprintf(s.out, "  %s at %s\n", a.Name, a.URL)
	}
	if c.UI != "" { // it may operate: the stack is one's own
		served, err := startPage(s.ctx, c.UI, nil, ui.Options{URL: stack.URL(), Operate: true})
		if err != nil {
			fmt.Fprintln(s.errOut,
				"streamsort: there is no live page, and --ui may name another place:", err)
		} else {
			fmt.Fprintf(s.out, "  live page at http://%s\n", served.address)
		}
	}
	if !stack.HasServices() {
		fmt.Fprintln(s.out, "  no other services of AWS, such as EventBridge; --services starts them")
	}
	fmt.Fprintf(s.out, "  the templates' outputs at %s/_streamsort/outputs\n", stack.URL())
	fmt.Fprintln(s.out, "  `streamsort logs NAME` prints what a function logs; -f goes on")
	for _, f := range stack.Functions() {
		fmt.Fprintf(s.out, "  function %s\n", f.Name)
	}
	for _, m := range stack.Mappings() {
		fmt.Fprintf(s.out, "  stream of %s to %s\n", m.Table, m.Function)
	}
	for _, q := range stack.Queues() {
		fmt.Fprintf(s.out, "  queue %s/000000000000/%s to %s\n", stack.URL(), q.Name, q.Function)
	}
	<-s.ctx.Done()
	return nil
}
