package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
	"github.com/streamsort/streamsort/infra/cdk/streamsort"
)

// named is what may stand in the name of a zip.
var named = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]*$`)

// release writes the template of a release: the stack as one file, which CloudFormation deploys
// without the CDK, and which names the zips of this version. docs/how-to/without-cdk.md says how.
//
// It is the stack with all that it can have. What a parameter switches has a condition, and what a
// parameter sets is a reference to it: see releasing.
func release(version, out string) error {
	if !named.MatchString(version) {
		return fmt.Errorf("-release is %q; write its version, such as 1.2.3", version)
	}
	if out == "" {
		return errors.New("-out is empty; write the file's name")
	}
	folder, err := os.MkdirTemp("", "streamsort-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	s := synthesis{folder}
	whole, err := s.whole(true)
	if err != nil {
		return err
	}
	withoutTenants, err := s.whole(false)
	if err != nil {
		return err
	}
	text, err := (&releasing{object: whole, version: version}).build(withoutTenants)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

type object = map[string]any

// stackName is the stack's while it is synthesised: a text that nothing else in a template has.
const stackName = "stack-name-of-who-deploys"

// synthesis synthesises stacks in a folder. The functions' programs are empty: a release's template
// names its zips instead.
type synthesis struct{ folder string }

func (s synthesis) template(properties object, add func(*streamsort.Stack) error) (object, error) {
	binaries := filepath.Join(s.folder, "arm64")
	if err := fakebin.Write(binaries, "arm64"); err != nil {
		return nil, err
	}
	context, err := ownContext()
	if err != nil {
		return nil, err
	}
	context[prefix+"binaries"], context[prefix+"stack"] = binaries, stackName
	for name, value := range properties {
		context[prefix+name] = value
	}
	out, err := os.MkdirTemp(s.folder, "out-")
	if err != nil {
		return nil, err
	}
	app := awscdk.NewApp(&awscdk.AppProps{Context: &context, Outdir: &out})
	stack, err := addStack(app)
	if err == nil && add != nil {
		err = add(stack)
	}
	if err != nil {
		return nil, err
	}
	app.Synth(nil)
	text, err := os.ReadFile(filepath.Join(out, fmt.Sprint(context[prefix+"stack"])+".template.json"))
	if err != nil {
		return nil, err
	}
	var template object
	err = json.Unmarshal(text, &template)
	return template, err
}

// samples are the configuration files that the whole stack is synthesised with: their functions may
// do all that one of a user's can ask for.
var samples = map[string]string{
	"consumers": `{"consumers":[{"name":"sample","eager":true,"track":"1m","sink":{"kind":"lambda","arn":"` + sampleSink + `"}},{"name":"endpoints","sink":{"kind":"http","endpoints":true}}]}`,
	"webhooks": `{"sources":[{"name":"Any","secret":"` + sampleSecret +
		`","signature":{"header":"X-Signature"},"challenge":"hub","verifyToken":"` + sampleSecret + `",` +
		`"prefix":"","queue":"queue","seq":"seq","id":"id"}]}`,
	"quotas": `{"quotas":[{"name":"*","messages":1}]}`,
}

const (
	sampleSink   = "arn:aws:lambda:us-east-1:123456789012:function:sample"
	sampleSecret = "arn:aws:secretsmanager:us-east-1:123456789012:secret:sample-AbCdEf"
	sampleRoute  = "/webhooks/Any"
)

// whole is the stack with all that its parameters can switch on: tenants, or a function URL, which
// no stack with tenants has.
func (s synthesis) whole(tenants bool) (object, error) {
	properties := object{"knownQueues": "true", "deleteDelivered": "true", "tracing": "true",
		"events": `{"queue":"queue","id":"id"}`, "tenantAudience": "sample-audience"}

	for _, p := range parameters() {
		if p.prop != "" {
			properties[p.prop] = fmt.Sprint(p.sample)
		}
	}
	for _, seconds := range []string{"lagAfter", "processTimeout"} {
		properties[seconds] = properties[seconds].(string) + "s"
	}
	for name, text := range samples {
		file := filepath.Join(s.folder, name+".json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		properties[name+"File"] = file
	}
	if !tenants {
		properties["functionUrl"] = "true"
		maps.DeleteFunc(properties, func(name string, _ any) bool {
			return strings.HasPrefix(name, "tenant") || name == "quotasFile"
		})
	}
	return s.template(properties, func(stack *streamsort.Stack) error {
		for i := range sources {
			id := fmt.Sprint(i + 1)
			queue := awssqs.Queue_FromQueueArn(stack.Stack, jsii.String("Queue"+id),
				jsii.String(sampleQueue(i)))
			if err := stack.AddSource(id, streamsort.Source{Name: "source" + id, From: queue,
				Prefix: jsii.String(""), Queue: "queue", Seq: "seq"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// ownContext is the context of cdk.json, which the CDK command passes to the app.
func ownContext() (map[string]any, error) {
	text, err := os.ReadFile("cdk.json")
	if err != nil {
		return nil, fmt.Errorf("%w; run it in infra/cdk", err)
	}
	var file struct{ Context map[string]any }
	err = json.Unmarshal(text, &file)
	return maps.Clone(file.Context), err
}

func propOf(name string) string { return strings.ToLower(name[:1]) + name[1:] }

func encoded(template object) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(template)
	return out.Bytes(), err
}
