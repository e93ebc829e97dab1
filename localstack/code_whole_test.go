//go:build whole

package localstack

import (
	"archive/zip"
	"debug/elf"
	"encoding/binary"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

// ownCache gives the test a cache folder of its own, and leaves Go's where it is.
func ownCache(t *testing.T) {
	t.Helper()
	goCache := check.Get(exec.Command("go", "env", "GOCACHE").Output())
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// programFor is the head of a Linux program for a processor.
func programFor(machine elf.Machine) string {
	var text strings.Builder
	_ = binary.Write(&text, binary.LittleEndian, elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
			byte(elf.EV_CURRENT)},
		Type:    uint16(elf.ET_EXEC),
		Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64,
	})
	return text.String()
}

// TestAppOfOnesOwn: each way in which a template of an app of one's own says where a function's
// code is. What a module of the app has is built; what none has is taken as it was deployed.
func TestAppOfOnesOwn(t *testing.T) {
	ownCache(t)
	const program = "package main\n\nfunc main() {}\n"
	root, elsewhere := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{
		"app/go.mod":              "module example.com/app\n\ngo 1.26\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ../lib\n\ntool example.com/lib/functions/sort\n",
		"app/functions/sort/a.go": program,
		"lib/go.mod":              "module example.com/lib\n\ngo 1.26\n", "lib/functions/sort/a.go": program,
		"app/cdk.out/asset.1/bootstrap":     "#!/bin/sh\n",
		"app/cdk.out/Shop.assets.json":      `{"files": {"2": {"source": {"path": "asset.2"}, "destinations": {"here": {"objectKey": "2.zip"}}}}}`,
		"app/cdk.out/asset.2/bootstrap":     "#!/bin/sh\n",
		"app/cdk.out/asset.arm/bootstrap":   programFor(elf.EM_AARCH64),
		"app/cdk.out/asset.intel/bootstrap": programFor(elf.EM_X86_64),
	})
	write(t, elsewhere, map[string]string{"go.mod": "module example.com/elsewhere\n\ngo 1.26\n",
		"mail/a.go": program, "asset.3/bootstrap": "#!/bin/sh\n"})
	zipped := filepath.Join(root, "app", "cdk.out", "asset.4.zip")
	file, err := os.Create(zipped)
	check.OK(t, err)
	archive := zip.NewWriter(file)
	check.OK(t, archive.AddFS(os.DirFS(filepath.Join(root, "app", "cdk.out", "asset.1"))))
	check.OK(t, archive.Close())
	foreign := map[string]string{"amd64": "asset.arm", "arm64": "asset.intel"}[runtime.GOARCH]
	cases := map[string]struct {
		function template.Function
		want     string // a part of the program's path, or of the error
	}{
		"folder":                  {template.Function{Source: "functions/sort", Asset: "asset.1"}, "functions/_/sort"},
		"own import path":         {template.Function{Source: "example.com/app/functions/sort"}, "example.com/app/functions/_/sort"},
		"tool":                    {template.Function{Source: "example.com/lib/functions/sort", Asset: "asset.1"}, "example.com/lib/functions/_/sort"},
		"folder of a module":      {template.Function{Source: "lib/functions/sort"}, "functions/_/sort"},
		"absolute folder":         {template.Function{Source: filepath.Join(elsewhere, "mail")}, "_/mail"},
		"source that is not here": {template.Function{Source: "example.com/other/x", Asset: "asset.1"}, "cdk.out/asset.1/bootstrap"},
		"asset":                   {template.Function{Asset: "asset.1", Files: map[string]string{"a": "in the asset"}}, "cdk.out/asset.1/bootstrap"},
		"listed asset":            {template.Function{Key: "2.zip"}, "cdk.out/asset.2/bootstrap"},
		"absolute asset":          {template.Function{Asset: filepath.Join(elsewhere, "asset.3")}, "asset.3/bootstrap"},
		"zip":                     {template.Function{Asset: "asset.4.zip"}, "streamsort/zips/"},
		"nothing":                 {template.Function{}, "Metadata streamsort:source"},
		"neither":                 {template.Function{Source: "nowhere", Key: "3.zip"}, "nowhere, or the import path, and its built code is not beside the template"},
		"released zip":            {template.Function{Key: "streamsort/ack_1.2.3_arm64.zip"}, "runs here without --template"},
		"own, copied elsewhere":   {template.Function{Source: ownFunctions + "sort"}, "put the template into the project's folder"},
		"other architecture":      {template.Function{Asset: foreign}, "this machine is linux/" + runtime.GOARCH},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.function.Name = name
			l := &loaded{path: filepath.Join(root, "app", "cdk.out", "Shop.template.json"),
				Template: &template.Template{Functions: []template.Function{c.function}}}
			paths, err := planAndBuild(t, l)
			if err != nil {
				check.That(t, strings.Contains(err.Error(), c.want), "%v %q", err, c.want)
				return
			}
			check.That(t, strings.Contains(paths[name], c.want), "program %s, not %q", paths[name], c.want)
			info := check.Get(os.Stat(paths[name]))
			check.That(t, info.Mode()&0o100 != 0, "%+v", info)
		})
	}
	check.Is(t, len(check.Get(os.ReadDir(filepath.Join(root, "app")))), 3)
}

// TestWithoutGo: where the go command is missing, the error says that, and not that no module has
// the function.
func TestWithoutGo(t *testing.T) {
	ownCache(t)
	root := t.TempDir()
	write(t, root, map[string]string{"go.mod": "module example.com/app\n\ngo 1.26\n",
		"a/a.go": "package main\n"})
	t.Setenv("PATH", t.TempDir())
	functions := []template.Function{{Name: "a", LogicalID: "A", Source: "a"}}
	l := &loaded{path: filepath.Join(root, "a.json"),
		Template: &template.Template{Functions: functions}}
	_, err := planAndBuild(t, l)
	check.Need(t, err != nil, "it was built")
	check.That(t, strings.Contains(err.Error(), `"go": executable file not found`) &&
		!strings.Contains(err.Error(), "no Go module"), "the error is %v", err)
}

// TestZipStaysInside: a zip with a file above its folder is refused.
func TestZipStaysInside(t *testing.T) {
	ownCache(t)
	path := filepath.Join(t.TempDir(), "code.zip")
	file := check.Get(os.Create(path))
	archive := zip.NewWriter(file)
	check.Get(archive.Create("../bootstrap"))
	check.OK(t, archive.Close())
	folder, err := unzip(path)
	check.That(t, err != nil, "unpacked into %s", folder)
}

// TestEveryFolderIsBuilt: also those that the go command names no program after, and one inside
// another.
func TestEveryFolderIsBuilt(t *testing.T) {
	root := t.TempDir()
	folders := []string{".", "v2", "jobs", "jobs/mail", "jobs/print"}
	l := &loaded{path: filepath.Join(root, "stack.json"), Template: &template.Template{}}
	files := map[string]string{"go.mod": "module example.com/user\n\ngo 1.26\n"}
	for _, folder := range folders {
		files[folder+"/main.go"] = "package main\n\nfunc main() {}\n"
		l.Functions = append(l.Functions, template.Function{Name: folder, Source: folder})
	}
	write(t, root, files)
	paths, err := planAndBuild(t, l)
	check.OK(t, err)
	seen := map[string]string{}
	for folder, path := range paths {
		check.Is(t, seen[path], "", folder, path)
		seen[path] = folder
		check.That(t, check.Get(os.Stat(path)).Mode().IsRegular(), "%+v %+v", folder, path)
	}
	check.Is(t, len(seen), len(folders))
}

// planAndBuild builds a template's functions as a stack does that starts.
func planAndBuild(t *testing.T, l *loaded) (map[string]string, error) {
	t.Helper()
	config := Config{Logger: slog.New(slog.DiscardHandler)}
	programs, err := plan([]*loaded{l}, config)
	if err != nil {
		return nil, err
	}
	return build(t.Context(), []*loaded{l}, programs, config)
}

// TestNodeFunctions and TestPythonFunctions: a handler gets the event and a context, in the folder
// of its code; what it throws, and a handler that is not there, are function errors.
func TestNodeFunctions(t *testing.T) {
	testInterpreted(t, "node", "echo.mjs exports no function other: it has handler",
		"there is no other.mjs")
}

func TestPythonFunctions(t *testing.T) {
	testInterpreted(t, "python", "echo.py has no function other: it has handler",
		"there is no other.py")
}

func testInterpreted(t *testing.T, stack, noFunction, noFile string) {
	t.Helper()
	s := run(t, Config{Templates: []string{"testdata/" + stack + ".template.json"}})
	invoke := func(function, event string) map[string]any {
		status, answer := fetch[map[string]any](t, http.MethodPost,
			s.URL()+"/2015-03-31/functions/"+function+"/invocations", event)
		check.Need(t, status == http.StatusOK, "%s of %s: status %d, %v", event, function, status, answer)
		return answer
	}
	for range 2 { // the second by the same process, which was stopped in between
		got := invoke("Echo", `{"text":"é","n":[1]}`)
		event, _ := got["event"].(map[string]any)
		left, _ := got["left"].(float64)
		check.That(t, event["text"] == "é" && got["root"] == true && got["name"] == stack+"-Echo" &&
			left > 0 && left <= 30_000, "answer %v", got)
	}
	got := invoke("Echo", `{"nothing":1}`)
	check.That(t, got == nil, "answer %v, want null", got)
	for _, c := range []struct{ function, event, kind, message string }{
		{"Echo", `{"fail":"no luck"}`, "TypeError", "no luck"},
		{"NoFunction", `{}`, "", noFunction},
		{"NoFile", `{}`, "", noFile},
	} {
		got := invoke(c.function, c.event)
		kind, _ := got["errorType"].(string)
		message, _ := got["errorMessage"].(string)
		check.That(t, strings.Contains(message, c.message) && (c.kind == "" || kind == c.kind) &&
			kind != "", "%s of %s: %v", c.event, c.function, got)
	}
}

// TestFailedFunctionsSayWhy: an error's text, a panic's and where it was, and the end of the log of
// a process that could say nothing.
func TestFailedFunctionsSayWhy(t *testing.T) {
	texts := make(chan string, 9)
	s := run(t, Config{Templates: shop[1:], Failed: func(function, text string) {
		texts <- function + " " + text
	}})
	for path, want := range map[string][]string{
		"/error": {"shop-Echo errorString: no luck"},
		"/panic": {"shop-Echo string: on purpose", "\n  at ", "main.go:9", " handle"},
		"/crash": {"shop-Echo Runtime.ExitError: ", "exit status 2", "\n  panic: in the background", "main.go:"},
	} {
		check.Get(s.Invoke(t.Context(), "Echo", []byte(`{"rawPath":"`+path+`"}`)))
		text := <-texts
		for _, part := range want {
			check.That(t, strings.Contains(text, part), "%s: no %q in %s", path, part, text)
		}
	}
}
