//go:build whole

package localstack

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// canary stands in every payload of [TestNoPayloadInLogs], and in the tokens.
const canary = "canary-7f3a91-of-the-payload"

// forms are the canary as it would stand in a log: as it is, in hexadecimal digits, and in base64
// wherever it begins.
func forms() []string {
	all := []string{canary, hex.EncodeToString([]byte(canary)),
		strings.ToUpper(hex.EncodeToString([]byte(canary)))}
	for before := range 3 {
		coded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + canary))
		all = append(all, coded[4:len(coded)-4])
	}
	return all
}

// lines are what functions logged, by their logical ids.
type lines struct {
	mu  sync.Mutex
	all map[string][]string
}

func (l *lines) see(line Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[line.LogicalID] = append(l.all[line.LogicalID], line.Text)
}

// TestNoPayloadInLogs sends a canary through every function, by every kind of request, good and
// bad, while processes are killed and batches come twice, and reads all that was logged.
func TestNoPayloadInLogs(t *testing.T) {
	seen := &lines{all: map[string][]string{}}
	runs := map[string]Chaos{"calm": {}, "chaos": {Seed: 3, Kill: 0.2, Duplicate: 0.3}}
	for name, chaos := range runs {
		t.Run(name, func(t *testing.T) {
			s := runTenants(t, chaos)
			t.Cleanup(s.Subscribe(seen.see))
			s.sing()
			s.idle()
		})
	}
	total := 0
	for _, function := range []string{"Enqueue", "Sort", "Sweep", "Process",
		"Delivery", "Ack", "Receiver"} {
		logged := seen.all[function+"Function"]
		total += len(logged)
		check.That(t, len(logged) != 0, "%s %v", function, slices.Sorted(maps.Keys(seen.all)))
		for _, line := range logged {
			for _, form := range forms() {
				check.That(t, !strings.Contains(line, form), "%s: %.500s", function, line)
			}
		}
	}
	t.Logf("%d lines", total)
}

// sing sends the canary. What processes that are killed do not answer is sent again.
func (s *tenants) sing() {
	token := s.token("acme", tokenScopes+" "+canary)
	ask := func(method, path, body string) string {
		s.t.Helper()
		for range 50 {
			if status, text := s.ask(token, method, path, body); status < 500 {
				return text
			}
		}
		s.t.Fatalf("%s %s is never answered", method, path)
		return ""
	}
	field := func(answer, name string) string {
		_, rest, _ := strings.Cut(answer, `"`+name+`":"`)
		value, _, _ := strings.Cut(rest, `"`)
		return value
	}
	body := `"body":{"secret":"` + canary + `"}`
	coded := base64.StdEncoding.EncodeToString([]byte(canary))

	// Taken, or refused for each of its reasons.
	for seq := 1; seq <= 12; seq++ {
		ask("POST", "/messages",
			fmt.Sprintf(`{"queue":"orders","seq":%d,%s,"attributes":{"k":%q}}`, seq, body, canary))
	}
	for _, request := range []struct{ query, body string }{
		{"", `{"queue":"orders","seq":1,` + body + `}`},                                     // another message: conflict
		{"", `{"queue":"orders","seq":99999999,` + body + `}`},                              // full
		{"", `{"queue":"orders","seq":50,` + body + `}`},                                    // parked
		{"", `{"queue":"orders","seq":51,"bodyBase64":"` + coded + `"}`},                    // bytes
		{"", `{"queue":"orders","seq":52,"bodyBase64":"` + coded + `!"}`},                   // no base64
		{"", `{"queue":"inbox","id":"a",` + body + `}`},                                     // arrival
		{"", `{"queue":"inbox","id":"a","body":"` + canary + `"}`},                          // another one under its id
		{"", `{"queue":"inbox","seq":1,` + body + `}`},                                      // of the other kind
		{"", `{"queue":"orders","seq":"x",` + body + `}`},                                   // no seq
		{"", `{"queue":"orders",` + body + `}`},                                             // neither seq nor id
		{"", `{"queue":"orders","seq":53,` + body + `,"more":"` + canary + `"}`},            // too many fields
		{"", `{"queue":"orders","seq":53,` + body + `,"contentType":7}`},                    // a wrong type
		{"", `{"messages":[{"queue":"orders","seq":1,` + body + `},{` + body + `}]}`},       // one of two
		{"", `{"queue":"orders","seq":54,` + body},                                          // cut off
		{"", `{"queue":"orders","seq":54,"body":"` + canary + "\xff" + `"}`},                // no UTF-8
		{"", `{"queue":"orders","seq":55,"body":"` + strings.Repeat(canary, 15_000) + `"}`}, // too large
		{"queue=q&seq=n", `{"q":"raw","n":1,"secret":"` + canary + `"}`},
		{"queue=q&seq=n", `{"q":{"` + canary + `":1},"n":1}`},
		{"queue=secret.x&seq=n", `{"secret":"` + canary + `","n":1}`},
	} {
		ask("POST", "/messages?"+request.query, request.body)
	}
	for _, event := range []string{`{"queue":"direct","seq":1,` + body + `}`, `{"operation":"` +
		canary + `"}`, `"` + canary + `"`, `[` + canary, `{"requestContext":"` + canary + `"}`} {
		for _, function := range []string{"EnqueueFunction", "DeliveryFunction", "AckFunction"} {
			_, _ = s.Invoke(s.t.Context(), function, []byte(event)) // whatever becomes of it
		}
	}

	// Read, claimed, replied to, failed.
	ask("GET", "/messages?queue=orders&after=0", "")
	ask("POST", "/consumers", `{"queue":"orders","consumer":"books"}`)
	claim := ask("POST", "/claims",
		`{"queue":"orders","consumer":"books","request":"r","maxMessages":2}`)
	held := fmt.Sprintf(`"queue":"orders","consumer":"books","token":%q`, field(claim, "token"))
	ask("PATCH", "/claims", `{"action":"prepare",`+held+`}`)
	ask("PATCH", "/claims", `{"action":"commit",`+held+`,"replies":[{"queue":"replies","seq":1,`+body+
		`},{"queue":"inbox","seq":1,`+body+`}]}`)
	ask("PATCH", "/claims", `{"action":"commit",`+held+
		`,"replies":[{"queue":"replies","seq":1,`+body+`}]}`)
	ask("PATCH", "/claims", `{"action":"commit",`+held+`,"replies":[{`+body+`}]}`)

	// Chains.
	edge := field(strings.Replace(ask("POST", "/acks",
		`{"operation":"create","tag":"tree","deadline":"1s"}`), `["`, `"`, 1), "edges")
	ask("POST", "/acks", `{"operation":"done","edge":"`+edge+`","children":["`+canary+`"]}`)
	ask("POST", "/acks", `{"operation":"done","edge":"`+canary+`"}`)
	ask("POST", "/acks", `{"operation":"stamp","tag":"stamps","stamp":"`+
		hex.EncodeToString([]byte(canary))+`"}`)
	ask("POST", "/acks", `{"operation":"get","tag":"tree","more":"`+canary+`"}`)

	// What is due in a second: the gap, and then the chain.
	ask("PUT", "/queues", `{"queue":"orders","policy":"skip","gapAfter":"1s"}`)
	sweep := func() {
		check.Get(s.Trigger(s.t.Context(), "SweepSchedule"))
	}
	await.True(s.t, "the end of the chain", func() bool {
		sweep()
		return strings.Contains(ask("GET", "/chains?tag=tree", ""), `"endedAt"`)
	})
	sweep()
}
