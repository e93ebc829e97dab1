package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/secret"
)

// asked is the answer to a request without a body.
func (s *server) asked(method, source, query string, headers map[string]string) httpapitest.Answer {
	s.t.Helper()
	path := "/webhooks/" + source
	event := check.Get(json.Marshal(map[string]any{
		"version": "2.0", "routeKey": method + " /webhooks/{source}", "rawPath": path, "rawQueryString": query, "headers": headers,
		"requestContext": map[string]any{"http": map[string]any{"method": method, "path": path}},
	}))
	a := s.Raw(string(event))
	s.Check(method, path, query, "", a)
	return a
}

// slackRequest is a request that Slack has signed.
func (s *server) slackRequest(source, body string) request {
	at := strconv.FormatInt(s.now.Unix(), 10)
	return request{source: source, body: body, headers: map[string]string{
		"X-Slack-Request-Timestamp": at, "X-Slack-Signature": "v0=" + hex.EncodeToString(sign("v0:"+at+":"+body)),
	}}
}

// TestChallenges are answered for the senders alone whose sources ask for it, and none of them is stored.
func TestChallenges(t *testing.T) {
	s := newServer(t)
	const verify = `{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}`
	text := func(what string, a httpapitest.Answer, want string) {
		t.Helper()
		check.That(t, a.Status == 200 && a.Body == want && a.Headers["content-type"] == "text/plain; charset=utf-8" && a.Headers["x-content-type-options"] == "nosniff",
			"%s: %d %q %v, want %q", what, a.Status, a.Body, a.Headers, want)
	}
	text("Slack", s.send(s.slackRequest("slack", verify)), "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P")
	s.Want("Slack, not signed", s.send(request{source: "slack", body: verify}), 401)
	s.Want("an event of Slack", s.send(s.slackRequest("slack", `{"type":"event_callback","event_id":"Ev1"}`)), 200, "advanced")
	s.wantStored("slack", `1 Ev1 {"type":"event_callback","event_id":"Ev1"}`)
	s.Want("a source that does not ask", s.send(s.slackRequest("quiet", verify)), 400, `"field":"id"`)

	hub := url.Values{"hub.mode": {"subscribe"}, "hub.challenge": {"1158201444"}, "hub.verify_token": {canary}}
	with := func(name, value string) string {
		changed := url.Values{}
		for known, values := range hub {
			changed[known] = values
		}
		if changed.Set(name, value); value == "" {
			changed.Del(name)
		}
		return changed.Encode()
	}
	text("a hub", s.asked("GET", "meta", hub.Encode(), nil), "1158201444")
	text("the end of a subscription", s.asked("GET", "meta", with("hub.mode", "unsubscribe"), nil), "1158201444")
	s.Want("another token", s.asked("GET", "meta", with("hub.verify_token", canary+"x"), nil), 401, "not-signed")
	s.Want("no token", s.asked("GET", "meta", with("hub.verify_token", ""), nil), 400, `"field":"hub.verify_token"`)
	s.Want("no challenge", s.asked("GET", "meta", with("hub.challenge", ""), nil), 400, `"field":"hub.challenge"`)
	s.Want("another mode", s.asked("GET", "meta", with("hub.mode", "denied"), nil), 400, `"field":"hub.mode"`)
	s.Want("two tokens", s.asked("GET", "meta", hub.Encode()+"&hub.verify_token=x", nil), 400, `"field":"hub.verify_token"`)
	s.Want("a source that does not ask", s.asked("GET", "github", hub.Encode(), nil), 405, "no-method")
	s.Want("no source", s.asked("GET", "nobody", hub.Encode(), nil), 405, "no-method")

	origin := map[string]string{"webhook-request-origin": "eventgrid.azure.net"}
	a := s.asked("OPTIONS", "grid", "", origin)
	text("Event Grid", a, "")
	check.That(t, a.Headers["webhook-allowed-origin"] == "eventgrid.azure.net" && a.Headers["webhook-allowed-rate"] == "*",
		"headers %v", a.Headers)
	s.Want("no origin", s.asked("OPTIONS", "grid", "", nil), 400, `"field":"WebHook-Request-Origin"`)
	s.Want("an origin that is no host", s.asked("OPTIONS", "grid", "", map[string]string{"webhook-request-origin": "a\r\nb"}), 400)
	s.Want("a source that does not ask", s.asked("OPTIONS", "meta", "", origin), 405)
	grid := request{source: "grid", body: `{"id":1}`, headers: map[string]string{"Authorization": "Bearer " + canary}}
	s.Want("an event of Event Grid", s.send(grid), 200, "advanced")
	s.Want("of somebody else", s.send(grid.with("Authorization", "Bearer x")), 401)

	s.err = errors.New("down")
	s.now = s.now.Add(secret.Lifetime)
	s.Want("the token cannot be had", s.asked("GET", "meta", hub.Encode(), nil), 503)
}

// TestPackedBodies: what is signed is the body as it came, or as it was before it was packed; a byte order
// mark is signed, and not stored.
func TestPackedBodies(t *testing.T) {
	s := newServer(t)
	const body = `{"id":1}`
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(body))
	check.OK(t, w.Close())
	packed := out.String()
	for name, signed := range map[string]string{"before": body, "after": packed} {
		r := request{source: "shop", body: packed, binary: true, headers: map[string]string{
			"Content-Type": "application/json; charset=utf-8", "Content-Encoding": "gzip", "X-Shopify-Webhook-Id": name, "X-Shopify-Shop-Domain": name, "X-Shopify-Hmac-Sha256": base64Of(sign(signed)),
		}}
		s.Want(name, s.send(r), 200, "advanced")
		s.wantStored("shops/"+name, "1 "+name+" "+body)
		s.Want(name+", another", s.send(r.with("X-Shopify-Hmac-Sha256", base64Of(sign("x")))), 401)
		s.Want(name+", another encoding", s.send(r.with("Content-Encoding", "br")), 415, `"field":"content-encoding"`)
	}
	marked := "\xef\xbb\xbf" + body
	s.Want("marked", s.send(request{source: "shop", body: marked, headers: map[string]string{
		"Content-Type": "application/json; charset=utf-8", "Shopify-Webhook-Id": "m", "Shopify-Shop-Domain": "marked", "Shopify-Hmac-Sha256": base64Of(sign(marked)),
	}}), 200, "advanced")
	s.wantStored("shops/marked", "1 m "+body)
}

// TestSecretsWhenTheFunctionStarts: it does not start with a secret that its scheme cannot use; it starts
// where one cannot be fetched. A direct invoke reports each.
func TestSecretsWhenTheFunctionStarts(t *testing.T) {
	s := newServer(t)
	s.value = canary
	err := s.service.checkSecrets()
	check.Need(t, err != nil, "it starts with a secret that Standard Webhooks does not have")
	const want = "source svix: secret arn:aws:ssm:eu-west-1:123456789012:parameter/svix: secret 1 of 1 is not whsec_ and 16 bytes or more in base64, as the scheme has it"
	check.That(t, err.Error() == want, "error %q, want %q", err, want)
	asked := s.Invoke(`{"operation":"secrets"}`)
	for _, part := range []string{`{"source":"github"}`, `{"source":"svix","problem":"secret arn:`, "is not whsec_"} {
		check.That(t, strings.Contains(asked, part), "no %s in %s", part, asked)
	}
	s.value = "short"
	s.now = s.now.Add(secret.Lifetime)
	if err := s.service.checkSecrets(); err == nil || !strings.Contains(err.Error(), "source meta: ") || !strings.Contains(err.Error(), "16 to 1024 bytes") || strings.Contains(err.Error(), "short") {
		t.Errorf("of short secrets: %v", err)
	}
	s.err = errors.New("down")
	s.now = s.now.Add(secret.Lifetime)
	err = s.service.checkSecrets()
	check.That(t, err == nil, "a store that is down: %v", err)
	check.Has(t, s.Invoke(`{"operation":"secrets"}`), "down")
	for _, event := range []string{`{"operation":"put"}`, `{}`, `7`} {
		check.Has(t, s.Invoke(event), `"code":"misplaced"`, event)
	}
}
