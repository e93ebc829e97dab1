package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// interrupted puts three lines, a call each, and is interrupted in the second call, which ends as
// answer says.
func interrupted(t *testing.T,
	answer func(http.ResponseWriter, *http.Request)) (stdout string, err error) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	calls := 0
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the request is seen
		if calls++; calls == 2 {
			interrupt()
			answer(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"results":[{"status":200,"outcome":"advanced"}]}`)
	})
	reader, writer := io.Pipe() // that never ends, as a terminal
	defer writer.Close()
	go func() {
		for seq := 1; seq <= 3; seq++ {
			_, _ = fmt.Fprintf(writer, "{\"queue\":\"q\",\"seq\":%d,\"body\":1}\n", seq)
		}
	}()
	var out bytes.Buffer
	s := &session{ctx: ctx, in: reader, out: &out, errOut: io.Discard, place: place{URL: server},
		grace: 50 * time.Millisecond}
	err = (&putCommand{Batch: 1, Concurrency: 1, Order: "number"}).Run(s)
	return out.String(), err
}

// TestInterrupt: what was stored is known, also of the call that was under way.
func TestInterrupt(t *testing.T) {
	out, err := interrupted(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results":[{"status":202,"outcome":"parked"}]}`)
	})
	check.That(t, out == "2 messages: 1 advanced, 1 parked\n" && err != nil &&
		strings.HasPrefix(err.Error(), "interrupted\nnothing after line 2 was stored;"), "%q, %v", out,
		err)
	out, err = interrupted(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	want := "interrupted\nnothing after line 2 was stored; there is no answer about line 2, which may be stored;"
	check.That(t, out == "1 message: 1 advanced\n" && err != nil &&
		strings.HasPrefix(err.Error(), want), "%q, %v", out, err)
}

// TestPutStops where the next batch would fail as well.
func TestPutStops(t *testing.T) {
	calls := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"message":"Forbidden"}`)
	})
	out, said, code := printsOf(t.Context(), "1\n2\n3\n", "--url", server, "put", "--batch", "1")
	check.That(t, code == 1 && calls == 1 && out == "0 messages\n" &&
		strings.Contains(said, "403: Forbidden (the request was not signed") &&
		strings.Contains(said, "\nnothing was stored; put the same again") &&
		strings.Contains(said, "\nstreamsort: --sign signs for IAM"), "%d calls, exit code %d, %q, %s",
		calls, code, out, said)
}

// TestTooLarge: a batch that is too large is refused, and the next one is put.
func TestTooLarge(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 50 {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			_, _ = io.WriteString(w, `{"message":"Request Too Long"}`)
			return
		}
		_, _ = io.WriteString(w, `{"results":[{"status":200,"outcome":"advanced"}]}`)
	})
	out, said, code := printsOf(t.Context(), `"`+strings.Repeat("x", 50)+"\"\n2\n", "--url", server,
		"put", "--batch", "1")
	check.That(t, code == 1 && out == "1 message: 1 advanced\n" &&
		strings.HasPrefix(said, "streamsort: line 1: 413: "),
		"exit code %d, %q, %s", code, out, said)
}

// strict answers calls as the API does, where a body that is "bad" is refused for the whole call
// with a status, and keeps what it took.
type strict struct {
	status int
	calls  int
	took   []string
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls++
	var call struct{ Messages []struct{ ID, Body string } }
	_ = json.NewDecoder(r.Body).Decode(&call)
	results := make([]string, len(call.Messages))
	for i, m := range call.Messages {
		if m.Body == "bad" {
			w.WriteHeader(s.status)
			_, _ = fmt.Fprintf(w, `{"code":"too-large","detail":"messages[%d].body is bad","errors":[{"field":"messages[%d].body","detail":"is bad","index":%d}]}`, i, i, i)
			return
		}
		results[i] = `{"status":200,"outcome":"advanced"}`
		if m.Body == "other" {
			results[i] = `{"status":409,"outcome":"conflict","detail":"another is stored"}`
		}
	}
	for _, m := range call.Messages {
		s.took = append(s.took, m.ID)
	}
	_, _ = fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(results, ","))
}

// putTo puts lines of these bodies to an API, a line of no JSON for an empty one, with ids that are
// their lines' numbers.
func putTo(t *testing.T, api http.Handler, bodies []string,
	flags ...string) (code int, out, errOut string) {
	t.Helper()
	server := serve(t, api.ServeHTTP)
	var in strings.Builder
	for i, body := range bodies {
		if body == "" {
			in.WriteString("{\n")
			continue
		}
		fmt.Fprintf(&in, "{\"queue\":\"q\",\"id\":\"%d\",\"body\":\"%s\"}\n", i+1, body)
	}
	out, errOut, code = printsOf(t.Context(), in.String(),
		append([]string{"--url", server, "put"}, flags...)...)
	return code, out, errOut
}

// TestArrivalStops at the first line that is not taken, so that no line comes before one that
// stands before it.
func TestArrivalStops(t *testing.T) {
	for _, flags := range [][]string{{"--order", "arrival"},
		{"--events", `{"queue":"queue","id":"id"}`}} {
		for _, c := range []struct {
			wrong  string
			status int
			took   string
		}{{"bad", 400, "1 2 3"}, {"bad", 413, "1 2 3"}, {"", 0, "1 2 3"}, {"other", 0, "1 2 3 4"}} {
			api := &strict{status: c.status}
			code, _, said := putTo(t, events(api), []string{"a", "b", "c", c.wrong, "e", "f", "g"},
				append(flags, "--batch", "2")...)
			took := strings.Join(api.took, " ")
			check.That(t, code == 1 && took == c.took && strings.Contains(said, "line 4") &&
				strings.Contains(said, "\nstopped at line 4, ") &&
				strings.Contains(said, "\nnothing after line 3 was stored"),
				"%v, %+v: exit code %d, took %s: %s", flags, c, code, took, said)
		}
	}
}

// TestPutStopsAtAHole: what is behind it was answered too, and is not stored.
func TestPutStopsAtAHole(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results":[{"status":200,"outcome":"advanced"},{"status":200,"outcome":"advanced"},{"status":409,"outcome":"ahead"},{"status":409,"outcome":"ahead"}]}`)
	})
	code, out, said := putTo(t, api, []string{"a", "b", "c", "d"}, "--order", "append")
	check.That(t, code == 1 && out == "4 messages: 2 advanced, 2 ahead\n" &&
		strings.Contains(said, "\nstopped at line 3, ") &&
		strings.Contains(said, "\nnothing after line 2 was stored; "), "exit code %d, %q, %s", code,
		out, said)
}

// TestEachLineIsACall where it may be several messages; what is wrong in it is named by the line,
// and one that may pass is repeated whole.
func TestEachLineIsACall(t *testing.T) {
	var took []string
	fails := 1
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"b"`) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w,
				`{"errors":[{"field":"messages[1].id","detail":"is missing","index":1}]}`)
			return
		}
		took = append(took, r.URL.Query().Get("each")+" "+
			r.URL.Query().Get("attributes")+" "+string(body))
		status := 200
		if fails > 0 {
			fails, status = fails-1, 503
		}
		_, _ = fmt.Fprintf(w, `{"results":[{"status":200,"outcome":"advanced"},{"status":%d,"outcome":"advanced"}]}`, status)
	})
	code, out, said := putTo(t, api, []string{"a", "b", "c"}, "--events",
		`{"each":"body[]","queue":"'q'","id":"id","attributes":{"a":"x"}}`)
	line := func(id, body string) string {
		return `body[] {"a":"x"} {"queue":"q","id":"` + id + `","body":"` + body + `"}`
	}
	want := []string{line("1", "a"), line("1", "a")}
	check.That(t, code == 1 && slices.Equal(took, want) && out == "2 messages: 2 advanced\n" &&
		strings.Contains(said, "400: line 2: messages[1].id is missing"), "exit code %d, took %s; %s%s",
		code, took, out, said)
	took = nil
	code, out, _ = putTo(t, api, []string{"a", "b", "c"}, "--events",
		`{"each":"body[]","queue":"'q'","id":"id","key":"id","keyType":"text"}`)
	check.That(t, code == 1 && len(took) == 2 && out == "4 messages: 4 advanced\n",
		"sorted by a key: exit code %d, took %s; %s", code, took, out)
}

// TestOnlyBadLinesAreLeftOut of a numbered queue's call, each named by its own line.
func TestOnlyBadLinesAreLeftOut(t *testing.T) {
	for _, status := range []int{400, 413} {
		api := &strict{status: status}
		code, out, said := putTo(t, api, []string{"a", "bad", "", "c", "bad", "d"}, "--batch", "4")
		want := fmt.Sprintf("streamsort: %d: line 2: body is bad\nline 3 is not JSON\n%d: line 5: body is bad\n", status, status)
		took := strings.Join(api.took, " ")
		check.That(t, code == 1 && took == "1 4 6" && api.calls == 4 &&
			out == "3 messages: 3 advanced\n" && said == want,
			"%d: exit code %d, took %s in %d calls, %s%s", status, code, took, api.calls, out, said)
	}
}

// TestCallsFitLambda: what a call brings fits the event that a function is handed, where it is a
// string of JSON, or in base64.
func TestCallsFitLambda(t *testing.T) {
	const most = 6 << 20 // of an event
	for name, body := range map[string]string{"plain": strings.Repeat("x", 300_000),
		"quotes": strings.Repeat(`\"`, 150_000)} {
		api := &strict{}
		checked := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			request, _ := io.ReadAll(r.Body)
			event, _ := json.Marshal(string(request))
			n := max(len(event), base64.StdEncoding.EncodedLen(len(request)))
			check.That(t, n <= most-1<<16, "%s: %d bytes in an event", name, n)
			r.Body = io.NopCloser(bytes.NewReader(request))
			api.ServeHTTP(w, r)
		})
		code, out, said := putTo(t, checked, slices.Repeat([]string{body}, 25))
		check.That(t, code == 0 && out == "25 messages: 25 advanced\n" && api.calls <= 5,
			"%s: exit code %d, %d calls, %s%s", name, code, api.calls, out, said)
	}
}

// TestLineTooLong is named and passed over; in the order of arrival nothing is put behind it.
func TestLineTooLong(t *testing.T) {
	long := strings.Repeat("x", 3*maxLine)
	for _, c := range []struct{ order, took string }{{"number", "1 3"}, {"arrival", "1"}} {
		for _, last := range []string{"c", long} {
			api := &strict{}
			code, _, said := putTo(t, api, []string{"a", long, "c", last}, "--order", c.order)
			want := c.took
			if last == "c" && c.order == "number" {
				want += " 4"
			}
			took := strings.Join(api.took, " ")
			check.That(t, code == 1 && took == want &&
				strings.HasPrefix(said, "streamsort: line 2 has more than 1048576 bytes\n"),
				"%s: exit code %d, took %s, %s", c.order, code, took, said)
		}
	}
}

// events gives an API events as a list of messages.
func events(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.HasPrefix(body, []byte("[")) {
			body = append(append([]byte(`{"messages":`), body...), '}')
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		api.ServeHTTP(w, r)
	})
}

// TestWhatToDoAboutTheRest: the same again helps only where nothing has to be done before.
func TestWhatToDoAboutTheRest(t *testing.T) {
	for want, stopped := range map[string]error{
		"was stored; put the same again": &client.NotTakenError{Left: 1, Of: 1, First: client.Outcome{Status: 503}},
		"was stored; raise maxAhead, or put the missing messages first, and then the same again": &client.NotTakenError{Left: 1, Of: 1, First: client.Outcome{Status: 429, Outcome: "full", MaxAhead: 5}},
		"was stored; fix that line, and put the same again":                                      &stopError{7},
	} {
		check.Has(t, newTally().rest(stopped).Error(), want)
	}
}

// sent is what a command line has the API get, a request a line.
func sent(t *testing.T, in, answer string, line ...string) string {
	t.Helper()
	var all []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all = append(all, strings.TrimSuffix(r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery, "?")+
			" "+string(body))
		_, _ = io.WriteString(w, answer)
	})
	_, errOut, code := printsOf(t.Context(), in, append([]string{"--url", server}, line...)...)
	check.That(t, code == 0, "%v: exit code %d, %s", line, code, errOut)
	return strings.Join(all, "\n")
}

// TestPutSaysWhereAQueueStarts, of the messages that do not say it, and of events by the query.
func TestPutSaysWhereAQueueStarts(t *testing.T) {
	const one = `{"status":200,"outcome":"advanced"}`
	messages := "{\"queue\":\"q\",\"seq\":7,\"body\":1}\n{\"queue\":\"q\",\"seq\":8,\"first\":7,\"body\":1}\n"
	check.Is(t, sent(t, messages, `{"results":[`+one+`,`+one+`]}`, "put", "--first", "here"),
		`POST /messages {"messages":[{"queue":"q","seq":7,"body":1,"first":"here"},{"queue":"q","seq":8,"first":7,"body":1}]}`)
	check.Is(t, sent(t, "{\"queue\":\"q\",\"seq\":7,\"body\":1}\n", `{"results":[`+one+`]}`, "put",
		"--order", "append", "--first", "7"),
		`POST /messages {"messages":[{"queue":"q","seq":7,"body":1,"first":"7","kind":"arrival"}]}`)
	check.Is(t, sent(t, "{\"q\":1,\"n\":7}\n", `{"results":[`+one+`]}`, "put", "--events",
		`{"queue":"q","seq":"n","first":"0"}`), `POST /messages?first=0&queue=q&seq=n [{"q":1,"n":7}]`)
}

// TestRestartKeys is of a queue, and has an id by which it may be repeated.
func TestRestartKeys(t *testing.T) {
	check.Is(t, sent(t, "", `{"status":200}`, "configure", "meters/17", "--restart-keys", "--reason",
		"it was reset", "--id", "one"),
		`POST /operations {"action":"restart-keys","id":"one","queue":"meters/17","reason":"it was reset"}`)
}

// TestBatchesKeepBytes, but for the mark that some editors put before the first line.
func TestBatchesKeepBytes(t *testing.T) {
	reader, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, "\ufeff{\"a\" : 1}\n\n{\"b\":2}\n\ufeff1\n{\"c\":3}")
		_ = writer.Close()
	}()
	var got []string
	refuse := func(number int, why string) error { got = append(got, why); return nil }
	err := batches(reader, 2, 0, refuse, func(batch []numbered) error {
		for _, line := range batch {
			got = append(got, fmt.Sprintf("%d %s", line.number, line.text))
		}
		got = append(got, "|")
		return nil
	})
	want := []string{`1 {"a" : 1}`, `3 {"b":2}`, "|", "line 4 is not JSON", `5 {"c":3}`, "|"}
	check.That(t, err == nil && slices.Equal(got, want), "%q, %v", got, err)
}

// TestLinesOfAPipeDoNotWait for a whole batch; nor do those of a file that are slow to be read go
// out in parts.
func TestLinesOfAPipeDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wait, want := range map[time.Duration][]int{linger: {2, 1}, 0: {3}} {
			reader, writer := io.Pipe()
			go func() {
				_, _ = io.WriteString(writer, "1\n2\n")
				bubble.Sleep(10 * linger)
				_, _ = io.WriteString(writer, "3\n")
				_ = writer.Close()
			}()
			var got []int
			began, first := time.Now(), time.Duration(0)
			err := batches(reader, 25, wait, nil, func(batch []numbered) error {
				if got = append(got, len(batch)); len(got) == 1 {
					first = time.Since(began)
				}
				return nil
			})
			check.That(t, err == nil && slices.Equal(got, want) && (wait <= 0 || first == linger),
				"%v: batches of %v, want %v; the first after %v, %v", wait, got, want, first, err)
		}
	})
}

func TestOnlyAPipeLingers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	check.OK(t, os.WriteFile(path, []byte("1\n"), 0o600))
	file := check.Get(os.Open(path))
	defer file.Close()
	reader, writer := check.Get2(os.Pipe())
	defer reader.Close()
	defer writer.Close()
	for in, want := range map[io.Reader]time.Duration{file: 0, reader: linger,
		strings.NewReader(""): 0} {
		check.Is(t, lingers(in), want, in)
	}
}

// blockedQueues answers as the API does where the consumer c is blocked in q0, q1 and q2; operate
// is what it does for an operation.
func blockedQueues(t *testing.T, operate func(queue, id string) (int, string)) (url string) {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		const row = `"consumer":"c","seq":7,"error":"HTTP 500\u001b[2J","since":"2026-01-02T03:04:05Z","ageSeconds":1}`
		answer := `{"list":[{"queue":"q0",` + row + `,{"queue":"q1",` + row +
			`,{"queue":"q2",` + row + `]}`
		switch {
		case r.Method == http.MethodPost:
			var asked struct{ Queue, ID string }
			_ = json.NewDecoder(r.Body).Decode(&asked)
			status, body := operate(asked.Queue, asked.ID)
			w.WriteHeader(status)
			answer = body
		case r.URL.Path == "/operations":
			answer = `{"operations":[]}`
		case r.URL.Query().Has("queue"):
			answer = `{"consumers":[{"consumer":"c","blocked":{"seq":7,"since":"2026-01-02T03:04:05Z"}}]}`
		}
		_, _ = io.WriteString(w, answer)
	})
}

func redriveAll(ctx context.Context, url string, more ...string) (out, errOut string, code int) {
	line := []string{"--url", url, "redrive", "--reason", "the ledger is back", "--rate", "1000"}
	return printsOf(ctx, "", append(line, more...)...)
}

// TestBulkIsADryRunFirst: without --yes, and where nobody can be asked, nothing is done.
func TestBulkIsADryRunFirst(t *testing.T) {
	url := blockedQueues(t, func(queue, _ string) (int, string) {
		t.Errorf("%s is acted on", queue)
		return 200, "{}"
	})
	out, errOut, code := redriveAll(t.Context(), url)
	want := "redrive would be done to 3 consumers, 1000 a second, and is not done yet\n" +
		"  q0@7\tc\tHTTP 500\\x1b[2J\n  q1@7\tc\tHTTP 500\\x1b[2J\n  q2@7\tc\tHTTP 500\\x1b[2J\n"
	check.That(t, code == exitDone && out == want && errOut == "nothing is done: --yes does it\n",
		"exit code %d, %q, %q", code, out, errOut)
	want = `"action":"redrive","rate":1000,"selected":3,"first":[{"queue":"q0","consumer":"c","seq":7,"error":"HTTP 500\u001b[2J"}`
	out, _, code = redriveAll(t.Context(), url, "-o", "json")
	check.That(t, code == exitDone && strings.Contains(out, want), "exit code %d, %s", code, out)
}

// TestBulkReport: what became of each, and exit code 1 where any failed.
func TestBulkReport(t *testing.T) {
	asked := map[string]string{}
	refuses := true
	url := blockedQueues(t, func(queue, id string) (int, string) {
		asked[queue] = id
		switch {
		case queue == "q1":
			return 409, `{"code":"not-blocked","detail":"the consumer is not blocked"}`
		case queue == "q2" && refuses:
			return 409, `{"code":"quarantined","detail":"settle it"}`
		}
		return 200, "{}"
	})
	out, errOut, code := redriveAll(t.Context(), url, "--yes")
	name := regexp.MustCompile(`--run ([0-9a-z]+)\n$`).FindStringSubmatch(errOut)
	for _, want := range []string{
		"redrive is done to 3 consumers, 1000 a second, as run ",
		"redrive of 3 consumers: 1 done, 0 done already, 1 changed meanwhile, 1 failed\n",
		"  q1\tc\tchanged: 409: the consumer is not blocked\n", "  q2\tc\tfailed: 409: settle it\n",
	} {
		check.That(t, strings.Contains(out, want), "it has no %q: %s", want, out)
	}
	check.Need(t, code == exitRefused && name != nil && strings.HasPrefix(asked["q0"], name[1]+"-"),
		"exit code %d, %s, %v", code, errOut, asked)
	refuses = false
	first := asked["q2"]
	out, errOut, code = redriveAll(t.Context(), url, "--yes", "--run", name[1])
	check.That(t, code == exitDone && asked["q2"] == first && errOut == "" &&
		strings.Contains(out, "2 done, 0 done already, 1 changed meanwhile, 0 failed"),
		"exit code %d, %s, %s: the id was %s, and is %s", code, out, errOut, first, asked["q2"])
}

// TestBulkInterrupted ends cleanly, with the report, and says how to go on.
func TestBulkInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	url := blockedQueues(t, func(string, string) (int, string) {
		interrupt()
		return 200, "{}"
	})
	out, errOut, code := redriveAll(ctx, url, "--yes", "--rate", "1")
	report := regexp.MustCompile(
		`of 3 consumers: [12] done, 0 done already, 0 changed meanwhile, 0 failed\n`)
	goOn := regexp.MustCompile(
		`^streamsort: interrupted; to go on: the same command with --run [0-9a-z]+\n$`)
	check.That(t, code == exitRefused && report.MatchString(out) && goOn.MatchString(errOut),
		"exit code %d, %s, %s", code, out, errOut)
	_, errOut, code = redriveAll(ctx, url, "--yes")
	check.That(t, code == exitRefused && strings.Contains(errOut, "interrupted: nothing is done"),
		"exit code %d, %s", code, errOut)
}
