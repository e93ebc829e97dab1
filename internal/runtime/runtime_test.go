package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// everything takes all that there is of the environment.
func everything(d *runtime.Deps) (runtime.Handler, error) {
	d.Ends(d.Deliverer(delivery.Options{Acker: d.Acker()}), d.Announcer())
	d.Quotas()
	d.CountRates()
	return runtime.Handle(d, time.Second,
		func(ctx context.Context, _ *emf.Metrics, _ string) (string, error) {
			end, _ := ctx.Deadline()
			return end.Format(time.RFC3339Nano), nil
		}), nil
}

// complete sets all that everything needs. What is at the endpoint answers nothing: no request is
// made.
func complete(t *testing.T) {
	t.Helper()
	for _, table := range []string{"MESSAGES", "CURSORS", "TROUBLE", "CONSUMERS", "AUDIT", "CHAINS"} {
		t.Setenv("STREAMSORT_"+table+"_TABLE", "some")
	}
	t.Setenv("STREAMSORT_TIMER_QUEUE", "https://sqs.us-east-1.amazonaws.com/123456789012/timer")
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	quotas(t, `{"quotas": [{"name": "acme", "messages": 1}]}`)
}

// quotas puts a file of quotas beside the program, and has it hold.
func quotas(t *testing.T, text string) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("LAMBDA_TASK_ROOT", folder)
	t.Setenv("STREAMSORT_QUOTAS", "true")
	check.OK(t, os.WriteFile(filepath.Join(folder, quota.File), []byte(text), 0o600))
}

// TestNew: a function whose environment is complete starts, and gets what it asks for.
func TestNew(t *testing.T) {
	complete(t)
	handler, err := runtime.New(io.Discard, everything)
	handle, is := handler.(func(context.Context, string) (string, error))
	check.Need(t, err == nil && is, "%T, %v", handler, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	end, _ := ctx.Deadline()
	check.Is(t, check.Get(handle(ctx, "")), end.Add(-time.Second).Format(time.RFC3339Nano))
}

// TestNewNamesAllThatIsWrong, at one start.
func TestNewNamesAllThatIsWrong(t *testing.T) {
	wrong := map[string][2]string{
		"STREAMSORT_MESSAGES_TABLE":  {"", "STREAMSORT_MESSAGES_TABLE is not set"},
		"STREAMSORT_CONSUMERS_TABLE": {"", "STREAMSORT_CONSUMERS_TABLE is not set"},
		"STREAMSORT_AUDIT_TABLE":     {"", "STREAMSORT_AUDIT_TABLE is not set"},
		"STREAMSORT_CHAINS_TABLE":    {"", "STREAMSORT_CHAINS_TABLE is not set"},
		"STREAMSORT_ANNOUNCE_TOPIC":  {"x", `topic "x" must be like`},
		"LAMBDA_TASK_ROOT":           {"nowhere", quota.File},
	}
	refused := func(t *testing.T, want string) {
		t.Helper()
		err := fmt.Sprint(check.Err(runtime.New(io.Discard, everything)))
		check.Is(t, strings.Count(err, want), 1, err, want)
	}
	for name, c := range wrong {
		t.Run(name, func(t *testing.T) {
			complete(t)
			t.Setenv(name, c[0])
			refused(t, c[1])
		})
	}
	complete(t)
	for name, c := range wrong {
		t.Setenv(name, c[0])
	}
	for _, c := range wrong {
		refused(t, c[1])
	}
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	refused(t, "\nAWS_REGION is not set\n")
}

// TestNothingIsNeededThatNobodyAsksFor: a function that only sorts starts without the other tables.
func TestNothingIsNeededThatNobodyAsksFor(t *testing.T) {
	complete(t)
	for _, table := range []string{"CONSUMERS", "AUDIT", "CHAINS"} {
		t.Setenv("STREAMSORT_"+table+"_TABLE", "")
	}
	t.Setenv("STREAMSORT_QUOTAS", "false")
	check.Get(runtime.New(io.Discard, func(d *runtime.Deps) (runtime.Handler, error) {
		sorter := d.Sorter()
		check.That(t, sorter != nil && sorter == d.Sorter() && d.Quotas() == nil,
			"no Sorter, or several, or quotas that are off")
		return nil, nil
	}))
	own := errors.New("of its own")
	fails := func(*runtime.Deps) (runtime.Handler, error) { return nil, own }
	check.Fails(t, check.Err(runtime.New(io.Discard, fails)), own)
}

func TestQuotas(t *testing.T) {
	complete(t)
	for text, want := range map[string]string{`{"quotas": []}`: "quotas.json: quotas has 0",
		`{"quotas": [{"name": "acme", "messages": 1}]}`: ""} {
		quotas(t, text)
		_, err := runtime.New(io.Discard, func(d *runtime.Deps) (runtime.Handler, error) {
			keeper := d.Quotas()
			check.That(t, want != "" || keeper.Bounds("acme", quota.Messages) &&
				!keeper.Bounds("zoo", quota.Messages), "%s: %v", text, keeper)
			return nil, nil
		})
		check.That(t, (err == nil) == (want == "") && strings.Contains(fmt.Sprint(err), want),
			"%s: error %v, want %q", text, err, want)
	}
}

// TestAround: the handler ends before the invocation does, and its metrics have the environment's
// names. What comes after has the rest of the time, also where the handler panics.
func TestAround(t *testing.T) {
	t.Setenv("POWERTOOLS_METRICS_NAMESPACE", "Space")
	t.Setenv("POWERTOOLS_SERVICE_NAME", "orders")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "enqueue")
	synctest.Test(t, func(t *testing.T) {
		for _, panics := range []bool{false, true} {
			var out bytes.Buffer
			ended := false
			handle := runtime.Around(&out, 5*time.Second,
				func(ctx context.Context, metrics *emf.Metrics, event string) (string, error) {
					metrics.Count("Seen", 1)
					bubble.Sleep(55*time.Second + time.Millisecond)
					check.That(t, ctx.Err() != nil, "it may take all of the time")
					if panics {
						panic("of a test")
					}
					return event + "!", ctx.Err()
				}, func(ctx context.Context, metrics *emf.Metrics) {
					metrics.Count("After", 1)
					ended = ctx.Err() == nil
				})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			func() {
				defer func() { check.That(t, (recover() != nil) == panics, "the panic is lost") }()
				answer, err := handle(ctx, "a")
				check.That(t, answer == "a!" && errors.Is(err, context.DeadlineExceeded), "%q, %v", answer, err)
			}()
			cancel()
			check.That(t, ended, "nothing came after, or it had no time")
			for _, part := range []string{`"Seen":1`, `"After":1`, `"ColdStart":1`, `"Namespace":"Space"`,
				`"service":"orders"`, `"function_name":"enqueue"`} {
				check.That(t, strings.Contains(out.String(), part), "no %s in %s", part, &out)
			}
		}
	})
}

// TestIsBatch: all records are of the source, and there is one at least.
func TestIsBatch(t *testing.T) {
	for event, want := range map[string]bool{
		`{"Records":[{"eventSource":"aws:sqs"},{"eventSource":"aws:sqs"}]}`: true,
		`{"Records":[{"eventSource":"aws:sqs"},{"eventSource":"aws:s3"}]}`:  false,
		`{"Records":[{}]}`: false, `{"Records":[]}`: false, `{"Records":7}`: false, `{}`: false, `7`: false, ``: false, `null`: false,
	} {
		check.Is(t, runtime.IsBatch([]byte(event), "aws:sqs"), want, event)
	}
}

// TestWakeUpsAreSent: those that the handler noted, at its end.
func TestWakeUpsAreSent(t *testing.T) {
	var sent []string
	complete(t)
	t.Setenv("AWS_ENDPOINT_URL_SQS", "http://127.0.0.1:1")
	var out bytes.Buffer
	handler := check.Get(runtime.New(&out, func(d *runtime.Deps) (runtime.Handler, error) {
		return runtime.Handle(d, time.Second,
			func(context.Context, *emf.Metrics, string) (string, error) {
				d.Timer.Gap("late", time.Now())
				return "", nil
			}), nil
	}))
	bubble.Answered(t, bubble.By(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, string(check.Get(io.ReadAll(r.Body))))
		_, _ = io.WriteString(w, `{"Successful":[{"Id":"0"}]}`)
	}), func(t *testing.T) {
		check.Get(handler.(func(context.Context, string) (string, error))(t.Context(), ""))
	})
	check.That(t, len(sent) == 1 && strings.Contains(sent[0], "late"), "sent %v", sent)
	check.That(t, strings.Contains(out.String(), `"WakeUpsSent":1`), "metrics: %s", &out)
}

// TestEagerCalls: an invocation that moved queues of an eager consumer calls process once, at its
// end; one that moved none calls nobody. A call that is refused is counted, and changes nothing.
func TestEagerCalls(t *testing.T) {
	var called []string
	status := http.StatusAccepted
	process := bubble.By(func(w http.ResponseWriter, r *http.Request) {
		called = append(called, string(check.Get(io.ReadAll(r.Body))))
		w.WriteHeader(status)
	})
	complete(t)
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", "http://127.0.0.1:1")
	t.Setenv("STREAMSORT_EAGER_FUNCTION",
		"arn:aws:lambda:us-east-1:123456789012:function:process:live")
	for _, c := range []struct {
		readers, queues string
		status, calls   int
		metric          string
	}{
		{`{"consumers":[{"name":"a","eager":true}]}`, "q r q", http.StatusAccepted, 1, `"EagerCalls":1`},
		{`{"consumers":[{"name":"a","eager":true}]}`, "", http.StatusAccepted, 0, ""},
		{`{"consumers":[{"name":"a","eager":true,"prefix":"r"}]}`, "q q", http.StatusAccepted, 0, ""},
		{`{"consumers":[{"name":"a"}]}`, "q r q", http.StatusAccepted, 0, ""},
		{`{"consumers":[{"name":"a","eager":true}]}`, "q", http.StatusTooManyRequests, 1, `"EagerCallsFailed":1`},
	} {
		called, status = nil, c.status
		t.Setenv("STREAMSORT_READERS", c.readers)
		var out bytes.Buffer
		handler := check.Get(runtime.New(&out, func(d *runtime.Deps) (runtime.Handler, error) {
			return runtime.Handle(d, time.Second,
				func(context.Context, *emf.Metrics, string) (string, error) {
					moved := d.SorterOptions().Moved
					for i, queue := range strings.Fields(c.queues) {
						if moved != nil {
							moved(queue, int64(i))
						}
					}
					check.That(t, len(called) == 0, "called before the end")
					return "answered", nil
				}), nil
		}))
		var answer string
		var err error
		bubble.Answered(t, process, func(t *testing.T) {
			answer, err = handler.(func(context.Context, string) (string, error))(t.Context(), "")
		})
		if err != nil || answer != "answered" || len(called) != c.calls ||
			!strings.Contains(out.String(), c.metric) ||
			(c.metric == "") != !strings.Contains(out.String(), "EagerCalls") {
			t.Errorf("%+v: %q, %v, called with %v, metrics %s", c, answer, err, called, &out)
		}
	}
}

// TestWhatComesAfterLeavesTimeForTheAnswer: all of it together has half a second, also where
// nothing that it calls answers, and less where the handler took some of its headroom; where that
// is used up, nothing comes after.
func TestWhatComesAfterLeavesTimeForTheAnswer(t *testing.T) {
	for handled, want := range map[time.Duration]time.Duration{
		59 * time.Second:         59500 * time.Millisecond,
		59500 * time.Millisecond: 59800 * time.Millisecond,
		59900 * time.Millisecond: 59900 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			hangs := func(ctx context.Context, _ *emf.Metrics) { <-ctx.Done() }
			handle := runtime.Around(io.Discard, time.Second,
				func(context.Context, *emf.Metrics, string) (string, error) {
					bubble.Sleep(handled)
					return "answered", nil
				}, hangs, hangs)
			begin := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			check.Is(t, check.Get(handle(ctx, "")), "answered")
			check.Is(t, time.Since(begin), want, handled)
		})
	}
}
