//go:build unix

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/localdb"
)

const (
	modulePath = "github.com/streamsort/streamsort"
	// published is the version that the test publishes.
	published = "v0.0.1"
)

// TestOutsideOfTheProject: the command line alone starts the stack in an empty folder: it
// fetches the functions of its version and a server, or takes the functions of a
// release's zips, without a Go toolchain.
func TestOutsideOfTheProject(t *testing.T) {
	root, err := localdb.Root()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	program := filepath.Join(folder, "streamsort")
	goCommand(t, root, "build", "-ldflags", "-X main.version="+strings.TrimPrefix(published, "v"), "-o", program, "./cmd/streamsort")
	proxy := filepath.Join(folder, "proxy")
	publish(t, root, proxy)
	modules := strings.TrimSpace(goCommand(t, root, "env", "GOMODCACHE"))
	environment := append(os.Environ(),
		"XDG_CACHE_HOME="+filepath.Join(folder, "cache"), "HOME="+folder,
		"npm_config_cache="+npmCache(t), "GOCACHE="+strings.TrimSpace(goCommand(t, root, "env", "GOCACHE")),
		"GOMODCACHE="+filepath.Join(folder, "modules"), "GOFLAGS=-modcacherw", "GOSUMDB=off",
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(modules, "cache", "download")+","+strings.TrimSpace(goCommand(t, root, "env", "GOPROXY")),
	)
	empty := filepath.Join(folder, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Run("fetched", func(t *testing.T) { checkLocal(t, environment, empty, program, "local", "--port", "0") })

	zips := filepath.Join(folder, "zips")
	zipFunctions(t, filepath.Join(folder, "cache", "streamsort", "build"), zips)
	bare := filepath.Join(folder, "bin") // node and npm, and no go
	for _, tool := range []string{"node", "npm", "java"} {
		if err := os.MkdirAll(bare, 0o700); err != nil {
			t.Fatal(err)
		}
		if path, err := exec.LookPath(tool); err == nil {
			if err := os.Symlink(path, filepath.Join(bare, tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("zips", func(t *testing.T) {
		checkLocal(t, append(environment, "PATH="+bare), empty, program, "local", "--port", "0", "--zips", zips)
	})
	if left, err := os.ReadDir(empty); err != nil || len(left) != 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func goCommand(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.Command("go", arguments...)
	command.Dir = folder
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", arguments[0], err, &said)
	}
	return string(out)
}

func npmCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("npm", "config", "get", "cache").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// publish writes the module as it is now into a folder that is a Go proxy.
func publish(t *testing.T, root, proxy string) {
	t.Helper()
	folder := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": published + "\n", published + ".info": `{"Version":"` + published + `"}`, published + ".mod": string(gomod)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var nested []string // modules of their own
	names := strings.Split(strings.Trim(string(out), "\x00"), "\x00")
	for _, name := range names {
		if filepath.Base(name) == "go.mod" && name != "go.mod" {
			nested = append(nested, filepath.Dir(name)+"/")
		}
	}
	file, err := os.Create(filepath.Join(folder, published+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	for _, name := range names {
		inside := func(module string) bool { return strings.HasPrefix(name, module) }
		text, err := os.ReadFile(filepath.Join(root, name))
		if slices.ContainsFunc(nested, inside) || os.IsNotExist(err) { // deleted, and not committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		add(t, archive, modulePath+"@"+published+"/"+name, text, 0o644)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, archive *zip.Writer, name string, text []byte, mode fs.FileMode) {
	t.Helper()
	header := &zip.FileHeader{Name: name, Method: zip.Deflate}
	header.SetMode(mode)
	writer, err := archive.CreateHeader(header)
	if err == nil {
		_, err = writer.Write(text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// zipFunctions puts what was built into zips as a release names them.
func zipFunctions(t *testing.T, built, zips string) {
	t.Helper()
	if err := os.MkdirAll(zips, 0o700); err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(built, published, runtime.GOARCH, filepath.FromSlash(modulePath), "functions", "_", "[a-z]*"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("nothing is built in %s: %v", built, err)
	}
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	for _, path := range programs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(filepath.Join(zips, fmt.Sprintf("%s_0.0.1_%s.zip", filepath.Base(path), architecture)))
		if err != nil {
			t.Fatal(err)
		}
		archive := zip.NewWriter(file)
		add(t, archive, "bootstrap", text, 0o755)
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkLocal starts the stack and puts a message.
func checkLocal(t *testing.T, environment []string, folder, program string, arguments ...string) {
	t.Helper()
	local := exec.Command(program, arguments...)
	local.Env, local.Dir = environment, folder
	var said bytes.Buffer
	local.Stderr = &said
	out, err := local.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := local.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = local.Process.Signal(os.Interrupt); _ = local.Wait() }()
	lines := bufio.NewScanner(out)
	lines.Scan()
	address, _, runs := strings.Cut(lines.Text(), " runs after ")
	if !runs {
		t.Fatalf("%s\n%s", lines.Text(), &said)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	response, err := http.Post(address+"/messages", "application/json", strings.NewReader(`{"queue":"q","seq":1,"body":1}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("put: %s\n%s", response.Status, &said)
	}
}
