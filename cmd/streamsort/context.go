package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

type contextCommand struct {
	Add    contextAdd    `cmd:"" help:"Give a stack a name: one of CloudFormation by --stack, or an address by --url."`
	Use    contextUse    `cmd:"" help:"Use a context wherever no --context, --url or variable says another."`
	List   contextList   `cmd:"" help:"Print the contexts; a * is at the one in use."`
	Remove contextRemove `cmd:"" help:"Forget a context. The stack is not touched."`
}

type contextAdd struct {
	Name  string `arg:"" help:"What to call it: 1 to 64 letters, digits, dots, dashes and underscores."`
	Stack string `help:"The stack of CloudFormation, in the region of --region or of AWS's configuration. Its outputs are read now, once: ApiUrl, and the names of its tables."`
}

func (c *contextAdd) Run(s *session) error {
	if !regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`).MatchString(c.Name) {
		return usage("the name %q must be 1 to 64 letters, digits, dots, dashes and underscores", c.Name)
	}
	if (c.Stack == "") == (s.given.URL == "") {
		return usageError("either --stack or --url must be given")
	}
	added := s.given
	if c.Stack != "" {
		var err error
		if added, err = s.deployed(c.Stack); err != nil {
			return err
		}
	} else if err := checkURL(added.URL); err != nil {
		return err
	}
	if err := changePlaces(func(all *places) error {
		all.Contexts[c.Name] = added
		return nil
	}); err != nil {
		return err
	}
	return s.print(added.named(c.Name), "%s\tadded\t%s\n", c.Name, added.URL)
}

func (s *session) deployed(stack string) (place, error) {
	where, err := s.service("CLOUDFORMATION")
	if err != nil {
		return place{}, fmt.Errorf("%w: set AWS_REGION (--region), and AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run under a role", err)
	}
	where.Region = cmp.Or(s.given.Region, where.Region)
	at := aws.Config{Region: where.Region, Credentials: where.Credentials,
		BaseEndpoint: where.Endpoint}
	answer, err := cloudformation.NewFromConfig(at).
		DescribeStacks(s.ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
	if err != nil {
		return place{}, fmt.Errorf("stack %s in %s: %w", stack, where.Region, err)
	}
	outputs := map[string]string{}
	for _, described := range answer.Stacks {
		for _, output := range described.Outputs {
			outputs[aws.ToString(output.OutputKey)] = aws.ToString(output.OutputValue)
		}
	}
	if outputs["ApiUrl"] == "" {
		return place{},
			fmt.Errorf("stack %s in %s has no output ApiUrl (it has: %s): is it this project's?",
				stack, where.Region, cmp.Or(strings.Join(slices.Sorted(maps.Keys(outputs)), ", "), "none"))
	}
	return place{
		URL: strings.TrimSuffix(outputs["ApiUrl"], "/"), Region: where.Region, Stack: stack,
		Sign: s.given.Sign, Tables: tablesIn(outputs),
	}, nil
}

func (p place) named(name string) map[string]any {
	return map[string]any{"name": name, "context": p}
}

func tablesIn(outputs map[string]string) map[string]string {
	tables := map[string]string{}
	for name, value := range outputs {
		if table, is := strings.CutSuffix(name, "TableName"); is {
			tables[table] = value
		}
	}
	return tables
}

type contextName struct {
	Name string `arg:"" help:"The context's name."`
}

type contextUse struct{ contextName }

func (c *contextUse) Run(s *session) error {
	var used place
	if err := changePlaces(func(all *places) (err error) {
		all.Current = c.Name
		used, err = all.named(c.Name)
		return err
	}); err != nil {
		return err
	}
	return s.print(used.named(c.Name), "%s\tin use\t%s\n", c.Name, used.URL)
}

type contextList struct{}

func (*contextList) Run(s *session) error {
	all, err := readPlaces()
	if err != nil {
		return err
	}
	l := s.listing("name", "in use", "url", "region", "stack")
	for _, name := range slices.Sorted(maps.Keys(all.Contexts)) {
		p := all.Contexts[name]
		document, used := p.named(name), "-"
		if document["inUse"] = name == all.Current; name == all.Current {
			used = "*"
		}
		l.add(document, name, used, p.URL, cmp.Or(p.Region, "-"), cmp.Or(p.Stack, "-"))
	}
	return l.end("none", nil)
}

type contextRemove struct{ contextName }

func (c *contextRemove) Run(s *session) error {
	var gone place
	if err := changePlaces(func(all *places) (err error) {
		gone, err = all.named(c.Name)
		all.forget(c.Name)
		return err
	}); err != nil {
		return err
	}
	return s.print(gone.named(c.Name), "%s\tremoved\n", c.Name)
}

// forget forgets a context; none is in use then, if that was.
func (p *places) forget(name string) {
	delete(p.Contexts, name)
	if p.Current == name {
		p.Current = ""
	}
}

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

type places struct {
	Current  string           `json:"current,omitempty"`
	Contexts map[string]place `json:"contexts"`
}

func placesFile() (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "streamsort", "contexts.json"), err
}

// readPlaces reads the contexts; there are none where there is no file, or no folder for it.
func readPlaces() (places, error) {
	all := places{Contexts: map[string]place{}}
	file, err := placesFile()
	if err != nil {
		return all, nil //nolint:nilerr // a user without a folder has no contexts; writing fails
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

func changePlaces(change func(*places) error) error {
	all, err := readPlaces()
	if err == nil {
		err = change(&all)
	}
	if err == nil {
		err = all.write()
	}
	return err
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
	part := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err = os.WriteFile(part, append(content, '\n'), 0o600); err == nil {
		err = os.Rename(part, file)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return err
}

func (p places) named(name string) (place, error) {
	found, ok := p.Contexts[name]
	if ok {
		return found, nil
	}
	hint := "`streamsort context list` shows those that there are"
	if other := near(name, slices.Collect(maps.Keys(p.Contexts))); other != "" {
		hint = fmt.Sprintf("did you mean %q?", other)
	}
	return place{}, usage("there is no context %q; %s", name, hint)
}

const (
	here         = "http://127.0.0.1:3000" // where the API is if nothing says it
	localContext = "local"                 // that of the stack that runs here
)

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return usage("--url (STREAMSORT_URL) is %q: it must be like http://127.0.0.1:3000 or https://ID.execute-api.REGION.amazonaws.com, with no password in it", text)
	}
	return nil
}

// place is the one that the flags mean: an address, else a context that is named, else the one that
// is in use, else the stack that runs here.
func (c *commands) place(given place) (place, error) {
	if c.Context != "" && c.URL != "" {
		return given, usageError("--url (STREAMSORT_URL) and --context (STREAMSORT_CONTEXT) are both given: each says where the API is")
	}
	if c.URL != "" {
		return given, checkURL(c.URL)
	}
	all, err := readPlaces()
	name := cmp.Or(c.Context, all.Current)
	if _, runs := all.Contexts[localContext]; runs && name == "" {
		name = localContext // at whatever port
	}
	if err != nil || name == "" {
		given.URL = here
		return given, err
	}
	found, err := all.named(name)
	found.Region, found.Sign = cmp.Or(c.Region, found.Region), found.Sign || c.Sign
	return found, err
}
