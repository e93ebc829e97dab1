package streamsort

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a file says is what the properties say.
func TestWebhooksFile(t *testing.T) {
	got, err := Props{WebhooksFile: "testdata/webhooks.json"}.readWebhooks()
	if err != nil {
		t.Fatal(err)
	}
	want := changedProps().Webhooks
	want[1].Secret = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-Ab12Cd")
	want[1].VerifyToken = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-token-Ef34Gh")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

// Names that differ make logical ids that differ.
func TestIDPart(t *testing.T) {
	parts := map[string]string{}
	for _, name := range []string{"ab", "a.b", "a-b", "a_b", "ab.", "...", "---"} {
		part := idPart(name)
		if other, taken := parts[part]; taken || notInID.MatchString(part) {
			t.Errorf("%q makes %q, as %q does", name, part, other)
		}
		parts[part] = name
	}
	if idPart("github") != "github" {
		t.Errorf("github makes %q", idPart("github"))
	}
}
