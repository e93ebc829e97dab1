//go:build whole

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/pyenv"
	"github.com/streamsort/streamsort/localstack/template"
)

// cfn-lint, AWS's linter for templates, finds nothing in any template of the project: neither
// errors nor warnings. It is installed by testdata/cfn-lint.txt.
func TestTemplatesLint(t *testing.T) {
	requirements := check.Get(os.ReadFile("testdata/cfn-lint.txt"))
	python := check.Get(pyenv.Python(t.Context(), "cfn-lint", requirements))
	options := t.TempDir() + "/options.json"
	check.OK(t, os.WriteFile(options, synthesize(t, newApp(t, map[string]any{
		prefix + "encryptionKey": "new", prefix + "shift": "Canary10Percent5Minutes",
		prefix + "announceTopic": "arn:aws:sns:us-east-1:123456789012:people", prefix + "pageTopic": "arn:aws:sns:us-east-1:123456789012:pager",
		prefix + "vpcSubnets": "subnet-1a2b3c4d", prefix + "vpcSecurityGroups": "sg-1a2b3c4d",
		prefix + "tenantIssuer": "https://tokens.example/pool", prefix + "tenantAudience": "shop", prefix + "tenantClaim": "tenant",
		prefix + "consumersFile": "../../verify/robust/soak/consumers.json",
	}), addSources), 0o644))
	release := t.TempDir() + "/release.json"
	check.OK(t, os.WriteFile(release, []byte(released(t)), 0o644))
	// A linter that finds nothing anywhere would find nothing here either.
	broken := t.TempDir() + "/broken.json"
	text := `{"Resources":{"Q":{"Type":"AWS::SQS::Queue","Properties":{"NoSuchProperty":1}}}}`
	check.OK(t, os.WriteFile(broken, []byte(text), 0o644))
	lint := exec.CommandContext(
		t.Context(), python, "-c", "from cfnlint.runner import main; main()", "--format", "parseable",
		// W3005, a DependsOn that a reference makes needless: the CDK writes one for each
		// function's role.
		"--ignore-checks", "W3005", "--regions", "us-east-1", "--",
		broken, options, release,
		goldenFile, patched(t, demoFile), patched(t, soakFile), patched(t, hooksFile),
		patched(t, tenantsFile), patched(t, webhooksFile),
		"../../examples/webhooks/template.json", "../../examples/receiver/receiver.template.json",
		"../../examples/payments/payments.template.json",
		"../../examples/wordcount/wordcount.template.json",
		"../../verify/robust/deploy/doors.template.json",
		"../../examples/languages/languages.template.json",
	)
	lint.Stderr = t.Output()
	said, err := lint.Output()
	found := strings.Split(strings.TrimSpace(string(said)), "\n")
	if len(found) != 1 || !strings.HasPrefix(found[0], broken+":") ||
		!strings.Contains(found[0], "NoSuchProperty") {
		t.Errorf("cfn-lint: %v\n%s\nwant NoSuchProperty in %s, and nothing else", err, said, broken)
	}
}

// patched writes the template that a patch makes to a file, and returns its path.
func patched(t *testing.T, patch string) string {
	t.Helper()
	text := check.Get(template.ReadFile(patch))
	// Its path is in what the linter says.
	path := filepath.Join(t.TempDir(), strings.ReplaceAll(strings.TrimLeft(patch, "./"), "/", "-"))
	check.OK(t, os.WriteFile(path, text, 0o644))
	return path
}
