//go:build whole

package streamsort

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// cdk-nag's pack ServerlessChecks finds nothing in the templates but what ../nag/reasons.json has a
// reason for, and each reason there has its finding. The pack runs in Node: cdk-nag's Go binding
// ends before it.
func TestNagServerless(t *testing.T) {
	_, err := os.Stat("../nag/node_modules/cdk-nag")
	check.Need(t, err == nil, "cdk-nag is not installed (make deps ALL=1): %v", err)
	dir := t.TempDir()
	file := func(name string, tmpl any) string {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, []byte(asText(t, tmpl)), 0o644))
		return path
	}
	nag := func(files ...string) ([]byte, error) {
		return exec.CommandContext(t.Context(), "node", append([]string{"../nag/check.js"}, files...)...).
			CombinedOutput()
	}
	byDefault, options := file("default.json", defaults()),
		file("options.json", synthesize("Orders", everyOption()))
	said, err := nag(byDefault, options)
	check.That(t, err == nil, "%v\n%s", err, said)

	// A check that finds nothing anywhere would find nothing here either: a function without
	// memory, timeout and tracing. No reason has a finding there, which is reported.
	said, err = nag(file("broken.json", object{"Resources": object{"Bare": object{
		"Type": "AWS::Lambda::Function",
		"Properties": object{
			"Runtime": "provided.al2023", "Handler": "bootstrap",
			"Role": "arn:aws:iam::123456789012:role/bare",
			"Code": object{"S3Bucket": "code", "S3Key": "bare.zip"},
		},
	}}}))
	for _, want := range []string{
		"Bare: Serverless-LambdaDefaultMemorySize", "Bare: Serverless-LambdaDefaultTimeout", "Bare: Serverless-LambdaTracing",
		"nothing breaks Serverless-SQSRedrivePolicy",
	} {
		check.That(t, err != nil && bytes.Contains(said, []byte(want)),
			"a bare function: %v, and not said: %s\n%s", err, want, said)
	}
}
