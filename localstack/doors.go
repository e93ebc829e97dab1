package localstack

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/origin"
	"github.com/streamsort/streamsort/localstack/gateway"
)

// doors are the ports that the stack answers on. Ports are taken while templates are read, as
// values of a template may hold their URLs; what answers behind them is set later.
type doors struct {
	main    *door
	mainAPI string // key of the API behind the main port, empty until there is one
	others  map[string]*door
	serving sync.WaitGroup
}

type door struct {
	listener net.Listener
	server   *http.Server
	url      string
}

func openDoor(port int) (*door, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return &door{
		listener: listener, url: "http://" + listener.Addr().String(),
		server: &http.Server{ReadHeaderTimeout: 30 * time.Second},
	}, nil
}

// endpoint is the URL for an API or function URL. The first API gets the main port; asked again,
// the answer is the same.
func (d *doors) endpoint(stack, id, resourceType string) (string, error) {
	key := stack + "/" + id
	if d.mainAPI == "" && resourceType == "AWS::ApiGatewayV2::Api" {
		d.mainAPI = key
	}
	if d.mainAPI == key {
		return d.main.url, nil
	}
	if d.others[key] == nil {
		other, err := openDoor(0)
		if err != nil {
			return "", err
		}
		d.others[key] = other
	}
	return d.others[key].url, nil
}

// serve lets a handler answer behind a door, to programs on this machine: no web site has a browser
// call it.
func (d *doors) serve(at *door, handler http.Handler) {
	at.server.Handler = origin.Protect(origin.Loopback, handler)
	d.serving.Go(func() { _ = at.server.Serve(at.listener) })
}

// close ends all requests and gives the ports back.
func (d *doors) close() {
	for _, at := range append(slices.Collect(maps.Values(d.others)), d.main) {
		_ = at.listener.Close()
		_ = at.server.Close()
	}
	d.serving.Wait()
}

// serveAll lets everything answer.
func (s *Stack) serveAll() {
	var mainAPI http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
	})
	keys := gateway.NewKeys(s.config.Issuers)
	for _, l := range s.templates {
		for _, api := range l.APIs {
			handler := gateway.NewAPI(api, s.functions, keys, s.warn)
			if key := l.Stack + "/" + api.LogicalID; key == s.doors.mainAPI {
				mainAPI = handler
			} else {
				s.doors.serve(s.doors.others[key], handler)
			}
		}
		for _, url := range l.URLs {
			s.doors.serve(s.doors.others[l.Stack+"/"+url.LogicalID],
				gateway.NewURL(url, s.functions, s.warn))
		}
	}
	s.doors.serve(s.doors.main, s.mainHandler(mainAPI))
}

func (s *Stack) warn(message string) { s.config.Logger.Warn(message) }

// mainHandler separates the runner's own paths, Lambda's API and calls of other services from
// requests of the first HTTP API. (Not a ServeMux, which would redirect paths that it finds
// unclean.)
func (s *Stack) mainHandler(api http.Handler) http.Handler {
	own, invoke, sqs := s.stateHandler(),
		gateway.NewInvoke(s.functions, s.functionNames.find), s.serveSQS()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, statePath):
			own.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, gateway.InvokePath):
			invoke.ServeHTTP(w, r)
		case len(s.queues) > 0 && strings.HasPrefix(r.Header.Get("X-Amz-Target"), sqsTarget):
			sqs.ServeHTTP(w, r)
		case r.Header.Get("X-Amz-Target") != "":
			refuseService(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// refuseService answers an SDK that calls a service which does not run here. The status is one that
// SDKs do not repeat.
func refuseService(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Amzn-Errortype", "UnknownOperationException")
	writeJSON(w, http.StatusBadRequest, map[string]string{
		"__type":  "UnknownOperationException",
		"message": r.Header.Get("X-Amz-Target") + " is not run by this local stack",
	})
}
