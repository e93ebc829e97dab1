package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"regexp"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Challenge is what a sender asks before it sends.
type Challenge string

const (
	// ChallengeSlack: a signed request of the type url_verification, whose challenge is the answer.
	// https://docs.slack.dev/reference/events/url_verification
	ChallengeSlack Challenge = "slack"
	// ChallengeCloudEvents: OPTIONS with WebHook-Request-Origin, which the answer allows.
	// https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection
	ChallengeCloudEvents Challenge = "cloudevents"
	// ChallengeHub: GET with hub.mode, hub.verify_token and hub.challenge, which is the answer.
	// https://developers.facebook.com/docs/graph-api/webhooks/getting-started#verification-requests
	// https://www.w3.org/TR/websub/#hub-verifies-intent
	ChallengeHub Challenge = "hub"
)

// Method is the method of the challenge, where it is not POST.
func (c Challenge) Method() string {
	return map[Challenge]string{ChallengeCloudEvents: http.MethodOptions,
		ChallengeHub: http.MethodGet}[c]
}

// Slack is the answer to a signed request that is a challenge; found is false for any other.
func (c Challenge) Slack(body []byte) (answer httpapi.Text, found bool) {
	var request struct{ Type, Challenge string }
	if c != ChallengeSlack || json.Unmarshal(body, &request) != nil ||
		request.Type != "url_verification" {
		return httpapi.Text{}, false
	}
	return httpapi.Text{Text: request.Challenge}, true
}

// originForm is what an origin may be: it goes into a header of the answer.
var originForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,253}$`)

// CloudEvents is the answer to an OPTIONS request.
func CloudEvents(r *httpapi.Request) (httpapi.Text, error) {
	const field = "WebHook-Request-Origin"
	origin, given := r.Headers["webhook-request-origin"]
	switch {
	case !given:
		return httpapi.Text{},
			invalid.New(invalid.Missing, field, "is missing: a sender names its host in it")
	case !originForm.MatchString(origin):
		return httpapi.Text{}, invalid.New(invalid.Malformed, field, "must be the sender's host, in at most 253 letters, digits, '.', '-', '_' and ':'")
	}
	return httpapi.Text{Headers: map[string]string{
		"webhook-allowed-origin": origin, "webhook-allowed-rate": "*", "allow": "OPTIONS, POST",
	}}, nil
}

// Hub reads a GET request: the token that it shows, and the answer to it, where that is a good one.
func Hub(r *httpapi.Request) (token string, answer httpapi.Text, err error) {
	values := map[string]string{}
	for _, name := range []string{"hub.mode", "hub.verify_token", "hub.challenge"} {
		if values[name], err = r.One(name); err != nil {
			return "", answer, err
		}
		if value := values[name]; value == "" || len(value) > MaxHeader {
			return "", answer,
				invalid.New(invalid.TextCode(value, MaxHeader), name, "must have 1 to 4096 bytes")
		}
	}
	if mode := values["hub.mode"]; mode != "subscribe" && mode != "unsubscribe" {
		return "", answer, invalid.New(invalid.Unknown, "hub.mode", "must be subscribe or unsubscribe")
	}
	return values["hub.verify_token"], httpapi.Text{Text: values["hub.challenge"]}, nil
}

// Shown reports whether a token is one of these secrets, in a time that does not say which.
func Shown(token string, secrets [][]byte) bool {
	sum, shown := sha256.Sum256([]byte(token)), 0
	for _, s := range secrets {
		other := sha256.Sum256(s)
		shown |= subtle.ConstantTimeCompare(sum[:], other[:])
	}
	return shown == 1
}
