package ui

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/origin"
	"github.com/streamsort/streamsort/internal/printable"
)

// Options say which API the page asks, as whom, and what it may do.
type Options struct {
	// URL is where the API is, such as https://ID.execute-api.REGION.amazonaws.com. Requests to
	// names of API Gateway's own are signed with the credentials of AWS's standard chain.
	URL string
	// Sign has requests signed for IAM at any other name too, such as a custom domain, in Region or
	// in that of AWS's configuration.
	Sign   bool
	Region string
	// Token gives each request a token (JWT), in place of a signature. Its context is that of the
	// page's request, so that it may be the token of the one who looks.
	Token func(context.Context) (string, error)
	// Operate lets who looks operate on consumers, and run bulk operations, which end with the
	// process: see [UI.Close].
	Operate bool
	// Every is how often a screen that somebody looks at is asked for again: 200 ms to 1 minute;
	// 500 ms where it is zero. It is what a screen costs, however many look at it: an overview
	// reads about 60 units each time, and one more for each 100 who are in trouble.
	Every time.Duration
	// Hosts are the names by which the page may be asked for, without ports: a page on the loopback
	// has to name its own, or another site could reach it by a name that it points there. Any where
	// it is empty.
	Hosts []string
}

// The bounds of Options.Every.
const shortest, longest = 200 * time.Millisecond, time.Minute

//go:embed static
var static embed.FS

// UI is the page. Make one with [New].
type UI struct {
	options Options
	api     *client.Client
	secret  string // the token of the page's forms
	trends  *trends
	lately  *lru.Cache[string, lagging] // by who looks
	glances *lru.Cache[string, *glance]
	turns   turns
	runs    runs
	handler http.Handler // behind the checks of who asks
}

// New makes a page. The error names the option that is wrong.
func New(options Options) (*UI, error) {
	options.Every = cmp.Or(options.Every, 500*time.Millisecond)
	if options.Every < shortest || options.Every > longest {
		return nil, fmt.Errorf("option Every is %v: it must be from %v to %v",
			options.Every, shortest, longest)
	}
	api, err := client.Open(client.Access{
		URL: options.URL, Sign: options.Sign, Region: options.Region, Token: options.Token,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	u := &UI{
		lately: latest[lagging](mostLines), glances: latest[*glance](mostGlances), options: options,
		api: api, secret: rand.Text(), trends: newTrends(),
		turns: turns{of: map[string][]chan struct{}{}}, handler: origin.Protect(options.Hosts, mux),
	}
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("GET /live", u.live)
	for name := range pages {
		mux.HandleFunc("GET /"+name, u.show)
	}
	mux.HandleFunc("GET /{$}", u.show)
	mux.HandleFunc("GET /", u.nothing)
	if options.Operate {
		mux.HandleFunc("POST /operate", u.posted(u.operate))
		mux.HandleFunc("POST /look", u.posted(u.look))
		mux.HandleFunc("POST /start", u.posted(u.start))
		mux.HandleFunc("POST /stop", u.posted(u.stop))
	}
	return u, nil
}

// policy is the content security policy: the page's own files, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements http.Handler.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	u.handler.ServeHTTP(w, r)
}

// frame is what the layout shows around a screen's content.
type frame struct {
	Title, Page string
	Live        string // the address of its updates; empty where it has none
	Operate     bool
	Asked       string // in the search field
	Token       string // of forms
	API         string
	Content     any
	Problem     string
	Back        printable.Name // the queue from which a problem came; empty where none did
}

func (u *UI) show(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(strings.TrimPrefix(r.URL.Path, "/"), "overview")
	query := r.URL.Query()
	f := u.frame(name, query)
	content, err := u.load(r.Context(), name, query)
	if to, is := errors.AsType[elsewhere](err); is {
		seeOther(w, string(to))
		return
	}
	status := http.StatusOK
	if err != nil {
		if status, f.Problem = u.explain(err); status < http.StatusInternalServerError {
			f.Live = "" // it will not be better by itself
		}
	}
	f.Content = content
	u.write(w, status, name, f)
}

func (u *UI) nothing(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(strings.TrimPrefix(r.URL.Path, "/"), "/") {
		http.NotFound(w, r) // relative links of a screen would lead nowhere from here
		return
	}
	u.write(w, http.StatusNotFound, "overview", frame{
		Title: "No such screen", Operate: u.options.Operate, API: u.options.URL,
		Problem: "There is no screen at this address.",
	})
}

func (u *UI) frame(name string, query url.Values) frame {
	live := maps.Clone(query)
	live.Set("of", name)
	f := frame{
		Title: pages[name].titled(query), Page: name, Live: "live?" + live.Encode(),
		Operate: u.options.Operate, Token: u.secret, API: u.options.URL,
	}
	if name == "search" {
		f.Live, f.Asked = "", query.Get("q") // it is asked for once
	}
	return f
}

// seeOther leads to another screen. The address is relative, as every link is: http.Redirect would
// make it absolute.
func seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

func (u *UI) load(ctx context.Context, name string, query url.Values) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, 8*time.Second) // with retries
	defer cancel()
	p := pages[name]
	if p.needs != "" && query.Get(p.needs) == "" {
		return nil, badQuery("the address has no " + p.needs)
	}
	return p.load(u, ctx, query)
}

func (u *UI) write(w http.ResponseWriter, status int, name string, f frame) {
	text, err := render(name, "layout", f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

type badQuery string

func (e badQuery) Error() string { return string(e) }

// explain is an error for people, and the status of a screen that could not be loaded by it.
func (u *UI) explain(err error) (status int, sentence string) {
	var problem *client.Problem
	var wrong badQuery
	switch {
	case errors.As(err, &wrong):
		return http.StatusBadRequest, wrong.Error()
	case errors.As(err, &problem) && problem.Status < http.StatusInternalServerError:
		return problem.Status, problem.Detail
	case errors.As(err, &problem):
		return http.StatusBadGateway, problem.Detail
	}
	return http.StatusBadGateway, "The API at " + u.options.URL + " does not answer: " + err.Error()
}
