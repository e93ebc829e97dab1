//go:build whole

package languages_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack"
)

// books is python/books.py, with a database that it makes. It calls the API by a proxy.
type books struct {
	t    *testing.T
	url  string
	path string
	*sql.DB
	// fatal is the action of a claim at which the consumer is killed, before or after the call.
	fatal atomic.Value
	one   atomic.Pointer[exec.Cmd]
}

// fatality is an action, and whether the consumer dies before the API hears of it.
type fatality struct {
	action string
	before bool
}

func (b *books) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	f, _ := b.fatal.Load().(fatality)
	dies := f.action != "" && bytes.Contains(body, fmt.Appendf(nil, `"action": %q`, f.action))
	kill := func() { b.fatal.Store(fatality{}); _ = b.one.Load().Process.Kill() }
	if dies && f.before {
		kill()
		return
	}
	to := check.Get(url.Parse(b.url))
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
	}, ModifyResponse: func(*http.Response) error {
		if dies {
			kill()
		}
		return nil
	}}).ServeHTTP(w, r)
}

// start starts a copy of the consumer, by a proxy; what it says is in its Stderr.
func (b *books) start(path, proxy string, more ...string) *exec.Cmd {
	b.t.Helper()
	command := exec.CommandContext(b.t.Context(), "python3",
		append([]string{"-B", "python/books.py", proxy, "orders", path}, more...)...)
	command.Stderr = &strings.Builder{}
	check.OK(b.t, command.Start())
	b.one.Store(command)
	return command
}

// await waits until so many are booked, each once, in order.
func (b *books) await(many int) {
	b.t.Helper()
	var seqs []any
	for seq := range many {
		seqs = append(seqs, seq+1)
	}
	want := strings.TrimSpace(fmt.Sprintln(seqs...))
	await.Until(b.t, want, func() (bool, any) {
		var got string // the order in which they were booked; none before there are tables
		_ = b.QueryRow("SELECT coalesce(group_concat(seq, ' '), '') FROM booked").Scan(&got)
		check.Need(b.t, strings.HasPrefix(want, got), "booked %s, want %s", got, want)
		return got == want, got
	})
}

// refuses waits until a copy with a database has ended by itself, and said why.
func (b *books) refuses(path, proxy, want string) {
	b.t.Helper()
	command := b.start(path, proxy)
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	await.True(b.t, "the consumer's end", func() bool { return len(ended) > 0 })
	said := command.Stderr.(*strings.Builder).String()
	check.That(b.t, strings.Contains(said, want), "no %q, %v: %s", want, <-ended, said)
}

// restores has an older database book again what it lost, as docs/how-to/restore.md says.
func (b *books) restores(path, proxy string) {
	b.t.Helper()
	ask(b.t, http.MethodPost, b.url+"/operations",
		`{"action":"rewind","queue":"orders","consumer":"books","start":4,"reason":"restored"}`)
	command := b.start(path, proxy, "1000")
	await.True(b.t, "what was lost to be booked again", func() bool {
		return strings.Contains(ask(b.t, http.MethodGet, b.url+"/consumers?queue=orders", ""),
			`"delivered":9`)
	})
	check.OK(b.t, command.Process.Kill())
	_ = command.Wait()
	db := check.Get(sql.Open("sqlite", path))
	defer db.Close()
	var got string
	check.OK(b.t, db.QueryRow("SELECT group_concat(seq, ' ') FROM booked").Scan(&got))
	check.Is(b.t, got, "1 2 3 4 5 6 7 8 9")
}

// TestBooksInPython kills the consumer between its prepare and the transaction's end, and between
// that and its report. Everything is booked once, in order. It ends where its database, or the
// tables, were restored.
func TestBooksInPython(t *testing.T) {
	stack, err := localstack.Run(t.Context(),
		localstack.Config{Logger: slog.New(slog.DiscardHandler)})
	check.OK(t, err)
	defer stack.Close()
	b := &books{t: t, url: stack.URL(), path: filepath.Join(t.TempDir(), "books.db")}
	b.DB, err = sql.Open("sqlite", b.path)
	check.OK(t, err)
	defer b.Close()
	proxy := httptest.NewServer(b)
	defer proxy.Close()
	seq, backup := 0, b.path+".backup"
	for _, f := range []fatality{{}, {"prepare", false}, {"commit", true}} {
		seq += 3
		b.fatal.Store(f)
		for n := range 3 {
			ask(t, http.MethodPost, b.url+"/messages", fmt.Sprintf(
				`{"queue":"orders","seq":%d,"body":{"cents": %d}}`, seq-n, seq-n))
		}
		command := b.start(b.path, proxy.URL)
		if f.action != "" {
			_ = command.Wait() // it is killed
			command = b.start(b.path, proxy.URL)
		}
		b.await(seq)
		await.True(t, "the report of the last batch", func() bool {
			return strings.Contains(ask(t, http.MethodGet, b.url+"/consumers?queue=orders", ""),
				fmt.Sprintf(`"delivered":%d`, seq))
		})
		check.OK(t, command.Process.Kill())
		_ = command.Wait()
		if f.action == "" {
			check.Get(b.Exec("VACUUM INTO ?", backup))
		}
	}
	b.refuses(backup, proxy.URL, "with all before seq 4, and number")
	// It goes on from a rewind where it is taken to know what it lost.
	b.restores(backup, proxy.URL)
	ask(t, http.MethodPost, b.url+"/operations",
		`{"action":"remove","queue":"orders","consumer":"books","reason":"as a restore does"}`)
	b.refuses(b.path, proxy.URL, "and is handed 1 again")
	b.await(seq)
}
