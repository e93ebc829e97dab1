package localstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/localstack/template"
)

// source is the folder of a function's main package.
type source struct {
	module string // root of the Go module
	folder string // relative to it
}

// output is where the function is built.
func (s source) output(buildDir string) string {
	if buildDir == "" {
		buildDir = filepath.Join(s.module, ".build", "localstack")
	}
	return filepath.Join(buildDir, runtime.GOARCH, s.folder, "bootstrap")
}

// findSource finds the Go module that holds a function's folder: the nearest
// one above the template in which the folder exists.
func findSource(templatePath string, f template.Function) (source, error) {
	folder := filepath.FromSlash(f.Source)
	for dir := filepath.Dir(templatePath); ; dir = filepath.Dir(dir) {
		_, noModule := os.Stat(filepath.Join(dir, "go.mod"))
		info, err := os.Stat(filepath.Join(dir, folder))
		if noModule == nil && err == nil && info.IsDir() {
			return source{dir, folder}, nil
		}
		if dir == filepath.Dir(dir) {
			return source{}, fmt.Errorf("%s: Resources.%s.Metadata.%s: no Go module above the template has the folder %s",
				templatePath, f.LogicalID, template.SourceKey, f.Source)
		}
	}
}

// build builds all functions, two at a time, and returns the path of each
// one's executable by its name, in a folder with its files.
func build(ctx context.Context, all []*loaded, config Config) (map[string]string, error) {
	paths := map[string]string{}
	sources := map[string]source{} // by output
	var errs []error
	for _, l := range all {
		for _, f := range l.Functions {
			s, err := findSource(l.path, f)
			errs = append(errs, err)
			out, err := filepath.Abs(s.output(config.BuildDir))
			errs = append(errs, err)
			paths[f.Name], sources[out] = out, s
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for out, s := range sources {
		group.Go(func() error { return s.build(ctx, out, config.Logger) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, l := range all {
		for _, f := range l.Functions {
			if len(f.Files) == 0 {
				continue
			}
			path, err := unpack(paths[f.Name], f)
			if err != nil {
				return nil, err
			}
			paths[f.Name] = path
		}
	}
	return paths, nil
}

// unpack makes a folder with a function's files and a link to its program, and
// returns the link. Other functions, also of other runs, may be built from the
// same source: the folder is named by what is in it.
func unpack(program string, f template.Function) (string, error) {
	text, err := json.Marshal(f.Files)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(filepath.Dir(program), fmt.Sprintf("%x", sha256.Sum256(text)))
	link := filepath.Join(folder, "bootstrap")
	if _, err := os.Lstat(link); err == nil {
		return link, nil
	}
	half, err := os.MkdirTemp(filepath.Dir(program), "unpacked")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(half) }()
	for name, text := range f.Files {
		if err := os.WriteFile(filepath.Join(half, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	if err := os.Symlink(program, filepath.Join(half, "bootstrap")); err != nil {
		return "", err
	}
	if err := os.Rename(half, folder); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return link, nil
}

// build builds with the flags of a deployment, but for this machine. Go's
// cache makes it quick where nothing changed.
func (s source) build(ctx context.Context, out string, logger *slog.Logger) error {
	logger.Info("building function", "source", filepath.ToSlash(s.folder))
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath",
		"-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", out, "./"+filepath.ToSlash(s.folder))
	command.Dir = s.module
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", s.folder, s.module, err, said.String())
	}
	return nil
}
