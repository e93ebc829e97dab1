// Package modproxy makes a release of this repository on this machine: a module proxy in a folder,
// with each module as a tag would give it, for those who try what a user will get.
//
// Call [Write] with the repository's folder, and run the go command with [Proxy.Environ]. Files
// that git ignores, and modules that no release tags (examples), are not in it.
package modproxy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Root is the path of the repository's first module; those of the others begin with it.
const Root = "github.com/streamsort/streamsort"

// Proxy is a module proxy in a folder.
type Proxy struct {
	// Version is that of each module: v0.0.0-dev.h and a digest of all files, so that the go
	// command's caches never hold two trees under one version.
	Version string
	// Modules are the paths of the modules, the root's first.
	Modules []string

	dir string
}

// Write makes the proxy in a folder, of the repository as it stands, with what is not committed.
func Write(dir, repository string) (*Proxy, error) {
	t, err := read(repository)
	if err != nil {
		return nil, err
	}
	p := &Proxy{Version: "v0.0.0-dev.h" + t.digest(), dir: dir}
	for _, folder := range t.modules() {
		files, err := t.of(folder, p.Version)
		if err != nil {
			return nil, err
		}
		m := module.Version{Path: path.Join(Root, folder), Version: p.Version}
		if err := p.add(m, files); err != nil {
			return nil, fmt.Errorf("module %s: %w", m.Path, err)
		}
		p.Modules = append(p.Modules, m.Path)
	}
	return p, nil
}

// add writes the files by which a proxy serves a version.
func (p *Proxy) add(m module.Version, files []zip.File) error {
	dir := filepath.Join(p.dir, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	var archive, mod bytes.Buffer
	if err := zip.Create(&archive, m, files); err != nil {
		return err
	}
	for _, f := range files {
		if f.Path() == "go.mod" {
			mod.Write(f.(file).text)
		}
	}
	for name, text := range map[string][]byte{"list": []byte(m.Version + "\n"), m.Version + ".info": info, m.Version + ".mod": mod.Bytes(), m.Version + ".zip": archive.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Environ has the go command take this repository's modules from here, and all others from where it
// takes them otherwise.
func (p *Proxy) Environ() ([]string, error) {
	others, err := goEnv("GOPROXY")
	if err != nil {
		return nil, err
	}
	return []string{
		"GOPROXY=file://" + filepath.ToSlash(p.dir) + "," + others,
		"GONOSUMDB=" + Root + "," + Root + "/*", // no checksum database knows them
		"GOFLAGS=-modcacherw", "GOWORK=off",
	}, nil
}

// Forget removes what the go command has kept of this proxy's modules.
func (p *Proxy) Forget() error {
	cache, err := goEnv("GOMODCACHE")
	if err != nil {
		return err
	}
	for _, m := range p.Modules {
		if err := os.RemoveAll(filepath.Join(cache, filepath.FromSlash(m)+"@"+p.Version)); err != nil {
			return err
		}
		kept, err := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(m), "@v", p.Version+".*"))
		if err != nil {
			return err
		}
		for _, name := range kept {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func goEnv(name string) (string, error) {
	said, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(said)), nil
}

// tree is the repository's files by their path.
type tree map[string]file

func read(repository string) (tree, error) {
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	said, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", repository, err)
	}
	t := tree{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(said), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(repository, filepath.FromSlash(name)))
		if os.IsNotExist(err) { // deleted, and the deletion is not committed
			continue
		} else if err != nil {
			return nil, err
		}
		t[name] = file{name, text}
	}
	return t, nil
}

// digest distinguishes trees: twelve hexadecimal digits.
func (t tree) digest() string {
	h := sha256.New()
	for _, name := range t.names() {
		fmt.Fprintf(h, "%s %d\n%s", name, len(t[name].text), t[name].text)
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:12]
}

func (t tree) names() []string {
	var names []string
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// modules are the folders of the modules of a release, the root's, which is ".", first.
func (t tree) modules() []string {
	folders := []string{"."}
	for _, name := range t.names() {
		if folder, base := path.Split(name); base == "go.mod" && folder != "" && strings.HasPrefix(modfile.ModulePath(t[name].text), Root+"/") {
			folders = append(folders, path.Clean(folder))
		}
	}
	return folders
}

// of are the files of the module in a folder, whose go.mod requires the repository's other modules
// in the release's version, as a release's does.
func (t tree) of(folder, version string) ([]zip.File, error) {
	var files []zip.File
	for _, name := range t.names() {
		if t.module(name) != folder {
			continue
		}
		f := t[name]
		if folder != "." {
			f.name = strings.TrimPrefix(name, folder+"/")
		}
		if f.name == "go.mod" {
			mod, err := modfile.Parse(name, f.text, nil)
			if err != nil {
				return nil, err
			}
			if len(mod.Replace) > 0 {
				return nil, fmt.Errorf("%s replaces %s: nobody can install what it builds", name, mod.Replace[0].Old.Path)
			}
			for _, r := range mod.Require {
				if r.Mod.Path == Root || strings.HasPrefix(r.Mod.Path, Root+"/") {
					if err := mod.AddRequire(r.Mod.Path, version); err != nil {
						return nil, err
					}
				}
			}
			if f.text, err = mod.Format(); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	return files, nil
}

// module is the folder of the module that a file belongs to.
func (t tree) module(name string) string {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if _, is := t[folder+"/go.mod"]; is {
			return folder
		}
	}
	return "."
}

// file is one file of a module, as module zips take it.
type file struct {
	name string
	text []byte
}

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (fs.FileInfo, error)  { return info{f}, nil }
func (f file) Open() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.text)), nil }

// info is what a module zip asks of a file: that it is one, and its size.
type info struct{ file }

func (i info) Name() string     { return path.Base(i.name) }
func (i info) Size() int64      { return int64(len(i.text)) }
func (info) Mode() fs.FileMode  { return 0o644 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }
