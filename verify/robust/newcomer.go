package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/cdkcli"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/modproxy"
	"github.com/streamsort/streamsort/internal/dev/sources"
)

// newcomer is a new user: an empty folder, an own home, and an environment in which the go command
// takes this repository's modules from the release.
type newcomer struct {
	*world
	dir     string
	environ []string
	release *modproxy.Proxy

	local *exec.Cmd // the local stack that runs
	url   string    // of its API
}

// install does what a new user does, from an empty folder with Go, Node and a release of this
// repository as a module proxy. With COLD=1 the go command's caches are empty at first, as on a new
// machine.
func install(ctx context.Context, w *world) {
	dir := check.Get(os.MkdirTemp("", "newcomer-")) // no folder of the project's
	w.Later(func() { _ = os.RemoveAll(dir) })
	n := &newcomer{world: w, dir: dir}
	n.release = check.Get(modproxy.Write(filepath.Join(dir, "proxy"), w.Root))
	w.Later(func() { _ = n.release.Forget() })
	environ := check.Get(n.release.Environ())
	// The folder of caches is the user's own; the go command keeps its own ones, but where COLD is
	// set.
	cache := check.Get(execute(ctx, w.Root, nil, "go", "env", "GOCACHE"))
	if w.number("COLD") == 1 {
		environ, cache = append(environ, "GOMODCACHE="+filepath.Join(dir, "modules")),
			filepath.Join(dir, "builds")
	}
	n.environ = append(os.Environ(), append(environ,
		"GOCACHE="+cache, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
		"GOBIN="+filepath.Join(dir, "bin"))...)
	w.Later(n.stop)
	w.stages(ctx, []stage{
		{"a program on the library", n.program("library", "put 1: out are 1 to 3", "")},
		{"one with traces", n.program("traced", "charged 1 time", "/pkg/dedup/dedupotel")},
		{"the tutorial", n.tutorial},
		{"the version", n.version},
		{"a function in Python", func(ctx context.Context) { n.own(ctx, "python", n.environ) }},
		{"a function in Go", func(ctx context.Context) { n.own(ctx, "go", n.environ) }},
		{"a function in Node, by a release's zips and without Go", n.node},
		{"an app of the CDK, synthesised", n.synth},
		{"the app on the local stack", n.app},
		{"messages out of order", n.put},
		{"the queue in order", n.tail},
		{"the consumer in Go", n.booked},
	})
}

// command runs a program of the user's in a folder, and returns what it printed.
func (n *newcomer) command(ctx context.Context, folder, name string,
	arguments ...string) (string, error) {
	return execute(ctx, folder, n.environ, name, arguments...)
}

// all runs programs of the user's in a folder, one after the other.
func (n *newcomer) all(ctx context.Context, folder string, commands ...[]string) {
	for _, c := range commands {
		check.Get(n.command(ctx, folder, c[0], c[1:]...))
	}
}

// streamsort runs the command line that was installed, in the user's folder.
func (n *newcomer) streamsort(ctx context.Context, arguments ...string) string {
	return check.Get(n.command(ctx, n.dir, filepath.Join(n.dir, "bin", "streamsort"), arguments...))
}

// program makes a program of the user's in a module of its own, which requires the release of one
// of this repository's, by its folder, and runs it. Its last line has to be last.
func (n *newcomer) program(name, last, requires string) func(context.Context) {
	return func(ctx context.Context) {
		folder := filepath.Join(n.dir, name)
		from := filepath.Join(n.Root, "verify", "robust", "testdata", name)
		check.Must(os.CopyFS(folder, os.DirFS(from)))
		n.all(ctx, folder,
			[]string{"go", "mod", "init", "example.com/" + name},
			[]string{"go", "get", modproxy.Root + requires + "@" + n.release.Version},
			[]string{"go", "mod", "tidy"},
		)
		if said := check.Get(n.command(ctx, folder, "go", "run", ".")); !strings.HasSuffix(said, last) {
			check.Must(fmt.Errorf("it printed %q; want %q at the end", said, last))
		}
	}
}

// version has the command line say the release's version.
func (n *newcomer) version(ctx context.Context) {
	if said := n.streamsort(ctx, "--version"); !strings.Contains(said, n.release.Version) {
		check.Must(fmt.Errorf("--version says %q; want %s", said, n.release.Version))
	}
}

// synth has the CDK's command write the template of examples/shop, which has a consumer in Go.
func (n *newcomer) synth(ctx context.Context) {
	shop, app := filepath.Join(n.Root, "examples", "shop"), filepath.Join(n.dir, "app")
	check.Must(os.CopyFS(filepath.Join(app, "consumer"), os.DirFS(filepath.Join(shop, "consumer"))))
	text := check.Get(os.ReadFile(filepath.Join(shop, "main.go")))
	check.Must(os.WriteFile(filepath.Join(app, "main.go"), text, 0o600))
	cdk := "aws-cdk@" + check.Get(cdkcli.Pinned(n.Root))
	tools := []string{"go", "get", "-tool"} // as the doc comment of streamsort.Build says
	mains := check.Get(filepath.Glob(filepath.Join(n.Root, "functions", "*", "main.go")))
	for _, main := range mains {
		tools = append(tools, modproxy.Root+"/functions/"+filepath.Base(filepath.Dir(main))+"@"+
			n.release.Version)
	}
	n.all(ctx, app,
		[]string{"go", "mod", "init", "example.com/app"},
		tools,
		[]string{"go", "get", modproxy.Root + "/infra/cdk@" + n.release.Version},
		[]string{"go", "mod", "tidy"},
		[]string{"npm", "install", "--no-audit", "--no-fund", "--prefer-offline",
			"--loglevel=error", cdk},
		[]string{filepath.Join("node_modules", ".bin", "cdk"), "synth", "--quiet", "--app", "go run .",
			"-c", "architecture=" + runtime.GOARCH},
	)
	n.Print("a template of %d KB", check.Get(os.Stat(n.template())).Size()/1000)
}

// template is where the CDK's command writes that of the app.
func (n *newcomer) template() string {
	return filepath.Join(n.dir, "app", "cdk.out", "Shop.template.json")
}

// node has a function in Node, and no Go toolchain: the stack's functions are a release's zips.
func (n *newcomer) node(ctx context.Context) {
	folder := n.zipFunctions()
	tools := filepath.Join(n.dir, "tools") // all that there is on the PATH
	check.Must(os.Mkdir(tools, 0o755))
	for _, tool := range []string{"node", "npm", "java"} {
		path, err := exec.LookPath(tool)
		if errors.Is(err, exec.ErrNotFound) {
			continue // java, where the server does not need it
		}
		check.Must(err)
		check.Must(os.Symlink(path, filepath.Join(tools, tool)))
	}
	n.own(ctx, "node", append(n.environ, "PATH="+tools), "--zips", folder)
}

// own has the command line write a project, does what it says is next, starts the project's stack,
// puts its two messages, the second first, and waits until its function has them.
func (n *newcomer) own(ctx context.Context, language string, environ []string, more ...string) {
	said := n.streamsort(ctx, "init", language, language)
	_, after, found := strings.Cut(said, "streamsort local --watch --consumer ")
	consumer, _, _ := strings.Cut(after, "\n")
	if !found {
		check.Must(fmt.Errorf("init says %q", said))
	}
	folder := filepath.Join(n.dir, language)
	check.Get(n.command(ctx, folder, "sh", "-c", lastLine(said)))
	defer n.stop()
	more = append(more, "--ui=", "--watch", "--consumer", consumer)
	check.Must(n.start(ctx, environ, folder, more...))
	n.streamsort(ctx, "put", filepath.Join(language, "messages.ndjson"), "--url", n.url)
	var lines []string
	check.Must(n.wait(2, "messages are in the function").Until(ctx,
		func(ctx context.Context) (int, string, error) {
			lines = n.log(ctx, "orders")
			return len(lines), "", nil
		}))
	if want := []string{"orders 1: 1200 cents", "orders 2: 250 cents"}; !slices.Equal(lines, want) {
		check.Must(fmt.Errorf("it logs %q, want %q", lines, want))
	}
}

// zipFunctions puts the functions that the stack has built into zips as a release names them.
func (n *newcomer) zipFunctions() string {
	built := filepath.Join(n.dir, "cache", "streamsort", "build", n.release.Version, runtime.GOARCH,
		filepath.FromSlash(modproxy.Root), "functions", "_", "[a-z]*")
	programs, err := filepath.Glob(built)
	if err != nil || len(programs) == 0 {
		check.Must(fmt.Errorf("no functions at %s: %w", built, err))
	}
	folder := filepath.Join(n.dir, "zips")
	check.Must(os.Mkdir(folder, 0o755))
	for _, program := range programs {
		if info, err := os.Stat(program); err != nil || info.IsDir() {
			continue // a program with files beside it
		}
		name := fmt.Sprintf("%s_%s_%s.zip", filepath.Base(program),
			strings.TrimPrefix(n.release.Version, "v"), processor())
		check.Must(sources.Zip(program, filepath.Join(folder, name)))
	}
	return folder
}

// newcomerQueue is the queue into which the new user puts so many messages, the last one first.
const newcomerQueue, newcomerMessages = "customer/1", 20

// app starts the app on the local stack.
func (n *newcomer) app(ctx context.Context) {
	check.Must(n.start(ctx, n.environ, n.dir, "--template", n.template()))
}

// start starts a local stack, and waits until it runs.
func (n *newcomer) start(ctx context.Context, environ []string, folder string,
	more ...string) error {
	n.local = exec.CommandContext(ctx, filepath.Join(n.dir, "bin", "streamsort"),
		append([]string{"local", "--port", "0"}, more...)...)
	n.local.Dir, n.local.Env = folder, environ
	n.local.Cancel = func() error { return n.local.Process.Signal(os.Interrupt) }
	var errs strings.Builder
	n.local.Stderr = &errs
	out, err := n.local.StdoutPipe()
	if err != nil {
		return err
	}
	if err := n.local.Start(); err != nil {
		n.local = nil
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		address, after, runs := strings.Cut(lines.Text(), " runs after ")
		if runs {
			n.url = address
			go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the stack
			seconds, _, _ := strings.Cut(after, ";")
			n.Print("runs after %s", seconds)
			return nil
		}
	}
	return fmt.Errorf("it does not run: %s", &errs)
}

// stop stops the local stack that runs.
func (n *newcomer) stop() {
	if n.local != nil {
		_ = n.local.Process.Signal(os.Interrupt)
		_ = n.local.Wait() // it was interrupted, and says so
		n.local = nil
	}
}

// put writes a file of messages, the last one first, and has the command line put it.
func (n *newcomer) put(ctx context.Context) {
	var lines strings.Builder
	for seq := newcomerMessages; seq > 0; seq-- {
		fmt.Fprintf(&lines, `{"queue":%q,"seq":%d,"body":{"cents":%d}}`+"\n", newcomerQueue, seq, seq)
	}
	check.Must(os.WriteFile(filepath.Join(n.dir, "orders.ndjson"), []byte(lines.String()), 0o600))
	n.streamsort(ctx, "put", "orders.ndjson", "--url", n.url)
}

// tail has the command line print the queue.
func (n *newcomer) tail(ctx context.Context) {
	said := n.streamsort(ctx, "tail", newcomerQueue, "--url", n.url, "-o", "json")
	eachOnce(seqsIn(said, `(?m)^\{.*"seq":(\d+)[,}]`))
}

// booked waits until the function in Go has all messages, as its log says.
func (n *newcomer) booked(ctx context.Context) {
	var seqs []string
	check.Must(n.wait(newcomerMessages, "messages are booked").Until(ctx,
		func(ctx context.Context) (int, string, error) {
			seqs = seqsIn(strings.Join(n.log(ctx, "books"), "\n"), `booked.* seq=(\d+)`)
			return len(seqs), "", nil
		}))
	eachOnce(seqs)
}

// seqsIn are the seqs that a pattern finds in what was printed.
func seqsIn(said, pattern string) (seqs []string) {
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(said, -1) {
		seqs = append(seqs, found[1])
	}
	return seqs
}

// log returns the lines that a function has logged.
func (n *newcomer) log(ctx context.Context, function string) []string {
	said := n.streamsort(ctx, "logs", function, "--url", n.url)
	return strings.FieldsFunc(said, func(r rune) bool { return r == '\n' })
}

// eachOnce ends the scenario where these are not all messages in their order, each once.
func eachOnce(seqs []string) {
	var want []string
	for seq := range newcomerMessages {
		want = append(want, strconv.Itoa(seq+1))
	}
	if !slices.Equal(seqs, want) {
		check.Must(fmt.Errorf("seqs %v; want 1 to %d, each once", seqs, newcomerMessages))
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
