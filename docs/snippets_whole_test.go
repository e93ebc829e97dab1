//go:build whole

package docs_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/sources"
)

// packages are what the pages' Go code may call, by the name it is called by.
var packages = map[string]string{
	"bytes": "bytes", "context": "context", "json": "encoding/json", "fmt": "fmt", "http": "net/http", "maps": "maps", "slices": "slices",
	"sql": "database/sql", "sync": "sync", "time": "time",
	"events":      "github.com/aws/aws-lambda-go/events",
	"lambda":      "github.com/aws/aws-lambda-go/lambda",
	"dynamodb":    "github.com/aws/aws-sdk-go-v2/service/dynamodb",
	"cursor":      module + "pkg/cursor",
	"delivery":    module + "pkg/delivery",
	"pull":        module + "pkg/delivery/pull",
	"pullhttp":    module + "pkg/delivery/pull/pullhttp",
	"sqlmarker":   module + "pkg/delivery/pull/sqlmarker",
	"producer":    module + "pkg/producer",
	"xorack":      module + "pkg/xorack",
	"dedup":       module + "pkg/dedup",
	"table":       module + "pkg/table",
	"deduplambda": module + "pkg/dedup/deduplambda",
	"kind":        module + "internal/sink/kind",
}

// given is what a page's code uses and does not show.
const given = `
var (
	ctx       context.Context
	client    *dynamodb.Client
	body      []byte
	receipt   json.RawMessage
	stackID   string
	apiURL    string
	names     cursor.Names
	sorter    *cursor.Sorter
	deliverer *delivery.Deliverer
	claims    delivery.Claims
	markers   *sqlmarker.Markers
	acker     *xorack.Acker
	p         *producer.Producer
	rows      []producer.Message
	err       error
)

type Charge struct{}

var store STORE
var done func(producer.Message, error)
var work func(context.Context, json.RawMessage) error
var handle func(context.Context, delivery.Batch) error
var charge func(context.Context, json.RawMessage) (Charge, error)
var serve func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)
var open func(kind.Target, http.RoundTripper) (kind.Sink, error)
`

var (
	block    = regexp.MustCompile("(?ms)^ *```go\n(.*?)^ *```$")
	call     = regexp.MustCompile(`\b([a-z]+[0-9]*)\.[A-Z]`)
	declared = regexp.MustCompile(`(?m)^(?:func|var|type) (\w+)`)
	unused   = regexp.MustCompile(`declared and not used|imported and not used`)
)

// program is a block of Go code in a package of its own.
func program(page, code string) string {
	code = regexp.MustCompile(`(?m)^\s*…$`).ReplaceAllString(code, "")
	code = strings.ReplaceAll(code, "{ … }", "{ return nil }")
	before := strings.Replace(given, "STORE", "*cursor.Store", 1)
	if filepath.Base(page) == "dedup.md" {
		before = strings.Replace(given, "STORE", "dedup.Store", 1)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, 0); err != nil {
		code = "func _() {\n" + code + "\n}\n"
	}
	for _, own := range declared.FindAllStringSubmatch(code, -1) {
		before = regexp.MustCompile(`(?m)^var `+own[1]+` .*$`).ReplaceAllString(before, "")
	}
	code = before + code
	var imports []string
	for _, found := range call.FindAllStringSubmatch(code, -1) {
		if path := packages[found[1]]; path != "" {
			imports = append(imports, fmt.Sprintf("import %q\n", path))
		}
	}
	slices.Sort(imports)
	return "package p\n" + strings.Join(slices.Compact(imports), "") + code
}

// TestGoOfThePagesCompiles compiles each block of Go code in the README and the pages. What it
// declares and does not use is the reader's.
func TestGoOfThePagesCompiles(t *testing.T) {
	dir, err := os.MkdirTemp("..", ".snippets-") // within the module, and outside of ./...
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	where := map[string]string{}
	var folders []string
	for _, page := range append(pages(t), "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range block.FindAllSubmatchIndex(text, -1) {
			name := fmt.Sprintf("p%d", len(where))
			where[name] = fmt.Sprintf("%s:%d", page, 1+strings.Count(string(text[:at[0]]), "\n"))
			folders = append(folders, filepath.Join(dir, name))
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
			code := program(page, string(text[at[2]:at[3]]))
			if err := os.WriteFile(filepath.Join(dir, name, "p.go"), []byte(code), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(where) < 9 {
		t.Errorf("%d blocks of Go code, and there are more", len(where))
	}
	said, err := exec.Command("go", append([]string{"build", "-gcflags=-e"}, folders...)...).
		CombinedOutput()
	if err == nil {
		t.Fatalf("every block uses all that it declares, which is not so: go build looks elsewhere: %s", said)
	}
	if err := sources.Note(t.Context(), ".", slices.Collect(maps.Values(packages))...); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "#") || unused.MatchString(line) {
			continue
		}
		folder := regexp.MustCompile(`p[0-9]+/`).FindString(line)
		t.Errorf("%s: %s", where[strings.TrimSuffix(folder, "/")], line)
	}
}
