package ui

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
)

// mostForm is how long a form may be.
const mostForm = 64 << 10

// posted takes a form of the page's own, has something done, and shows where to look next. Where the API
// refuses, the screen says why, with its status.
func (u *UI) posted(do func(*http.Request) (next string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, mostForm)
		if err := r.ParseForm(); err != nil {
			http.Error(w, "the form: "+err.Error(), http.StatusBadRequest)
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(u.secret)) != 1 {
			http.Error(w, "this form is not of this page, or of one that has ended since: go back, and load it again", http.StatusForbidden)
			return
		}
		next, err := do(r)
		if err != nil {
			u.write(w, statusOf(err), "overview", frame{
				Title: "Not done", Operate: true, Token: u.secret, API: u.options.URL, Problem: "Not done: " + sentence(err, u.options.URL), Back: printable.Name(r.Form.Get("queue")),
			})
			return
		}
		w.Header().Set("Location", next) // relative, as every link is: http.Redirect would make it absolute
		w.WriteHeader(http.StatusSeeOther)
	}
}

// actions are what a page can do to consumers.
var actions = []string{"redrive", "skip", "pause", "resume", "rewind"}

// said is that an action was done; empty where an address has others' words in it.
func said(query url.Values, consumers []consumer) string {
	did, to := query.Get("did"), query.Get("to")
	if !slices.Contains(actions, did) || !slices.ContainsFunc(consumers, func(c consumer) bool { return c.Consumer == to }) {
		return ""
	}
	return did + " of " + to + " is done"
}

// operate operates on one consumer. Its id comes with the form: one that is sent twice, or whose answer is lost,
// is carried out once.
func (u *UI) operate(r *http.Request) (string, error) {
	form := r.PostForm
	queue := r.Form.Get("queue") // in the address: a form's own fields have each line end as CR LF
	document := map[string]any{"queue": queue}
	for _, name := range []string{"consumer", "action", "reason", "id", "seq", "start", "outcome"} {
		if value := strings.TrimSpace(form.Get(name)); value != "" {
			document[name] = value
		}
	}
	if token := form.Get("claim"); token != "" {
		document["token"] = token
	}
	if err := u.post(r.Context(), "/operations", document, &struct{}{}); err != nil {
		return "", err
	}
	return link("queue", "queue", queue, "did", form.Get("action"), "to", form.Get("consumer")), nil
}

// selecting are the members of a batch's form that are texts.
var selecting = []string{"action", "reason", "consumer", "state", "prefix", "error", "start"}

// look has the API count whom a batch would be done to: a dry run.
func (u *UI) look(r *http.Request) (string, error) {
	document, err := selection(r.PostForm, time.Now())
	if err != nil {
		return "", err
	}
	return u.batch(r, document)
}

// selection is what a form selects, as the API takes it.
func selection(form url.Values, now time.Time) (map[string]any, error) {
	document := map[string]any{}
	for _, name := range selecting {
		if value := strings.TrimSpace(form.Get(name)); value != "" {
			document[name] = value
		}
	}
	if rate := strings.TrimSpace(form.Get("rate")); rate != "" {
		n, err := strconv.Atoi(rate)
		if err != nil {
			return nil, badQuery("the rate is " + strconv.Quote(rate) + ": it must be a number")
		}
		document["rate"] = n
	}
	if since := strings.TrimSpace(form.Get("since")); since != "" {
		ago, err := time.ParseDuration(since)
		if err != nil || ago <= 0 {
			return nil, badQuery("since is " + strconv.Quote(since) + ": it must be like 1h or 30m")
		}
		document["since"] = now.Add(-ago).UTC().Format(time.RFC3339)
	}
	return document, nil
}

// start starts a batch that was looked at. Started again it is as it is.
func (u *UI) start(r *http.Request) (string, error) {
	return u.batch(r, map[string]any{"token": r.PostForm.Get("batch")})
}

// stop ends a batch, behind at most 50 more.
func (u *UI) stop(r *http.Request) (string, error) {
	return u.batch(r, map[string]any{"batch": r.PostForm.Get("batch"), "stop": true})
}

// batch asks for something of a batch, and leads to its screen.
func (u *UI) batch(r *http.Request, document map[string]any) (string, error) {
	var b batch
	if err := u.post(r.Context(), "/acts", document, &b); err != nil {
		return "", err
	}
	if b.Batch == "" {
		return "", &client.Problem{Status: http.StatusBadGateway, Detail: "the API named no batch"}
	}
	return link("act", "batch", b.Batch), nil
}
