//go:build unix && whole

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/streamsort/streamsort/internal/dev/await"
)

// console is a terminal that a command runs on.
type console struct {
	t      *testing.T
	keys   *os.File // what is typed
	tty    *os.File // the command's end
	before *term.State
	cmd    *exec.Cmd
	pieces chan string
	seen   string // all that was shown so far
	rest   string // what was shown behind what was waited for
}

// startConsole runs the command line on a terminal of so many lines.
func startConsole(t *testing.T, lines uint16, arguments ...string) *console {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, keys: keys, tty: tty, pieces: make(chan string, 1000)}
	t.Cleanup(func() { _, _ = keys.Close(), tty.Close() })
	c.resize(lines)
	if c.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command("streamsort", arguments...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	go func() {
		piece := make([]byte, 4096)
		for {
			n, err := keys.Read(piece)
			if err != nil {
				return
			}
			c.pieces <- string(piece[:n])
		}
	}()
	return c
}

// resize gives the terminal so many lines.
func (c *console) resize(lines uint16) {
	c.t.Helper()
	if err := pty.Setsize(c.keys, &pty.Winsize{Rows: lines, Cols: 100}); err != nil {
		c.t.Fatal(err)
	}
}

// press types.
func (c *console) press(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.keys, keys); err != nil {
		c.t.Fatal(err)
	}
}

// wait waits until a text is shown, behind the one that was waited for before.
func (c *console) wait(text string) {
	c.t.Helper()
	c.t.Cleanup(func() {
		if c.t.Failed() {
			c.t.Logf("shown: %q", c.seen)
		}
	})
	await.True(c.t, fmt.Sprintf("%q to be shown", text), func() bool {
		for {
			if _, rest, ok := strings.Cut(c.rest, text); ok {
				c.rest = rest
				return true
			}
			select {
			case piece := <-c.pieces:
				c.seen, c.rest = c.seen+piece, c.rest+piece
			default:
				return false
			}
		}
	})
}

// ends waits until the command has ended, which must have left the terminal as it was.
func (c *console) ends(code int) {
	c.t.Helper()
	_ = c.cmd.Wait()
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("exit code %d, want %d: %q", got, code, c.seen)
	}
	after, err := term.GetState(int(c.tty.Fd()))
	if err != nil || !reflect.DeepEqual(c.before, after) {
		c.t.Errorf("the terminal is not as it was: %+v, was %+v, %v", after, c.before, err)
	}
}

// stackOf is an API with consumers whose lags grow with each reading; from a reading on, it is
// broken.
func stackOf(t *testing.T, consumers int, broken int64) string {
	t.Helper()
	var readings atomic.Int64
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := readings.Load()
		if r.URL.Path == "/summary" {
			n = readings.Add(1)
		}
		if broken > 0 && n >= broken {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"detail":"it is broken"}`)
			return
		}
		if r.URL.Path == "/summary" {
			_, _ = io.WriteString(w, `{"states":{"blocked":{"count":3}},"rates":{"storedPerSecond":12.5,"deliveredPerSecond":7}}`)
			return
		}
		var list []string
		for i := range consumers {
			lag := fmt.Sprint(1000*int64(i) - 10*n) // falls
			if i == 0 {
				lag = fmt.Sprintf(`"%d"`, 5*n) // grows
			}
			list = append(list, fmt.Sprintf(`{"queue":"q%02d","consumer":"c","state":"BLOCKED","lag":%s}`, i, lag))
		}
		_, _ = io.WriteString(w, `{"list":[`+strings.Join(list, ",")+`]}`)
	})
	return server
}

// TestTop shows who is behind, sorts by keys, fits the terminal, and ends by q.
func TestTop(t *testing.T) {
	c := startConsole(t, 10, "--url", stackOf(t, 20, 0), "top", "--every", "100ms")
	c.wait(enterScreen)
	c.wait("12.5 stored, 7.0 delivered a second · \x1b[31mblocked\x1b[0m 3")
	c.wait("by lag; s: by change, q: end")
	c.wait("q19")
	c.wait("… and 15")
	c.wait("▼ -")
	c.press("x") // stands for nothing
	c.press("s")
	c.wait("by change; s: by name")
	c.wait("▲ +")
	c.wait("q00")
	c.press("s")
	c.wait("by name; s: by lag")
	c.wait("q01")
	c.resize(40)
	c.wait("q19")
	c.resize(6)
	c.wait("… and 19")
	c.press("q")
	c.wait(leaveScreen)
	c.ends(exitDone)
}

// TestTopLeavesTheTerminal as it was, whatever ends it.
func TestTopLeavesTheTerminal(t *testing.T) {
	for name, end := range map[string]func(*console){
		"Ctrl-C":  func(c *console) { c.press("\x03") },
		"SIGINT":  func(c *console) { _ = c.cmd.Process.Signal(syscall.SIGINT) },
		"SIGTERM": func(c *console) { _ = c.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGHUP":  func(c *console) { _ = c.cmd.Process.Signal(syscall.SIGHUP) },
		"SIGQUIT": func(c *console) { _ = c.cmd.Process.Signal(syscall.SIGQUIT) },
	} {
		t.Run(name, func(t *testing.T) {
			c := startConsole(t, 24, "--url", stackOf(t, 1, 0), "top")
			c.wait("q00")
			end(c)
			c.wait(leaveScreen)
			c.ends(exitDone)
		})
	}
	t.Run("an error", func(t *testing.T) {
		c := startConsole(t, 24, "--url", stackOf(t, 1, 2), "top", "--every", "100ms")
		c.wait("q00")
		c.wait(leaveScreen)
		c.wait("streamsort: 400: it is broken")
		c.ends(exitRefused)
	})
}

// TestTopOutlivesAnOutage: what was read stands, with why there is nothing later, until the API is back.
func TestTopOutlivesAnOutage(t *testing.T) {
	var away atomic.Bool
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"detail":"it is away"}`)
			return
		}
		_, _ = io.WriteString(w, map[string]string{"/summary": `{"states":{}}`, "/consumers": `{"list":[{"queue":"q00","consumer":"c","state":"catching-up","lag":5}]}`}[r.URL.Path])
	})
	c := startConsole(t, 24, "--url", server, "top", "--every", "100ms")
	c.wait("q00")
	away.Store(true)
	c.wait("not reached, trying again: 503: it is away")
	c.wait("q00")
	away.Store(false)
	c.wait("all is ok")
	c.press("q")
	c.wait(leaveScreen)
	c.ends(exitDone)
}

// TestGraphOnATerminal is drawn anew with each look, and stays.
func TestGraphOnATerminal(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, map[string]string{"/queues": `{"queue":"q","position":7}`, "/consumers": `{"consumers":[]}`}[r.URL.Path])
	})
	c := startConsole(t, 24, "--url", server, "top", "q", "--every", "100ms", "--for", "200ms")
	c.wait(clearScreen + "q: position 7; a rate is known after a second look")
	c.wait(clearScreen)
	c.wait("q: messages a second")
	c.wait(clearScreen)
	c.wait("position 7, 0.0 messages a second, no consumer")
	c.ends(exitDone)
}
