package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/modproxy"
)

// library builds and runs a program on pkg/cursor.
func library(ctx context.Context, n *newcomer) (string, error) {
	return n.program(ctx, "library", "put 1: out are 1 to 3", modproxy.Root)
}

// traced builds and runs a program on pkg/dedup/dedupotel, a module of its own.
func traced(ctx context.Context, n *newcomer) (string, error) {
	return n.program(ctx, "traced", "charged 1 time", modproxy.Root+"/pkg/dedup/dedupotel")
}

// program makes and runs a program of the user's, whose last line has to be last.
func (n *newcomer) program(ctx context.Context, name, last string, requires ...string) (string, error) {
	folder, err := n.module(ctx, name, requires...)
	if err != nil {
		return "", err
	}
	said, err := n.command(ctx, folder, "go", "run", ".")
	if err == nil && !strings.HasSuffix(said, last) {
		err = fmt.Errorf("it printed %q; want %q at the end", said, last)
	}
	return last, err
}

// install has `go install` build the command line, which says its version.
func install(ctx context.Context, n *newcomer) (string, error) {
	if _, err := n.command(ctx, n.dir, "go", "install", modproxy.Root+"/cmd/streamsort@"+n.release.Version); err != nil {
		return "", err
	}
	said, err := n.streamsort(ctx, "--version")
	if err == nil && !strings.Contains(said, n.release.Version) {
		err = fmt.Errorf("--version says %q; want %s", said, n.release.Version)
	}
	return said, err
}

// streamsort runs the command line that was installed, in the user's folder.
func (n *newcomer) streamsort(ctx context.Context, arguments ...string) (string, error) {
	return n.command(ctx, n.dir, filepath.Join(n.dir, "bin", "streamsort"), arguments...)
}

// synth takes the shop of the examples as an app of the user's own, which requires the release,
// and has the CDK's command write its template.
func synth(ctx context.Context, n *newcomer) (string, error) {
	folder := filepath.Join(n.dir, "shop")
	if err := n.copy(folder, "examples/shop", "go.mod", "go.sum", "go.work"); err != nil {
		return "", err
	}
	if err := n.copy(folder, "infra/cdk/package.json"); err != nil {
		return "", err
	}
	tools := []string{"go", "get", "-tool"} // as the doc comment of streamsort.Build says
	mains, err := filepath.Glob(filepath.Join(n.root, "functions", "*", "main.go"))
	if err != nil {
		return "", err
	}
	for _, main := range mains {
		tools = append(tools, modproxy.Root+"/functions/"+filepath.Base(filepath.Dir(main))+"@"+n.release.Version)
	}
	for _, c := range [][]string{
		{"go", "mod", "init", "example.com/shop"},
		tools,
		{"go", "get", modproxy.Root + "/infra/cdk@" + n.release.Version},
		{"go", "mod", "tidy"},
		{"npm", "install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"},
		{filepath.Join(folder, "node_modules", ".bin", "cdk"), "synth", "--quiet"},
	} {
		if _, err := n.command(ctx, folder, c[0], c[1:]...); err != nil {
			return "", err
		}
	}
	template, err := os.Stat(filepath.Join(folder, "cdk.out", "Shop.template.json"))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("a template of %d KB", template.Size()/1000), nil
}

// copy copies a file, or the files of a folder but for some, into a folder of the user's.
func (n *newcomer) copy(to, from string, but ...string) error {
	left := map[string]bool{}
	for _, name := range but {
		left[name] = true
	}
	at := filepath.Join(n.root, filepath.FromSlash(from))
	return filepath.WalkDir(at, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && path != at && (entry.Name() == "dist" || entry.Name() == "cdk.out") {
				return filepath.SkipDir
			}
			return err
		}
		name, err := filepath.Rel(at, path)
		if err != nil || left[name] || strings.HasSuffix(name, "_test.go") {
			return err
		}
		if name == "." {
			name = filepath.Base(path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name = filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, text, 0o600)
	})
}
