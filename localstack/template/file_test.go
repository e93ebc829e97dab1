package template

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// folder is a folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestReadFile(t *testing.T) {
	dir := folder(t, map[string]string{
		"base.json": `{"Resources": {"A": {"Type": "X", "List": [1, 3], "a/b": 12345678901234567890}}}`,
		"one/patch.json": `{"Base": "../base.json", "Patch": [
			{"op": "add", "path": "/Resources/A/List/1", "value": 2},
			{"op": "replace", "path": "/Resources/A/Type", "value": "Y <&>"},
			{"op": "add", "path": "/Outputs", "value": {}}]}`,
		"two/patch.json": `{"Base": "../one/patch.json", "Patch": [{"op": "remove", "path": "/Resources/A/a~1b"}]}`,
		"same.json":      `{"Base": "one/patch.json", "Patch": []}`,
	})
	const patched = `{"Outputs": {}, "Resources": {"A": {"Type": "Y <&>", "List": [1, 2, 3], "a/b": 12345678901234567890}}}`
	for name, want := range map[string]string{
		"base.json":      `{"Resources": {"A": {"Type": "X", "List": [1, 3], "a/b": 12345678901234567890}}}`,
		"one/patch.json": patched,
		"two/patch.json": `{"Outputs": {}, "Resources": {"A": {"Type": "Y <&>", "List": [1, 2, 3]}}}`,
		"same.json":      patched,
	} {
		text, err := ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check.Is(t, cmp.Diff(exact(t, want), exact(t, string(text))), "", name)
	}
}

// TestAbsoluteBase: a patch names its base from its own folder, or by a path that is whole.
func TestAbsoluteBase(t *testing.T) {
	dir := folder(t, map[string]string{"base.json": `{"Resources": {}}`})
	patch := filepath.Join(folder(t,
		map[string]string{"patch.json": `{"Base": "` + filepath.ToSlash(filepath.Join(dir, "base.json")) +
			`", "Patch": []}`}), "patch.json")
	text := check.Get(ReadFile(patch))
	check.That(t, strings.Contains(string(text), "Resources"), "%+v", text)
}

// exact is a JSON text as a value that keeps each digit of its numbers.
func exact(t *testing.T, text string) (value any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&value)
	check.Need(t, err == nil, "%v: %s", err, text)
	return value
}

func TestReadFileErrors(t *testing.T) {
	dir := folder(t, map[string]string{
		"base.json":    `{"Resources": {"A": {"Type": "X"}}}`,
		"broken.json":  `{`,
		"nowhere.json": `{"Base": "absent.json", "Patch": []}`,
		"itself.json":  `{"Base": "./itself.json", "Patch": []}`,
		"round.json":   `{"Base": "about.json", "Patch": []}`,
		"about.json":   `{"Base": "round.json", "Patch": []}`,
		"empty.json":   `{"Base": "base.json"}`,
		"object.json":  `{"Base": "base.json", "Patch": {}}`,
		"unknown.json": `{"Base": "base.json", "Patch": [{"op": "change", "path": "/Resources", "value": 1}]}`,
		"remove.json":  `{"Base": "base.json", "Patch": [{"op": "remove", "path": "/Resources/B"}]}`,
		"replace.json": `{"Base": "base.json", "Patch": [{"op": "replace", "path": "/Resources/A/Of", "value": 1}]}`,
		"deep.json":    `{"Base": "base.json", "Patch": [{"op": "add", "path": "/Resources/B/Type", "value": "X"}]}`,
		"over.json":    `{"Base": "remove.json", "Patch": []}`,
		"garbled.json": `{"Base": "broken.json", "Patch": [{"op": "remove", "path": "/Resources"}]}`,
	})
	for name, want := range map[string]string{
		"absent.json": "absent.json", "nowhere.json": "absent.json",
		"itself.json": "itself.json: Base: ", "round.json": "round.json: Base: ",
		"empty.json": "empty.json: Patch: ", "object.json": "object.json: Patch: ", "unknown.json": "change",
		"remove.json": "/Resources/B", "replace.json": "/Resources/A/Of", "deep.json": "/Resources/B/Type",
		"over.json": "remove.json: Patch: ", "garbled.json": "garbled.json: Patch: ",
	} {
		text, err := ReadFile(filepath.Join(dir, name))
		check.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %q, %v", name, text, err)
	}
	// What is no patch, Parse refuses with words of its own.
	for name, text := range map[string]string{
		"broken.json": `{`, "both.json": `{"Base": "base.json", "Patch": [], "Resources": {"A": {"Type": "X"}}}`, "number.json": `{"Base": 1, "Patch": []}`,
	} {
		read, err := ReadFile(filepath.Join(folder(t, map[string]string{name: text}), name))
		check.That(t, err == nil && string(read) == text, "%s: %q, %v", name, read, err)
		_, err = Parse(read)
		check.That(t, err != nil, "Parse takes %s", text)
	}
}
