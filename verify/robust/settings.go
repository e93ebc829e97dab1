package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is a number that a scenario takes from a variable of its name; TIME is a duration. One
// without bounds is a text, which the scenario reads itself.
type setting struct {
	name string
	// usual is what it is where nothing is said, short what it is in the short form.
	usual, short int64
	least, most  int64
}

// values are a scenario's settings, by name.
type values map[string]int64

func (v values) number(name string) int { return int(v[name]) }

func (v values) time() time.Duration { return time.Duration(v["TIME"]) }

// String is the settings as they may be given again.
func (v values) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		parts = append(parts, name+"="+write(name, v[name]))
	}
	return strings.Join(parts, " ")
}

func write(name string, value int64) string {
	if name == "TIME" {
		return time.Duration(value).String()
	}
	return strconv.FormatInt(value, 10)
}

// read reads settings. The error names all that is wrong.
func read(all []setting, short bool, get func(string) string) (values, error) {
	v := values{}
	var errs []error
	for _, s := range all {
		if s.most == 0 {
			continue
		}
		v[s.name] = s.usual
		if short {
			v[s.name] = s.short
		}
		text := get(s.name)
		if text == "" {
			continue
		}
		value, err := s.parse(text)
		if err != nil || value < s.least || value > s.most {
			errs = append(errs, fmt.Errorf("%s=%s must be from %s to %s", s.name, text,
				write(s.name, s.least), write(s.name, s.most)))
		}
		v[s.name] = value
	}
	return v, errors.Join(errs...)
}

func (s setting) parse(text string) (int64, error) {
	if s.name == "TIME" {
		d, err := time.ParseDuration(text)
		return int64(d), err
	}
	return strconv.ParseInt(text, 10, 64)
}

// describe says what settings there are, with their bounds.
func describe(all []setting) string {
	parts := make([]string, len(all))
	for i, s := range all {
		parts[i] = s.name
		if s.most > 0 {
			bounds := []any{write(s.name, s.usual), write(s.name, s.least), write(s.name, s.most)}
			parts[i] += fmt.Sprintf("=%s (%s to %s)", bounds...)
		}
	}
	return strings.Join(parts, ", ")
}
