//go:build whole

// Package clients_test runs the tests of the packages for Python and Node, builds them, and holds
// them to the cases of all producers.
package clients_test

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/pyenv"
)

//go:embed testdata/requirements.txt
var requirements []byte

// python returns the Python with botocore and flit_core.
func python(t *testing.T) string {
	t.Helper()
	return check.Get(pyenv.Python(t.Context(), "clients", requirements))
}

// command returns a command in a folder. The test runs again when a file here has changed.
func command(t *testing.T, folder string, words ...string) *exec.Cmd {
	t.Helper()
	for _, read := range []string{".", "../docs"} {
		check.OK(t, filepath.WalkDir(read, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.Contains(path, "__pycache__") {
				_, err = os.Stat(path)
			}
			return err
		}))
	}
	c := exec.CommandContext(t.Context(), words[0], words[1:]...)
	c.Dir = folder
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return c
}

func run(t *testing.T, c *exec.Cmd) {
	t.Helper()
	said, err := c.CombinedOutput()
	check.That(t, err == nil, "%s: %v\n%s", c.Args[0], err, said)
}

func TestPython(t *testing.T) {
	t.Parallel()
	run(t, command(t, "python", python(t), "-m", "unittest", "discover", "-s", "tests"))
}

func TestNode(t *testing.T) {
	t.Parallel()
	run(t, command(t, "node", "node", "--test"))
}

var keys = aws.Credentials{
	AccessKeyID: "AKID", SecretAccessKey: "secret/key", SessionToken: "to+ken=",
}

const region = "eu-north-1"

var (
	signedHeaders = regexp.MustCompile(`SignedHeaders=([^,]+)`)
	signature     = regexp.MustCompile(`Signature=([0-9a-f]{64})$`)
)

// signed reports whether a request has the signature that the SDK for Go makes of it.
func signed(r *http.Request, body []byte) error {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return err
	}
	url := "http://" + r.Host + r.URL.EscapedPath()
	again, err := http.NewRequestWithContext(r.Context(), r.Method, url, nil)
	if err != nil {
		return err
	}
	given := r.Header.Get("Authorization")
	names := signedHeaders.FindStringSubmatch(given)
	if names == nil {
		return errors.New("it names no signed headers: " + given)
	}
	for name := range strings.SplitSeq(names[1], ";") {
		if name != "host" {
			again.Header.Set(name, r.Header.Get(name))
		}
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	err = v4.NewSigner().SignHTTP(r.Context(), keys, again, hash, "execute-api", region, at)
	if err != nil {
		return err
	}
	want := again.Header.Get("Authorization")
	if !slices.Equal(signature.FindStringSubmatch(given), signature.FindStringSubmatch(want)) {
		return errors.New(given + "; want " + want)
	}
	return nil
}

// TestSigned: the signature of a request is the one that AWS's SDK makes of it, with the token of a
// session and a path with a space.
func TestSigned(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		{python(t), "testdata/producer.py"}, {"node", "testdata/producer.mjs"},
	} {
		wrong := make(chan error, 1)
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = signed(r, body)
			}
			wrong <- err
			_, _ = io.WriteString(w, `{"results":[{"status":200,"queue":"q","outcome":"advanced"}]}`)
		}))
		c := command(t, ".", words...)
		c.Env = append(c.Env, "STREAMSORT_URL="+api.URL+"/a%20stage", "SIGN_FOR="+region,
			"REQUEST_TIMEOUT=15000", "MIN_BACKOFF=100", "MAX_BACKOFF=100",
			"AWS_ACCESS_KEY_ID="+keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+keys.SecretAccessKey,
			"AWS_SESSION_TOKEN="+keys.SessionToken)
		c.Stdin = strings.NewReader(`{"queue":"q","seq":1,"body":"ä"}`)
		run(t, c)
		select {
		case err := <-wrong:
			check.That(t, err == nil, "%s: %v", words[1], err)
		default:
			t.Errorf("%s made no request", words[1])
		}
		api.Close()
	}
}

var (
	block  = regexp.MustCompile("(?ms)^```(python|js|json)\n(.*?)^```$")
	runner = map[string]string{
		// Each block runs, and its handler takes the batch.
		"python": `import json, runpy, sys
batch = json.loads(sys.argv[1])
for name in sys.argv[2:]:
    handler = runpy.run_path(name).get("handler")
    if handler and handler(batch, None) is not None:
        sys.exit(name + " fails")
`,
		"js": `const [batch, ...names] = process.argv.slice(2);
for (const name of names) {
  const { handler } = await import(name);
  if (handler && await handler(JSON.parse(batch)) !== undefined) throw new Error(name + " fails");
}
`,
	}
)

// TestSnippets runs the code of the pages in Python and Node: what it puts comes in, and its
// handlers take the batch that docs/how-to/sinks.md shows.
func TestSnippets(t *testing.T) {
	t.Parallel()
	pages := slices.Concat(check.Get(filepath.Glob("../docs/*.md")),
		check.Get(filepath.Glob("../docs/*/*.md")),
		[]string{"../README.md", "python/README.md", "node/README.md"})
	folder, found, batch := t.TempDir(), map[string][]string{}, ""
	ending := map[string]string{"python": "py", "js": "mjs"}
	for _, page := range pages {
		text := check.Get(os.ReadFile(page))
		for _, b := range block.FindAllStringSubmatch(string(text), -1) {
			language, code := b[1], b[2]
			if language == "json" {
				if page == "../docs/how-to/sinks.md" && strings.Contains(code, "\"messages\"") && batch == "" {
					batch = code
				}
				continue
			}
			name := fmt.Sprintf("%s/%d.%s", folder, len(found[language]), ending[language])
			check.OK(t, os.WriteFile(name, []byte(code), 0o600))
			found[language] = append(found[language], name)
		}
	}
	here := check.Get(filepath.Abs("."))
	modules := filepath.Join(folder, "node_modules")
	check.OK(t, errors.Join(
		os.Mkdir(modules, 0o700),
		os.Symlink(filepath.Join(here, "node"), filepath.Join(modules, "streamsort")),
		os.WriteFile(filepath.Join(folder, "run.py"), []byte(runner["python"]), 0o600),
		os.WriteFile(filepath.Join(folder, "run.mjs"), []byte(runner["js"]), 0o600)))
	programs := map[string][]string{"python": {"python3", "run.py"}, "js": {"node", "run.mjs"}}
	for language, words := range programs {
		var puts atomic.Int32
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var put struct{ Messages []json.RawMessage }
			err := json.NewDecoder(r.Body).Decode(&put)
			check.That(t, err == nil, "%v", err)
			puts.Add(1)
			result := `{"status":200,"queue":"orders","outcome":"advanced"}`
			results := slices.Repeat([]string{result}, len(put.Messages))
			_, _ = io.WriteString(w, `{"results":[`+strings.Join(results, ",")+`]}`)
		}))
		c := command(t, folder, append(append(words, batch), found[language]...)...)
		c.Env = append(c.Env, "API_URL="+api.URL, "PYTHONPATH="+filepath.Join(here, "python"))
		run(t, c)
		api.Close()
		check.That(t, puts.Load() >= 2 && len(found[language]) >= 4,
			"%d blocks of %s put %d times, and there are more", len(found[language]), language, puts.Load())
	}
}

// TestBuild: both packages have what they need, under the version of the tag.
func TestBuild(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	c := command(t, "..", ".ci/clients", "v1.2.3", out)
	c.Env = append(c.Env, "PYTHON="+python(t))
	run(t, c)

	wheel := check.Get(zip.OpenReader(filepath.Join(out, "streamsort-1.2.3-py3-none-any.whl")))
	defer wheel.Close()
	var names []string
	for _, f := range wheel.File {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	info := "streamsort-1.2.3.dist-info/"
	want := []string{
		info + "METADATA", info + "RECORD", info + "WHEEL", info + "licenses/LICENSE",
		"streamsort/__init__.py", "streamsort/client.py", "streamsort/py.typed", "streamsort/types.py",
	}
	check.Is(t, cmp.Diff(want, names), "")

	packed := check.Get(os.Open(filepath.Join(out, "streamsort-1.2.3.tgz")))
	defer packed.Close()
	unpacked := check.Get(gzip.NewReader(packed))
	names = nil
	for files := tar.NewReader(unpacked); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		check.OK(t, err)
		names = append(names, strings.TrimPrefix(h.Name, "package/"))
		if filepath.Base(h.Name) == "package.json" {
			var p struct{ Version string }
			check.OK(t, json.NewDecoder(files).Decode(&p))
			check.Is(t, p.Version, "1.2.3")
		}
	}
	slices.Sort(names)
	want = []string{"LICENSE", "README.md", "client.mjs", "index.d.ts", "index.mjs", "package.json"}
	check.Is(t, cmp.Diff(want, names), "")
}
