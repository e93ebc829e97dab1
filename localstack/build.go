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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/localstack/template"
)

// source is the folder of a function's main package.
type source struct {
	module string // root of the Go module
	folder string // relative to it
}

// versionName is of a folder that the go command names no program after.
var versionName = regexp.MustCompile(`^v[0-9]+$`)

// program is where the function is built, and the run that builds it. Functions
// whose folders lie side by side are built by one run, which names each program after
// its folder.
func (s source) program(buildDir string) (string, buildRun, error) {
	if buildDir == "" {
		buildDir = filepath.Join(s.module, ".build", "localstack")
	}
	parent, name := filepath.Split(s.folder)
	alone := name == "." || versionName.MatchString(name)
	if alone {
		parent, name = s.folder, "bootstrap"
	}
	program, err := filepath.Abs(filepath.Join(buildDir, runtime.GOARCH, parent, "_", name))
	if alone {
		return program, buildRun{s.module, program}, err
	}
	return program, buildRun{s.module, filepath.Dir(program) + string(filepath.Separator)}, err
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

// build builds all functions and returns the path of each one's program by its
// name, in a folder with its files.
func build(ctx context.Context, all []*loaded, config Config) (map[string]string, error) {
	paths, runs, err := plan(all, config.BuildDir)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for r, folders := range runs {
		group.Go(func() error { return r.build(ctx, folders, config.Logger) })
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

// buildRun is one run of the go command, which is much quicker than one for each
// program: out is a program, or, with a separator at its end, a folder of them.
type buildRun struct{ module, out string }

// plan is the path of each function's program by its name, and the folders that
// each run builds.
func plan(all []*loaded, buildDir string) (map[string]string, map[buildRun][]string, error) {
	paths, runs := map[string]string{}, map[buildRun][]string{}
	var errs []error
	for _, l := range all {
		for _, f := range l.Functions {
			s, err := findSource(l.path, f)
			errs = append(errs, err)
			program, r, err := s.program(buildDir)
			errs = append(errs, err)
			paths[f.Name] = program
			if folder := filepath.ToSlash(s.folder); !slices.Contains(runs[r], folder) {
				runs[r] = append(runs[r], folder)
			}
		}
	}
	return paths, runs, errors.Join(errs...)
}

// unpack makes a folder with a function's files and a link to its program, and
// returns the link. Other functions, also of other runs, may be built from the
// same source: the folder is named by what is in it.
func unpack(program string, f template.Function) (string, error) {
	text, err := json.Marshal(f.Files)
	if err != nil {
		return "", err
	}
	folder := fmt.Sprintf("%s-%x", program, sha256.Sum256(text))
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

// build builds with the flags of a deployment, but for this machine, which is quick
// where nothing changed. Another stack that starts waits: it would link the same
// programs, and write them while they run.
func (r buildRun) build(ctx context.Context, folders []string, logger *slog.Logger) error {
	logger.Info("building functions", "sources", folders)
	if err := os.MkdirAll(filepath.Dir(r.out), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(filepath.Dir(r.out), ".lock"), os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	packages := make([]string, len(folders))
	for i, folder := range folders {
		packages[i] = "./" + folder
	}
	if err := sources.Note(ctx, r.module, packages...); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", append([]string{
		"build", "-buildvcs=false", "-trimpath",
		"-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", r.out,
	}, packages...)...)
	command.Dir = r.module
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", strings.Join(folders, ", "), r.module, err, said.String())
	}
	return nil
}
