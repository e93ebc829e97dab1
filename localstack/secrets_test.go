package localstack

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/localstack/template"
)

// TestWarnOfSecrets: those of another region, or another account, are named, and no others.
func TestWarnOfSecrets(t *testing.T) {
	var said bytes.Buffer
	warnOfSecrets(slog.New(slog.NewTextHandler(&said, nil)),
		template.Function{Name: "f", Files: map[string]string{
			"webhooks.json": `{"sources":[{"secret":"arn:aws:ssm:us-east-1:000000000000:parameter/here"},{"secret":"arn:aws:ssm:eu-west-1:000000000000:parameter/there"},` +
				`{"secret":"arn:aws:secretsmanager:us-east-1:123456789012:secret:theirs"},{"queue":"arn:aws:sqs:eu-west-1:123456789012:other"}]}`,
		}})
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if len(lines) != 2 ||
		!strings.Contains(lines[0], "secret=arn:aws:ssm:eu-west-1:000000000000:parameter/there") ||
		!strings.Contains(lines[0], "name it arn:aws:ssm:us-east-1:000000000000:…") ||
		!strings.Contains(lines[1],
			"secret=arn:aws:secretsmanager:us-east-1:123456789012:secret:theirs") {
		t.Errorf("said %s", &said)
	}
}
