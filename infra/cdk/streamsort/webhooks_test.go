package streamsort

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// What a file says is what the properties say.
func TestWebhooksFile(t *testing.T) {
	got := check.Get(Props{WebhooksFile: "testdata/webhooks.json"}.readWebhooks())
	want := changedProps().Webhooks
	want[1].Secret = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-Ab12Cd")
	want[1].VerifyToken = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-token-Ef34Gh")
	check.Is(t, cmp.Diff(want, got), "", "(- want, + got)\n")
}

// Names that differ make logical ids that differ.
func TestIDPart(t *testing.T) {
	parts := map[string]string{}
	for _, name := range []string{"ab", "a.b", "a-b", "a_b", "ab.", "...", "---"} {
		part := idPart(name)
		other, taken := parts[part]
		check.That(t, !taken && !notInID.MatchString(part), "%q makes %q, as %q does", name, part, other)
		parts[part] = name
	}
	check.That(t, idPart("github") == "github", "github makes %q", idPart("github"))
}
