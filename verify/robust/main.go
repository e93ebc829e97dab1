// Command robust shows what the stack withstands on this machine: each scenario starts it with the
// functions that deploy, makes traffic, plants faults, and checks all that comes out against all
// that went in.
//
//	traffic ──HTTP──► the stack, on a server and a network ──► sinks ──► a watcher each
//	                    functions killed, batches repeated,       away, slow, refusing
//	                    late and dropped, answers lost
//
// `make verify S=soak` runs one, S="soak load" several; without S it lists them. Settings are
// variables: `make verify S=load RATE=500 TIME=2m`; SHORT=1 is a form of each for seconds. A
// scenario fails where a message is lost, out of order, changed or repeated without a token that
// shows it, and where its own checks do.
//
// A scenario has a file of its own and a line in [scenarios]. What it starts, and each folder,
// belongs to its [world], which stops, waits and removes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/streamsort/streamsort/examples/ledger"
	"github.com/streamsort/streamsort/examples/pingpong"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/verify/big"
)

// scenario is one of them. The error that run ends with ([check.Must]) is why it could not go on;
// what must not be goes to [world.wrong].
type scenario struct {
	name, shows string
	settings    []setting
	run         func(context.Context, *world)
}

// choice is a scenario with its settings.
type choice struct {
	scenario
	values
}

// program is a scenario that is a command of its own.
func program(name, shows, command string, settings ...setting) scenario {
	return scenario{name, shows, settings, func(_ context.Context, w *world) {
		// an interrupt reaches it too: it cleans up
		command := exec.Command("go", strings.Fields(command)...)
		command.Dir, command.Stdout, command.Stderr = w.Root, w.Out, os.Stderr
		check.Must(command.Run())
	}}
}

var seed = setting{name: "SEED", usual: 1, short: 1, most: 1 << 30}

func duration(usual, short time.Duration) setting {
	return setting{name: "TIME", usual: int64(usual), short: int64(short), least: int64(time.Second),
		most: int64(24 * time.Hour)}
}

// scenarios are all of them.
var scenarios = []scenario{
	{"soak", "five sinks get all, while functions, streams and DynamoDB's answers fail", []setting{
		duration(10*time.Minute, 12*time.Second), {"RATE", 40, 40, 1, 10_000}, seed,
	}, soak},
	{"load", "what a load takes: messages a second, their way in time, and what they cost", []setting{
		duration(time.Minute, 3*time.Second),
		{"RATE", 200, 100, 1, 100_000},
		{"QUEUES", 100, 20, 1, 100_000},
		{"BATCH", 1, 1, 1, 500},
		{"DISORDER", 0, 0, 0, 32},
		{"TOGETHER", 0, 0, 0, 1},
	}, load},
	{"outage", "the sink of many queues is away, and they catch up", []setting{
		{"QUEUES", 10_000, 60, 10, 100_000}, {"MINUTES", 65, 61, 1, 1440}, {"FACTOR", 120, 240, 1, 1000},
	}, outage},
	{"incident", "an operator finds three causes and repairs them, by the command line, and by the page", []setting{
		{"QUEUES", 200, 40, 10, 10_000},
	}, incident},
	{"hooks", "one in twenty endpoints of webhooks turns slow or fails, and the others hardly wait", []setting{
		duration(80*time.Second, 8*time.Second), {"RATE", 50, 50, 1, 1000}, {"QUEUES", 1000, 60, 20, 10_000}, seed,
	}, hooks},
	{"slow", "endpoints that take SECONDS hold up none that is fast", []setting{
		{"QUEUES", 150, 12, 1, 1000}, {"SECONDS", 9, 5, 2, 9}, {"CONCURRENCY", 20, 4, 1, 1000}, {"MESSAGES", 300, 40, 10, 100_000},
	}, slow},
	{"gaps", "gaps of QUEUES queues at once are all announced, and all are filled", []setting{
		{"QUEUES", 30, 30, 1, 1000}, seed,
	}, gaps},
	{"ledger", "two copies of a consumer book in one database, each message once, while all is killed", []setting{
		{"MESSAGES", 1500, 200, 10, 1_000_000}, {"KILLS", 4, 1, 0, 1000},
	}, books},
	{"pingpong", "two consumers answer each other's messages, while all is killed", []setting{
		{"ROUNDS", 5000, 100, 10, 1_000_000}, {"BALLS", 100, 10, 1, 10_000}, {"KILLS", 4, 1, 0, 1000},
	}, game},
	{"payments", "a bank charges once for each message, while processes are killed", []setting{
		{"QUEUES", 20, 10, 1, 1000}, {"MESSAGES", 15, 5, silentOn, 1000},
	}, payments},
	{"wordcount", "a tree of words is counted in three functions, and its end is announced", nil, wordcount},
	program("sim", "every schedule of small cases of the protocols, and random ones: RUNS has new seeds",
		"test ./verify/sim/... -tags whole -run TestEverySmallSchedule|TestRandomSchedules "+
			"-count=1 -v -p 1 -timeout 0", setting{name: "SUITE"}, setting{name: "SEED"},
		setting{name: "FULL"}, setting{name: "RUNS"}),
	{"newcomer", "what a new user does from an empty folder, with the library, functions, the CDK", []setting{
		{"COLD", 0, 0, 0, 1},
	}, install},
	{"deploy", "the stack is deployed, changed and destroyed without an AWS account", []setting{{name: "INPUT"}}, deploy},
	program("sources", "100,000 shuffled records of each AWS source: none lost, none out of order",
		"test ./functions/source -run TestManyRecords -count=1 -v -timeout 60m -args -events 100000"),
}

// What is large is in verify/big, and runs without a stack.
func init() {
	for _, c := range big.Cases {
		scenarios = append(scenarios, scenario{"big/" + c.Name, c.Shows, []setting{
			{"PART", 1, 100, 1, 1_000_000},
		}, func(_ context.Context, w *world) {
			lines, err := c.Run(w.values["PART"])
			for _, line := range lines {
				w.Row(c.Name, "%s", line)
			}
			check.Must(err)
		}})
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "robust:", err)
		os.Exit(1)
	}
}

// children are the programs of which this one starts copies, by the first argument.
var children = map[string]func(context.Context, []string) error{
	"ledger-copy": ledger.Consume, "pingpong-copy": pingpong.Consume,
}

func command(ctx context.Context, arguments []string) error {
	if len(arguments) > 0 && children[arguments[0]] != nil {
		return children[arguments[0]](ctx, arguments[1:])
	}
	return run(ctx, arguments, os.Getenv, os.Stdout)
}

// run runs the scenarios of these names, one after the other; of none it lists all.
func run(ctx context.Context, names []string, get func(string) string, out io.Writer) error {
	if len(names) == 0 {
		for _, s := range scenarios {
			fmt.Fprintf(out, "%-12s %s\n             %s\n", s.name, s.shows, describe(s.settings))
		}
		return nil
	}
	chosen, err := choose(names, get)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range chosen {
		if err := s.play(ctx, out); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// choose finds scenarios by name, or by the part of it before a slash, and reads the settings of
// each.
func choose(names []string, get func(string) string) (chosen []choice, err error) {
	var errs []error
	var known []string
	for _, s := range scenarios {
		known = append(known, s.name)
	}
	taken := map[string]bool{}
	for _, name := range names {
		before := len(chosen)
		for _, s := range scenarios {
			if s.name != name && !strings.HasPrefix(s.name, name+"/") {
				continue
			}
			v, err := read(s.settings, get("SHORT") == "1", get)
			for _, s := range s.settings {
				taken[s.name] = true
			}
			chosen, errs = append(chosen, choice{s, v}), append(errs, err)
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("scenario %q must be one of %s", name, strings.Join(known, ", "))
		}
	}
	for _, s := range scenarios {
		for _, setting := range s.settings {
			if text := get(setting.name); text != "" && !taken[setting.name] {
				taken[setting.name] = true
				errs = append(errs, fmt.Errorf("%s=%s: it is no setting of %s; leave it out", setting.name,
					text, strings.Join(names, " or ")))
			}
		}
	}
	return chosen, errors.Join(errs...)
}

// play runs a scenario in a world of its own, and prints the summary.
func (s choice) play(ctx context.Context, out io.Writer) error {
	w, err := newWorld(s.values, out)
	if err != nil {
		return err
	}
	defer w.End()
	w.Say("%s: %s (%s)", s.name, s.shows, s.values)
	failed := check.Try(func() { s.run(ctx, w) })
	if errors.Is(failed, context.Canceled) {
		return failed
	}
	if err := errors.Join(failed, w.Verdict()); err != nil {
		return err
	}
	w.Say("%s: all is as it must be", s.name)
	return nil
}
