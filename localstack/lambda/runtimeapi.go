package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// runtimeAPI is the HTTP API that the process in an environment talks to ("Using the Lambda runtime
// API for custom runtimes", AWS Lambda Developer Guide; version 2018-06-01).
func (e *environment) runtimeAPI() http.Handler {
	const base = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"invocation/next", e.next)
	mux.HandleFunc("POST "+base+"invocation/{id}/response", e.response)
	mux.HandleFunc("POST "+base+"invocation/{id}/error", e.invocationError)
	mux.HandleFunc("POST "+base+"init/error", e.initError)
	return mux
}

// next holds the runtime's request until there is work.
func (e *environment) next(w http.ResponseWriter, r *http.Request) {
	p := make(poll, 1)
	select {
	case e.polls <- p:
	case <-r.Context().Done(): // also where the environment is closed
		return
	}
	select {
	case inv := <-p:
		writeInvocation(w, inv)
	case <-r.Context().Done():
	}
}

func writeInvocation(w http.ResponseWriter, inv *invocation) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", inv.arn)
	h.Set("Lambda-Runtime-Trace-Id", inv.trace)
	if inv.clientContext != "" {
		h.Set("Lambda-Runtime-Client-Context", inv.clientContext)
	}
	h.Set("Content-Length", strconv.Itoa(len(inv.payload)))
	_, _ = w.Write(inv.payload)
}

// response takes the runtime's answer. One above the limit is refused, and fails the request.
func (e *environment) response(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxResponse+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "RequestBroken", "the response was not complete")
		return
	}
	if len(body) <= MaxResponse {
		if e.give(w, r, &answer{payload: bytes.TrimSpace(body)}) {
			accept(w)
		}
		return
	}
	tooLarge := functionError("Function.ResponseSizeTooLarge", fmt.Sprintf(
		"Response payload size exceeded maximum allowed payload size (%d bytes).", MaxResponse))
	if e.give(w, r, &answer{functionError: "Unhandled", payload: tooLarge}) {
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge",
			fmt.Sprintf("Exceeded maximum allowed payload size (%d bytes).", MaxResponse))
	}
}

// invocationError takes the runtime's word that the function failed.
func (e *environment) invocationError(w http.ResponseWriter, r *http.Request) {
	if a, ok := readError(w, r); ok && e.give(w, r, a) {
		accept(w)
	}
}

// give hands an answer to the goroutine that serves the request it belongs to.
func (e *environment) give(w http.ResponseWriter, r *http.Request, a *answer) bool {
	if !e.claim(r.PathValue("id")) {
		refuse(w, http.StatusBadRequest, "InvalidRequestID",
			"this request is not running here, or has been answered")
		return false
	}
	e.answers <- a // room for the one answer that claim lets through
	return true
}

// initError takes the runtime's word that it could not start.
func (e *environment) initError(w http.ResponseWriter, r *http.Request) {
	a, ok := readError(w, r)
	if !ok {
		return
	}
	e.mu.Lock()
	ready := e.ready
	e.mu.Unlock()
	if ready {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "initialisation is over")
		return
	}
	select {
	case e.answers <- a:
		accept(w)
	default:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "an error was reported before")
	}
}

// readError reads an error document. What is not JSON is wrapped, so that a caller always gets an
// object.
func readError(w http.ResponseWriter, r *http.Request) (*answer, bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxResponse))
	if err != nil {
		refuse(w, http.StatusBadRequest, "RequestBroken", "the error was not complete")
		return nil, false
	}
	if !json.Valid(body) {
		body = functionError(r.Header.Get("Lambda-Runtime-Function-Error-Type"), string(body))
	}
	return &answer{payload: body, functionError: "Unhandled"}, true
}

func functionError(errorType, message string) []byte {
	text, _ := json.Marshal(map[string]string{"errorType": errorType, "errorMessage": message})
	return text
}

func accept(w http.ResponseWriter) { say(w, http.StatusAccepted, []byte(`{"status":"OK"}`)) }

func refuse(w http.ResponseWriter, status int, errorType, message string) {
	say(w, status, functionError(errorType, message))
}

func say(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
