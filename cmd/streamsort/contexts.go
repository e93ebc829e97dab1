package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// place is a stack that has a name: what a context is. It has no secrets.
type place struct {
	URL      string `json:"url"`
	Region   string `json:"region,omitempty"`
	Sign     bool   `json:"sign,omitempty"`
	Stack    string `json:"stack,omitempty"`    // the one of CloudFormation that it was read from
	DynamoDB string `json:"dynamodb,omitempty"` // a server of one's own
	// Tables are the names of a stack's tables, as its outputs call them: Messages, Cursors, ….
	Tables map[string]string `json:"tables,omitempty"`
}

// places are the contexts that are stored.
type places struct {
	Current  string           `json:"current,omitempty"`
	Contexts map[string]place `json:"contexts"`
}

// placesFile is where they are stored, in the user's folder for configuration.
func placesFile() (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "streamsort", "contexts.json"), err
}

// readPlaces reads the contexts; there are none where there is no file, or no folder for it.
func readPlaces() (places, error) {
	all := places{Contexts: map[string]place{}}
	file, err := placesFile()
	if err != nil {
		return all, nil //nolint:nilerr // a user without a folder has no contexts; who writes one gets the error
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &all)
	}
	if err != nil {
		return all, fmt.Errorf("the contexts in %s: %w; fix the file, or delete it", file, err)
	}
	if all.Contexts == nil {
		all.Contexts = map[string]place{}
	}
	return all, nil
}

// write stores the contexts. A reader meanwhile sees those of before; of two who write at once, one
// is the last.
func (p places) write() error {
	file, err := placesFile()
	if err != nil {
		return fmt.Errorf("the contexts: %w", err)
	}
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(file), "contexts-")
	if err != nil {
		return err
	}
	_, err = part.Write(append(content, '\n'))
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

// named is a context by its name.
func (p places) named(name string) (place, error) {
	found, ok := p.Contexts[name]
	if ok {
		return found, nil
	}
	hint := "`streamsort context list` shows those that there are"
	if other := near(name, slices.Collect(maps.Keys(p.Contexts))); other != "" {
		hint = fmt.Sprintf("did you mean %q?", other)
	}
	return place{}, usageError(fmt.Sprintf("there is no context %q; %s", name, hint))
}

// contextName is what a context may be called.
var contextName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// here is where the API is if nothing says it.
const here = "http://127.0.0.1:3000"

// localContext is the context of the stack that runs here.
const localContext = "local"

// place is the one that the flags mean: an address, else a context that is named, else the one that
// is in use, else the stack that runs here.
func (c *commands) place() (place, error) {
	given := place{URL: c.URL, Region: c.Region, Sign: c.Sign}
	if c.Context != "" && c.URL != "" {
		return given, usageError("--url (STREAMSORT_URL) and --context (STREAMSORT_CONTEXT) are both given: each says where the API is")
	}
	if c.URL != "" {
		return given, nil
	}
	all, err := readPlaces()
	name := c.Context
	if name == "" {
		name = all.Current
	}
	if _, runs := all.Contexts[localContext]; runs && name == "" {
		name = localContext // at whatever port
	}
	if err != nil || name == "" {
		given.URL = here
		return given, err
	}
	found, err := all.named(name)
	if c.Region != "" {
		found.Region = c.Region
	}
	found.Sign = found.Sign || c.Sign
	return found, err
}
