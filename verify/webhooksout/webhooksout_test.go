package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/streamsort/streamsort/internal/consumers"
)

func TestFromEnvironment(t *testing.T) {
	set := map[string]string{}
	get := func(name string) string { return set[name] }
	if o, err := fromEnvironment(get); err != nil || o.queues != 1000 || o.time != 80*time.Second || o.rate != 50 {
		t.Errorf("%+v, %v", o, err)
	}
	for name, value := range map[string]string{"QUEUES": "19", "TIME": "4s", "RATE": "0", "SEED": "x"} {
		set = map[string]string{name: value}
		if _, err := fromEnvironment(get); err == nil || !strings.Contains(err.Error(), name+"="+value) {
			t.Errorf("%s=%s: error %v", name, value, err)
		}
	}
}

// TestConsumers: what process is started with is what its template has, but for the port.
func TestConsumers(t *testing.T) {
	written, err := os.ReadFile("consumers.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := consumers.Read(written, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	all, err := consumers.Read([]byte(consumersText("1234")), os.LookupEnv)
	if err != nil || !all[0].HasSink() || !all[0].Reader.Apart || !reflect.DeepEqual(all[0].Reader, want[0].Reader) {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestEndpoints: a check that never fails checks nothing.
func TestEndpoints(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	hook, err := standard.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	type request struct {
		seq, token int
		id         string
		body       string
		forged     bool
	}
	for says, requests := range map[string][]request{
		"":                      {{seq: 1, token: 1, id: "a"}, {seq: 1, token: 2, id: "a"}, {seq: 2, token: 3, id: "b"}},
		"came behind message 0": {{seq: 2, token: 1, id: "b"}},
		"under another id":      {{seq: 1, token: 1, id: "a"}, {seq: 1, token: 2, id: "x"}},
		"under the token 1":     {{seq: 1, token: 1, id: "a"}, {seq: 1, token: 1, id: "a"}},
		"nobody sent it":        {{seq: 4, token: 1, id: "a"}},
		"its body is":           {{seq: 1, token: 1, id: "a", body: "x"}},
		"its signature is not":  {{seq: 1, token: 1, id: "a", forged: true}},
	} {
		e := newEndpoints(1)
		if err := e.secret(0, secret); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			e.put(0)
		}
		for _, r := range requests {
			body := r.body
			if body == "" {
				body = bodyOf(0, r.seq)
			}
			now := time.Now()
			signature, err := hook.Sign(r.id, now, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if r.forged {
				signature = "v1,AAAA"
			}
			asks := httptest.NewRequest(http.MethodPost, "/0", strings.NewReader(body))
			for name, value := range map[string]string{
				"Webhook-Id": r.id, "Webhook-Timestamp": strconv.FormatInt(now.Unix(), 10), "Webhook-Signature": signature,
				"Streamsort-Seq": strconv.Itoa(r.seq), "Streamsort-Token": strconv.Itoa(r.token) + "-req",
			} {
				asks.Header.Set(name, value)
			}
			answer := httptest.NewRecorder()
			if e.ServeHTTP(answer, asks); answer.Code != http.StatusNoContent {
				t.Errorf("answered %d", answer.Code)
			}
		}
		problems := strings.Join(e.problems, "\n")
		if says == "" && (problems != "" || e.left() != 1 || e.repeats != 1 || len(e.delaysOf(begun)) != 2) || !strings.Contains(problems, says) {
			t.Errorf("%q: %s; %d left, %d repeats", says, problems, e.left(), e.repeats)
		}
	}
}

// TestManners: one in twenty is bad, in each way, and only while it is said so.
func TestManners(t *testing.T) {
	n := map[manner]int{}
	for i := range 1000 {
		n[mannerOf(i)]++
	}
	if n[good] != 950 || n[slow] < 10 || n[busy] < 10 || n[failing] < 10 || n[silent] < 10 {
		t.Errorf("%v", n)
	}
}
