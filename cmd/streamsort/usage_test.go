package main

import (
	"flag"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/pages"
)

// TestUsage: a line that is wrong is exit code 2, with the verb whose help says more, and a flag
// that would be ignored makes it wrong.
func TestUsage(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{"nonsense", "unexpected argument nonsense; see `streamsort --help`"},
		{"put --nope", "unknown flag --nope; see `streamsort put --help`"},
		{"put --batch 0", "--batch is 0"},
		{"put --concurrency 65", "--concurrency is 65"},
		{`put --order arrival --events {"queue":"a","id":"b"}`, "--order arrival is for messages"},
		{`put --events {"queue":"a"}`, "--events: seq is missing"},
		{"put --order key --first 0", "--first is for messages with a seq"},
		{`put --first 0 --events {"queue":"a","seq":"b"}`, "--first is for messages with a seq"},
		{"status", "unexpected argument status, did you mean `streamsort queue QUEUE`?"},
		{"summary", "did you mean `streamsort doctor`?"},
		{"queues", `did you mean "queue"?`},
		{"--completion csh", "--completion must be one of"},
		{"tail", `"<queue>"`},
		{"tail q --from 1 --consumer c", "--from and --consumer each say where to begin"},
		{"erase", "either a queue or --tenant"},
		{"erase q --yes", "--reason is missing"},
		{"erase q --id x", "--id names an operation"},
		{"configure q policy", "must be a setting"},
		{"configure q", "a setting is missing"},
		{"configure q --reason r", "--reason and --id are for --restart-keys"},
		{"configure q --restart-keys", "--reason is missing"},
		{"configure q policy=skip --restart-keys --reason r", "leave out the settings"},
		{"replay q again --from x --to 2 --bucket b", `--from: seq is "x": it must be an integer`},
		{"replay q again --to 2 --bucket b", "--from and --to are needed"},
		{"doctor --from 2", "--from and --to are for one queue"},
		{"doctor --table Message=x", "--table is Message=x: the name must be one of Messages, "},
		{"queue --audit", "--audit is for one queue"},
		{"queue q --consumer c", "--consumer is for --audit"},
		{"queue q --state gap", "--state and --prefix are for a list"},
		{"queue q --limit 0", "--limit is 0: it must be from 1 to 1000"},
		{"consumer q --state blocked", "are for a list: without a queue"},
		{"chain t --state open", "are for a list: without a tag"},
		{"chain --edge x", "--id and --edge are for one chain"},
		{"redrive --state paused --reason r", `--state is "paused": it must be one of blocked, retrying, held with redrive`},
		{"pause --reason r", "--consumer is missing"},
		{"rewind --consumer c --reason r", "missing flags: --start=PLACE"},
		{"rewind --consumer c --start nowhere --reason r", `--start is "nowhere"`},
		{"redrive --rate 0 --reason r", "--rate is 0: it must be from 1 to 1000"},
		{"redrive --run x --reason r", `--run is "x"`},
		{"redrive --id x --reason r", "--id is for one consumer"},
		{"redrive q --reason r", "a consumer is missing"},
		{"skip q@1 c --run x --reason r", "are for many consumers: without a queue"},
		{"skip q c --reason r", `"q" must be QUEUE@SEQ`},
		{"--sign --token a.b.c queue q", "--sign and --token are both given"},
		{"--url foo queue q", `--url (STREAMSORT_URL) is "foo": it must be like http`},
		{"local --prefix shop/", "--prefix: there is no --consumer to read the queues"},
		{"local --consumer a=http://x/ --prefix b=shop/", "--prefix: there is no --consumer b"},
		{"local --consumer a=http://x/ --prefix a=shop/ --prefix a=bank/", "--prefix: a=bank/ is a second one, and a consumer has one: give a shorter one, or another --consumer"},
		{"local --port 99999", "--port must be from 0 to 65535"},
	} {
		_, said, code := prints(t, strings.Fields(c.line)...)
		check.That(t, code == 2 && strings.HasPrefix(said, "streamsort: ") &&
			strings.Contains(said, c.says) && strings.Contains(said, "; see `streamsort"),
			"%s: exit code %d, %s", c.line, code, said)
	}
}

// TestHelpNamesTheValues: the help of a flag that may be empty names each other value, and not the
// empty one.
func TestHelpNamesTheValues(t *testing.T) {
	for _, verb := range parsing(t).Model.Leaves(true) {
		for _, f := range verb.Flags {
			values, ok := strings.CutPrefix(f.Enum, ",")
			check.That(t, !ok || !strings.Contains(f.Help, ": ,") &&
				strings.Contains(f.Help, strings.ReplaceAll(values, ",", ", ")),
				"%s --%s: %q does not name %q", verb.Path(), f.Name, f.Help, values)
		}
	}
}

func TestVersion(t *testing.T) {
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	commit := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}}
	for _, c := range []struct {
		released string
		built    *debug.BuildInfo
		want     string
	}{
		{"1.2.3", commit, "1.2.3"},
		{"1.2.3", nil, "1.2.3"},
		{"", installed, "v1.2.3"},
		{"", commit, "devel abc"},
		{"", &debug.BuildInfo{}, "devel"},
		{"", nil, "unknown"},
	} {
		check.Is(t, versionOf(c.released, c.built), c.want, c.released, c.built)
	}
}

// A version that a Go proxy has is that of a release, or of a commit that nothing was changed
// since.
func TestFetchable(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "v1.2.3",
		"v0.0.0-20261122-abc": "v0.0.0-20261122-abc", "v0.0.0-20261122-abc+dirty": "",
		"(devel)": "", "": ""} {
		check.Is(t, fetchable("", &debug.BuildInfo{Main: debug.Module{Version: version}}), want, version)
	}
	check.Is(t, fetchable("1.2.3", nil), "v1.2.3")
}

var updateReference = flag.Bool("update", false, "write the verbs into docs/reference/cli.md")

func parsing(t *testing.T, options ...kong.Option) *kong.Kong {
	t.Helper()
	parser := check.Get(kong.New(&commands{}, append(options, kong.Vars{"version": ""}, groups)...))
	return parser
}

// TestReference holds docs/reference/cli.md to the verbs that there are; --help has the flags.
func TestReference(t *testing.T) {
	var titles []string
	tables := map[string]string{}
	for _, verb := range parsing(t).Model.Leaves(true) {
		title := strings.TrimSuffix(verb.ClosestGroup().Title, ":")
		if tables[title] == "" {
			titles = append(titles, title)
			tables[title] = "\n### " + title + "\n\n| verb | |\n|---|---|\n"
		}
		typed, _, _ := strings.Cut(strings.TrimPrefix(verb.Summary(), "streamsort "), " [flags]")
		help, _, _ := strings.Cut(verb.Help, "\n")
		cells := strings.ReplaceAll("`"+typed+"` \x00 "+help, "|", "\\|")
		tables[title] += "| " + strings.ReplaceAll(cells, "\x00", "|") + " |\n"
	}
	text := ""
	for _, title := range titles {
		text += tables[title]
	}
	part := pages.Part{
		Path:   filepath.Join("..", "..", "docs", "reference", "cli.md"),
		Begins: "<!-- verbs: begin -->\n", Ends: "<!-- verbs: end -->\n",
	}
	const command = "go test ./cmd/streamsort -run TestReference -update"
	check.OK(t, part.Renew(text, command, *updateReference))
}

// TestEveryVerbHasExamples in its help, which are lines that are understood.
func TestEveryVerbHasExamples(t *testing.T) {
	verbs := 0
	for _, verb := range parsing(t).Model.Leaves(true) {
		verbs++
		out, _, _ := prints(t, append(strings.Fields(verb.FullPath())[1:], "--help")...)
		_, shown, ok := strings.Cut(out, "Examples:\n")
		if !ok {
			t.Errorf("%s has no examples", verb.FullPath())
			continue
		}
		shown, _, _ = strings.Cut(shown, "\nFlags:")
		shown, _, _ = strings.Cut(shown, "\nArguments:")
		for line := range strings.Lines(shown) {
			_, typed, isOne := strings.Cut(strings.TrimSpace(line), "streamsort ")
			if !isOne {
				continue
			}
			_, err := parsing(t).Parse(words(typed))
			check.That(t, err == nil || strings.Contains(err.Error(), "no such file"), "%s: %q: %v",
				verb.FullPath(), typed, err)
		}
	}
	check.That(t, verbs >= 20, "%d verbs", verbs)
}

// typedIn finds what a page has its reader type: in backticks, or in a block, a line of its own.
var typedIn = regexp.MustCompile("`streamsort ([^`\n]+)`|(?m)^(?:\\$ | {4,})?(?:go run \\./cmd/)?streamsort (.+)$")

// TestPagesTypeVerbs: each line of README and of docs/ that begins with streamsort is understood:
// its verb, its flags and how many arguments it has. A verb alone may be a mention.
func TestPagesTypeVerbs(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"),
		func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
	check.OK(t, err)
	lines := 0
	for _, page := range pages {
		text := check.Get(os.ReadFile(page))
		for _, found := range typedIn.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(found[1]+found[2], " #")
			for _, end := range []string{" | ", " && ", " …"} {
				line, _, _ = strings.Cut(line, end)
			}
			if lines++; !understood(t, words(line)) {
				t.Errorf("%s: streamsort %s", page, line)
			}
		}
	}
	check.That(t, lines >= 10, "only %d lines were found", lines)
}

// understood reports whether a line parses, but for what is missing in it.
func understood(t *testing.T, line []string) bool {
	t.Helper()
	for i := range line {
		line[i], _, _ = strings.Cut(line[i], "|") // one of several
	}
	_, err := parsing(t, kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard)).Parse(line)
	if err == nil || strings.Contains(err.Error(), "no such file") {
		return true
	}
	mention := strings.HasPrefix(err.Error(), "expected ") ||
		strings.HasPrefix(err.Error(), "missing flags") ||
		strings.Contains(err.Error(), "missing value") || strings.Contains(err.Error(), "EOL")
	if !mention {
		t.Log(err)
	}
	return mention
}

// words are those of a line for a shell, some in single quotes.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}
