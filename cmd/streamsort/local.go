package main

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/localstack"
)

// localCommand runs templates on this machine.
type localCommand struct {
	Template  []string          `help:"Synthesised templates (JSON), or patches of them. The project's own one where none is given." type:"existingfile"`
	Parameter map[string]string `help:"Values of the templates' parameters, NAME=VALUE."`
	Env       map[string]string `help:"Variables of the functions, NAME=VALUE or Function.NAME=VALUE."`
	Issuer    map[string]string `help:"Where the keys (a JWKS) of tokens' issuers are, ISSUER=URL, in place of what each says itself."`
	Server    string            `help:"The DynamoDB server: a URL, given, dynoxide or dynamodb-local."`
	Port      int               `help:"The port of the API." default:"3000"`
	LogDir    string            `help:"A folder for the functions' logs, a file each." type:"path"`
	Services  bool              `help:"Start MiniStack for other AWS services, such as the default event bus."`
	Kill      float64           `help:"How likely a request's process is killed, 0 to 1."`
	Duplicate float64           `help:"How likely a delivered batch is delivered again, 0 to below 1."`
	Seed      uint64            `help:"The seed of what goes wrong." default:"1"`
}

// withoutBus empties the name of the event bus, where nothing else is said: there
// is no bus without --services, and a sweep that cannot announce a gap does not
// skip it. What is announced stays in the functions' logs.
func withoutBus(env map[string]string) map[string]string {
	const bus = "STREAMSORT_EVENT_BUS"
	for name := range env {
		if name == bus || strings.HasSuffix(name, "."+bus) {
			return env
		}
	}
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env[bus] = ""
	return env
}

// Validate implements the check of flags that kong makes.
func (c *localCommand) Validate() error {
	switch {
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("--port must be from 0 to 65535, not %d", c.Port)
	case !(c.Kill >= 0 && c.Kill <= 1):
		return fmt.Errorf("--kill must be from 0 to 1, not %v", c.Kill)
	case !(c.Duplicate >= 0 && c.Duplicate < 1):
		return fmt.Errorf("--duplicate must be from 0 to below 1, not %v", c.Duplicate)
	}
	return nil
}

// Run implements the verb.
func (c *localCommand) Run(s *session) error {
	config := localstack.Config{
		Templates: c.Template, Parameters: c.Parameter, Env: c.Env, Server: c.Server, Port: c.Port, LogDir: c.LogDir,
		Services: c.Services, Issuers: c.Issuer,
		Chaos:  localstack.Chaos{Seed: c.Seed, Kill: c.Kill, Duplicate: c.Duplicate},
		Logger: slog.New(slog.NewTextHandler(s.errOut, nil)),
	}
	if len(config.Templates) == 0 {
		root, err := localdb.Root()
		if err != nil {
			return fmt.Errorf("no --template is given, and the project's own is not here: %w", err)
		}
		config.Templates = []string{filepath.Join(root, "infra", "cdk", "streamsort.template.json")}
	}
	if !c.Services {
		config.Env = withoutBus(config.Env)
	}
	began := time.Now()
	stack, err := localstack.Run(s.ctx, config)
	if err != nil {
		return err
	}
	defer stack.Close()
	fmt.Fprintf(s.out, "%s runs after %.1fs; interrupt to end\n", stack.URL(), time.Since(began).Seconds())
	fmt.Fprintf(s.out, "  DynamoDB at %s\n", stack.DynamoDB())
	for _, f := range stack.Functions() {
		fmt.Fprintf(s.out, "  function %s\n", f.Name)
	}
	for _, m := range stack.Mappings() {
		fmt.Fprintf(s.out, "  stream of %s to %s\n", m.Table, m.Function)
	}
	<-s.ctx.Done()
	return nil
}
