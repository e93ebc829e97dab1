package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A release's template names the release's zips, all of them that it needs, as
// .goreleaser.yaml names them, and says which release it is.
func TestWrite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "made", "streamsort.template.json")
	if err := write("1.2.3", out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Description string
		Resources   map[string]struct{ Type string }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(document.Description, "Streamsort 1.2.3:") || strings.Contains(string(text), placeholder) {
		t.Errorf("%q, and %v has the placeholder", document.Description, strings.Contains(string(text), placeholder))
	}
	config, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	zips := regexp.MustCompile(`\$\{ArtifactPrefix\}([a-z]+)_1\.2\.3_\$\{Architecture\}\.zip`).FindAllStringSubmatch(string(text), -1)
	functions := 0
	for _, resource := range document.Resources {
		if resource.Type == "AWS::Lambda::Function" {
			functions++
		}
	}
	if len(zips) != functions || functions < 6 {
		t.Errorf("%d functions, and zips %v", functions, zips)
	}
	for _, zip := range zips {
		if !strings.Contains(string(config), `name_template: '`+zip[1]+`_{{ .Version }}_{{ if eq .Arch "amd64" }}x86_64{{ else }}{{ .Arch }}{{ end }}'`) {
			t.Errorf("a release has no zip named as that of %s", zip[1])
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, version := range []string{"", "../x", "1.2 3", "${X}"} {
		out := filepath.Join(t.TempDir(), "out.json")
		if err := write(version, out); err == nil {
			t.Errorf("version %q was taken", version)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("version %q: a file was written", version)
		}
	}
	if err := write("1.2.3", ""); err == nil {
		t.Error("no file was named, and none missed")
	}
}

// CloudFormation takes templates of up to 1 MB, and texts of ASCII: it shows others with
// question marks.
func TestTemplateFits(t *testing.T) {
	if len(template) > 900_000 {
		t.Errorf("the template has %d bytes", len(template))
	}
	if at := slices.IndexFunc([]byte(template), func(b byte) bool { return b > 126 }); at >= 0 {
		t.Errorf("not ASCII: %q", template[max(at-40, 0):at+10])
	}
}

// What makes a release writes the template, publishes it, and has its checksum, which is attested.
func TestReleaseHasTemplate(t *testing.T) {
	config, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(config)
	const file = `.build/release/streamsort_{{ .Version }}.template.json`
	if !strings.Contains(text, "go run ./infra/cloudformation -version {{ .Version }} -out "+file) || strings.Count(text, "extra_files: [{glob: ") != 2 ||
		strings.Count(text, "glob: '"+file+"'") != 2 {
		t.Error(".goreleaser.yaml does not write the template, publish it and list its checksum")
	}
}

// A function's environment has 4 KB at most: that of each holds the longest values that the
// parameters take, for a stack with a name of 64 characters.
func TestEnvironmentFits(t *testing.T) {
	// An address is a queue's URL, or an ARN; what is short is a number, a duration or a word.
	const most, longName, address, short = 4096, 64, 200, 25
	var document struct {
		Parameters map[string]struct{ MaxLength int }
		Resources  map[string]struct {
			Properties struct {
				Environment struct{ Variables map[string]json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal([]byte(template), &document); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for id, resource := range document.Resources {
		size := 0
		for name, value := range resource.Properties.Environment.Variables {
			seen++
			size += len(name)
			var text string
			var ref struct{ Ref string }
			switch {
			case json.Unmarshal(value, &text) == nil:
				size += len(text)
			case json.Unmarshal(value, &ref) == nil && document.Parameters[ref.Ref].MaxLength > 0:
				size += document.Parameters[ref.Ref].MaxLength
			case strings.HasSuffix(ref.Ref, "Table") || ref.Ref == "AWS::StackName":
				size += longName + len("-consumers")
			case strings.HasSuffix(ref.Ref, "Queue") || strings.Contains(string(value), "AnnounceTopic"):
				size += address
			default:
				size += short
			}
		}
		if size > most {
			t.Errorf("the environment of %s may have %d bytes", id, size)
		}
		t.Logf("%s %d", id, size)
	}
	if seen < 100 {
		t.Errorf("%d variables", seen)
	}
}
