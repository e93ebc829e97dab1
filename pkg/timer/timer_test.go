package timer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/timer"
)

func TestWakeUpsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringN(1, 100, 500), rapid.Just("acme/a@b\uFFFE\uFFFF\x00\u2028<\\"))
		w := timer.WakeUp{
			Due:   time.UnixMilli(rapid.Int64Range(1, 1<<45).Draw(t, "due")).UTC(),
			Again: rapid.IntRange(0, 10).Draw(t, "again"),
		}
		switch w.Kind = rapid.SampledFrom([]timer.Kind{timer.Gap, timer.Consumer, timer.Chain,
			timer.Settle, timer.Circuit}).Draw(t, "kind"); w.Kind {
		case timer.Gap:
			w.Queue = name.Draw(t, "queue")
		case timer.Consumer:
			w.Queue, w.Consumer = name.Draw(t, "queue"), name.Draw(t, "consumer")
		case timer.Circuit:
			w.Consumer = name.Draw(t, "consumer")
		case timer.Chain:
			w.Tag = name.Draw(t, "tag")
		case timer.Settle:
			w.Queue, w.UpTo = name.Draw(t, "queue"),
				string(rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "upTo"))
		}
		if read, err := timer.Parse(w.String()); err != nil || read != w {
			t.Fatalf("%s is read as %+v, %v", w, read, err)
		}
		if strings.ContainsFunc(w.String(), func(r rune) bool {
			return r < ' ' || r == 0xFFFE || r == 0xFFFF
		}) {
			t.Fatalf("%q has what SQS refuses", w)
		}
	})
}

func TestWhatIsNoWakeUp(t *testing.T) {
	good := `{"v":1,"kind":"gap","queue":"<q>","due":5,"again":2}`
	if w, err := timer.Parse(good); err != nil || w.Queue != "<q>" || w.Again != 2 ||
		w.Due.UnixMilli() != 5 {
		t.Errorf("%+v, %v", w, err)
	}
	settle := `{"v":1,"kind":"settle","queue":"q","upTo":"AQL/","due":5}`
	w, err := timer.Parse(settle)
	check.That(t, err == nil && w.Queue == "q" && w.UpTo == "\x01\x02\xff", "%+v, %v", w, err)
	for _, text := range []string{
		"", "null", "[]", good + "x",
		strings.Replace(good, `"v":1`, `"v":2`, 1), strings.Replace(good, "gap", "chain", 1), strings.Replace(good, "gap", "what", 1),
		strings.Replace(good, "gap", "circuit", 1),
		strings.Replace(good, `"queue":"<q>",`, "", 1), strings.Replace(good, "5", "0", 1), strings.Replace(good, `"again":2`, `"again":11`, 1),
		strings.Replace(good, `"again":2`, `"again":-1`, 1), strings.Replace(good, `"due":5`, `"due":5,"due":6`, 1),
		strings.Replace(good, `"due":5`, `"more":5`, 1), strings.Replace(good, `"due":5`, `"consumer":"c","due":5`, 1), " " + good,
		strings.Replace(good, "<q>", strings.Repeat("q", 2049), 1),
		strings.Replace(good, `"due":5`, `"upTo":"AQ==","due":5`, 1), // a gap has none
		strings.Replace(settle, `"upTo":"AQL/",`, "", 1), strings.Replace(settle, "AQL/", "", 1), strings.Replace(settle, "AQL/", "AQL_", 1),
		strings.Replace(settle, "AQL/", "AQL", 1), strings.Replace(settle, `"queue":"q",`, "", 1), strings.Replace(settle, `"queue":"q"`, `"tag":"q"`, 1),
		strings.Replace(settle, `"upTo":"AQL/","due":5`, `"due":5,"upTo":"AQL/"`, 1), strings.Replace(settle, "AQL/", strings.Repeat("AQL/", 700), 1),
	} {
		w, err := timer.Parse(text)
		check.That(t, err != nil, "%s is read as %+v", text, w)
	}
}

// service is SQS, as far as it is asked here. What it takes is noted, such as "gap q 5s".
type service struct {
	mu     sync.Mutex
	calls  int
	taken  []string
	refuse func(body string) bool
	broken bool
}

func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.broken || r.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []struct {
			ID           string `json:"Id"`
			MessageBody  string
			DelaySeconds int
		}
	}
	if err := json.Unmarshal(raw, &in); err != nil || in.QueueURL != "https://queue" ||
		len(in.Entries) > 10 || strings.Contains(string(raw), "MessageGroupId") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	type verdict struct {
		ID string `json:"Id"`
	}
	var out struct{ Successful, Failed []verdict }
	for _, e := range in.Entries {
		if s.refuse != nil && s.refuse(e.MessageBody) {
			out.Failed = append(out.Failed, verdict{e.ID})
			continue
		}
		woken, _ := timer.Parse(e.MessageBody)
		s.taken = append(s.taken, fmt.Sprintf("%s %s%s%s%s %ds %d", woken.Kind, woken.Queue,
			woken.Consumer, woken.Tag, woken.UpTo, e.DelaySeconds, woken.Again))
		out.Successful = append(out.Successful, verdict{e.ID})
	}
	_ = json.NewEncoder(w).Encode(out)
}

// takes checks what was taken since the last call.
func (s *service) takes(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(s.taken)
	check.That(t, slices.Equal(s.taken, want), "taken %q, want %q", s.taken, want)
	s.taken = nil
}

// inBubble runs a test with a timer whose queue answers without a network.
func inBubble(t *testing.T, answer http.RoundTripper, test func(*testing.T, *timer.Timer)) {
	t.Helper()
	bubble.Answered(t, answer, func(t *testing.T) {
		for name, value := range map[string]string{
			"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:1", "AWS_REGION": "us-east-1",
			"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		} {
			t.Setenv(name, value)
		}
		test(t, check.Get(timer.New("https://queue")))
	})
}

// flush checks how many were sent, and how many could not be.
func flush(t *testing.T, it *timer.Timer, wantSent, wantFailed int) {
	t.Helper()
	if sent, failed := it.Flush(t.Context()); sent != wantSent || failed != wantFailed {
		t.Errorf("sent %d, failed %d; want %d and %d", sent, failed, wantSent, wantFailed)
	}
}

func TestFlush(t *testing.T) {
	var s service
	inBubble(t, bubble.By(s.answer), func(t *testing.T, it *timer.Timer) {
		now := time.Now()
		flush(t, it, 0, 0)
		it.Gap("q", now.Add(-time.Second))
		it.Consumer("q", "c", now.Add(time.Hour))
		it.Chain("t", now.Add(10*time.Second))
		it.Chain("t", now.Add(20*time.Second)) // as it stands now
		flush(t, it, 3, 0)
		s.takes(t, "chain t 20s 0", "consumer qc 900s 0", "gap q 0s 0")
		// One is on its way that looks when the next is due.
		it.Chain("t", now.Add(30*time.Second))
		it.Consumer("q", "c", now.Add(time.Hour))
		it.Consumer("q", "d", now.Add(time.Hour))
		flush(t, it, 1, 0)
		s.takes(t, "consumer qd 900s 0")
		// None that comes sooner.
		it.Chain("t", now.Add(10*time.Second))
		it.Gap("q", now.Add(10*time.Second))
		flush(t, it, 2, 0)
		s.takes(t, "chain t 10s 0", "gap q 10s 0")
		check.That(t, s.calls == 3, "%d calls, want one for up to ten", s.calls)
		for i := range 25 {
			it.Gap(fmt.Sprint(i), now)
		}
		flush(t, it, 25, 0)
		check.That(t, s.calls == 6, "%d calls, want three more", s.calls)
	})
}

// TestSettleWindows: each bound of a queue has a wake-up, for when the first of it is due. What was
// noted first is sent whatever is under way, what is sent again only where nothing is that sees as
// much.
func TestSettleWindows(t *testing.T) {
	var s service
	inBubble(t, bubble.By(s.answer), func(t *testing.T, it *timer.Timer) {
		now := time.Now()
		it.Settle("q", "/m", now.Add(10*time.Second))
		it.Settle("q", "/z", now.Add(5*time.Second))
		it.Settle("q", "/m", now.Add(7*time.Second))
		it.Settle("q", "/m", now.Add(8*time.Second))
		it.Settle("r", "/m", now.Add(5*time.Second))
		it.Gap("q", now.Add(20*time.Second))
		it.Gap("q", now.Add(15*time.Second)) // as it stands now
		flush(t, it, 4, 0)
		s.takes(t, "gap q 15s 0", "settle q/m 7s 0", "settle q/z 5s 0", "settle r/m 5s 0")
		it.Settle("q", "/b", now.Add(30*time.Second))
		it.Settle("r", "/m", now.Add(5*time.Second))
		flush(t, it, 2, 0)
		s.takes(t, "settle q/b 30s 0", "settle r/m 5s 0")
		// One that came out too early knows how often it was sent, and what it is for.
		again := func(upTo string, after time.Duration, times int) {
			it.Again(timer.WakeUp{Thing: timer.Thing{Kind: timer.Settle, Queue: "p"}, UpTo: upTo, Due: now,
				Again: times}, now.Add(after))
		}
		again("/c", 20*time.Second, 3)
		again("/d", 90*time.Second, 4)
		flush(t, it, 2, 0)
		s.takes(t, "settle p/c 20s 4", "settle p/d 90s 5")
		again("/e", 10*time.Second, 4)
		flush(t, it, 1, 0)
		s.takes(t, "settle p/e 10s 5")
		again("/d", 30*time.Second, 4) // one sees as much, and sooner
		flush(t, it, 0, 0)
		for _, step := range []struct {
			upTo  string
			after time.Duration
			times int
		}{{"/f", 30 * time.Second, 4}, {"/f", 20 * time.Second, 4}, {"/f", 30 * time.Second, 3}} {
			again(step.upTo, step.after, step.times)
			flush(t, it, 1, 0)
			s.takes(t, fmt.Sprintf("settle p%s %ds %d", step.upTo, int(step.after.Seconds()), step.times+1))
		}
	})
}

func TestAgain(t *testing.T) {
	var s service
	inBubble(t, bubble.By(s.answer), func(t *testing.T, it *timer.Timer) {
		now := time.Now()
		for again := range 11 {
			it.Again(timer.WakeUp{Thing: timer.Thing{Kind: timer.Gap, Queue: fmt.Sprint(again)}, Due: now,
				Again: again}, now)
		}
		flush(t, it, 10, 0) // the last one is left to the sweep
		for i, taken := range s.taken {
			check.That(t, !strings.HasSuffix(taken, " 0"), "%d: %s does not count", i, taken)
		}
	})
}

// TestFarAhead: SQS delays by a quarter of an hour, so a wake-up of later is sent from one to the
// next by a process that has sent it before.
func TestFarAhead(t *testing.T) {
	var s service
	inBubble(t, bubble.By(s.answer), func(t *testing.T, it *timer.Timer) {
		due := time.Now().Add(40 * time.Minute)
		w := timer.WakeUp{Thing: timer.Thing{Kind: timer.Chain, Tag: "t"}, Due: due}
		it.Chain("t", due)
		for again, delay := range []string{"900s", "900s", "600s"} {
			flush(t, it, 1, 0)
			s.takes(t, fmt.Sprintf("chain t %s %d", delay, again))
			it.Chain("t", due) // one is under way
			flush(t, it, 0, 0)
			bubble.Sleep(min(15*time.Minute, time.Until(due)))
			w.Again = again
			it.Again(w, due)
		}
	})
}

// TestWhatIsNotSent: it is counted, and is sent when it is noted the next time.
func TestWhatIsNotSent(t *testing.T) {
	s := service{refuse: func(body string) bool { return strings.Contains(body, "bad") }}
	inBubble(t, bubble.By(s.answer), func(t *testing.T, it *timer.Timer) {
		now := time.Now()
		it.Gap("bad", now.Add(time.Minute))
		it.Gap("good", now.Add(time.Minute))
		flush(t, it, 1, 1)
		s.refuse = nil
		it.Gap("bad", now.Add(time.Minute))
		it.Gap("good", now.Add(time.Minute))
		flush(t, it, 1, 0)
		s.broken = true
		it.Gap("other", now)
		flush(t, it, 0, 1)
	})
}

// TestWhereTheTimeIsUp: what was noted is sent all the same.
func TestWhereTheTimeIsUp(t *testing.T) {
	var s service
	inBubble(t, bubble.By(s.answer), func(t *testing.T, it *timer.Timer) {
		it.Gap("q", time.Now())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		sent, failed := it.Flush(ended)
		check.That(t, sent == 1 && failed == 0, "sent %d, failed %d; want 1 and 0", sent, failed)
	})
}

func TestNoTimer(t *testing.T) {
	it, err := timer.New("")
	check.Need(t, err == nil && it == nil, "%v, %v", it, err)
	it.Gap("q", time.Now())
	it.Again(timer.WakeUp{}, time.Now())
	flush(t, it, 0, 0)
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	_, err = timer.New("https://queue")
	check.That(t, err != nil && strings.Contains(err.Error(), "timer: "), "error %v", err)
}

// TestTheNextAnswerIsNotKeptWaiting: a service that does not answer.
func TestTheNextAnswerIsNotKeptWaiting(t *testing.T) {
	inBubble(t, silent(func() {}), func(t *testing.T, it *timer.Timer) {
		began := time.Now()
		handle := timer.Flushing(it, func(_ context.Context, queue string) (int, error) {
			it.Gap(queue, time.Now())
			return 7, nil
		})
		if n, err := handle(t.Context(), "q"); n != 7 || err != nil ||
			time.Since(began) > 600*time.Millisecond {
			t.Errorf("%d, %v after %v", n, err, time.Since(began))
		}
	})
}

// silent never answers; it says that it was asked.
type silent func()

func (asked silent) RoundTrip(r *http.Request) (*http.Response, error) {
	asked()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestFlushEndsWithItsContext, and not with its own time.
func TestFlushEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inBubble(t, silent(cancel), func(t *testing.T, it *timer.Timer) {
		var logs bytes.Buffer
		before := slog.Default()
		slog.SetDefault(slog.New(slog.NewTextHandler(&logs, nil)))
		defer slog.SetDefault(before)
		it.Gap("q", time.Now())
		sent, failed := it.Flush(ctx)
		check.That(t, sent == 0 && failed == 1 &&
			strings.Contains(logs.String(), context.Canceled.Error()),
			"sent %d, failed %d, logged %s; want one that is cancelled", sent, failed, &logs)
	})
}
