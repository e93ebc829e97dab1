package localstack

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/streamsort/streamsort/internal/dev/cache"
	"github.com/streamsort/streamsort/localstack/template"
)

// source is a main package, as the go command names it in the folder of a module: by a path that
// begins with "./", or by its import path.
type source struct {
	root    string // of the Go module that builds it; empty where a version is built
	module  string // that module's path
	pkg     string
	version string // of the module that is fetched; empty where it is on this machine
}

// ownModule is this project's, and ownFunctions begins the import paths of its functions.
const (
	ownModule    = "github.com/streamsort/streamsort"
	ownFunctions = ownModule + "/functions/"
)

// find finds what a function is built from: a folder, absolute or below one that the template is
// in, or an import path of the nearest module above the template that has it, or names it as a
// tool.
func find(templatePath string, f template.Function) (found *source, err error) {
	if f.Source == "" {
		return nil, nil
	}
	if filepath.IsAbs(f.Source) {
		return inFolder(filepath.Clean(f.Source))
	}
	for dir := range upwards(filepath.Dir(templatePath)) {
		found, err = inFolder(filepath.Join(dir, filepath.FromSlash(f.Source)))
		if found != nil || err != nil {
			return found, err
		}
		module, err := readModule(dir)
		if err != nil {
			return nil, err
		}
		if module != nil && builds(module, f.Source) {
			return &source{root: dir, module: module.Module.Mod.Path, pkg: f.Source}, nil
		}
	}
	return nil, nil
}

// upwards are a folder and those above it.
func upwards(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(dir) && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
	}
}

// inFolder is the source in a folder, if there is one in a module.
func inFolder(folder string) (found *source, err error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, nil
	}
	for dir := range upwards(folder) {
		module, err := readModule(dir)
		if module != nil && err == nil {
			var relative string
			relative, err = filepath.Rel(dir, folder)
			found = &source{root: dir, module: module.Module.Mod.Path,
				pkg: "./" + filepath.ToSlash(relative)}
		}
		if found != nil || err != nil {
			return found, err
		}
	}
	return nil, nil
}

// readModule reads the go.mod of a folder; nil where it has no such file.
func readModule(dir string) (*modfile.File, error) {
	path := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	module, err := modfile.Parse(path, text, nil)
	if err == nil && module.Module == nil {
		err = fmt.Errorf("%s names no module", path)
	}
	return module, err
}

// builds reports whether an import path is the module's own, or of its tools.
func builds(module *modfile.File, path string) bool {
	own := module.Module.Mod.Path
	return path == own || strings.HasPrefix(path, own+"/") ||
		slices.ContainsFunc(module.Tool, func(t *modfile.Tool) bool { return t.Path == path })
}

// errNoAsset is of a function whose built code does not lie beside its template.
var errNoAsset = errors.New("its built code is not beside the template: run the template where `cdk synth` wrote it, or name the folder of the function's main package by its Metadata " + template.SourceKey)

// asset is the folder with a function's built code, which lies beside the template.
func asset(templatePath string, f template.Function) (string, error) {
	path := f.Asset
	if path == "" {
		var err error
		if path, err = listedAsset(templatePath, f.Key); err != nil {
			return "", err
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(templatePath), filepath.FromSlash(path))
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errNoAsset
	case err != nil:
		return "", err
	case info.IsDir():
		return path, nil
	}
	return unzip(path)
}

// listedAsset is the path of the asset that the stack's list of them, which lies beside the
// template, has under this key: `cdk synth` writes no Metadata where that is switched off.
func listedAsset(templatePath, key string) (string, error) {
	text, err := os.ReadFile(strings.TrimSuffix(templatePath, ".template.json") + ".assets.json")
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoAsset
	}
	var list struct {
		Files map[string]struct {
			Source       struct{ Path string }
			Destinations map[string]struct{ ObjectKey string }
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return "", err
	}
	for _, file := range list.Files {
		for _, destination := range file.Destinations {
			if destination.ObjectKey == key {
				return file.Source.Path, nil
			}
		}
	}
	return "", errNoAsset
}

// checkProgram reports a program that does not run on this machine. A script does.
func checkProgram(path string) error {
	file, err := elf.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not there: the built code has to hold it", path)
	case errors.As(err, new(*elf.FormatError)), errors.Is(err, io.EOF): // too short for a program
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = file.Close() }()
	here := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if runtime.GOOS == "linux" && file.Machine == here {
		return nil
	}
	return fmt.Errorf("%s is a Linux program for %s, and this machine is %s/%s: "+
		"have it built here, by the Metadata %s (streamsort.BuiltFrom), or, on Linux, synthesise the stack for this machine's architecture",
		path,
		cmp.Or(map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "arm64"}[file.Machine],
			file.Machine.String()), runtime.GOOS, runtime.GOARCH, template.SourceKey)
}

// unzip unpacks a zip of code into the user's cache and returns the folder, which is named by what
// is in it: what is there is whole.
func unzip(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return "", err
	}
	folder, err := cache.Folder(filepath.Join("zips", hex.EncodeToString(sum.Sum(nil))))
	if err != nil {
		return "", err
	}
	return folder, cache.Make(folder, folder, func(half string) error {
		reader, err := zip.NewReader(file, size)
		if err == nil {
			err = extract(reader, half)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// extract writes the files of a zip into a folder, and none outside of it.
func extract(from *zip.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, entry := range from.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		name := filepath.FromSlash(entry.Name)
		in, err := entry.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err == nil {
			err = root.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err == nil {
			err = root.WriteFile(name, text, entry.Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
