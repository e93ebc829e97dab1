package cdkcli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project is a folder with a CDK command of this version, which runs a script.
func project(t *testing.T, version, script string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range map[string]string{
		"infra/cdk/package.json":                      `{"devDependencies":{"aws-cdk":"2.1148.1"}}`,
		"infra/cdk/node_modules/aws-cdk/package.json": `{"version":"` + version + `"}`,
		"infra/cdk/node_modules/aws-cdk/bin/cdk":      script,
	} {
		if version == "" && strings.Contains(path, "node_modules") {
			continue
		}
		path = filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestOpen(t *testing.T) {
	for version, want := range map[string]string{
		"2.1148.1": "",
		"":         "not installed: run npm ci in infra/cdk",
		"3.0.0":    "version 3.0.0, not 2.1148.1, which infra/cdk pins (3.0.0 is a mistaken release",
		"2.1140.0": "version 2.1140.0, not 2.1148.1, which infra/cdk pins: run npm ci",
	} {
		_, err := Open(project(t, version, ""))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("version %q: %v, want %q", version, err, want)
		}
	}
}

// What the command says on its two ends comes through, and the reason of its
// failure is a sentence.
func TestRun(t *testing.T) {
	const says = `console.log(process.cwd()); console.error(process.argv[2]); process.exit(Number(process.argv[3]))`
	cli, err := Open(project(t, "2.1148.1", says))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ said, code, want string }{
		{"fine", "0", ""},
		{"fine", "3", "cdk fine: exit status 3"},
		{"SSM parameter /cdk-bootstrap/hnb659fds/version not found. Has the environment been bootstrapped? Please run", "1", "has not been bootstrapped for the CDK"},
		{"Unable to resolve AWS account to use. It must be either configured", "1", "there are no AWS credentials"},
		{"ExpiredToken: The security token included in the request is expired", "1", "have expired"},
		{"terminal (TTY) is not attached so we are unable to get a confirmation from the user", "1", "--require-approval never"},
		{"This CDK CLI is not compatible. Maximum schema version supported is 43.x.x, but found 54.0.0", "1", "too old for what the app writes"},
	} {
		var stdout, stderr bytes.Buffer
		err := cli.Run(t.Context(), Call{Args: []string{c.said, c.code}, Stdout: &stdout, Stderr: &stderr})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.said, err, c.want)
		}
		if !strings.HasSuffix(strings.TrimSpace(stdout.String()), "infra/cdk") || strings.TrimSpace(stderr.String()) != c.said {
			t.Errorf("%s: %q and %q came through", c.said, &stdout, &stderr)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	said := &tail{}
	for range 100 {
		if _, err := said.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := said.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	if said.Len() > 2*tailSize || !strings.HasSuffix(said.String(), "the end") {
		t.Errorf("%d bytes are kept", said.Len())
	}
}
