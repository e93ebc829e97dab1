package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/streamsort/streamsort/infra/cdk/internal/cloudformation"
	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// named is what may stand in the name of a zip.
var named = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]*$`)

// release writes the template of a release: the stack as one file, which CloudFormation
// deploys without the CDK, and which names the zips of this version. docs/how-to/without-cdk.md says how.
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
	synthesize, err := synthesizer(folder)
	if err != nil {
		return err
	}
	template, err := cloudformation.Build(synthesize)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(strings.ReplaceAll(string(template), cloudformation.Version, version)), 0o644)
}

// synthesizer synthesises stacks of any properties in a folder. The functions' programs are
// empty: a release's template names its zips instead.
func synthesizer(folder string) (cloudformation.Synthesize, error) {
	for _, processor := range []string{"arm64", "amd64"} {
		if err := fakebin.Write(filepath.Join(folder, processor), processor); err != nil {
			return nil, err
		}
	}
	base, err := ownContext()
	if err != nil {
		return nil, err
	}
	return func(properties map[string]string) ([]byte, error) {
		context := maps.Clone(base)
		context[prefix+"binaries"] = filepath.Join(folder, "arm64")
		for name, value := range properties {
			context[prefix+name] = value
		}
		if properties["architecture"] == "amd64" {
			context[prefix+"binaries"] = filepath.Join(folder, "amd64")
		}
		out, err := os.MkdirTemp(folder, "out-")
		if err != nil {
			return nil, err
		}
		app := awscdk.NewApp(&awscdk.AppProps{Context: &context, Outdir: &out})
		if _, err := addStack(app); err != nil {
			return nil, err
		}
		app.Synth(nil)
		return os.ReadFile(filepath.Join(out, properties["stack"]+".template.json"))
	}, nil
}

// ownContext is the context of cdk.json, which the CDK command passes to the app.
func ownContext() (map[string]any, error) {
	text, err := os.ReadFile("cdk.json")
	if err != nil {
		return nil, fmt.Errorf("%w; run it in infra/cdk", err)
	}
	var file struct{ Context map[string]any }
	err = json.Unmarshal(text, &file)
	return file.Context, err
}
