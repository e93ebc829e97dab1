// Command cloudformation writes the template of a release: the stack as one file, which
// CloudFormation deploys without the CDK. docs/deploy.md says how.
//
// The file beside it is made by the stack's own code (infra/cdk/internal/cloudformation, by
// `make template`), and a test holds it to that; here it gets the version whose zips it names.
package main

import (
	_ "embed" // for template
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed streamsort.template.json
var template string

// placeholder stands in the template where a release has its version.
const placeholder = "VERSION"

func main() {
	version := flag.String("version", "", "the release's, such as 1.2.3")
	out := flag.String("out", "", "the file to write; its folder is made")
	flag.Parse()
	if err := write(*version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "cloudformation:", err)
		os.Exit(1)
	}
}

// named is what may stand in the name of a zip.
var named = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.-]*$`)

func write(version, out string) error {
	if !named.MatchString(version) {
		return fmt.Errorf("-version is %q; write the release's, such as 1.2.3", version)
	}
	if out == "" {
		return errors.New("-out is empty; write the file's name")
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, []byte(strings.ReplaceAll(template, placeholder, version)), 0o644)
}
