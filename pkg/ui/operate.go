package ui

import (
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/printable"
)

// mostForm is how long a form may be: a page of consumers that are picked.
const mostForm = 512 << 10

// posted takes a form of the page's own, has something done, and shows where to look next. Where
// the API refuses, the screen says why, with its status.
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
			status, why := u.explain(err)
			u.write(w, status, "overview", frame{
				Title: "Not done", Operate: true, Token: u.secret, API: u.options.URL,
				Problem: "Not done: " + why, Back: printable.Name(r.Form.Get("queue")),
			})
			return
		}
		seeOther(w, next)
	}
}

var actions = []string{"redrive", "skip", "pause", "resume", "rewind"}

// said is that an action was done; empty where an address has others' words in it.
func said(query url.Values, consumers []consumer) string {
	did, to := query.Get("did"), query.Get("to")
	if !slices.Contains(actions, did) || !slices.ContainsFunc(consumers, func(c consumer) bool {
		return c.Consumer == to
	}) {
		return ""
	}
	return did + " of " + to + " is done"
}

// operate operates on one consumer. Its id comes with the form: one that is sent twice, or whose
// answer is lost, is carried out once.
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
	body, err := json.Marshal(document)
	if err == nil {
		err = u.api.Call(r.Context(), http.MethodPost, "/operations", nil, body, &struct{}{})
	}
	return link("queue", "queue", queue, "did", form.Get("action"), "to", form.Get("consumer")), err
}
