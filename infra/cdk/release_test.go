package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/infra/cdk/internal/cloudformation"
)

// writeReleased writes the template of the release 1.2.3, once for all tests.
var writeReleased = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "released-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, "made", "streamsort.template.json")
	if err := release("1.2.3", file); err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	return string(text), err
})

func released(t *testing.T) string {
	t.Helper()
	text, err := writeReleased()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A release's template names the release's zips, all of them that it needs, as
// .goreleaser.yaml names them, and says which release it is.
func TestRelease(t *testing.T) {
	text := released(t)
	var document struct {
		Description string
		Resources   map[string]struct{ Type string }
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(document.Description, "Streamsort 1.2.3:") || strings.Contains(text, cloudformation.Version) {
		t.Errorf("%q, and %v has the placeholder", document.Description, strings.Contains(text, cloudformation.Version))
	}
	config, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	zips := regexp.MustCompile(`\$\{ArtifactPrefix\}([a-z]+)_1\.2\.3_\$\{Architecture\}\.zip`).FindAllStringSubmatch(text, -1)
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

func TestReleaseRefuses(t *testing.T) {
	for _, version := range []string{"", "../x", "1.2 3", "${X}"} {
		out := filepath.Join(t.TempDir(), "out.json")
		if err := release(version, out); err == nil {
			t.Errorf("version %q was taken", version)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("version %q: a file was written", version)
		}
	}
	if err := release("1.2.3", ""); err == nil {
		t.Error("no file was named, and none missed")
	}
}

// CloudFormation takes templates of up to 1 MB, and texts of ASCII: it shows others with
// question marks.
func TestReleasedFits(t *testing.T) {
	template := released(t)
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
	if !strings.Contains(text, "go -C infra/cdk run . -release {{ .Version }} -out ../../"+file) || strings.Count(text, "extra_files: [{glob: ") != 2 ||
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
	if err := json.Unmarshal([]byte(released(t)), &document); err != nil {
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

// The parameters' bounds and defaults are those of the stack's properties.
func TestParametersAreTheStacks(t *testing.T) {
	synthesize, err := synthesizer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	values := func(least bool) map[string]string {
		properties := map[string]string{"stack": "Streamsort"}
		for _, p := range cloudformation.Parameters() {
			if _, number := p.Default.(int); number && p.Allowed == nil {
				properties[p.Prop] = p.Property(p.Max)
				if least {
					properties[p.Prop] = p.Property(p.Min)
				}
			}
		}
		return properties
	}
	for _, least := range []bool{true, false} {
		if _, err := synthesize(values(least)); err != nil {
			t.Errorf("at their bounds (least: %v): %v", least, err)
		}
	}
	defaults := map[string]string{"stack": "Streamsort"}
	for _, p := range cloudformation.Parameters() {
		if p.Prop == "architecture" || p.Default == nil || p.Default == "" || strings.HasPrefix(p.Prop, "artifact") {
			continue
		}
		defaults[p.Prop] = p.Property(p.Default)
		if p.Prop == "logSuccesses" {
			continue // 100 keeps Lambda's own lines too, which a file cannot switch
		}
		for _, beyond := range []int{p.Min - 1, p.Max + 1} {
			if p.Min == p.Max || beyond == 0 || p.Prop == "firstSeq" && beyond > 0 {
				continue // not a number; the property's default; a file's numbers end where those of JSON do
			}
			if _, err := synthesize(map[string]string{"stack": "Streamsort", p.Prop: p.Property(beyond)}); err == nil {
				t.Errorf("%s: the stack takes %s, and its parameter does not", p.Prop, p.Property(beyond))
			}
		}
		if p.Allowed == nil {
			continue
		}
		// What the property takes stands in the error of what it does not.
		_, err := synthesize(map[string]string{"stack": "Streamsort", p.Prop: "2"})
		if allowed := strings.Trim(fmt.Sprint(p.Allowed), "[]"); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ",", ""), allowed) && allowed != "true false" {
			t.Errorf("%s: the parameter takes %s; the stack says %v", p.Prop, allowed, err)
		}
	}
	got, err := synthesize(defaults)
	if err != nil {
		t.Fatal(err)
	}
	diffGolden(t, goldenFile, normalise(t, got))
}

// docs/how-to/without-cdk.md has every parameter.
func TestDocsNameParameters(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/without-cdk.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range cloudformation.Parameters() {
		if !strings.Contains(string(text), "`"+p.Name()+"`") {
			t.Errorf("docs/how-to/without-cdk.md does not name %s", p.Name())
		}
	}
}
