package main

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/secret"
)

// What a sender stores in a tenant's queues counts against that one's quota, and what
// it stores elsewhere against nobody's.
func TestQuotas(t *testing.T) {
	s := newServer(t)
	clock := func() time.Time { return s.now }
	service := newService(t, s.memory, clock, func(context.Context, secret.Reference) (string, error) { return s.value, nil })
	service.quotas = quota.NewKeeper(quota.NewStore(ddb.NewMemory(quota.Names{}.Tables()...), quota.Names{}),
		[]quota.Quota{{Name: "*", Limits: quota.Amounts{quota.NewQueues: 1}}}, clock)
	s.Client = httpapitest.New(t, runtime.Around(&s.logs, headroom, service.api().Handle))
	send := func(source, body string) httpapitest.Answer {
		return s.send(request{source: source, body: body, headers: map[string]string{"X-Sig": hex.EncodeToString(sign(body))}})
	}
	for _, body := range []string{`{"q":"a"}`, `{"q":"a","n":2}`} {
		s.Want(body, send("acme", body), 200)
	}
	over := send("acme", `{"q":"b"}`)
	s.Want("another queue", over, 429, `"code":"quota"`, `"quota":"newQueues"`)
	check.That(t, over.Headers["retry-after"] != "", "no Retry-After: %v", over.Headers)
	for _, body := range []string{`{"q":"a"}`, `{"q":"b"}`} {
		s.Want(body, send("free", body), 200)
	}
	s.now = s.now.Add(time.Minute)
	s.Want("a minute later", send("acme", `{"q":"b"}`), 200)
}
