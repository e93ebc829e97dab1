package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/sources"
)

// build compiles everything for this machine, since the server runs the functions' programs here.
// They are built with the flags of `make build`.
func (t *trial) build(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	group.Go(func() error {
		app := exec.CommandContext(ctx, "go", "build", "-o", t.app(), ".")
		app.Dir = t.cdk.Folder
		return quietly(app)
	})
	folders := map[string]string{"receiver": "examples/receiver"}
	functions, err := os.ReadDir(filepath.Join(t.root, "functions"))
	if err != nil {
		return err
	}
	for _, f := range functions {
		if f.IsDir() {
			folders[f.Name()] = "functions/" + f.Name()
		}
	}
	for name, source := range folders {
		group.Go(func() error {
			build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w",
				"-o", filepath.Join(t.binaries(), name, "bootstrap"), "./"+source)
			build.Dir = t.root
			build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+runtime.GOARCH, "CGO_ENABLED=0")
			return quietly(build)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return sources.Zip(filepath.Join(t.binaries(), "receiver", "bootstrap"), t.receiverZip())
}

func (t *trial) app() string         { return filepath.Join(t.folder, "app") }
func (t *trial) binaries() string    { return filepath.Join(t.folder, "dist") }
func (t *trial) receiverZip() string { return filepath.Join(t.folder, "receiver.zip") }

// quietly runs a command, and shows what it said if it fails.
func quietly(command *exec.Cmd) error {
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(command.Path), err, said)
	}
	return nil
}
