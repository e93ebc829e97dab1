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

// versionName is of a folder that the go command names no program after.
var versionName = regexp.MustCompile(`^v[0-9]+$`)

// program is a function's program, and the run that builds it of a package; one of an
// asset is built by none.
type program struct {
	path string
	run  buildRun
	pkg  string
}

// program is where a source is built. Packages whose folders lie side by side are built
// by one run, which names each program after its folder.
func (s source) program(buildDir string) (program, error) {
	buildDir, err := s.buildDir(buildDir)
	if err != nil {
		return program{}, err
	}
	folder := filepath.FromSlash(strings.TrimPrefix(s.pkg, "./"))
	parent, name := filepath.Split(folder)
	alone := name == "." || versionName.MatchString(name)
	if alone {
		parent, name = folder, "bootstrap"
	}
	path := filepath.Join(buildDir, runtime.GOARCH, parent, "_", name)
	if alone {
		return program{path, buildRun{s.root, path}, s.pkg}, nil
	}
	return program{path, buildRun{s.root, filepath.Dir(path) + string(filepath.Separator)}, s.pkg}, nil
}

// buildDir is the folder of what is built in the source's module. In modules of others,
// nothing is written: it is in the user's cache.
func (s source) buildDir(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if s.module == ownModule {
		return filepath.Join(s.root, ".build", "localstack"), nil
	}
	return cacheFolder(filepath.Join("build", fmt.Sprintf("%x", sha256.Sum256([]byte(s.root)))))
}

// build builds all functions and returns the path of each one's program by its
// name, in a folder with its files.
func build(ctx context.Context, all []*loaded, config Config) (map[string]string, error) {
	programs, err := plan(all, config)
	if err != nil {
		return nil, err
	}
	runs := map[buildRun][]string{}
	for _, p := range programs {
		if p.pkg != "" && !slices.Contains(runs[p.run], p.pkg) {
			runs[p.run] = append(runs[p.run], p.pkg)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for r, packages := range runs {
		group.Go(func() error { return r.build(ctx, packages, config.Logger) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, l := range all {
		for _, f := range l.Functions {
			p := programs[f.Name]
			if paths[f.Name] = p.path; len(f.Files) == 0 || p.pkg == "" { // an asset has its files
				continue
			}
			if paths[f.Name], err = unpack(p.path, f); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

// buildRun is one run of the go command in a module's folder, which is much quicker
// than one for each program: out is a program, or, with a separator at its end, a folder
// of them.
type buildRun struct{ root, out string }

// plan is each function's program by its name. A function is built where a module has
// its source, so that what runs is what is written now; else its asset runs.
func plan(all []*loaded, config Config) (map[string]program, error) {
	programs, known := map[string]program{}, modules{}
	var errs []error
	for _, l := range all {
		for _, f := range l.Functions {
			if f.Interpreted() {
				continue
			}
			s, found, err := known.find(l.path, f)
			switch {
			case err != nil:
			case found:
				programs[f.Name], err = s.program(config.BuildDir)
			default:
				programs[f.Name], err = assetProgram(l.path, f)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: Resources.%s: %w", l.path, f.LogicalID, err))
			}
		}
	}
	return programs, errors.Join(errs...)
}

// assetProgram is the program in a function's asset.
func assetProgram(templatePath string, f template.Function) (program, error) {
	folder, err := asset(templatePath, f)
	if errors.Is(err, errNoAsset) && f.Source != "" {
		return program{}, fmt.Errorf("metadata %s: no Go module above the template has the folder %s, or the import path, and %w", template.SourceKey, f.Source, err)
	}
	if err != nil {
		return program{}, err
	}
	path := filepath.Join(folder, "bootstrap")
	return program{path: path}, checkProgram(path)
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
func (r buildRun) build(ctx context.Context, packages []string, logger *slog.Logger) error {
	logger.Info("building functions", "packages", packages)
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
	if err := sources.Note(ctx, r.root, packages...); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", append([]string{
		"build", "-buildvcs=false", "-trimpath",
		"-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", r.out,
	}, packages...)...)
	command.Dir = r.root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", strings.Join(packages, ", "), r.root, err, said.String())
	}
	return nil
}
