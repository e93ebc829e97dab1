package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// tutorialAddress is where the page has the stack; here it has a port of its own.
const tutorialAddress = "http://127.0.0.1:3000"

// pageBlock is a block of the page: what it is, a file's name or nothing, and its text.
var pageBlock = regexp.MustCompile("(?ms)^```(sh|text|python)(?: ([\\w.]+))?\n(.*?)^```$")

// pageReads is a command that may be typed again until it prints what the page shows.
var pageReads = regexp.MustCompile(`^streamsort (logs|why|consumer|queue|tail) `)

// tutorial does what docs/start.md has its reader do, block by block: what to type, what to write
// into a file, and what is printed then, of which each line has to be in the output, in this order.
func (n *newcomer) tutorial(ctx context.Context) {
	page := check.Get(os.ReadFile(filepath.Join(n.Root, "docs", "start.md")))
	defer n.stop()
	var err error
	begun, folder, script, printed := time.Now(), n.dir, "", ""
	first := time.Duration(0)
	blocks := pageBlock.FindAllStringSubmatch(string(page), -1)
	for _, b := range blocks {
		kind, file, text := b[1], b[2], b[3]
		switch {
		case file != "":
			err = os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600)
		case strings.HasPrefix(text, "streamsort local "):
			err = n.start(ctx, n.environ, folder, append(strings.Fields(text)[2:], "--ui=")...)
		case kind == "sh":
			script = strings.ReplaceAll(text, tutorialAddress, n.url)
			printed, folder, err = n.shell(ctx, folder, script)
		case kind == "text":
			if err = n.shows(ctx, folder, script, printed, text); err == nil && first == 0 &&
				strings.HasPrefix(script, "streamsort logs ") {
				first = time.Since(begun)
			}
		}
		if err != nil {
			check.Must(fmt.Errorf("docs/start.md, %q: %w", text, err))
		}
	}
	if first == 0 || len(blocks) < 15 {
		check.Must(fmt.Errorf("docs/start.md has %d blocks, and its function no message", len(blocks)))
	}
	n.Print("%d blocks; %.1f s from `go install` to the first message in a function of one's own", len(blocks), first.Seconds())
}

// shell types lines into a shell, which prints something, and is in a folder then.
func (n *newcomer) shell(ctx context.Context,
	folder, script string) (printed, then string, err error) {
	path := "PATH=" + filepath.Join(n.dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	printed, err = n.command(ctx, folder, "env", path, "bash", "-e", "-c", script+"\necho; pwd")
	if err != nil {
		return "", folder, err
	}
	return printed, lastLine(printed), nil
}

// shows returns an error unless a script has printed these lines. One that only reads is typed
// again until then.
func (n *newcomer) shows(ctx context.Context, folder, script, printed, lines string) error {
	want := strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
	if !pageReads.MatchString(script) {
		if found := inThisOrder(printed, want); found < len(want) {
			return fmt.Errorf("it printed %s", printed)
		}
		return nil
	}
	return n.wait(len(want), "lines of the page are printed").Until(ctx,
		func(ctx context.Context) (int, string, error) {
			said, _, err := n.shell(ctx, folder, script)
			found := inThisOrder(said, want)
			switch {
			case found == len(want):
				return found, "", nil
			case err != nil:
				said = err.Error() // such as: the queue is not there yet
			}
			return found, said, ctx.Err()
		})
}

// inThisOrder counts the texts that are in another one, each behind the one before.
func inThisOrder(text string, want []string) (found int) {
	for _, w := range want {
		_, after, ok := strings.Cut(text, w)
		if !ok {
			break
		}
		text = after
		found++
	}
	return found
}
