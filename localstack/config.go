package localstack

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/streamsort/streamsort/localstack/eventsource"
)

// Config says what to run, and how.
type Config struct {
	// Templates are the paths of synthesised templates, JSON, or of patches of them
	// (template.ReadFile); the project's own one where empty. A template may import what another
	// one exports.
	Templates []string
	// Consumers are what the stack's process delivers to, in place of those that a template names.
	Consumers []Consumer
	// Parameters are values of the templates' parameters, by name.
	Parameters map[string]string
	// Env adds variables to the functions' environments, and replaces those that a template or
	// Lambda sets: NAME for all functions, Function.NAME for the one with this logical id or name.
	Env map[string]string
	// Server is the DynamoDB server: a URL of one that runs, or "given", "dynoxide" or
	// "dynamodb-local"; where empty, DYNAMODB_ENDPOINT, dynoxide or DynamoDB Local, the first that
	// there is.
	Server string
	// Data is the folder that keeps the tables between runs; empty for none. Streams are read from
	// their beginnings again, so a function behind one gets records that it had. What MiniStack
	// holds is not kept.
	Data string
	// Port of the stack's URL; a free one where zero.
	Port int
	// LogDir takes a file of log lines for each function, NAME.log; none are written where it is
	// empty.
	LogDir string
	// Zips is a folder with the zips of a release, as they are named there: the project's own
	// functions are taken from them. Empty for none.
	Zips string
	// Version is the version of this project whose functions are built where no module above a
	// template has them, as the Go toolchain names it; empty for none.
	Version string
	// Concurrency is the most environments of a function without reserved concurrency; 16 where zero.
	Concurrency int
	// Services starts MiniStack also where no template asks for it, for functions that call a
	// service without resources of their own (the default event bus, for instance).
	Services bool
	// Issuers are those of tokens, for routes with a JWT authoriser: where the keys (a JWKS) of
	// each issuer are. For one that is not here, its own discovery document says it, as on AWS.
	Issuers map[string]string
	// AsyncRetry is what an asynchronous invocation that failed waits for its second attempt, and
	// half of what it waits for its third; a minute where zero, as on AWS.
	AsyncRetry time.Duration
	// Watch builds and restarts a function when its source changes. Without it, what is built when
	// the stack starts runs until it ends.
	Watch bool
	// Failed gets what a function said that failed, of one or more lines: its error, its panic, or
	// the end of its log where its process ended. It may be called from several goroutines at once;
	// where nil, Logger gets it. Where Watch is on, it also gets what does not compile, of the
	// function "build".
	Failed func(function, text string)
	// Chaos makes things go wrong on purpose.
	Chaos Chaos
	// Logger gets progress (Info) and what goes wrong (Warn); slog.Default() where nil.
	Logger *slog.Logger
}

// Chaos is what goes wrong on purpose, at random. The zero Chaos is nothing.
type Chaos struct {
	Seed      uint64
	Kill      float64       // probability that a request's process is killed, 0 to 1
	Duplicate float64       // probability that a delivered batch is delivered again, 0 to below 1
	Drop      float64       // probability that a batch is never delivered, 0 to 1
	Late      float64       // probability that a batch is held back, 0 to 1
	LateBy    time.Duration // the longest that one is held back
	// Queues is what goes wrong with the messages of queues that functions read; its seed is this
	// one's.
	Queues eventsource.Chaos
}

func (c Config) withDefaults() Config {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.Failed == nil {
		c.Failed = func(function, text string) {
			c.Logger.Warn("function failed", "function", function, "error", text)
		}
	}
	return c
}

func (c Config) check() error {
	var errs []error
	for _, field := range []struct {
		good  bool
		must  string
		value any
	}{
		{c.Port >= 0 && c.Port <= 65535, "Port must be from 0 to 65535", c.Port},
		{c.Concurrency >= 0, "Concurrency must not be negative", c.Concurrency},
		{c.AsyncRetry >= 0, "AsyncRetry must not be negative", c.AsyncRetry},
		{c.Chaos.Kill >= 0 && c.Chaos.Kill <= 1, "Chaos.Kill must be from 0 to 1", c.Chaos.Kill},
		{c.Chaos.Duplicate >= 0 && c.Chaos.Duplicate < 1,
			"Chaos.Duplicate must be from 0 to below 1", c.Chaos.Duplicate},
	} {
		if !field.good {
			errs = append(errs, fmt.Errorf("config.%s, not %v", field.must, field.value))
		}
	}
	stacks := map[string]string{}
	for _, path := range c.Templates {
		name := stackName(path)
		if other := stacks[name]; other != "" {
			errs = append(errs, fmt.Errorf("templates %s and %s both make the stack %s", other, path, name))
		}
		stacks[name] = path
	}
	return errors.Join(errs...)
}

// stackName is a template's file name up to its first dot, as CDK names it by the stack.
func stackName(path string) string {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name
}

// target is the function, empty for all, and the variable that an entry of Config.Env is for.
func target(key string) (function, name string) {
	if function, name, dotted := strings.Cut(key, "."); dotted {
		return function, name
	}
	return "", key
}
