package localstack

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/streamsort/streamsort/internal/dev/cache"
	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/localstack/template"
)

// versionName is of a folder that the go command names no program after.
var versionName = regexp.MustCompile(`^v[0-9]+$`)

// program is a function's program, and the run that builds it of a package, which is empty where it
// is built already. A whole one has its files beside it.
type program struct {
	path  string
	run   buildRun
	pkg   string
	whole bool
}

// program is where a source is built. Packages whose folders lie side by side are built by one run,
// which names each program after its folder.
func (s source) program() (program, error) {
	buildDir, err := s.buildDir()
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
	run := buildRun{s.root, s.version, filepath.Dir(path) + string(filepath.Separator)}
	if alone {
		run.out = path
	}
	return program{path: path, run: run, pkg: s.pkg}, nil
}

// buildDir is the folder of what is built in the source's module. In modules of others, nothing is
// written: it is in the user's cache.
func (s source) buildDir() (string, error) {
	switch {
	case s.version != "":
		return cache.Folder(filepath.Join("build", s.version))
	case s.module == ownModule:
		return filepath.Join(s.root, ".build", "localstack"), nil
	}
	return cache.Folder(filepath.Join("build", fmt.Sprintf("%x", sha256.Sum256([]byte(s.root)))))
}

// build builds all functions and returns the path of each one's program by its name, in a folder
// with its files.
func build(ctx context.Context, all []*loaded, programs map[string]program,
	config Config) (map[string]string, error) {
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
	var err error
	for _, l := range all {
		for _, f := range l.Functions {
			p := programs[f.Name]
			if paths[f.Name] = p.path; len(f.Files) == 0 || p.whole {
				continue
			}
			if paths[f.Name], err = unpack(p.path, f); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

// buildRun is one run of the go command in a module's folder, which is much quicker than one for
// each program: out is a program, or, with a separator at its end, a folder of them. The source of
// a version is fetched first.
type buildRun struct{ root, version, out string }

// plan is each function's program by its name. A function is built where a module has its source,
// so that what runs is what is written now; else its asset runs; else it is one of this project's,
// and is fetched. Those are in a release's zips, where there are any.
func plan(all []*loaded, config Config) (map[string]program, error) {
	programs := map[string]program{}
	var errs []error
	for _, l := range all {
		for _, f := range l.Functions {
			if f.Interpreted() {
				continue
			}
			var err error
			if programs[f.Name], err = programOf(l.path, f, config); err != nil {
				errs = append(errs, fmt.Errorf("%s: Resources.%s: %w", l.path, f.LogicalID, err))
			}
		}
	}
	return programs, errors.Join(errs...)
}

func programOf(templatePath string, f template.Function, config Config) (program, error) {
	own := strings.HasPrefix(f.Source, ownFunctions)
	if own && config.Zips != "" {
		return zippedProgram(config.Zips, f.Source)
	}
	if found, err := find(templatePath, f); err != nil {
		return program{}, err
	} else if found != nil {
		return found.program()
	}
	p, err := assetProgram(templatePath, f)
	if !own || !errors.Is(err, errNoAsset) {
		return p, err
	}
	if config.Version == "" {
		return program{}, fmt.Errorf("%s: no Go module above the template has it, and this program has no version by which to fetch it: "+
			"put the template into the project's folder, or give the zips of a release (--zips)", f.Source)
	}
	return source{module: ownModule, pkg: f.Source, version: config.Version}.program()
}

// releasedZip is the object that a release's template has a function's code from.
var releasedZip = regexp.MustCompile(`(^|/)[a-z]+_[^/]+_(arm64|x86_64)\.zip$`)

// assetProgram is the program in a function's asset.
func assetProgram(templatePath string, f template.Function) (program, error) {
	folder, err := asset(templatePath, f)
	switch {
	case errors.Is(err, errNoAsset) && f.Source == "" && releasedZip.MatchString(f.Key):
		return program{},
			fmt.Errorf("its code is %s in a bucket: a release's template is for CloudFormation alone; "+
				"the same stack runs here without --template, its functions from the release's zips by --zips", f.Key)
	case errors.Is(err, errNoAsset) && f.Source != "":
		return program{}, fmt.Errorf("metadata %s: no Go module above the template has the folder %s, or the import path, and %w", template.SourceKey, f.Source, err)
	case err != nil:
		return program{}, err
	}
	path := filepath.Join(folder, "bootstrap")
	return program{path: path, whole: true}, checkProgram(path)
}

// zippedProgram is the program of one of this project's functions, in a release's zip.
func zippedProgram(zips, pkg string) (program, error) {
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	pattern := strings.TrimPrefix(pkg, ownFunctions) + "_*_" + architecture + ".zip"
	found, err := filepath.Glob(filepath.Join(zips, pattern))
	if err != nil {
		return program{}, err
	}
	if len(found) != 1 {
		return program{},
			fmt.Errorf("%s has %d files %s, and one is needed: download them from one release", zips,
				len(found), pattern)
	}
	folder, err := unzip(found[0])
	if err != nil {
		return program{}, err
	}
	path := filepath.Join(folder, "bootstrap")
	return program{path: path}, checkProgram(path)
}

// unpack makes a folder with a function's files and a link to its program, and returns the link.
// Other functions, also of other runs, may be built from the same source: the folder is named by
// what is in it.
func unpack(program string, f template.Function) (string, error) {
	text, err := json.Marshal(f.Files)
	if err != nil {
		return "", err
	}
	folder := fmt.Sprintf("%s-%x", program, sha256.Sum256(text))
	link := filepath.Join(folder, "bootstrap")
	return link, cache.Make(folder, folder, func(half string) error {
		for name, text := range f.Files {
			if err := os.WriteFile(filepath.Join(half, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
		return os.Symlink(program, filepath.Join(half, "bootstrap"))
	})
}

// build builds with the flags of a deployment, but for this machine, which is quick where nothing
// changed. Another stack that starts waits: it would link the same programs, and write them while
// they run.
func (r buildRun) build(ctx context.Context, packages []string, logger *slog.Logger) error {
	logger.Info("building functions", "packages", packages)
	if r.version != "" {
		logger.Info("their source is fetched by the Go toolchain, the first time, into its module cache (20 MB)", "version", r.version)
	}
	lock, err := lockFolder(filepath.Dir(r.out), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	flags := []string{"-buildvcs=false", "-trimpath", "-tags", "lambda.norpc,nethttpomithttp2",
		"-ldflags", "-s -w"}
	environment := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+runtime.GOOS,
		"GOARCH="+runtime.GOARCH)
	var command *exec.Cmd
	if r.version == "" {
		if err := sources.Note(ctx, r.root, packages...); err != nil {
			return err
		}
		command = exec.CommandContext(ctx, "go",
			slices.Concat([]string{"build", "-o", r.out}, flags, packages)...)
	} else {
		versions := make([]string, len(packages))
		for i, pkg := range packages {
			versions[i] = pkg + "@" + r.version
		}
		command = exec.CommandContext(ctx, "go", slices.Concat([]string{"install"}, flags, versions)...)
		environment = append(environment, "GOBIN="+filepath.Clean(r.out))
	}
	command.Dir, command.Env = r.root, environment
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", strings.Join(packages, ", "),
			cmp.Or(r.root, r.version), err, said.String())
	}
	return nil
}
