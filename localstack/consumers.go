package localstack

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/localstack/template"
)

// Consumer is a function of the user's, or a URL, that the stack's process delivers to without a
// template that says so. Read one by [ParseConsumer].
type Consumer struct {
	Name   string // of the consumer, and of its function
	Prefix string // of the queues; empty for all

	url     string // empty where it is a function
	folder  string // of the function's code, absolute
	runtime string
	handler string
}

// Logs reports whether the consumer is a function here, whose log the stack has.
func (c Consumer) Logs() bool { return c.url == "" }

// Prints reports whether the function's runtime prints what the function raises.
func (c Consumer) Prints() bool { return c.handler != "" }

// consumerName is what both a consumer and a function of Lambda may be called.
var consumerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// runtimes are the interpreters of functions, by the ending of their files.
var runtimes = map[string]string{".py": "python3.13", ".mjs": "nodejs22.x", ".js": "nodejs22.x",
	".cjs": "nodejs22.x"}

// ParseConsumer reads NAME=PATH[:HANDLER], of a file in Python or Node, NAME=FOLDER, of a main
// package in Go, or NAME=URL. The handler is "handler" where none is named.
func ParseConsumer(text string) (Consumer, error) {
	name, what, found := strings.Cut(text, "=")
	if !found || what == "" {
		return Consumer{},
			fmt.Errorf("%q must be NAME=PATH[:HANDLER] or NAME=URL, such as orders=app.py:handler", text)
	}
	if !consumerName.MatchString(name) {
		return Consumer{},
			fmt.Errorf("the name %q must be 1 to 64 letters, digits, dashes and underscores", name)
	}
	c := Consumer{Name: name}
	var err error
	if strings.Contains(what, "://") {
		c.url = what
		_, err = c.sink()
	} else {
		err = c.function(what)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return c, err
}

// function finds the code of PATH[:HANDLER].
func (c *Consumer) function(what string) error {
	path, handler, named := strings.Cut(what, ":")
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(absolute)
	ending := filepath.Ext(path)
	switch {
	case err != nil:
		return fmt.Errorf("there is no %s: a consumer is a file in Python or Node, the folder of a main package in Go, or a URL", absolute)
	case info.IsDir() && named:
		return fmt.Errorf("%s is a folder, of a Go program, which has no handler to name: leave :%s out",
			path, handler)
	case info.IsDir():
		c.folder, c.runtime = absolute, "provided.al2023"
		mains, _ := filepath.Glob(filepath.Join(absolute, "*.go"))
		if found, err := inFolder(absolute); len(mains) == 0 || found == nil && err == nil {
			return fmt.Errorf("%s is no package of a Go module: it needs a main.go, and a go.mod (`go mod init`) in it or above it", path)
		}
		return nil
	case runtimes[ending] == "":
		return fmt.Errorf("%s is of no language that is run here: its name must end in .py, .mjs, .js or .cjs, and of a Go program its folder is named", path)
	}
	if !named {
		handler = "handler"
	}
	c.folder, c.runtime = filepath.Dir(absolute), runtimes[ending]
	c.handler = strings.TrimSuffix(filepath.Base(path), ending) + "." + handler
	_, _, err = interpreter(c.runtime, c.handler)
	return err
}

// sink is where process delivers to.
func (c Consumer) sink() (any, error) {
	if c.url == "" {
		return map[string]string{"kind": "lambda", "arn": template.FunctionARN(c.Name)}, nil
	}
	u, err := url.Parse(c.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the URL %q must be like http://localhost:8080/orders", c.url)
	}
	port := map[string]int{"http": 80, "https": 443}[u.Scheme]
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, err
		}
	}
	return map[string]any{"kind": "http", "url": c.url, "ports": []int{port}}, nil
}

// consumersTemplate has the consumers' functions, as they run on AWS.
func consumersTemplate(all []Consumer) (*loaded, error) {
	resources := map[string]any{}
	for _, c := range all {
		if !c.Logs() {
			continue
		}
		properties := map[string]any{"FunctionName": c.Name, "Runtime": c.runtime,
			"MemorySize": 512, "Timeout": 45}
		if c.handler != "" {
			properties["Handler"] = c.handler
		}
		resources[c.Name] = map[string]any{
			"Type": "AWS::Lambda::Function", "Metadata": map[string]any{template.SourceKey: c.folder}, "Properties": properties,
		}
	}
	if len(resources) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(map[string]any{"Resources": resources})
	if err != nil {
		return nil, err
	}
	doc, err := template.Parse(text)
	return &loaded{path: "/consumers", doc: doc}, err
}

// consumersEnv adds to the functions' variables what process and the sweep know the consumers by.
// What fails is tried again within seconds, so that an edit of its code shows.
func consumersEnv(env map[string]string, all []Consumer) (map[string]string, error) {
	var list []map[string]any
	names := map[string]bool{}
	for _, c := range all {
		if names[c.Name] {
			return nil, fmt.Errorf("two consumers have the name %s: each must have its own", c.Name)
		}
		names[c.Name] = true
		sink, err := c.sink()
		if err != nil {
			return nil, err
		}
		consumer := map[string]any{"name": c.Name, "retries": []string{"1s", "2s"},
			"circuit": map[string]any{"probes": []string{"2s"}}, "blockAfter": "24h", "sink": sink}
		if c.Prefix != "" {
			consumer["prefix"] = c.Prefix
		}
		list = append(list, consumer)
	}
	text, err := json.Marshal(map[string]any{"consumers": list})
	own := map[string]string{
		"ProcessFunction.STREAMSORT_CONSUMERS": string(text), "SweepFunction.STREAMSORT_READERS": string(text),
		"ProcessFunction.STREAMSORT_HTTP_ALLOW": "127.0.0.0/8,::1/128",
	}
	maps.Copy(own, env)
	return own, err
}

// Warm starts the functions of the consumers, so that what is wrong with their code shows before a
// message comes. The error is of one whose handler is not there.
func (s *Stack) Warm() error {
	for _, c := range s.config.Consumers {
		if !c.Logs() {
			continue
		}
		failed, err := s.functions.Warm(c.Name)
		if err != nil {
			return err
		}
		var said struct{ ErrorType, ErrorMessage string }
		if json.Unmarshal(failed.Payload, &said) == nil && said.ErrorType == handlerNotFound {
			return fmt.Errorf("consumer %s: %s", c.Name, said.ErrorMessage)
		}
	}
	return nil
}
