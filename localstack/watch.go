package localstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/dev/sources"
	"github.com/streamsort/streamsort/localstack/template"
)

// watchEvery is the time between two looks at the sources. A look reads no file.
const watchEvery = 300 * time.Millisecond

// watched are functions that are built anew together, by one run, or, of interpreted ones, a
// function and its folder.
type watched struct {
	run      buildRun // empty for an interpreted function
	packages []string
	programs map[string]string // by function; empty where nothing is built
	folders  []string          // whose source files count, and files that do
	seen     [sha256.Size]byte // what they were
}

// watch builds and restarts functions whose sources have changed, until ctx ends.
func (s *Stack) watch(ctx context.Context) {
	for due := time.Tick(watchEvery); ; {
		for _, w := range s.watched {
			if now := fingerprint(w.folders); now != w.seen {
				w.seen = now
				s.renew(ctx, w)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
		}
	}
}

// watchedSources are the sources of all functions, as they are now: those that are built, and those
// that are interpreted.
func (s *Stack) watchedSources(ctx context.Context,
	programs map[string]program) ([]*watched, error) {
	var all []*watched
	runs := map[buildRun]*watched{}
	for _, l := range s.templates {
		for _, f := range l.Functions {
			if f.Interpreted() {
				folder, err := codeFolder(l.path, f)
				if err != nil {
					return nil, err
				}
				if f.Source == "" && !filepath.IsAbs(f.Asset) {
					s.notWatched(f)
				}
				all = append(all, &watched{programs: map[string]string{f.Name: ""}, folders: below(folder)})
				continue
			}
			p := programs[f.Name]
			if p.whole {
				s.notWatched(f)
			}
			if p.run.root == "" {
				continue // an asset, or a version, does not change
			}
			if runs[p.run] == nil {
				runs[p.run] = &watched{run: p.run, programs: map[string]string{}}
				all = append(all, runs[p.run])
			}
			w := runs[p.run]
			w.programs[f.Name] = p.path
			if !slices.Contains(w.packages, p.pkg) {
				w.packages = append(w.packages, p.pkg)
			}
		}
	}
	for _, w := range all {
		if w.run.root != "" {
			folders, err := sourceFolders(ctx, w.run.root, w.packages)
			if err != nil {
				return nil, err
			}
			w.folders = folders
		}
		w.seen = fingerprint(w.folders)
	}
	return all, nil
}

// notWatched says that a function runs from its asset, which is a copy of its source: the CDK does
// not say of what.
func (s *Stack) notWatched(f template.Function) {
	s.config.Logger.Warn("not watched: it runs from its asset, a copy of its source. Name the source's folder by streamsort.BuiltFrom; "+
		"for Python and Node, `cdk synth --no-staging` makes no copy", "function", f.Name)
}

// renew builds what has changed, and restarts the functions whose programs are others now. One that
// does not compile goes on as it is.
func (s *Stack) renew(ctx context.Context, w *watched) {
	began := time.Now()
	before := map[string][sha256.Size]byte{}
	for function, path := range w.programs {
		before[function] = sum(path)
	}
	if w.run.root != "" {
		if err := w.run.build(ctx, w.packages, s.config.Logger); err != nil {
			if ctx.Err() == nil {
				s.config.Failed("build", err.Error())
			}
			return
		}
	}
	for function, path := range w.programs {
		if path == "" || sum(path) != before[function] {
			s.functions.Restart(function)
			_, _ = s.functions.Warm(function) // what is wrong with it is reported by OnError
			s.config.Logger.Info("restarted, since its source has changed", "function", function, "after",
				time.Since(began).Round(time.Millisecond))
		}
	}
	if w.run.root == "" {
		return
	}
	// What the sources import may have changed too.
	if folders, err := sourceFolders(ctx, w.run.root, w.packages); err == nil &&
		!slices.Equal(folders, w.folders) {
		w.folders, w.seen = folders, fingerprint(folders)
	}
}

// sum is of a file's content.
func sum(path string) [sha256.Size]byte {
	text, _ := os.ReadFile(path) // one that is not there has the sum of nothing
	return sha256.Sum256(text)
}

// ofThisMachine lists the folders of packages whose module was not fetched, and the files that they
// embed.
const ofThisMachine = `{{if .Module}}{{if or .Module.Main (and .Module.Replace (not .Module.Replace.Version))}}{{.Dir}}
{{range .EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`

// sourceFolders are the folders, and embedded files, on this machine that packages are built from.
func sourceFolders(ctx context.Context, root string, packages []string) ([]string, error) {
	folders, err := sources.List(ctx, root, ofThisMachine, packages)
	slices.Sort(folders)
	return slices.Compact(folders), err
}

// below are a folder and those in it, but for what others have put there.
func below(folder string) []string {
	var folders []string
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || !entry.IsDir():
		case path != folder && (entry.Name() == "node_modules" || entry.Name() == "__pycache__" ||
			isVenv(path) || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		default:
			folders = append(folders, path)
		}
		return nil
	})
	return folders
}

// isVenv reports whether a folder is a virtual environment of Python.
func isVenv(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "pyvenv.cfg"))
	return err == nil
}

// sourceEndings are those of source files: what functions write beside them restarts none.
var sourceEndings = map[string]bool{".py": true, ".mjs": true, ".js": true, ".cjs": true,
	".go": true, ".mod": true, ".sum": true}

// fingerprint changes with the names, the sizes and the times of the source files in folders, and
// of the files among those.
func fingerprint(folders []string) [sha256.Size]byte {
	var text bytes.Buffer
	for _, folder := range folders {
		files := []string{folder}
		entries, _ := os.ReadDir(folder) // a file, or one that is gone, has nothing in it
		for _, entry := range entries {
			if sourceEndings[filepath.Ext(entry.Name())] {
				files = append(files, filepath.Join(folder, entry.Name()))
			}
		}
		for _, file := range files {
			if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
				fmt.Fprintln(&text, file, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return sha256.Sum256(text.Bytes())
}
