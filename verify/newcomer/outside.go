package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/modproxy"
)

// empty starts the stack in an empty folder, as it is by default: the command line fetches the
// functions of its version, and a server.
func empty(ctx context.Context, n *newcomer) (string, error) {
	return n.tryStack(ctx, "empty", n.environ)
}

// zips does the same without a Go toolchain, with functions as a release has them.
func zips(ctx context.Context, n *newcomer) (string, error) {
	folder, err := n.zipFunctions()
	if err != nil {
		return "", err
	}
	tools := filepath.Join(n.dir, "tools") // all that there is on the PATH
	if err := os.Mkdir(tools, 0o755); err != nil {
		return "", err
	}
	for _, tool := range []string{"node", "npm", "java"} {
		path, err := exec.LookPath(tool)
		if errors.Is(err, exec.ErrNotFound) {
			continue // java, where the server does not need it
		}
		if err == nil {
			err = os.Symlink(path, filepath.Join(tools, tool))
		}
		if err != nil {
			return "", err
		}
	}
	return n.tryStack(ctx, "empty too", append(n.environ, "PATH="+tools), "--zips", folder)
}

// tryStack starts a stack in an empty folder, which it must leave empty, puts messages and
// prints them, and stops it.
func (n *newcomer) tryStack(ctx context.Context, name string, environ []string, more ...string) (string, error) {
	folder := filepath.Join(n.dir, name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	said, err := n.start(ctx, environ, folder, more...)
	if err == nil {
		_, err = put(ctx, n)
	}
	if err == nil {
		_, err = tail(ctx, n)
	}
	n.stop()
	if err != nil {
		return "", err
	}
	return said, os.Remove(folder) // fails where something is in it
}

// zipFunctions puts the functions that the stack has built into zips as a release names them.
func (n *newcomer) zipFunctions() (string, error) {
	built := filepath.Join(n.dir, "cache", "streamsort", "build", n.release.Version, runtime.GOARCH, filepath.FromSlash(modproxy.Root), "functions", "_", "[a-z]*")
	programs, err := filepath.Glob(built)
	if err != nil || len(programs) == 0 {
		return "", fmt.Errorf("no functions at %s: %w", built, err)
	}
	folder := filepath.Join(n.dir, "zips")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return "", err
	}
	processor := map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if processor == "" {
		processor = runtime.GOARCH
	}
	for _, program := range programs {
		name := fmt.Sprintf("%s_%s_%s.zip", filepath.Base(program), strings.TrimPrefix(n.release.Version, "v"), processor)
		if err := zipOf(filepath.Join(folder, name), program); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// zipOf makes a function's zip: its program, as bootstrap.
func zipOf(name, program string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(file)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	writer, err := archive.CreateHeader(header)
	if err == nil {
		_, err = writer.Write(text)
	}
	return errors.Join(err, archive.Close(), file.Close())
}
