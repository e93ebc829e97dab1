package localstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/localstack/template"
)

// loaded is a template of the run.
type loaded struct {
	path string
	doc  *template.Document
	*template.Template
}

// parse reads the text of all templates.
func parse(config Config) ([]*loaded, error) {
	var all []*loaded
	var errs []error
	for _, path := range config.Templates {
		text, err := template.ReadFile(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		doc, err := template.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			errs = append(errs, err)
		}
		all = append(all, &loaded{path: absolute, doc: doc})
	}
	own, err := consumersTemplate(config.Consumers)
	if err != nil {
		errs = append(errs, err)
	}
	if own != nil {
		all = append(all, own)
	}
	for name := range config.Parameters {
		declares := func(l *loaded) bool { return l.doc.HasParameter(name) }
		if len(errs) == 0 && !slices.ContainsFunc(all, declares) {
			errs = append(errs, fmt.Errorf("no template has a parameter %s", name))
		}
	}
	return all, errors.Join(errs...)
}

// resolve reads all templates, those that export before those that import.
func (s *Stack) resolve(ctx context.Context) error {
	imports := map[string]string{}
	for pending := s.templates; len(pending) > 0; {
		var waiting []*loaded
		var missing []error
		for _, l := range pending {
			options, err := s.options(ctx, l, imports)
			if err == nil {
				l.Template, err = l.doc.Read(options)
			}
			switch {
			case err == nil:
				maps.Copy(imports, l.Exports)
			case errors.As(err, new(*template.MissingImportError)):
				waiting = append(waiting, l)
				missing = append(missing, fmt.Errorf("%s: %w", l.path, err))
			default:
				return fmt.Errorf("%s: %w", l.path, err)
			}
		}
		if len(waiting) == len(pending) {
			return errors.Join(missing...)
		}
		pending = waiting
	}
	return nil
}

// names finds functions and schedules by their logical id or their own name.
type names struct {
	logical map[string]string // logical id or name to name
	clash   map[string]bool   // logical ids that several have
}

func newNames() names { return names{map[string]string{}, map[string]bool{}} }

func (n names) add(logicalID, name string) error {
	if n.logical[name] == name {
		return fmt.Errorf("two resources have the name %s", name)
	}
	n.logical[name] = name
	called := strings.TrimSuffix(hash.ReplaceAllString(logicalID, ""), "Function")
	for _, id := range []string{logicalID, strings.ToLower(called)} {
		if other := n.logical[id]; other != "" && other != name {
			n.clash[id] = true
			continue
		}
		n.logical[id] = name
	}
	return nil
}

// hash is what the CDK ends a logical id with, behind what an app calls its construct.
var hash = regexp.MustCompile(`[0-9A-F]{8}$`)

// find is the name behind a name or logical id, which may be without the CDK's hash and the word
// Function, in letters of either case. One that is not known, or that several have, is returned as
// it is.
func (n names) find(name string) string {
	for _, id := range []string{name, strings.ToLower(name)} {
		if found := n.logical[id]; found != "" && !n.clash[id] {
			return found
		}
	}
	return name
}

// all are the own names, sorted.
func (n names) all() []string {
	return slices.Compact(slices.Sorted(maps.Values(n.logical)))
}

func (n names) known(name string) bool { return n.logical[name] == name }

// checkReferences reports functions, tables and queues that a template refers to and that no
// template of the run has.
func checkReferences(all []*loaded) error {
	has := map[string]bool{} // by kind and name
	for _, l := range all {
		for _, f := range l.Functions {
			has["function "+f.Name] = true
		}
		for _, t := range l.Tables {
			has["table "+t.Name] = true
		}
		for _, q := range l.Queues {
			has["queue "+q.Name] = true
		}
	}
	var errs []error
	for _, l := range all {
		need := func(by, kind, name string) {
			if name != "" && !has[kind+" "+name] {
				errs = append(errs, fmt.Errorf("%s: Resources.%s: %s %q is in no template of this run", l.path,
					by, kind, name))
			}
		}
		for _, m := range l.Mappings {
			need(m.LogicalID, "function", m.Function)
			need(m.LogicalID, "table", m.Table)
			need(m.LogicalID, "queue", m.OnFailure)
		}
		for _, m := range l.Readers {
			need(m.LogicalID, "function", m.Function)
		}
		for _, f := range l.Functions {
			need(f.LogicalID, "queue", f.Async.OnFailure)
		}
		for _, a := range l.APIs {
			for _, r := range a.Routes {
				need(a.LogicalID, "function", r.Function)
			}
		}
		for _, u := range l.URLs {
			need(u.LogicalID, "function", u.Function)
		}
		for _, s := range l.Schedules {
			for _, t := range s.Targets {
				need(s.LogicalID, "function", t.Function)
			}
		}
	}
	return errors.Join(errs...)
}
