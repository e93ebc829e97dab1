package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// contextCommand are the verbs about contexts.
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
	if !contextName.MatchString(c.Name) {
		return usageError(fmt.Sprintf("the name %q must be 1 to 64 letters, digits, dots, dashes and underscores", c.Name))
	}
	if (c.Stack == "") == (s.given.URL == "") {
		return usageError("either --stack or --url must be given")
	}
	added := place{URL: s.given.URL, Region: s.given.Region, Sign: s.given.Sign}
	if c.Stack != "" {
		var err error
		if added, err = s.deployed(c.Stack); err != nil {
			return err
		}
	} else if u, err := url.Parse(added.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return usageError(fmt.Sprintf("--url is %q: it must be like https://ID.execute-api.REGION.amazonaws.com, with no password in it", added.URL))
	}
	all, err := readPlaces()
	if err != nil {
		return err
	}
	all.Contexts[c.Name] = added
	if err := all.write(); err != nil {
		return err
	}
	return s.print(added.named(c.Name), "%s\tadded\t%s\n", c.Name, added.URL)
}

// deployed is what the outputs of a stack say.
func (s *session) deployed(stack string) (place, error) {
	where, err := s.service("CLOUDFORMATION")
	if err != nil {
		return place{}, fmt.Errorf("%w: set AWS_REGION (--region), and AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run under a role", err)
	}
	where.Region = cmp.Or(s.given.Region, where.Region)
	at := aws.Config{Region: where.Region, Credentials: where.Credentials, BaseEndpoint: where.Endpoint}
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
		return place{}, fmt.Errorf("stack %s in %s has no output ApiUrl (it has: %s): is it this project's?",
			stack, where.Region, cmp.Or(strings.Join(slices.Sorted(maps.Keys(outputs)), ", "), "none"))
	}
	return place{
		URL: strings.TrimSuffix(outputs["ApiUrl"], "/"), Region: where.Region, Stack: stack, Sign: s.given.Sign, Tables: tablesIn(outputs),
	}, nil
}

// named is the context as it is printed.
func (p place) named(name string) map[string]any { return map[string]any{"name": name, "context": p} }

// tablesIn are the names of the tables that a stack's outputs have.
func tablesIn(outputs map[string]string) map[string]string {
	tables := map[string]string{}
	for name, value := range outputs {
		if table, is := strings.CutSuffix(name, "TableName"); is {
			tables[table] = value
		}
	}
	return tables
}

type contextUse struct {
	Name string `arg:"" help:"The context's name."`
}

func (c *contextUse) Run(s *session) error {
	all, err := readPlaces()
	if err != nil {
		return err
	}
	used, err := all.named(c.Name)
	if err != nil {
		return err
	}
	all.Current = c.Name
	if err := all.write(); err != nil {
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
		if err := l.add(document, name, used, p.URL, cmp.Or(p.Region, "-"), cmp.Or(p.Stack, "-")); err != nil {
			return err
		}
	}
	return l.end("none", nil)
}

type contextRemove struct {
	Name string `arg:"" help:"The context's name."`
}

func (c *contextRemove) Run(s *session) error {
	all, err := readPlaces()
	if err != nil {
		return err
	}
	gone, err := all.named(c.Name)
	if err != nil {
		return err
	}
	all.forget(c.Name)
	if err := all.write(); err != nil {
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
