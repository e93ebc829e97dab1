package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"github.com/streamsort/streamsort/internal/client"
)

// commands are the verbs and their flags.
type commands struct {
	URL    string `help:"Where the API is." default:"http://127.0.0.1:3000" env:"STREAMSORT_URL"`
	Token  string `help:"A token (JWT) for the tenants' API, in place of a signature." env:"STREAMSORT_TOKEN"`
	Sign   bool   `help:"Sign requests for IAM, also where the address is no name of API Gateway's own: a custom domain." env:"STREAMSORT_SIGN"`
	Region string `help:"The region of the API and of the tables, where neither the address nor AWS's configuration says it."`
	Output string `short:"o" help:"How to print: text or json." enum:"text,json" default:"text"`

	Version kong.VersionFlag `help:"Print the version."`

	Local  localCommand  `cmd:"" help:"Run the stack on this machine, until it is interrupted."`
	Put    putCommand    `cmd:"" help:"Put messages: a JSON document a line, from a file or standard input."`
	Tail   tailCommand   `cmd:"" help:"Print a queue's messages in order."`
	Status statusCommand `cmd:"" help:"Print how far a queue is."`
	Queues queuesCommand `cmd:"" help:"Print which queues there are, or which are in a state."`
	Gaps   gapsCommand   `cmd:"" help:"Print the missing seqs of a queue."`

	Configure configureCommand `cmd:"" help:"Change a queue's settings, or make a queue with them."`

	Summary   summaryCommand   `cmd:"" help:"Print how many queues, consumers and chains are in each state."`
	Consumers consumersCommand `cmd:"" help:"Print how far a queue's consumers are, or those of all queues, or which are in a state."`
	Chains    chainsCommand    `cmd:"" help:"Print which chains are open, failed or timed out."`
	Create    createCommand    `cmd:"" help:"Make a consumer of a queue."`
	Skip      skipCommand      `cmd:"" help:"Give up the message that blocks a consumer, or with --all those that block many."`
	Redrive   redriveCommand   `cmd:"" help:"Let a blocked consumer, or with --all many, try its message again."`
	Rewind    rewindCommand    `cmd:"" help:"Set a consumer, or with --all many, to another place: back, or forward over a loss."`
	Pause     pauseCommand     `cmd:"" help:"Keep a consumer, or with --all many, from being handed anything."`
	Resume    resumeCommand    `cmd:"" help:"Let a paused consumer, or with --all many, go on."`
	Acts      actsCommand      `cmd:"" help:"Print the batches of --all, or how far one is; start or stop it."`
	Settle    settleCommand    `cmd:"" help:"Say how a claim in quarantine ended, where its database is gone."`
	Release   releaseCommand   `cmd:"" help:"Give up the messages of an aborted claim in quarantine."`
	Remove    removeCommand    `cmd:"" help:"Delete a consumer of a queue."`
	Erase     eraseCommand     `cmd:"" help:"Erase a queue, or all queues of a tenant: they take nothing any more, and all that is stored of them is deleted."`
	Replay    replayCommand    `cmd:"" help:"Put archived messages to another queue, to be delivered again, in the tables of AWS_ENDPOINT_URL_DYNAMODB or of AWS_REGION."`
	Audit     auditCommand     `cmd:"" help:"Print the audit log: what operators did to a queue's consumers, the latest first."`
}

// session is what every verb works with.
type session struct {
	ctx         context.Context
	in          io.Reader
	asks        bool // whether somebody at a terminal can be asked
	out, errOut io.Writer
	url, token  string
	sign        bool
	region      string
	json        bool
	terminal    bool          // whether somebody watches errOut
	grace       time.Duration // for calls under way after an interrupt
}

func (s *session) client() (*client.Client, error) {
	switch {
	case s.token != "" && s.sign:
		return nil, usageError("--sign and --token are both given: a request is signed, or has a token")
	case s.token != "":
		return client.NewWithToken(s.url, func(context.Context) (string, error) { return s.token, nil })
	case s.sign || s.region != "":
		return client.NewSigned(s.url, s.region)
	}
	return client.New(s.url)
}

// print prints a document as JSON, or as text.
func (s *session) print(document json.RawMessage, text string, arguments ...any) error {
	if s.json {
		_, err := fmt.Fprintf(s.out, "%s\n", document)
		return err
	}
	_, err := io.WriteString(s.out, printableLines(fmt.Sprintf(text, arguments...)))
	return err
}

// count is how many there are, in words: of one, or of several.
func count[N int | int64](n N, one, several string) string {
	if n == 1 {
		several = one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// usageError is a line that is wrong, which the parser could not know.
type usageError string

func (e usageError) Error() string { return string(e) }

// isTerminal reports whether what is written is shown to somebody, or what is read is typed by somebody.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// run runs one command line and returns the exit code: 2 where the line is
// wrong, 1 where the verb failed.
func run(ctx context.Context, arguments []string, in io.Reader, out, errOut io.Writer) int {
	var c commands
	done := -1
	parser, err := kong.New(&c, kong.Name("streamsort"), kong.Writers(out, errOut), kong.UsageOnError(),
		kong.Description("Messages in, in any order; messages out, in order."),
		kong.Vars{"version": versionLine()}, kong.Exit(func(code int) { done = code }))
	if err != nil {
		fmt.Fprintln(errOut, "streamsort:", err)
		return 1
	}
	line, err := parser.Parse(arguments)
	if done >= 0 {
		return done // help or the version was asked for
	}
	if err != nil {
		fmt.Fprintf(errOut, "streamsort: %v; see `%s --help`\n", err, verbOf(err))
		return 2
	}
	s := &session{
		ctx: ctx, in: in, out: out, errOut: errOut, url: c.URL, token: c.Token, sign: c.Sign, region: c.Region, json: c.Output == "json",
		terminal: isTerminal(errOut), asks: isTerminal(errOut) && isTerminal(in), grace: grace,
	}
	err = line.Run(s)
	var usage usageError
	switch {
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "streamsort: %v; see `%s --help`\n", usage, line.Selected().FullPath())
		return 2
	case err != nil && !errors.Is(err, context.Canceled):
		fmt.Fprintln(errOut, "streamsort:", err)
		if what := advice(err, s.url); what != "" {
			fmt.Fprintln(errOut, "streamsort:", what)
		}
		return 1
	}
	return 0
}

// verbOf is what was typed up to the verb, as far as it was understood, of a line
// that is wrong.
func verbOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context.Selected() != nil {
		return wrong.Context.Selected().FullPath()
	}
	return "streamsort"
}

// get makes a GET request and returns the answer, which is also read into out.
func (s *session) get(path string, query url.Values, out any) (json.RawMessage, error) {
	return s.call(http.MethodGet, path, query, nil, out)
}

// delete asks for something to be deleted, and reads the answer.
func (s *session) delete(path string, query url.Values, out any) (json.RawMessage, error) {
	return s.call(http.MethodDelete, path, query, nil, out)
}

func (s *session) call(method, path string, query url.Values, body []byte, out any) (json.RawMessage, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := c.Call(s.ctx, method, path, query, body, &raw); err != nil {
		return nil, err
	}
	return raw, json.Unmarshal(raw, out)
}
