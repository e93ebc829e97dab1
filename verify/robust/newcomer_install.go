package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/cdkcli"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/modproxy"
)

// library builds and runs a program on pkg/cursor.
func (n *newcomer) library(ctx context.Context) {
	n.program(ctx, "library", "put 1: out are 1 to 3", modproxy.Root)
}

// traced builds and runs a program on pkg/dedup/dedupotel, a module of its own.
func (n *newcomer) traced(ctx context.Context) {
	n.program(ctx, "traced", "charged 1 time", modproxy.Root+"/pkg/dedup/dedupotel")
}

// program makes a program of the user's in a module of its own, which requires the release of one
// of this repository's, and runs it. Its last line has to be last.
func (n *newcomer) program(ctx context.Context, name, last, requires string) {
	folder := filepath.Join(n.dir, name)
	from := filepath.Join(n.Root, "verify", "robust", "testdata", name)
	check.Must(os.CopyFS(folder, os.DirFS(from)))
	n.all(ctx, folder,
		[]string{"go", "mod", "init", "example.com/" + name},
		[]string{"go", "get", requires + "@" + n.release.Version},
		[]string{"go", "mod", "tidy"},
	)
	if said := check.Get(n.command(ctx, folder, "go", "run", ".")); !strings.HasSuffix(said, last) {
		check.Must(fmt.Errorf("it printed %q; want %q at the end", said, last))
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
