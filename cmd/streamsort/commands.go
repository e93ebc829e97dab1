package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	"github.com/jedib0t/go-pretty/v6/text"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/mattn/go-isatty"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
)

type commands struct {
	Context string `group:"everywhere" help:"Use the context of this name." env:"STREAMSORT_CONTEXT"`
	URL     string `group:"everywhere" help:"The address of the API, instead of a context. Without both: the stack that runs here, or http://127.0.0.1:3000." env:"STREAMSORT_URL"`
	Token   string `group:"everywhere" help:"A token (JWT) for the tenants' API, instead of a signature." env:"STREAMSORT_TOKEN"`
	Sign    bool   `group:"everywhere" help:"Sign requests for IAM at a custom domain too." env:"STREAMSORT_SIGN"`
	Region  string `group:"everywhere" help:"The region of the API and of the tables, where neither the address nor AWS's configuration has it."`
	Output  string `group:"everywhere" short:"o" help:"How to print: ${enum}. json prints a list as an array, jsonl a document a line; text separates columns by tabs. auto is table on a terminal, else text." enum:"auto,text,table,json,jsonl,none" default:"auto"`
	Time    string `group:"everywhere" help:"How to print times: ${enum}. auto is relative in a table, and as the API has them in text. JSON has them as they are." enum:"auto,relative,iso,unix" default:"auto"`
	Color   string `group:"everywhere" help:"Whether to print colors: ${enum}. auto prints them on a terminal, unless NO_COLOR is set." enum:"auto,always,never" default:"auto"`

	Version    kong.VersionFlag  `group:"everywhere" help:"Print the version."`
	Completion completionFlag    `group:"everywhere" help:"Print what the shell reads to complete verbs, flags and states: bash, zsh or fish." enum:"bash,zsh,fish," default:"" placeholder:"SHELL"`
	Man        mangokong.ManFlag `hidden:"" help:"Print the manual page."`

	Doctor   doctorCommand   `cmd:"" group:"look" help:"Check whether a stack is well, or whether what a queue has stored is whole. Exits as monitoring plug-ins do: 0 ok, 1 warning, 2 critical, 3 unknown."`
	Why      whyCommand      `cmd:"" group:"look" help:"Print why a queue, or one of its consumers, does not move, and what to type."`
	Queue    queueCommand    `cmd:"" group:"look" help:"List queues; or print one: how far it is, its settings, what is missing, and its consumers."`
	Consumer consumerCommand `cmd:"" group:"look" help:"List consumers, or print those of a queue; create or remove one, or settle a claim in quarantine."`
	Inspect  inspectCommand  `cmd:"" group:"look" help:"Print a message, QUEUE@SEQ: when it came, what is in it, which consumers have it, their attempts, and what operators did about it."`
	Chain    chainCommand    `cmd:"" group:"look" help:"List chains that are open, failed or timed out; or print one, with the parts of a fan in it, as a tree."`
	Top      topCommand      `cmd:"" group:"look" help:"List the consumers that are farthest behind. It reads all: a read unit a queue."`
	UI       uiCommand       `cmd:"" name:"ui" group:"look" help:"Serve a live page of the stack on this machine, until it is interrupted."`
	Cheat    cheatCommand    `cmd:"" group:"look" help:"Print ten lines for an incident."`

	Put    putCommand    `cmd:"" group:"feed" help:"Put messages: a JSON document a line, from a file or standard input."`
	Tail   tailCommand   `cmd:"" group:"feed" help:"Print a queue's messages in order."`
	Replay replayCommand `cmd:"" group:"feed" help:"Put archived messages to another queue, to be delivered again, from the bucket of an archive and in the tables, of AWS_REGION, or of AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL_DYNAMODB."`

	Configure configureCommand `cmd:"" group:"steer" help:"Change a queue's settings, or make a queue with them; or restart the keys of a keyed queue."`
	Skip      skipCommand      `cmd:"" group:"steer" help:"Give up the message, QUEUE@SEQ, that a consumer fails at, or those that many fail at."`
	Redrive   redriveCommand   `cmd:"" group:"steer" help:"Let a blocked consumer, or many, try its message again."`
	Rewind    rewindCommand    `cmd:"" group:"steer" help:"Set a consumer, or many, to another place: back, or forward over a loss."`
	Pause     pauseCommand     `cmd:"" group:"steer" help:"Deliver nothing to a consumer, or to many, until they are resumed."`
	Resume    resumeCommand    `cmd:"" group:"steer" help:"Let a paused consumer, or many, go on."`
	Endpoint  endpointCommand  `cmd:"" group:"steer" help:"List where the webhooks of queues, or of prefixes, go to; put, pause, resume or remove one."`
	Erase     eraseCommand     `cmd:"" group:"steer" help:"Erase a queue, or all queues of a tenant: they take nothing any more, and all that is stored of them is deleted. A dry run unless --yes is given."`

	Local    localCommand   `cmd:"" group:"here" help:"Run the stack on this machine, until it is interrupted."`
	Init     initCommand    `cmd:"" group:"here" help:"Write a project with a consumer of your own, that local runs."`
	Logs     logsCommand    `cmd:"" group:"here" help:"Print what a function of the stack on this machine logs."`
	Contexts contextCommand `cmd:"" name:"context" group:"here" help:"Names for stacks: add, use, list or remove one."`
}

type session struct {
	ctx         context.Context
	in          io.Reader
	asks        bool // whether somebody at a terminal can be asked
	out, errOut io.Writer
	place              // the stack that is meant
	given       place  // what the flags say, without a context
	token       string // of --token
	format      string // of --output, never auto
	clock       clock  // how times are shown
	color       bool
	terminal    bool          // whether somebody watches errOut
	grace       time.Duration // for calls under way after an interrupt
}

// access is how the API is asked: where a region is given, requests are signed. That of a context
// is that of its tables too.
func (s *session) access() client.Access {
	if s.token != "" {
		return client.Access{URL: s.URL, Token: func(context.Context) (string, error) {
			return s.token, nil
		}}
	}
	return client.Access{URL: s.URL, Sign: s.Sign || s.given.Region != "", Region: s.Region}
}

// count is how many there are, in words: of one, or of several.
func count[N int | int64](n N, one, several string) string {
	if n == 1 {
		several = one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// isTerminal reports whether what is written is shown to somebody, or what is read is typed by
// somebody.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

func run(ctx context.Context, arguments []string, in io.Reader, out, errOut io.Writer) int {
	var c commands
	done := -1
	parser := kong.Must(&c, kong.Name("streamsort"), kong.Writers(out, errOut), kong.UsageOnError(),
		kong.Description("Messages in, in any order; messages out, in order.\n\n"+exitHelp), groups,
		wholeNumbers, withExamples,
		kong.Vars{"version": fmt.Sprintf("streamsort %s %s/%s", versionOf(build()), runtime.GOOS,
			runtime.GOARCH)}, kong.Exit(func(code int) { done = code }))
	kongcompletion.Register(parser)
	if done >= 0 {
		return done // a shell asked how to go on
	}
	if len(arguments) == 0 {
		arguments = []string{"--help"}
	}
	line, err := parser.Parse(arguments)
	if done >= 0 {
		return done // help or the version was asked for
	}
	if err != nil {
		fmt.Fprintf(errOut, "streamsort: %v%s; see `%s --help`\n", err, meant(err), verbOf(err))
		return exitUsage
	}
	s, err := c.session(ctx, line, in, out, errOut)
	if err == nil {
		err = emptyFlag(line)
	}
	if err == nil {
		err = s.watched(watchOf(line), func(s *session) error { return line.Run(s) })
	}
	if found := (unwell{}); errors.As(err, &found) {
		return int(found.diagnosis)
	}
	code := exitOf(err)
	switch code {
	case exitUsage:
		fmt.Fprintf(errOut, "streamsort: %v; see `%s --help`\n", err, line.Selected().FullPath())
	case exitRefused, exitUnreachable:
		fmt.Fprintln(errOut, "streamsort:", printable.Lines(err.Error()))
		what := cmp.Or(advice(err, s.URL), s.otherName(err, line))
		if what != "" {
			fmt.Fprintln(errOut, "streamsort:", what)
		}
	}
	return code
}

// emptyFlag is the first flag that was given without a text, such as a variable of the shell that
// is not set: what it would select or say is not what was meant. The tag "empty" is of one whose
// empty text means something.
func emptyFlag(line *kong.Context) error {
	for _, given := range line.Path {
		if given.Flag != nil && given.Flag.Target.Kind() == reflect.String &&
			given.Flag.Target.Len() == 0 && !given.Flag.Tag.Has("empty") {
			return usage("--%s is empty: it must have a text, or be left out", given.Flag.Name)
		}
	}
	return nil
}

func (c *commands) session(ctx context.Context, line *kong.Context, in io.Reader,
	out, errOut io.Writer) (*session, error) {
	s := &session{
		ctx: ctx, in: in, out: out, errOut: errOut, token: c.Token,
		given:  place{URL: c.URL, Region: c.Region, Sign: c.Sign},
		format: formatOf(c.Output, isTerminal(out)), color: colored(c.Color, isTerminal(out)),
		terminal: isTerminal(errOut), asks: isTerminal(errOut) && isTerminal(in), grace: 5 * time.Second,
	}
	s.clock = clock{style: c.Time, table: s.format == asTable}
	if s.color {
		text.EnableColors() // also where --color says so and the environment does not
	}
	verb, _, _ := strings.Cut(line.Command(), " ")
	// they work on no stack that is there
	if slices.Contains([]string{"context", "local", "init"}, verb) {
		s.place = s.given
		return s, nil
	}
	var err error
	if s.place, err = c.place(s.given); err == nil && s.token != "" && s.Sign {
		err = usageError("--sign and --token are both given: a request is signed, or has a token")
	}
	return s, err
}

// verbOf is what was typed up to the verb, as far as it was understood, of a line that is wrong.
func verbOf(err error) string {
	if wrong, is := errors.AsType[*kong.ParseError](err); is && wrong.Context.Selected() != nil {
		return wrong.Context.Selected().FullPath()
	}
	return "streamsort"
}

// get makes a GET request and returns the answer, which is also read into out.
func (s *session) get(path string, query url.Values, out any) (json.RawMessage, error) {
	return s.call(http.MethodGet, path, query, nil, out)
}

// call makes a request with a document; nil for none.
func (s *session) call(method, path string, query url.Values,
	document, out any) (raw json.RawMessage, err error) {
	c, err := client.Open(s.access())
	var body []byte
	if document != nil && err == nil {
		body, err = json.Marshal(document)
	}
	if err == nil {
		err = c.Call(s.ctx, method, path, query, body, &raw)
	}
	if err != nil {
		return nil, err
	}
	return raw, json.Unmarshal(raw, out)
}
