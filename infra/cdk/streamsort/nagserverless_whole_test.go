//go:build whole

package streamsort

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// cdk-nag's pack ServerlessChecks finds nothing in the templates but what ../nag/reasons.json has a
// reason for, and each reason there has its finding. The pack runs in Node: cdk-nag's Go binding
// ends before it.
func TestNagServerless(t *testing.T) {
	if _, err := os.Stat("../nag/node_modules/cdk-nag"); err != nil {
		t.Fatal("cdk-nag is not installed (make deps ALL=1): ", err)
	}
	dir := t.TempDir()
	file := func(name string, tmpl any) string {
		text, err := json.Marshal(tmpl)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	check := func(files ...string) ([]byte, error) {
		return exec.CommandContext(t.Context(), "node", append([]string{"../nag/check.js"}, files...)...).CombinedOutput()
	}
	byDefault, options := file("default.json", defaults()), file("options.json", synthesize("Orders", everyOption()))
	said, err := check(byDefault, options)
	if err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	t.Logf("%s", said)

	// A check that finds nothing anywhere would find nothing here either: a function without
	// memory, timeout and tracing. No reason has a finding there, which is reported.
	said, err = check(file("broken.json", object{"Resources": object{"Bare": object{
		"Type": "AWS::Lambda::Function",
		"Properties": object{
			"Runtime": "provided.al2023", "Handler": "bootstrap", "Role": "arn:aws:iam::123456789012:role/bare",
			"Code": object{"S3Bucket": "code", "S3Key": "bare.zip"},
		},
	}}}))
	for _, want := range []string{
		"Bare: Serverless-LambdaDefaultMemorySize", "Bare: Serverless-LambdaDefaultTimeout", "Bare: Serverless-LambdaTracing",
		"nothing breaks Serverless-SQSRedrivePolicy",
	} {
		if err == nil || !bytes.Contains(said, []byte(want)) {
			t.Errorf("a bare function: %v, and not said: %s\n%s", err, want, said)
		}
	}
}
