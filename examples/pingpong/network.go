package main

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"github.com/streamsort/streamsort/internal/dynamo"
)

// lossy is a network in front of a server that loses responses, once it is switched on.
type lossy struct {
	*httptest.Server
	losing          atomic.Bool
	requests, losts atomic.Int64
}

// loss is how many responses are lost.
const loss = 0.01

// errBroken is what the server's answer becomes.
var errBroken = errors.New("the response is lost")

func newLossy(target string) (*lossy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	l := &lossy{}
	l.Server = httptest.NewServer(&httputil.ReverseProxy{
		Transport: dynamo.Transport(),
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ModifyResponse: func(*http.Response) error {
			l.requests.Add(1)
			if l.losing.Load() && rand.Float64() < loss {
				l.losts.Add(1)
				return errBroken
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the connection breaks
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // a killed process hangs up
	})
	return l, nil
}
