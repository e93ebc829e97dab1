package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/origin"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/pkg/ui"
)

type uiCommand struct {
	Listen  string        `help:"Where to listen. Anybody who reaches the address sees what you may see: leave it on the loopback." default:"127.0.0.1:4001"`
	Operate bool          `help:"Let the page operate on consumers, and run bulk operations, as long as this process runs."`
	Every   time.Duration `help:"How often an open page reads again, 200ms to 1m." default:"500ms"`
	Host    []string      `help:"More host names to answer to, such as that of a proxy."`
}

func (c *uiCommand) Run(s *session) error {
	a := s.access()
	served, err := startPage(s.ctx, c.Listen, c.Host, ui.Options{
		URL: a.URL, Region: a.Region, Sign: a.Sign, Token: a.Token, Operate: c.Operate, Every: c.Every,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "http://%s shows %s; interrupt to end\n", served.address, s.URL)
	err = <-served.ended
	for _, cut := range served.page.Close() {
		fmt.Fprintln(s.errOut, printable.Text(cut))
	}
	return err
}

type served struct {
	address string
	page    *ui.UI
	ended   <-chan error // nil where its context has ended it
}

// startPage serves a page of the loopback's names, or of others, until the context ends.
func startPage(ctx context.Context, listen string, names []string,
	options ui.Options) (served, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return served{}, usage("%q: where to listen must be like 127.0.0.1:4001", listen)
	}
	options.Hosts = slices.Concat(origin.Loopback, []string{host}, names)
	page, err := ui.New(options)
	if err != nil {
		return served{}, usageError(err.Error())
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return served{}, err
	}
	// Answers have no bound: a live screen's has no end. It ends with its context.
	server := &http.Server{Handler: page, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	ended := make(chan error, 1)
	go func() {
		err := server.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		ended <- err
	}()
	return served{listener.Addr().String(), page, ended}, nil
}
