//go:build whole

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// repository is a module under git.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	// Nothing of the user's own git settings: signing, hooks, names.
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull,
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
		"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		t.Setenv(name, value)
	}
	root := check.Get(filepath.EvalSymlinks(t.TempDir()))
	r := repository{t, root}
	r.git("init", "--quiet", "--initial-branch=main")
	for name, text := range map[string]string{
		".gitignore":     "*.log\n",
		"go.mod":         "module example.com/one\n\ngo 1.26\n",
		"p/p.go":         "package p\n",
		"p/p_test.go":    "package p\n",
		"q/q.go":         "package q\n",
		"q/q_test.go":    "package q\n",
		"other/other.go": "package other\n",
	} {
		r.write(name, text)
	}
	r.commit("first")
	return r
}

func (r repository) git(arguments ...string) string {
	r.t.Helper()
	said := check.Get(output(r.root, "git", arguments...))
	return strings.TrimSpace(said)
}

func (r repository) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.root, name)
	check.OK(r.t, os.MkdirAll(filepath.Dir(file), 0o700))
	check.OK(r.t, os.WriteFile(file, []byte(text), 0o600))
}

// commit commits all there is, and returns the commit.
func (r repository) commit(subject string) string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", subject)
	return r.git("rev-parse", "HEAD")
}

// chosen are the names of the mutants that are left: "p" and "q" have their tests in their own
// folder, "p by q" has them in the other.
func (r repository) chosen(base string) string {
	r.t.Helper()
	left := check.Get(inChanged(r.root, base, []mutant{
		bug("p", by("p", "Test"), "p.go", "", ""), bug("q", by("q", "Test"), "q.go", "", ""),
		bug("p by q", by("q", "Test"), "../p/p.go", "", ""),
	}))
	var names []string
	for _, m := range left {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// TestChangedFilesChooseTheMutants, before they are committed and after.
func TestChangedFilesChooseTheMutants(t *testing.T) {
	r := newRepository(t)
	check.Is(t, r.chosen(""), "p, q, p by q")
	for i, c := range []struct {
		change func()
		want   string
	}{
		{func() { r.write("p/p.go", "package p\n\n// New.\n") }, "p, p by q"},
		{func() { r.write("q/q_test.go", "package q\n\n// New.\n") }, "q, p by q"},
		{func() { r.write("p/new.go", "package p\n") }, "p, p by q"},
		{func() { r.write("q/testdata/deep/ein Wört.json", "{}\n") }, "q, p by q"},
		{func() { r.write("p/some.log", "") }, ""}, // is ignored
		{func() { r.write("other/other.go", "package other\n\n// New.\n") }, ""},
		{func() { r.git("rm", "--quiet", "q/q_test.go") }, "q, p by q"},
		{func() { r.git("mv", "p/p_test.go", "other/p_test.go") }, "p, p by q"},
		{func() { r.write("verify/mutant/cursor.go", "package main\n") }, "p, q, p by q"},
	} {
		base := r.git("rev-parse", "HEAD")
		c.change()
		check.Is(t, r.chosen(base), c.want, i)
		r.commit("next")
		check.Is(t, r.chosen(base), c.want, i)
	}
	base := r.git("rev-parse", "HEAD")
	r.write("q/q.go", "package q\n\n// Changed.\n")
	r.commit("last")
	check.Is(t, r.chosen(""), "q, p by q")
	r.git("update-ref", "refs/remotes/origin/main", base+"~1")
	check.Is(t, r.chosen(""), "p, q, p by q")
	_, err := inChanged(r.root, "nonsense", nil)
	check.That(t, err != nil && strings.Contains(err.Error(), "BASE=nonsense"), "%v", err)
}
