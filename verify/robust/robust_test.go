package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// TestSettings: each scenario's are within their bounds in both forms, and what is wrong is named.
func TestSettings(t *testing.T) {
	for _, s := range scenarios {
		for _, setting := range s.settings {
			for _, value := range []int64{setting.usual, setting.short} {
				check.That(t, value >= setting.least && value <= setting.most,
					"%s: %s is %d, from %d to %d", s.name, setting.name, value, setting.least, setting.most)
			}
		}
	}
	set := map[string]string{"TIME": "30s", "SHORT": "1"}
	get := func(name string) string { return set[name] }
	chosen, err := choose([]string{"load", "wordcount"}, get)
	want := values{"TIME": 30e9, "RATE": 100, "QUEUES": 20, "BATCH": 1, "DISORDER": 0, "TOGETHER": 0}
	check.That(t, err == nil && len(chosen) == 2 && maps.Equal(chosen[0].values, want) &&
		want.String() == "BATCH=1 DISORDER=0 QUEUES=20 RATE=100 TIME=30s TOGETHER=0", "%+v, %v", chosen,
		err)
	for _, c := range []struct{ names, name, value, says string }{
		{"load", "TIME", "1ms", "TIME=1ms must be from 1s to 24h0m0s"},
		{"load outage", "QUEUES", "9", "QUEUES=9 must be from 10 to 100000"},
		{"load", "RATE", "much", "RATE=much must be from 1 to 100000"},
		{"load", "BATCH", "501", "BATCH=501 must be from 1 to 500"},
		{"outage wordcount", "RATE", "1", "RATE=1: it is no setting of outage or wordcount"},
		{"nothing", "", "", `scenario "nothing" must be one of soak, load`},
	} {
		set = map[string]string{c.name: c.value}
		check.Says(t, check.Err(choose(strings.Fields(c.names), get)), c.says, c)
	}
	set = map[string]string{"SEED": "7", "SUITE": "log"}
	check.Is(t, len(check.Get(choose([]string{"sim"}, get))[0].values), 0)
	var out bytes.Buffer
	err = run(t.Context(), nil, get, &out)
	check.That(t, err == nil && strings.Count(out.String(), "\n") == 2*len(scenarios), "%v: %s", err,
		&out)
}

// TestMust: an error ends the scenario with the stage's name before it, and all that was started.
func TestMust(t *testing.T) {
	var folder string
	ended := false
	s := choice{scenario: scenario{name: "one", run: func(ctx context.Context, w *world) {
		folder = w.Folder()
		w.During(ctx, func(ctx context.Context) error { <-ctx.Done(); ended = true; return nil })
		w.stages(ctx, []stage{{"a stage", func(context.Context) { check.Must(errors.New("its error")) }}})
		t.Error("it goes on")
	}}}
	err := s.play(t.Context(), t.Output())
	check.Need(t, err != nil, "no error")
	check.Has(t, err.Error(), "a stage: its error")
	_, left := os.Stat(folder)
	check.That(t, ended && os.IsNotExist(left), "ended %t, folder %v", ended, left)
}

// A body comes out of its other form byte for byte, and the rest stays.
func TestInBase64(t *testing.T) {
	for _, body := range []string{`{"a": 1,"b":"<é>"}`, `null`, `"x"`, `1e3`} {
		a := traffic.Message{Document: []byte(`{"queue":"q","seq":7,"id":"i","body":` + body + `}`)}
		check.OK(t, inBase64(&a))
		want := `{"bodyBase64":"` + base64.StdEncoding.EncodeToString([]byte(body)) +
			`","id":"i","queue":"q","seq":7}`
		check.Is(t, string(a.Document), want)
	}
}

// TestEverySeqIsSentOnce: in each batch and each order, each queue's seqs are all there, once, and
// late by no more places than they may be.
func TestEverySeqIsSentOnce(t *testing.T) {
	for _, v := range []values{
		{"QUEUES": 3, "BATCH": 1},
		{"QUEUES": 3, "BATCH": 25},
		{"QUEUES": 7, "BATCH": 5, "DISORDER": 8},
		{"QUEUES": 2, "BATCH": 100, "DISORDER": 32},
		{"QUEUES": 2, "BATCH": 25, "DISORDER": 8},
		{"QUEUES": 1, "BATCH": 500, "DISORDER": 8},
	} {
		l, err := newLoadTraffic(v)
		check.OK(t, err)
		sent, messages, least := map[string][]int64{}, 0, 0
		send := func(request ...traffic.Message) error {
			for _, m := range request {
				sent[m.Queue] = append(sent[m.Queue], m.Seq)
			}
			messages += len(request)
			check.That(t, len(request) >= least && (least == 0 || len(request) <= l.batch),
				"%v: a request has %d messages", v, len(request))
			return nil
		}
		check.OK(t, l.first(send))
		for queue, seqs := range sent {
			if last := slices.Max(seqs); int(last) != len(seqs) || len(seqs) > max(l.batch, l.disorder) {
				t.Errorf("%v: %s begins with %d messages up to %d", v, queue, len(seqs), last)
			}
		}
		least = l.batch
		for _, due := range []int{1, 999, 0, 1000} {
			check.OK(t, l.due(due, send))
		}
		least = 0
		check.OK(t, l.last(send))
		check.That(t, messages >= 2000-l.batch && len(sent) == v.number("QUEUES"),
			"%v: %d messages of %d queues", v, messages, len(sent))
		for queue, seqs := range sent {
			late := false
			for i, seq := range seqs {
				late = late || i > 0 && seq < seqs[i-1]
				check.That(t, seq >= int64(i+1-l.disorder) && seq <= int64(i+1+l.disorder),
					"%v: %s sends %d as number %d", v, queue, seq, i+1)
			}
			check.Is(t, late, (l.disorder > 0), v, queue)
			slices.Sort(seqs)
			for i, seq := range seqs {
				check.Need(t, seq == int64(i+1), "%v: %s misses %d", v, queue, i+1)
			}
		}
	}
}

// TestLoadDocuments: each body has 100 bytes; some disorders there are not.
func TestLoadDocuments(t *testing.T) {
	l := &loadTraffic{together: true}
	for _, m := range l.request("load/00007", []int64{1, 123_456}) {
		var document struct {
			Body json.RawMessage
			Kind string
		}
		err := json.Unmarshal(m.Document, &document)
		check.That(t, err == nil && len(document.Body) == 100 && document.Kind == "arrival" &&
			m.Sums == traffic.SumsOf(document.Body), "%s: %v", m.Document, err)
	}
	for says, v := range map[string]values{"DISORDER=9": {"DISORDER": 9},
		"TOGETHER=1": {"DISORDER": 8, "TOGETHER": 1}} {
		check.Says(t, check.Err(newLoadTraffic(v)), says)
	}
}

// TestTraffic: of each queue everything is sent up to its last message, but for the one that is
// missing; out of order, some of it twice.
func TestTraffic(t *testing.T) {
	made := newSoakTraffic(1)
	sent := made.first()
	for range 5000 {
		sent = append(sent, made.message())
	}
	sent = append(sent, made.last()...)
	times, highest, disordered, conflicts := map[traffic.Place]int{}, map[string]int64{}, 0, 0
	for _, m := range sent {
		var document struct {
			Queue string
			Seq   int64
		}
		err := json.Unmarshal(m.Document, &document)
		check.Need(t, err == nil && document.Queue == m.Queue && document.Seq == m.Seq, "%s: %v",
			m.Document, err)
		times[traffic.At(m.Queue, m.Seq)]++
		if m.Seq < highest[m.Queue] {
			disordered++
		}
		highest[m.Queue] = max(highest[m.Queue], m.Seq)
		if m.Conflict != nil {
			conflicts++
			check.That(t, json.Valid(m.Conflict) && string(m.Conflict) != string(m.Document),
				"%s conflicts with %s", m.Conflict, m.Document)
		}
		poisoned := strings.Contains(string(m.Document), `"attributes":{"poison":"yes"}`)
		check.That(t, poisoned == (m.Queue == poisonQueue && m.Seq == bad),
			"poisoned %v: %.100s", poisoned, m.Document)
	}
	check.That(t, len(highest) == soakQueues && disordered >= 1000 && conflicts >= 50 &&
		len(sent)-len(times) >= 100, "%d queues, %d out of order, %d conflicts, %d messages of %d",
		len(highest), disordered, conflicts, len(times), len(sent))
	for queue, last := range highest {
		for seq := int64(1); seq <= last; seq++ {
			if missing := queue == gapQueue && seq == bad; missing == (times[traffic.At(queue, seq)] > 0) {
				t.Errorf("queue %q: seq %d was sent %d times", queue, seq, times[traffic.At(queue, seq)])
			}
		}
	}
	check.That(t, highest[hotQueue] >= 1000 && highest[poisonQueue] >= bad && highest[gapQueue] > bad,
		"hot %d, poison %d, gap %d", highest[hotQueue], highest[poisonQueue], highest[gapQueue])
}

// TestTrafficOfAShortRun: something goes wrong, however short a run is.
func TestTrafficOfAShortRun(t *testing.T) {
	for seed := range int64(50) {
		made := map[traffic.Place]bool{}
		for _, m := range newSoakTraffic(seed).first() {
			made[m.Place] = true
		}
		for _, at := range []traffic.Place{traffic.At(poisonQueue, bad), traffic.At(gapQueue, bad+1)} {
			check.That(t, made[at], "seed %d: nothing goes wrong at %v", seed, at)
		}
	}
}

// fifoMessage is a message as a FIFO queue gives it.
func fifoMessage(body string, attributes map[string]string) types.Message {
	m := types.Message{
		Body: &body, Attributes: map[string]string{"SentTimestamp": "1000"},
		MessageAttributes: map[string]types.MessageAttributeValue{"queue": {BinaryValue: []byte("a\tb")}},
	}
	for name, value := range attributes {
		m.MessageAttributes[name] = types.MessageAttributeValue{StringValue: &value}
	}
	return m
}

func TestOutputOfFIFO(t *testing.T) {
	attributes := map[string]string{"seq": "7", "token": "3-req"}
	want := traffic.Output{Place: traffic.At("a\tb", 7), Token: 3, At: time.Unix(1, 0)}
	for _, c := range []struct {
		body, encoding string
		bytes          []byte
	}{
		{`{"n": 1}`, "", []byte(`{"n": 1}`)},
		{"-", "empty", nil},
		{"AP8=", "base64", []byte{0, 255}},
	} {
		attributes["encoding"] = c.encoding
		want.Sums = traffic.SumsOf(c.bytes)
		got, err := outputOfFIFO(fifoMessage(c.body, attributes))
		check.That(t, err == nil && got == want, "%q is %+v, %v; want %+v", c.body, got, err, want)
	}
	for name, value := range map[string]string{"seq": "x", "token": "", "encoding": "rot13"} {
		broken := map[string]string{"seq": "7", "token": "3-req", name: value}
		_, err := outputOfFIFO(fifoMessage("{}", broken))
		check.That(t, err != nil && (strings.Contains(err.Error(), name) || name == "token"),
			"%s=%s: error %v", name, value, err)
	}
}

func TestOutputOfEvent(t *testing.T) {
	body := []byte(`{"n": 1}`)
	for text, rewritten := range map[string]bool{
		`"body":{"n":1}`: true,
		fmt.Sprintf(`"bodyBase64":%q`, base64.StdEncoding.EncodeToString(body)): false,
	} {
		got, err := outputOfEvent(
			types.Message{
				Body: aws.String(`{"detail-type":"message","detail":{"queue":"q","seq":7,"tokenN":3,` + text +
					`}}`),
			})
		check.That(t, err == nil && got.Place == traffic.At("q", 7) && got.Token == 3 &&
			got.Rewritten == rewritten && got.Value == traffic.SumsOf(body).Value && (rewritten ||
			got.Exact == traffic.SumsOf(body).Exact), "%s: %+v, %v", text, got, err)
	}
	_, err := outputOfEvent(types.Message{Body: aws.String("<p>")})
	check.That(t, err != nil, "what is no event was taken")
}

func TestAnnouncements(t *testing.T) {
	event := func(kind, detail string) types.Message {
		return types.Message{Body: aws.String(fmt.Sprintf(`{"detail-type":%q,"detail":%s}`, kind,
			detail))}
	}
	blocked := event("consumer.blocked",
		`{"id":"b","queue":"poison","consumer":"receiver","delivered":2}`)
	opened := event("consumer.circuit-open", `{"id":"c","consumer":"receiver"}`)
	closed := event("consumer.circuit-closed", `{"id":"c","consumer":"receiver"}`)
	again := event("consumer.circuit-open", `{"id":"d","consumer":"receiver"}`)
	gap := event("gap.opened", `{"id":"g","queue":"gap","missingAfter":2,"missingUpTo":3}`)
	for name, c := range map[string]struct {
		said       []types.Message
		missing    int
		violations int
	}{
		"right":       {[]types.Message{blocked, gap, gap, blocked}, 0, 0},
		"none":        {nil, 2, 0},
		"killed":      {[]types.Message{gap, blocked, opened, closed, again}, 0, 0},
		"stays open":  {[]types.Message{gap, blocked, opened}, 1, 0},
		"another's":   {[]types.Message{gap, blocked, event("consumer.circuit-open", `{"id":"c","consumer":"queue"}`)}, 0, 1},
		"one":         {[]types.Message{gap}, 1, 0},
		"another id":  {[]types.Message{gap, blocked, event("gap.opened", `{"id":"h","queue":"gap","missingAfter":2}`)}, 0, 1},
		"other gap":   {[]types.Message{gap, blocked, event("gap.opened", `{"id":"g","queue":"q","missingAfter":2}`)}, 0, 1},
		"other place": {[]types.Message{gap, event("consumer.blocked", `{"id":"b","queue":"poison","consumer":"receiver","delivered":1}`)}, 1, 1},
		"missing":     {[]types.Message{gap, blocked, event("consumer.missing", `{"id":"m","queue":"q","consumer":"queue"}`)}, 0, 1},
	} {
		a := soakAnnouncements()
		for _, m := range c.said {
			check.OK(t, a.event(m))
		}
		_, violations := a.report()
		check.That(t, len(a.missing()) == c.missing && len(violations) == c.violations,
			"%s: missing %q, violations %q", name, a.missing(), violations)
	}
	diff := cmp.Diff([]string{blockedAnnounced, gapAnnounced("opened", gapQueue, bad)},
		soakAnnouncements().missing())
	check.That(t, diff == "", "%v", diff)
}
