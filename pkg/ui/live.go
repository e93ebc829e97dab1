package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// silence is how long a stream says nothing at most: what stands between the page and the
	// browser closes what is silent for longer.
	silence     = 15 * time.Second
	fault       = "fault"         // the event of a look that failed
	afterFault  = 2 * time.Second // for how long an API that did not answer, or refused, is left alone
	mostGlances = 100             // that are kept for those who look at the same
	// mostLive is how many live screens of one browser are sent at a time. By HTTP/1.1 a browser
	// keeps six connections to a server, for all of its windows and tabs: without a bound the
	// seventh would wait for ever, and so would a click.
	mostLive    = 4
	longestMark = 64 // by which a browser's windows are known as one's
)

// live sends a screen's content whenever it has changed, as server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): "content" has its HTML, "fault"
// why it has stopped, and "turn" says that another window of the browser needs the connection. It
// goes on until the browser leaves.
func (u *UI) live(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name := query.Get("of")
	if _, known := pages[name]; !known || name == "search" {
		http.Error(w, fmt.Sprintf("of is %q: it must be the name of a screen that is live", name),
			http.StatusBadRequest)
		return
	}
	var over <-chan struct{} // of a browser that has windows enough
	if mark := query.Get("browser"); mark != "" && len(mark) <= longestMark && r.ProtoMajor < 2 {
		turn, leave := u.turns.take(mark)
		defer leave()
		over = turn
	}
	query.Del("browser")
	out := http.NewResponseController(w)
	// A server's own bound on answers is not for one that has no end.
	if err := out.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	last, said := "", time.Now()
	for {
		began := time.Now()
		event, text := u.glance(r.Context(), name, query)
		if r.Context().Err() != nil {
			return
		}
		if now := event + text; now != last {
			last, said = now, time.Now()
			if writeEvent(w, event, text) != nil || out.Flush() != nil {
				return
			}
		} else if time.Since(said) > silence {
			said = time.Now()
			if _, err := w.Write([]byte(": still here\n\n")); err != nil || out.Flush() != nil {
				return
			}
		}
		wait := u.options.Every - time.Since(began)
		if event == fault {
			wait = max(wait, afterFault)
		}
		select {
		case <-r.Context().Done():
			return
		case <-over:
			_ = writeEvent(w, "turn", "") // it comes again
			return
		case <-time.After(wait):
		}
	}
}

// glance is one look at a screen, which all share who look at it at about the same time: what a
// screen costs does not grow with the tabs that show it.
type glance struct {
	sync.Mutex
	at          time.Time
	event, text string
}

func (u *UI) glance(ctx context.Context, name string, query url.Values) (event, text string) {
	key := u.who(ctx) + name + "?" + query.Encode()
	g := &glance{}
	if other, was, _ := u.glances.PeekOrAdd(key, g); was {
		g = other
	}
	g.Lock()
	defer g.Unlock()
	if time.Since(g.at) < u.options.Every*3/4 {
		return g.event, g.text
	}
	event, text = u.see(ctx, name, query)
	if ctx.Err() == nil { // who looked may have left, and the others have not
		// for those too who waited for an API that is slow
		g.at, g.event, g.text = time.Now(), event, text
	}
	return event, text
}

func (u *UI) see(ctx context.Context, name string, query url.Values) (event, text string) {
	content, err := u.load(ctx, name, query)
	if err != nil {
		_, why := u.explain(err)
		return fault, why
	}
	f := u.frame(name, query)
	f.Content = content
	if text, err = render(name, "content", f); err != nil {
		return fault, err.Error()
	}
	return "content", text
}

// lineEnds ends each line as an event does: a browser ends one at CR, too, and what stood behind it
// would be a field of the stream.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// writeEvent writes an event; each line of its text is a line of data.
func writeEvent(w http.ResponseWriter, event, text string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "event: %s\n", event)
	for line := range strings.SplitSeq(strings.TrimSuffix(lineEnds.Replace(text), "\n"), "\n") {
		fmt.Fprintf(&out, "data: %s\n", line)
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}
