package sink

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	generate "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/message"
	"github.com/streamsort/streamsort/internal/sink/eventbridge"
	"github.com/streamsort/streamsort/internal/sink/fifo"
	"github.com/streamsort/streamsort/internal/sink/lambda"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

var update = flag.Bool("update", false, "write the schemas anew")

// schemas is where they are, for users.
const schemas = "../../docs/schema"

// schemaOf is the schema of what a type is written as, with the comments of its fields.
func schemaOf(t *testing.T, name string, v any) *generate.Schema {
	t.Helper()
	r := generate.Reflector{
		ExpandedStruct: true, Anonymous: true,
		Mapper: func(of reflect.Type) *generate.Schema {
			if of != reflect.TypeFor[jsonseq.Seq]() {
				return nil
			}
			return &generate.Schema{OneOf: []*generate.Schema{
				{Type: "integer", Minimum: "-1", Maximum: "9007199254740992"},
				{Type: "string", Pattern: "^[1-9][0-9]{15,18}$"}, // beyond, where readers of JSON round
			}}
		},
	}
	for _, folder := range []string{"lambda", "fifo", "eventbridge", "../message"} {
		check.OK(t, r.AddGoComments("github.com/streamsort/streamsort/internal/sink", folder))
	}
	s := r.Reflect(v)
	s.Title = name
	return s
}

// sent makes the schema of messages that of those which sinks send: they have a time, a body in one
// of two forms, and its media type; what was given up is no message of a batch.
func sent(s *generate.Schema) *generate.Schema {
	s.Properties.Delete("tombstone")
	s.Required = append(s.Required, "enqueuedAt", "contentType")
	s.OneOf = []*generate.Schema{{Required: []string{"body"}}, {Required: []string{"bodyBase64"}}}
	body, _ := s.Properties.Get("bodyBase64")
	body.ContentEncoding = "base64"
	return s
}

// generated are the schemas as the Go types have them, by the names of their files.
func generated(t *testing.T) map[string]*generate.Schema {
	t.Helper()
	document := schemaOf(t, "What process calls a Lambda function with", lambda.Document{})
	messages, _ := document.Properties.Get("messages")
	messages.Items = &generate.Schema{Ref: "#/$defs/Message"}
	one := sent(schemaOf(t, "A message", message.Document{}))
	one.Version = ""
	document.Definitions = generate.Definitions{"Message": one}
	return map[string]*generate.Schema{
		"lambda.json":      document,
		"sqs-sns.json":     schemaOf(t, "The message attributes of SQS and SNS, by their names", fifo.Attributes{}),
		"eventbridge.json": sent(schemaOf(t, "The detail of an event on an EventBridge bus", eventbridge.Detail{})),
	}
}

// TestGoldenSchemas: docs/schema is what the Go types say. `go test ./internal/sink -run
// GoldenSchemas -update` renews it.
func TestGoldenSchemas(t *testing.T) {
	for name, schema := range generated(t) {
		text := check.Get(json.MarshalIndent(schema, "", "  "))
		text = append(bytes.ReplaceAll(text, []byte(`\n`), []byte(" ")), '\n') // a comment's lines
		path := filepath.Join(schemas, name)
		if *update {
			check.OK(t, os.WriteFile(path, text, 0o644))
		}
		if golden, err := os.ReadFile(path); err != nil || !bytes.Equal(golden, text) {
			t.Errorf("docs/schema/%s is not what the Go types say: call `go test ./internal/sink -run GoldenSchemas -update` (%v)", name, err)
		}
	}
}

// compiled is the schema of a file in docs/schema, as users have it.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4) // which has no $defs: the file has to name its own
	c.AssertFormat()
	return check.Get(c.Compile(filepath.Join(schemas, name)))
}

// TestWhatIsSentKeepsToTheSchema: what the sinks send is valid. A member that is left out or made
// up is not, at any place; and each property of a schema is sent at some time, and missing at
// another if it is not required.
func TestWhatIsSentKeepsToTheSchema(t *testing.T) {
	for name, documents := range sentDocuments(t) {
		schema := compiled(t, name)
		seen := newSeen()
		for _, raw := range documents {
			value := decoded(t, raw)
			err := schema.Validate(value)
			check.That(t, err == nil, "%s: %v\n%s", name, err, raw)
			seen.note(schema, value)
			each(schema, value, func(of *jsonschema.Schema, at map[string]any) {
				at["madeUp"] = "x"
				check.That(t, schema.Validate(value) != nil,
					"%s: %s is valid with a member that is made up", name, raw)
				delete(at, "madeUp")
				for _, required := range of.Required {
					taken := at[required]
					delete(at, required)
					check.That(t, schema.Validate(value) != nil, "%s: %s is valid without %s", name, raw, required)
					at[required] = taken
				}
			})
		}
		seen.report(t, name)
	}
}

// TestExamplesOfThePagesAreValid: the pages show one document of each schema, below its heading.
func TestExamplesOfThePagesAreValid(t *testing.T) {
	for name, shown := range map[string][2]string{
		"lambda.json":      {"how-to/sinks.md", "\n## What a function receives\n"},
		"sqs-sns.json":     {"how-to/sinks.md", "\n## SQS FIFO and SNS FIFO\n"},
		"eventbridge.json": {"reference/events.md", "\n## What a sink gets\n"},
	} {
		page := check.Get(os.ReadFile("../../docs/" + shown[0]))
		_, section, _ := strings.Cut(string(page), shown[1])
		_, example, _ := strings.Cut(section, "```json\n")
		example, _, _ = strings.Cut(example, "```")
		err := compiled(t, name).Validate(decoded(t, example))
		check.That(t, err == nil, "the example of %s: %v", name, err)
	}
}

// each calls visit with all objects of a value whose members the schema names.
func each(s *jsonschema.Schema, value any, visit func(*jsonschema.Schema, map[string]any)) {
	if s == nil {
		return
	}
	if s.Ref != nil {
		s = s.Ref
	}
	switch value := value.(type) {
	case map[string]any:
		if s.Properties == nil {
			return
		}
		visit(s, value)
		for name, property := range s.Properties {
			each(property, value[name], visit)
		}
	case []any:
		for _, element := range value {
			each(s.Items2020, element, visit)
		}
	}
}

// seen counts of each property how often it was there, and of each object.
type seen struct {
	objects    map[*jsonschema.Schema]int
	properties map[*jsonschema.Schema]map[string]int
}

func newSeen() seen {
	return seen{map[*jsonschema.Schema]int{}, map[*jsonschema.Schema]map[string]int{}}
}

func (s seen) note(schema *jsonschema.Schema, value any) {
	each(schema, value, func(of *jsonschema.Schema, at map[string]any) {
		s.objects[of]++
		if s.properties[of] == nil {
			s.properties[of] = map[string]int{}
		}
		for name := range at {
			s.properties[of][name]++
		}
	})
}

func (s seen) report(t *testing.T, file string) {
	t.Helper()
	for of, n := range s.objects {
		for name := range of.Properties {
			switch got := s.properties[of][name]; {
			case got == 0:
				t.Errorf("%s: %s is never sent", file, name)
			case got == n && !slices.Contains(of.Required, name):
				t.Errorf("%s: %s is always sent, and not required", file, name)
			}
		}
	}
}

func decoded(t *testing.T, raw string) any {
	t.Helper()
	return check.Get(jsonschema.UnmarshalJSON(strings.NewReader(raw)))
}

// batchesOfAllKinds have all that a document may have, and nothing that it need not have.
func batchesOfAllKinds() []delivery.Batch {
	whole := sinktest.Tracked(sinktest.Batch("@acme/orders", `{"n":1}`, "\x00", "",
		`{ "spaced": 1 }`), "tag")
	whole.Messages[0].ID, whole.Messages[0].Attributes = "id\x01", map[string]string{"k": "v"}
	whole.Messages[3].Trace = cursor.Trace{
		Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=1",
	}
	for i, parts := range [][]any{{7.5}, {"a"}, {1538601234, "x.b"}} {
		keys := []sortkey.KeyType{"number", "text", "time,rank(*.a|*)"}[i]
		key := check.Get(keys.Key(parts...))
		whole.Messages[i].Key, whole.Messages[i].Late, whole.Messages[i].Unlinked = key, i > 0, i > 1
	}
	whole.Messages[3].Seq, whole.Token.N = 1<<62, 1<<60
	whole.From, whole.To, whole.Skipped, whole.Attempt, whole.Rewinds = -1, 1<<62, []int64{0, 7}, 2, 3
	return []delivery.Batch{sinktest.Batch("q", sinktest.Bodies(2)...), whole}
}

// sentDocuments are what the sinks send of those, by the schema that it is of.
func sentDocuments(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for config, schema := range map[set]string{
		{Kind: "lambda", ARN: functionARN}: "lambda.json", {Kind: "sqs", ARN: queueARN}: "sqs-sns.json",
		{Kind: "sns", ARN: topicARN}: "sqs-sns.json", {Kind: "eventbridge", ARN: busARN}: "eventbridge.json",
	} {
		s := config.open(t, sinktest.Transport(func(r *http.Request) (*http.Response, error) {
			if config.Kind == "lambda" {
				raw, err := io.ReadAll(r.Body)
				all[schema] = append(all[schema], string(raw))
				return answered(r, "lambda", ""), err
			}
			return serves(t, r, config.Kind, func(e entry) bool {
				document := e.Detail
				if config.Kind != "eventbridge" {
					values := map[string]string{}
					for name, value := range e.MessageAttributes {
						values[name] = value.StringValue + string(value.BinaryValue)
					}
					document = string(check.Get(json.Marshal(values)))
				}
				all[schema] = append(all[schema], document)
				return true
			})
		}))
		for _, b := range batchesOfAllKinds() {
			check.OK(t, s.Send(t.Context(), b))
		}
	}
	return all
}
