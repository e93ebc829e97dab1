package gateway

import (
	"net/url"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/localstack/template"
)

// How well one part of a route's path fits: the better, the higher.
const (
	greedy = iota + 1
	variable
	literal
)

// fit is a route that takes a request.
type fit struct {
	route      template.Route
	parts      []int // how each part of the route's path fits
	parameters map[string]string
}

// match is the route that fits a request best: part by part a literal before {a variable} before {a
// greedy one+}; a method before ANY; $default last. path is still encoded; parameters are not.
func match(routes []template.Route, method, path string) (template.Route, map[string]string, bool) {
	segments, ok := split(path)
	if !ok {
		return template.Route{}, nil, false
	}
	var best *fit
	for _, route := range routes {
		if route.Method != "" && route.Method != "ANY" && route.Method != method {
			continue
		}
		f, ok := try(route, segments)
		if ok && (best == nil || better(f, *best)) {
			best = &f
		}
	}
	if best == nil {
		return template.Route{}, nil, false
	}
	return best.route, best.parameters, true
}

// split decodes the parts of a path one by one, so that an encoded slash stays inside its part.
func split(path string) ([]string, bool) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return nil, false
		}
		segments[i] = decoded
	}
	return segments, true
}

func better(a, b fit) bool {
	if order := slices.Compare(a.parts, b.parts); order != 0 {
		return order > 0
	}
	return a.route.Method != "ANY" && b.route.Method == "ANY"
}

func try(route template.Route, segments []string) (fit, bool) {
	f := fit{route: route, parameters: map[string]string{}}
	if route.Key == "$default" {
		return f, true
	}
	parts := strings.Split(strings.TrimPrefix(route.Path, "/"), "/")
	for i, part := range parts {
		name, isVariable := strings.CutPrefix(part, "{")
		name = strings.TrimSuffix(name, "}")
		rest, isGreedy := strings.CutSuffix(name, "+")
		switch {
		case i >= len(segments):
			return fit{}, false
		case isVariable && isGreedy:
			f.parameters[rest] = strings.Join(segments[i:], "/")
			f.parts = append(f.parts, greedy)
			return f, segments[i] != ""
		case isVariable && segments[i] != "":
			f.parameters[name] = segments[i]
			f.parts = append(f.parts, variable)
		case !isVariable && part == segments[i]:
			f.parts = append(f.parts, literal)
		default:
			return fit{}, false
		}
	}
	return f, len(parts) == len(segments)
}
