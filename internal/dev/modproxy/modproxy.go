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
	"maps"
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
	sources, err := os.MkdirTemp("", "streamsort-release-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(sources) }()
	if err := t.write(sources); err != nil {
		return nil, err
	}
	p := &Proxy{Version: "v0.0.0-dev.h" + t.digest(), dir: dir}
	for _, folder := range t.modules() {
		m := module.Version{Path: path.Join(Root, folder), Version: p.Version}
		mod, err := t.released(path.Join(folder, "go.mod"), p.Version)
		if err == nil {
			err = p.add(m, mod, filepath.Join(sources, filepath.FromSlash(folder)))
		}
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", m.Path, err)
		}
		p.Modules = append(p.Modules, m.Path)
	}
	return p, nil
}

// add writes the files by which a proxy serves a version of the module in a folder, with this
// go.mod. Modules below it, of a release or not, are not in it.
func (p *Proxy) add(m module.Version, mod []byte, folder string) error {
	dir := filepath.Join(p.dir, filepath.FromSlash(m.Path), "@v")
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": time.Unix(0, 0).UTC()})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "go.mod"), mod, 0o644)
	}
	var archive bytes.Buffer
	if err == nil {
		err = zip.CreateFromDir(&archive, m, folder)
	}
	if err != nil {
		return err
	}
	return tree{
		"list": []byte(m.Version + "\n"), m.Version + ".info": info,
		m.Version + ".mod": mod, m.Version + ".zip": archive.Bytes(),
	}.write(dir)
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
		kept, err := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(m), "@v",
			p.Version+".*"))
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

// tree is files by their path.
type tree map[string][]byte

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
		t[name] = text
	}
	return t, nil
}

// write writes the files below a folder.
func (t tree) write(folder string) error {
	for name, text := range t {
		name = filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// digest distinguishes trees: twelve hexadecimal digits.
func (t tree) digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(t[name]), t[name])
	}
	return fmt.Sprintf("%x", h.Sum(nil))[:12]
}

// modules are the folders of the modules of a release, the root's, which is ".", first.
func (t tree) modules() []string {
	folders := []string{"."}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		folder, base := path.Split(name)
		if base == "go.mod" && folder != "" && strings.HasPrefix(modfile.ModulePath(t[name]), Root+"/") {
			folders = append(folders, path.Clean(folder))
		}
	}
	return folders
}

// released is a go.mod that requires the repository's other modules in the release's version, as a
// release's does.
func (t tree) released(name, version string) ([]byte, error) {
	mod, err := modfile.Parse(name, t[name], nil)
	if err != nil {
		return nil, err
	}
	if len(mod.Replace) > 0 {
		return nil, fmt.Errorf("%s replaces %s: nobody can install what it builds", name,
			mod.Replace[0].Old.Path)
	}
	for _, r := range mod.Require {
		if r.Mod.Path == Root || strings.HasPrefix(r.Mod.Path, Root+"/") {
			if err := mod.AddRequire(r.Mod.Path, version); err != nil {
				return nil, err
			}
		}
	}
	return mod.Format()
}
