package cdkcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
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
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
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
		check.That(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)),
			"version %q: %v, want %q", version, err, want)
	}
}
