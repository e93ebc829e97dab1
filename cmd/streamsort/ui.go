package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/pkg/ui"
)

// uiCommand serves the live page.
type uiCommand struct {
	Listen  string        `help:"Where to listen. At another address than the loopback whoever reaches it sees what you may see." default:"127.0.0.1:4001"`
	Operate bool          `help:"Let the page operate on consumers, and start batches of acts."`
	Every   time.Duration `help:"How often a screen that somebody looks at is asked for again, 200ms to 1m." default:"1s"`
	Host    []string      `help:"Other names by which the page may be asked for."`
}

// Run implements the verb.
func (c *uiCommand) Run(s *session) error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return usageError(fmt.Sprintf("--listen is %q: it must be like 127.0.0.1:4001", c.Listen))
	}
	options := ui.Options{
		URL: s.url, Region: s.region, Sign: s.token == "" && (s.sign || s.given.Region != ""), Operate: c.Operate, Every: c.Every,
		Hosts: append([]string{"127.0.0.1", "localhost", "::1", host}, c.Host...),
	}
	if s.token != "" {
		options.Token = func(context.Context) (string, error) { return s.token, nil }
	}
	page, err := ui.New(options)
	if err != nil {
		return usageError(err.Error())
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "http://%s shows %s; interrupt to end\n", listener.Addr(), s.url)
	// Answers have no bound: a live screen's has no end. It ends with the command, by its context.
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return s.ctx }}
	stop := context.AfterFunc(s.ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
