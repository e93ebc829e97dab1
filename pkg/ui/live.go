package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// silence is how long a stream says nothing at most: what stands between the page and the browser closes what
// is silent for longer.
const silence = 15 * time.Second

// live sends a screen's content whenever it has changed, as server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): "content" has its HTML, and "fault" why there is
// none at the moment. It goes on until the browser leaves.
func (u *UI) live(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name := query.Get("of")
	if _, known := pages[name]; !known {
		http.Error(w, fmt.Sprintf("of is %q: it must be the name of a screen", name), http.StatusBadRequest)
		return
	}
	out := http.NewResponseController(w)
	// A server's own bound on answers is not for one that has no end.
	if err := out.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	ticker := time.NewTicker(u.options.Every)
	defer ticker.Stop()
	last, said := "", time.Now()
	for {
		event, text := u.glance(r.Context(), name, r)
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
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}

// glance is one look at a screen: its content, or why there is none.
func (u *UI) glance(ctx context.Context, name string, r *http.Request) (event, text string) {
	query := r.URL.Query()
	content, err := u.load(ctx, name, query)
	if err != nil {
		return "fault", sentence(err, u.options.URL)
	}
	f := u.frame(name, query)
	f.Content = content
	if text, err = render(name, "content", f); err != nil {
		return "fault", err.Error()
	}
	return "content", text
}

// writeEvent writes an event; each line of its text is a line of data.
func writeEvent(w http.ResponseWriter, event, text string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "event: %s\n", event)
	for line := range bytes.Lines([]byte(text)) {
		fmt.Fprintf(&out, "data: %s\n", bytes.TrimRight(line, "\r\n"))
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}
