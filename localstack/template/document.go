package template

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Document is a template that has been parsed: its shape is right, nothing in it has been resolved
// yet.
type Document struct {
	parameters map[string]any
	mappings   map[string]any
	conditions map[string]any
	outputs    map[string]any
	resources  map[string]rawResource
	foreign    map[string]bool   // logical ids of resources that other services run
	notRun     map[string]string // why a resource is not run, by its logical id
}

// rawResource is one entry of the Resources section, unresolved.
type rawResource struct {
	typ        string
	condition  string // name of the condition it depends on, empty for none
	properties map[string]any
	metadata   map[string]any
}

// The sections that a template may have. Rules check parameters at deploy time, and Metadata and
// Description describe: none has local meaning.
var sections = []string{
	"AWSTemplateFormatVersion", "Conditions", "Description", "Mappings", "Metadata",
	"Outputs", "Parameters", "Resources", "Rules",
}

// Parse reads the JSON text of a template. It reports text that is not one JSON object, unknown
// sections, and resources without a type, all with their path.
func Parse(text []byte) (*Document, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var top map[string]any
	if err := decoder.Decode(&top); err != nil {
		return nil, fmt.Errorf("the template must be one JSON object: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the template must be one JSON object: there is text after it")
	}
	var problems problems
	for _, name := range sorted(top) {
		if !slices.Contains(sections, name) {
			problems.add(name, "unknown section; known are %s", strings.Join(sections, ", "))
		}
	}
	doc := &Document{
		parameters: problems.section("", top, "Parameters"),
		mappings:   problems.section("", top, "Mappings"),
		conditions: problems.section("", top, "Conditions"),
		outputs:    problems.section("", top, "Outputs"),
		resources:  map[string]rawResource{},
	}
	resources := problems.section("", top, "Resources")
	if len(resources) == 0 {
		problems.add("Resources", "must hold at least one resource")
	}
	for _, id := range sorted(resources) {
		doc.resources[id] = parseResource(&problems, id, resources[id])
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	doc.notRun = findNotRun(doc.resources)
	doc.foreign = findForeign(doc.resources, doc.notRun)
	return doc, nil
}

// HasParameter reports whether the template declares a parameter.
func (d *Document) HasParameter(name string) bool { return d.parameters[name] != nil }

func parseResource(problems *problems, id string, value any) rawResource {
	path := "Resources." + id
	object, ok := value.(map[string]any)
	if !ok {
		problems.add(path, "must be an object")
		return rawResource{}
	}
	var resource rawResource
	if resource.typ, ok = object["Type"].(string); !ok || resource.typ == "" {
		problems.add(path+".Type", "must be a string")
	}
	if condition, given := object["Condition"]; given {
		if resource.condition, ok = condition.(string); !ok {
			problems.add(path+".Condition", "must be a string")
		}
	}
	resource.properties = problems.section(path, object, "Properties")
	resource.metadata = problems.section(path, object, "Metadata")
	return resource
}

// problems gathers what is wrong with a template, each with its path.
type problems struct{ errs []error }

func (p *problems) add(path, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

// try adds what do panics with.
func (p *problems) try(do func()) { p.errs = append(p.errs, try(do)) }

func (p *problems) err() error { return errors.Join(p.errs...) }

// section is object[name] as an object, nil where it is absent.
func (p *problems) section(path string, object map[string]any, name string) map[string]any {
	value, given := object[name]
	if !given {
		return nil
	}
	section, ok := value.(map[string]any)
	if !ok {
		p.add(join(path, name), "must be an object")
	}
	return section
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
