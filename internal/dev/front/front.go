// Package front puts something before a DynamoDB-compatible server on this machine, to count what
// is asked of it or to have it go wrong: [Start] starts both. Give [Server.URL] to the programs
// that ask by that way, such as the local stack.
package front

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// Server is a server, and the way to it.
type Server struct {
	// URL is where requests go, to pass through what stands before the server, Direct where they
	// pass through nothing.
	URL, Direct string

	proxy *httptest.Server
	real  *localdb.Server
}

// Steady is the kind of server for those who send much: dynoxide's streams get slower with every
// record.
func Steady() localdb.Kind {
	if kind := localdb.Choose(); kind == localdb.Given {
		return kind
	}
	return localdb.DynamoDBLocal
}

// Transport is how requests may go on to the server, by many functions at a time.
func Transport() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: 256} }

// Start starts a server of a kind, to which each request goes by through. One that through fails
// breaks its connection, as a response that is lost does. data is as for [localdb.Start].
func Start(ctx context.Context, kind localdb.Kind, data string,
	through http.RoundTripper) (*Server, error) {
	server, err := localdb.Start(ctx, kind, data)
	if err != nil {
		return nil, err
	}
	handler, err := Through(server.Endpoint, through)
	if err != nil {
		server.Close()
		return nil, err
	}
	proxy := httptest.NewServer(handler)
	return &Server{URL: proxy.URL, Direct: server.Endpoint, proxy: proxy, real: server}, nil
}

// Through passes requests on to an address by through, as [Start] does.
func Through(address string, through http.RoundTripper) (http.Handler, error) {
	target, err := url.Parse(address)
	return &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:    through,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		// a killed function hangs up
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}, err
}

// Close ends both.
func (s *Server) Close() {
	s.proxy.Close()
	s.real.Close()
}
