package webhook_test

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/webhook"
)

const (
	oldSecret = "the old secret of this"
	newSecret = "the new secret of this"
)

// vault is a secret store whose answers are set, with a clock.
type vault struct {
	t     *testing.T
	value string
	err   error
	calls int
	now   time.Time
	*secret.Cache
	source webhook.Source
}

func newVault(t *testing.T, value string) *vault {
	v := &vault{t: t, value: value, now: time.Unix(1_700_000_000, 0), source: source(t, `"preset":"github"`)}
	v.Cache = secret.NewCache(func(_ context.Context, of secret.Reference) (string, error) {
		check.That(t, of == v.source.Secret, "asked for %s", of)
		v.calls++
		return v.value, v.err
	}, func() time.Time { return v.now })
	return v
}

// check asks for a body signed with a secret.
func (v *vault) check(secret string) (bool, error) {
	v.t.Helper()
	const body = `{"a":1}`
	claim, why := v.source.Signature.Read(map[string]string{"x-hub-signature-256": "sha256=" + hex.EncodeToString(sum(secret, body))}, v.now)
	if why != "" {
		v.t.Fatal(why)
	}
	why, err := claim.Check(v.t.Context(), v.Cache, v.source.Secret, []byte(body))
	return why == "", err
}

func (v *vault) want(what, secret string, signed, fails bool, calls int) {
	v.t.Helper()
	got, err := v.check(secret)
	check.That(v.t, got == signed && (err != nil) == fails && v.calls == calls,
		"%s: signed %v, error %v, %d calls; want %v, an error %v, %d calls", what, got, err, v.calls, signed, fails, calls)
}

// A rotation: the new secret is added, the sender changes to it, the old one is
// taken away. Each request is accepted, and forgeries make no more calls than one
// in each interval.
func TestRotation(t *testing.T) {
	v := newVault(t, oldSecret)
	v.want("first", oldSecret, true, false, 1)
	v.want("again", oldSecret, true, false, 1)
	for range 1000 {
		v.want("forged", "nobody's secret, I say", false, false, 1)
	}
	v.now = v.now.Add(secret.Interval)
	for range 1000 {
		v.want("forged, an interval later", "nobody's secret, I say", false, false, 2)
	}
	v.value = `["` + newSecret + `","` + oldSecret + `"]`
	v.want("the old one, which is known", oldSecret, true, false, 2)
	v.now = v.now.Add(secret.Interval)
	v.want("the new one", newSecret, true, false, 3)
	v.want("the old one beside it", oldSecret, true, false, 3)
	v.value = newSecret + "\n"
	v.now = v.now.Add(secret.Lifetime - time.Nanosecond)
	v.want("the old one, within its lifetime", oldSecret, true, false, 3)
	v.now = v.now.Add(time.Nanosecond)
	v.want("the old one, after it", oldSecret, false, false, 4)
	v.want("the new one, after it", newSecret, true, false, 4)
	v.now = v.now.Add(-time.Hour)
	v.want("a clock that goes back", newSecret, true, false, 5)
}

// A store that fails accepts nothing that is not known, and refuses nothing for
// good; it is asked again once in each second.
func TestStoreFails(t *testing.T) {
	v := newVault(t, oldSecret)
	v.err = errors.New("down")
	v.want("never fetched", oldSecret, false, true, 1)
	v.want("at once again", oldSecret, false, true, 1)
	v.now = v.now.Add(time.Second)
	v.want("a second later", oldSecret, false, true, 2)
	v.err = nil
	v.now = v.now.Add(time.Second)
	v.want("it is back", oldSecret, true, false, 3)

	v.err = errors.New("down")
	v.want("what is known goes on", oldSecret, true, false, 3)
	v.now = v.now.Add(secret.Interval)
	v.want("another signature may be a new secret's", newSecret, false, true, 4)
	v.want("and cannot be known", newSecret, false, true, 4)
	v.want("what is known goes on", oldSecret, true, false, 4)
	v.now = v.now.Add(secret.Lifetime)
	v.want("until its lifetime is over", oldSecret, false, true, 5)
	v.want("for all", oldSecret, false, true, 5)
}

// A value that is no secret is reported without a word of it.
func TestBadValues(t *testing.T) {
	for value, want := range map[string]string{
		"":                                "secret 1 of 1 has not from 16 to 1024 bytes",
		"canary":                          "secret 1 of 1 has not from 16 to 1024 bytes",
		strings.Repeat("canary", 200):     "secret 1 of 1 has not from 16 to 1024 bytes",
		`["` + oldSecret + `","canary"]`:  "secret 2 of 2 has not",
		`["canary`:                        "starts as a JSON list, and is not one",
		`[{"canary":1}]`:                  "something else than strings",
		` {"canary":"` + oldSecret + `"}`: "is a JSON object: it must be the secret alone",
		`[]`:                              "has 0 secrets: there must be from 1 to 4",
		`[` + strings.Repeat(`"canary",`, 4) + `"canary"]`: "has 5 secrets",
	} {
		v := newVault(t, value)
		signed, err := v.check("canary")
		check.That(t, !signed && err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "canary"),
			"%.40q: %v, %v; want %s", value, signed, err, want)
	}
	// An empty key would be known to everybody.
	v := newVault(t, `[""]`)
	signed, err := v.check("")
	check.That(t, !signed && err != nil, "an empty secret: %v, %v", signed, err)
}
