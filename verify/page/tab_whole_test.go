//go:build whole

package page

import (
	"context"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/browser"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// longest is how long all of a browser's work may take: what waits for it fails then, whatever it
// waits for.
const longest = 15 * time.Minute

// startBrowser starts the browser that a test opens its tabs in.
func startBrowser(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	first, stop, err := browser.Start(ctx)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); cancel() })
	return first
}

// tab is a tab of the browser.
type tab struct {
	t   testing.TB
	ctx context.Context
	at  string // the page's address
	// allowed is in what the browser may complain of; empty where it may of nothing.
	allowed string
}

// open opens a tab. What the browser complains of, in scripts, in what is loaded or because of the
// page's policy, fails the test in its end.
func open(t testing.TB, first context.Context, s *stack) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(first)
	check.OK(t, chromedp.Do(ctx))
	said := chromedp.Console(ctx)
	heard := make(chan []string)
	go func() { heard <- complaints(said) }()
	tb := &tab{t: t, ctx: ctx, at: s.page.URL + prefix}
	t.Cleanup(func() {
		closeTab()
		for _, one := range <-heard {
			if tb.allowed == "" || !strings.Contains(one, tb.allowed) {
				t.Errorf("the browser complains: %s", one)
			}
		}
	})
	return tb
}

// complaints are the errors and warnings that a tab says until it is closed.
func complaints(said iter.Seq2[chromedp.ConsoleMessage, error]) (all []string) {
	for message, err := range said {
		if err != nil {
			return all
		}
		if message.IsException() ||
			slices.Contains([]string{"error", "warning", "assert"}, string(message.Type)) {
			all = append(all, message.String())
		}
	}
	return all
}

// do does something in the tab.
func (tb *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, actions...); err != nil {
		tb.t.Fatalf("%s: %v\n%s", what, err, tb.text())
	}
}

// text is what is shown.
func (tb *tab) text() string {
	ctx, cancel := context.WithTimeout(tb.ctx, time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx,
		chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// figures are what goes on by itself: times, lags, what charts end with.
var figures = regexp.MustCompile(`[0-9][0-9.]*`)

// progress takes what is seen, and returns what was new last. Nothing is that only has other
// figures, or that comes again: a clock that ticks, or two states in turn, are no progress to wait
// for.
func progress() func(seen string) (last string) {
	known, last := map[string]bool{}, ""
	return func(seen string) string {
		if like := figures.ReplaceAllString(seen, "#"); !known[like] {
			known[like], last = true, seen
		}
		return last
	}
}

// until waits until an expression is true, on whatever screen there is then.
func (tb *tab) until(expression string) {
	tb.t.Helper()
	last := progress()
	await.Until(tb.t, expression, func() (bool, any) {
		if tb.ctx.Err() != nil {
			tb.t.Fatalf("waited in vain for %s: %v, on %s", expression, context.Cause(tb.ctx), last(""))
		}
		// A screen that goes away while it is asked has no answer.
		is, err := chromedp.Run(tb.ctx, chromedp.Evaluate[bool](expression))
		return err == nil && is, last(tb.text())
	})
}

// goTo opens a screen.
func (tb *tab) goTo(screen string) {
	tb.t.Helper()
	tb.do("open "+screen, chromedp.Navigate(tb.at+screen))
}

// see waits until something is shown.
func (tb *tab) see(selector string) {
	tb.t.Helper()
	tb.until(fmt.Sprintf(`!!document.querySelector(%s)?.checkVisibility()`, strconv.Quote(selector)))
}

// read waits until something has a text.
func (tb *tab) read(selector, text string) {
	tb.t.Helper()
	tb.until(fmt.Sprintf(`!!document.querySelector(%s)?.innerText.includes(%s)`,
		strconv.Quote(selector), strconv.Quote(text)))
}

// click clicks on something where a mouse would reach it, once the screen's script has run, and in
// one step: a redraw between finding it and clicking would have the click beside it.
func (tb *tab) click(selector string) {
	tb.t.Helper()
	tb.until(fmt.Sprintf(`(e => {
		if (document.readyState == "loading" || !e?.checkVisibility()) return false;
		e.scrollIntoView({block: "center", behavior: "instant"});
		const {x, y, width, height} = e.getClientRects()[0];
		if (!e.contains(document.elementFromPoint(x + width / 2, y + height / 2))) return false;
		e.click();
		return true;
	})(document.querySelector(%s))`, strconv.Quote(selector)))
}

// leads does what leads to another screen, and waits until that is there, since what is awaited
// next may stand on this one too.
func (tb *tab) leads(do func()) {
	tb.t.Helper()
	script[bool](tb, `window.left = true`)
	do()
	tb.until(`!window.left && document.readyState == "complete"`)
}

// follow clicks on what leads to another screen.
func (tb *tab) follow(selector string) {
	tb.t.Helper()
	tb.leads(func() { tb.click(selector) })
}

// enter presses Enter where that leads to another screen.
func (tb *tab) enter() {
	tb.t.Helper()
	tb.leads(func() { tb.press(kb.Enter) })
}

// onNode does something to an element, again where the screen was drawn anew meanwhile.
func (tb *tab) onNode(what, selector string, actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	var err error
	for range 20 {
		tb.see(selector)
		// it would wait for an element that is gone
		ctx, cancel := context.WithTimeout(tb.ctx, 30*time.Second)
		err = chromedp.Do(ctx, actions...)
		cancel()
		if err == nil {
			return
		}
		if tb.ctx.Err() != nil ||
			ctx.Err() == nil && !strings.Contains(err.Error(), "node with given id") {
			break
		}
	}
	tb.t.Fatalf("%s %s: %v\n%s", what, selector, err, tb.text())
}

// send gives a field a text, and sends its form.
func (tb *tab) send(field, text string) {
	tb.t.Helper()
	tb.onNode("type into", field, chromedp.Clear(chromedp.CSS(field)),
		chromedp.SendKeys(chromedp.CSS(field), text))
	tb.leads(func() { tb.onNode("send", field, chromedp.Submit(chromedp.CSS(field))) })
}

// press types, and the keys of github.com/chromedp/chromedp/kb.
func (tb *tab) press(keys string) {
	tb.t.Helper()
	tb.do("press "+strings.TrimSpace(keys), chromedp.KeyEvent(keys))
}

// value is what an action finds.
func value[T any](tb *tab, what string, action chromedp.Action[T]) T {
	tb.t.Helper()
	v, err := chromedp.Run(tb.ctx, action)
	if err != nil {
		tb.t.Fatalf("%s: %v\n%s", what, err, tb.text())
	}
	return v
}

// script is the value of an expression.
func script[T any](tb *tab, expression string) T {
	tb.t.Helper()
	return value(tb, expression, chromedp.Evaluate[T](expression))
}
