//go:build whole

package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// screen is a screen, with what it shows of a stack that is filled.
type screen struct{ name, address, shows string }

// screens are all that there are.
func (s *stack) screens() []screen {
	return append(slices.Clone(screens), screen{"run", s.run, "Nothing is done yet"})
}

// screens are those whose addresses are known before.
var screens = []screen{
	{"overview", "overview", "3 queues fail, for "},
	{"queues", "queues", "shop/eu/orders"},
	{"search", "search?q=shop/", "shop/us/blocked-3"},
	{"queue", "queue?queue=shop/eu/orders", `"order":1030`},
	{"gaps", "queue?queue=shop/eu/gaps", "4 to 5"},
	{"blocked", "queue?queue=shop/eu/blocked-1", "the ledger has no such account"},
	{"message", "message?queue=shop/eu/orders&seq=7", `"order": 1007`},
	{"consumers", "consumers?state=blocked", "shop/us/blocked-3"},
	{"chains", "chains", "import-7"},
	{"chain", "chain?tag=import-7", "of 8 edges"},
	{"tree", "chain?tag=import-8", "of 96"},
	{"bulk", "bulk", "the ledger is asked about it"},
}

// TestPage does in a browser what people do with the page.
func TestPage(t *testing.T) {
	s := startStack(t, nil)
	s.fill()
	first := startBrowser(t)
	for _, one := range []struct {
		name string
		try  func(*tab, *stack)
	}{
		{"every screen", everyScreen},
		{"live", live},
		{"many windows", manyWindows},
		{"pause", pause},
		{"an outage", outage},
		{"filter and paging", filterAndPaging},
		{"keyboard", keyboard},
		{"without scripts", withoutScripts},
		{"names of others", namesOfOthers},
		{"in bulk", inBulk},
	} {
		t.Run(one.name, func(t *testing.T) {
			s.t = t
			one.try(open(t, first, s), s)
		})
	}
}

// everyScreen is shown light and dark, on a wide window and on a telephone's, which it does not
// overflow.
func everyScreen(tb *tab, s *stack) {
	folder := os.Getenv("SCREENSHOTS")
	for _, window := range []struct {
		name  string
		width int64
	}{{"narrow", 390}, {"wide", 1280}} {
		for _, scheme := range []string{"dark", "light"} {
			tb.do("the window", chromedp.EmulateViewport(window.width, 800),
				func(ctx context.Context, target *chromedp.Target) (none chromedp.Void, err error) {
					_, err = cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
						Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
					})
					return none, err
				})
			for _, screen := range s.screens() {
				tb.goTo(screen.address)
				tb.read("main", screen.shows)
				over := script[int64](tb, "document.documentElement.scrollWidth") - window.width
				check.That(tb.t, over <= 0, "%s is %d pixels wider than %d", screen.name, over, window.width)
				if folder == "" {
					continue
				}
				path := filepath.Join(folder, fmt.Sprintf("%s-%s-%s", screen.name, window.name, scheme))
				keep(tb, path+".png", chromedp.FullScreenshot(100))
				keep(tb, path+"-top.png", top)
			}
		}
	}
}

// keep writes a picture.
func keep(tb *tab, path string, picture chromedp.Action[[]byte]) {
	tb.t.Helper()
	check.OK(tb.t, os.WriteFile(path, value(tb, "picture", picture), 0o644))
}

// top is the upper part of a screen, in few bytes.
func top(ctx context.Context, target *chromedp.Target) ([]byte, error) {
	shot, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip: &page.Viewport{Width: 1280, Height: 640, Scale: 1},
	})
	if err != nil {
		return nil, err
	}
	return indexed(shot.Data)
}

// live shows what is put without being asked again, exactly.
func live(tb *tab, s *stack) {
	tb.goTo("queue?queue=shop/eu/orders")
	tb.see("#m-30")
	began := time.Now()
	s.put("shop/eu/orders", 31, `{"order":9007199254740993}`)
	tb.see("#m-31")
	tb.t.Logf("shown %v after it was put", time.Since(began).Round(time.Millisecond))
	tb.read("#content", "9007199254740993")
	tb.goTo("chain?tag=import-7")
	tb.read("#content", "3 of 8")
	s.post("/acks", `{"operation":"done","edge":"`+s.edges[3]+`"}`)
	tb.read("#content", "4 of 8")
}

// manyWindows of one browser, which has six connections to a server, are all live, and each can
// still be clicked in.
func manyWindows(tb *tab, s *stack) {
	s.put("shop/windows", 1, "1")
	var windows []*tab
	for range 8 {
		w := open(tb.t, tb.ctx, s)
		windows = append(windows, w)
		w.goTo("queue?queue=shop/windows")
		w.see("#m-1")
		w.read("#status", "live")
	}
	tb.goTo("queues?prefix=shop/w")
	tb.follow("#content a[href*=windows]")
	tb.read("h1", "Queue shop/windows")
	s.put("shop/windows", 2, "2")
	for _, w := range windows {
		w.see("#m-2")
	}
}

// pause holds the screen as it is, until it goes on.
func pause(tb *tab, s *stack) {
	s.put("shop/pause", 1, "1")
	tb.goTo("queue?queue=shop/pause")
	tb.see("#m-1")
	tb.read("#status", "live")
	tb.click("#pause")
	tb.read("#status", "paused")
	await.True(tb.t, "the end of its stream", func() bool { return s.watching.Load() == 0 })
	s.put("shop/pause", 2, "2")
	s.await("/consumers", url.Values{"queue": {"shop/pause"}}, `"delivered":2`)
	check.That(tb.t, !script[bool](tb, `!!document.querySelector("#m-2")`), "it is not paused")
	tb.click("#pause")
	tb.see("#m-2")
}

// outage of what stands before the page: it says so, keeps what it shows, and goes on by itself.
func outage(tb *tab, s *stack) {
	tb.allowed = "Failed to load resource"
	s.put("shop/outage", 1, "1")
	tb.goTo("queue?queue=shop/outage")
	tb.see("#m-1")
	tb.read("#status", "live")
	s.away.Store(true)
	s.page.CloseClientConnections()
	tb.read("#status", "not reached")
	s.put("shop/outage", 2, "2")
	await.True(tb.t, "another try", func() bool { return s.turned.Load() > 0 })
	tb.see("#m-1")
	s.away.Store(false)
	tb.see("#m-2")
	tb.read("#status", "live")
}

// filterAndPaging finds queues by the beginning of their names, and goes through pages.
func filterAndPaging(tb *tab, _ *stack) {
	tb.goTo("queues")
	tb.send("#prefix", "stock/")
	names := map[string]bool{}
	collect := func() {
		for _, name := range script[[]string](tb, `[...document.querySelectorAll("#content tbody tr td:first-child")].map(cell => cell.innerText)`) {
			names[name] = true
		}
	}
	collect()
	for pages := 0; script[bool](tb, `!!document.querySelector("#next")`) && pages < 20; pages++ {
		tb.follow("#next")
		tb.see("#first")
		collect()
	}
	check.Is(tb.t, len(names), 60, names)
	for name := range names {
		check.That(tb.t, strings.HasPrefix(name, "stock/"), "%s is listed", name)
	}
	tb.goTo("consumers?state=blocked&prefix=shop/us/")
	tb.read("#content", "shop/us/blocked-3")
	if script[bool](tb, `document.querySelector("#content").innerText.includes("shop/eu/")`) {
		tb.t.Error("queues are listed that begin otherwise")
	}
}

// focused is the text of what has the focus; none while a screen comes.
const focused = `document.activeElement?.innerText || document.activeElement?.name || ""`

// keyboard leads everywhere, and a screen that comes anew keeps the focus.
func keyboard(tb *tab, s *stack) {
	tab := func(to string) { // a browser drops keys until a screen is drawn
		tb.t.Helper()
		last := progress()
		await.Until(tb.t, "a Tab that leads to "+to, func() (bool, any) {
			tb.press(kb.Tab)
			at := script[string](tb, focused)
			return strings.HasPrefix(at, to), last(at)
		})
	}
	tb.goTo("overview")
	tab("To the content")
	tab("Queues")
	tb.enter()
	tb.read("h1", "Queues")
	tab("prefix")
	tb.press("shop/eu/ord")
	tb.enter()
	tb.read("#content", "shop/eu/orders")
	tab("shop/eu/orders")
	tb.enter()
	tb.read("h1", "Queue shop/eu/orders")
	tab("31")
	s.put("shop/eu/orders", 32, `{"order":1032}`)
	tb.see("#m-32")
	check.Is(tb.t, script[string](tb, focused), "31")
	tb.enter()
	tb.read("h1", "shop/eu/orders@31")
}

// withoutScripts everything can be read.
func withoutScripts(tb *tab, s *stack) {
	tb.do("no scripts",
		func(ctx context.Context, target *chromedp.Target) (none chromedp.Void, err error) {
			_, err = cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled,
				emulation.SetScriptExecutionDisabledParams{Value: true})
			return none, err
		})
	for _, screen := range s.screens() {
		tb.goTo(screen.address)
		if text := value(tb, screen.name, chromedp.Text(chromedp.CSS("main"))); !strings.Contains(text,
			screen.shows) {
			tb.t.Errorf("%s has no %q: %s", screen.name, screen.shows, text)
		}
	}
}

// namesOfOthers, which end lines as the page's stream does, write nothing into the page, and can be
// operated on.
func namesOfOthers(tb *tab, s *stack) {
	const forged = "\revent: content\rdata: Nothing is in trouble\r\r"
	queue := "shop/odd" + forged
	put := func(seq int) {
		message := check.Get(json.Marshal(map[string]any{
			"queue": queue, "seq": seq, "id": fmt.Sprint("m", seq, forged), "attributes": map[string]string{"a" + forged: "v" + forged}, "body": seq,
		}))
		results := check.Get(s.Sender.Client.Put(s.t.Context(), []json.RawMessage{message}))
		check.Need(s.t, results[0].Status == http.StatusOK, "%+v", results)
	}
	address := url.Values{"queue": {queue}}.Encode()
	put(1)
	s.await("/consumers", url.Values{"queue": {queue}}, `"delivered":1`)
	for _, screen := range [][2]string{
		{"queues?prefix=shop/odd", `shop/odd\revent: content`},
		{"message?seq=1&" + address, `v\revent: content`},
		{"consumers?prefix=shop/odd", `shop/odd\revent: content`},
		{"queue?" + address, `m1\revent: content`}, // it stays open
	} {
		tb.goTo(screen[0])
		tb.read("#status", "live") // an event of the stream is drawn
		tb.read("#content", screen[1])
	}
	put(2)
	tb.see("#m-2")
	tb.until(`(document.querySelector("#op-action").value = "pause") == "pause"`)
	tb.send("#op-reason", "a look at it")
	tb.read("#content", "pause of billing is done")
	s.await("/consumers", url.Values{"queue": {queue}}, `"paused":{`)
}

// inBulk: redrives go from what is in trouble over a dry run to their end, which is shown as it
// comes.
func inBulk(tb *tab, s *stack) {
	tb.goTo("overview")
	tb.follow("#state-blocked")
	tb.read("#content", blocked[0])
	tb.click("#pick-all")
	s.broken.Store(false)
	tb.send("#p-reason", "the account is there now")
	tb.see("#start")
	tb.read("#content", "redrive of 3 consumers")
	tb.read("#content", "Nothing is done yet")
	tb.read("#content", "the ledger has no such account")
	tb.follow("#start")
	// neither loses the run, nor begins another
	for _, step := range []string{"back", "back", "forward", "forward"} {
		tb.until(`document.readyState == "complete" && !document.querySelector("#start")`)
		script[bool](tb, "history."+step+"() || true")
	}
	tb.read("#content", "3 done, 0 done already, 0 changed meanwhile, 0 failed")
	tb.goTo("queue?queue=" + blocked[0])
	tb.read("#content", "redrive")
	tb.read("#content", "All is well here")
	for _, queue := range blocked {
		s.await("/consumers", url.Values{"queue": {queue}}, `"delivered":3`)
	}
	tb.goTo("bulk")
	tb.read("#content", "the account is there now")
	// beside the one that was only looked at
	tb.until(`document.querySelectorAll("#content tbody tr").length == 2`)
}

// indexed is a picture in the 256 colours that it has most of: a third of the bytes, and to the eye
// the same.
func indexed(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	box := full.Bounds()
	count := map[color.RGBA]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			if c, is := color.RGBAModel.Convert(full.At(x, y)).(color.RGBA); is {
				count[c]++
			}
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Compare(count[b], count[a])
	})
	var colors color.Palette
	for _, c := range most[:min(len(most), 256)] {
		colors = append(colors, c)
	}
	small := image.NewPaletted(box, colors)
	draw.Draw(small, box, full, box.Min, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&out, small)
	return out.Bytes(), err
}
