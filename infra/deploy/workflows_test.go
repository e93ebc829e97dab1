package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

var (
	used   = regexp.MustCompile(`(?m)uses:\s*(\S+)(.*)$`)
	pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
)

// Workflows run nothing that somebody else could change meanwhile, and may read the repository and
// nothing more, except those of a release.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	check.Need(t, err == nil && len(files) != 0, "%v %v", files, err)
	for _, file := range files {
		text := check.Get(os.ReadFile(file))
		name := filepath.Base(file)
		for _, action := range used.FindAllStringSubmatch(string(text), -1) {
			check.That(t, pinned.MatchString(action[1]) && strings.Contains(action[2], "# v"),
				"%s uses %s%s; write the commit's SHA, and its version behind it", name, action[1], action[2])
		}
		check.That(t, strings.Contains(string(text), "\npermissions:\n  contents: read\n\n"), "%s", name)
		// The draft, and what is attested of it; the registries' trust.
		want := map[string]int{"release.yml": 3, "packages.yml": 1}[name]
		check.Is(t, strings.Count(string(text), ": write"), want, name)
		if strings.Count(string(text), "actions/checkout@") != strings.Count(string(text),
			"persist-credentials: false") {
			t.Errorf("%s leaves the token behind in a checkout", name)
		}
	}
}

// A release has a zip of every function.
func TestReleaseHasEveryFunction(t *testing.T) {
	text := check.Get(os.ReadFile("../../tools/release/goreleaser.yaml"))
	functions := check.Get(os.ReadDir("../../functions"))
	for _, f := range functions {
		if !f.IsDir() {
			continue
		}
		if !strings.Contains(string(text), "main: ./functions/"+f.Name()) ||
			!strings.Contains(string(text), "ids: ["+f.Name()+"]") {
			t.Errorf("a release has no zip of %s", f.Name())
		}
	}
}

// The command line is released for the systems that `make release` compiles it for, and says which
// version it is.
func TestReleasedCommandLine(t *testing.T) {
	release := check.Get(os.ReadFile("../../tools/release/goreleaser.yaml"))
	makefile := check.Get(os.ReadFile("../../Makefile"))
	_, build, _ := strings.Cut(string(release), "main: ./cmd/streamsort")
	build, _, _ = strings.Cut(build, "archives:")
	_, targets, _ := strings.Cut(string(makefile), "CLI_TARGETS := ")
	targets, _, _ = strings.Cut(targets, "\n")
	for _, target := range strings.Fields(targets) {
		system, processor, _ := strings.Cut(target, "/")
		check.That(t, strings.Contains(build, system) && strings.Contains(build, processor), "%s", target)
	}
	if len(strings.Fields(targets)) != 6 ||
		!strings.Contains(build, "-X main.version={{ .Version }}") {
		t.Errorf("compiled for %q, released by %s", targets, build)
	}
}

// A developer who runs the CDK in this project sends nobody a report of it: "offline" is what it
// says.
func TestNoTelemetry(t *testing.T) {
	for _, file := range []string{"../../infra/cdk/cdk.json", "../../examples/shop/cdk.json"} {
		text := check.Get(os.ReadFile(file))
		var app struct {
			Context map[string]any `json:"context"`
		}
		check.OK(t, json.Unmarshal(text, &app))
		check.Is(t, app.Context["cli-telemetry"], false, file)
	}
	makefile := check.Get(os.ReadFile("../../Makefile"))
	check.That(t, strings.Contains(string(makefile), "\nexport CDK_DISABLE_CLI_TELEMETRY := true\n"),
		"the Makefile does not turn the command's telemetry off")
}

// Every module and every Node package is kept up to date by Dependabot, and what Go modules call,
// but those of the tools, is looked up by `make release`.
func TestEveryModuleIsWatched(t *testing.T) {
	dependabot := check.Get(os.ReadFile("../../.github/dependabot.yml"))
	makefile := check.Get(os.ReadFile("../../Makefile"))
	_, list, _ := strings.Cut(string(makefile), "\nMODULES := ")
	list, _, _ = strings.Cut(list, "\n")
	ours := strings.Fields(list)
	watched := map[string]*regexp.Regexp{
		"go.mod":       regexp.MustCompile(`package-ecosystem: gomod\n\s+directories: \[(.*)\]`),
		"package.json": regexp.MustCompile(`package-ecosystem: npm\n\s+directories: \[(.*)\]`),
	}
	modules := 0
	check.OK(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git" ||
			entry.Name() == ".build" || entry.Name() == "dist") {
			return filepath.SkipDir
		}
		list := watched[entry.Name()]
		if list == nil {
			return nil
		}
		modules++
		folder := strings.TrimPrefix(strings.TrimPrefix(filepath.Dir(path), "../.."), "/")
		folders := list.FindSubmatch(dependabot)
		check.That(t, folders != nil && strings.Contains(", "+string(folders[1])+", ", ", /"+folder+", "),
			"dependabot.yml does not watch %s of /%s", entry.Name(), folder)
		tools := strings.HasPrefix(folder, "tools")
		check.That(t, entry.Name() != "go.mod" || folder == "" || tools != slices.Contains(ours, folder),
			"MODULES of the Makefile: %s is there: %v", folder, !tools)
		return nil
	}))
	check.That(t, modules >= 2, "%d modules found", modules)
}
