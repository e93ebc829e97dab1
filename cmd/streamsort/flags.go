package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/streamsort/streamsort/internal/pause"
)

// The bounds of --every: a read costs something each time.
const shortestWatch, longestWatch = 100 * time.Millisecond, time.Hour

// readFlags are those of each verb that only reads.
type readFlags struct {
	Every time.Duration `watch:"" help:"Read again so often (2s), until it is interrupted."`
}

// watchOf is how often the line says that its verb is to read again; 0 where it does not.
func watchOf(line *kong.Context) time.Duration {
	for _, flag := range line.Selected().Flags {
		if every, ok := flag.Target.Interface().(time.Duration); ok && flag.Tag.Has("watch") {
			return every
		}
	}
	return 0
}

// watched runs a verb again and again, until it fails or is interrupted. A terminal shows the
// latest alone; what is no terminal gets one after the other.
func (s *session) watched(every time.Duration, verb func(*session) error) error {
	switch {
	case every == 0:
		return verb(s)
	case every < shortestWatch || every > longestWatch:
		return usage("--every is %v: it must be from %v to %v", every, shortestWatch, longestWatch)
	}
	for {
		var page bytes.Buffer
		once := *s
		once.out = &page
		err := verb(&once)
		if err != nil && !errors.As(err, new(unwell)) { // a look for how bad it is goes on
			return err
		}
		if isTerminal(s.out) && (s.format == asTable || s.format == asText) {
			const clearScreen = "\x1b[H\x1b[2J"
			fmt.Fprintf(s.out, "%severy %v, at %s; an interrupt ends it\n\n", clearScreen, every,
				time.Now().Format(time.TimeOnly))
		}
		if _, err := page.WriteTo(s.out); err != nil {
			return err
		}
		if s.over(every) {
			return nil
		}
	}
}

// over waits for so long, and reports whether there was an interrupt.
func (s *session) over(wait time.Duration) bool { return pause.For(s.ctx, wait) != nil }

var groups = kong.ExplicitGroups([]kong.Group{
	{Key: "look", Title: "Look:"},
	{Key: "feed", Title: "Put and read messages:"},
	{Key: "steer", Title: "Steer:"},
	{Key: "here", Title: "This machine:"},
	{Key: "many", Title: "Many consumers, instead of one:"},
	{Key: "everywhere", Title: "Everywhere:"},
})

// wholeNumbers has the parser read each flag that is an int. The parser takes -1 for a flag; here
// it is a number, which is refused with the numbers that may be given.
var wholeNumbers = kong.KindMapper(reflect.Int,
	kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		token := ctx.Scan.Peek()
		if token.IsEOL() {
			return errors.New("a whole number must follow")
		}
		n, err := strconv.Atoi(token.String())
		if err != nil {
			return fmt.Errorf("%q must be a whole number", token)
		}
		ctx.Scan.Pop()
		target.SetInt(int64(n))
		return nil
	}))

// orAll is how many a --limit allows, 0 for all; 100 where it was not given.
func orAll(limit *int) (int, error) {
	if limit == nil {
		return 100, nil
	}
	if *limit < 0 {
		return 0, usage("--limit is %d: it must be 0, for all, or more", *limit)
	}
	return *limit, nil
}

func bounded(flag string, n, least, most int) error {
	if n < least || n > most {
		return usage("%s is %d: it must be from %d to %d", flag, n, least, most)
	}
	return nil
}

// completionFlag prints what a shell reads to complete a line, and ends the program.
type completionFlag string

// completions are what the shells read: the program's path, and its name, are filled in.
var completions = map[string]string{
	"bash": "complete -o default -o bashdefault -C %[1]s %[2]s\n",
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\ncomplete -o default -o bashdefault -C %[1]s %[2]s\n",
	"fish": `function __complete_%[2]s
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    %[1]s
end
complete -f -c %[2]s -a "(__complete_%[2]s)"
`,
}

// BeforeReset implements the hook of the parser that comes before a verb is required.
func (completionFlag) BeforeReset(app *kong.Kong, line *kong.Context, at *kong.Path) error {
	shell := fmt.Sprint(line.FlagValue(at.Flag))
	code, ok := completions[shell]
	switch {
	case shell == "":
		return nil // not given
	case !ok:
		return usage("--completion must be one of bash, zsh and fish: it is %q", shell)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(app.Stdout, code, program, app.Model.Name); err != nil {
		return err
	}
	app.Exit(exitDone)
	return nil
}
