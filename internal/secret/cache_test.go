package secret_test

import (
	"bytes"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/secret"
)

const oldSecret = "the old secret of this"

func FuzzSecrets(f *testing.F) {
	for _, seed := range []string{oldSecret, `["` + oldSecret + `"]`, "[", "[1]", " [\"\\ud800\"]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := secret.ParseValues(text)
		check.That(t, err != nil || len(values) != 0, "%q has no secrets, and is taken", text)
		for _, value := range values {
			check.That(t, len(bytes.TrimSpace(value)) == 0 || len(value) >= secret.MinBytes,
				"%q has a secret of %d bytes", text, len(value))
		}
	})
}
