package gateway

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

type functionURL struct {
	template.URL
	functions *lambda.Service
	warn      func(message string)
}

// NewURL answers for a function URL ("Invoking Lambda function URLs", AWS Lambda Developer Guide).
// 413: a body over 6 MB. 429: the function is throttled. 502: the function failed, or its answer
// cannot be read.
func NewURL(u template.URL, functions *lambda.Service, warn func(string)) http.Handler {
	return &functionURL{URL: u, functions: functions, warn: warn}
}

func (u *functionURL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxURLBody))
	if err != nil {
		bodyProblem(w, err)
		return
	}
	host := domain(u.Endpoint)
	payload, err := newEvent(r, body, target{
		apiID: u.LogicalID, domain: host, routeKey: "$default", stage: template.Stage{Name: "$default"},
		path: r.URL.EscapedPath(), iam: u.IAM,
	}, time.Now())
	if err != nil {
		u.fail(w, err)
		return
	}
	response, err := u.functions.Invoke(r.Context(), lambda.Request{Function: u.Function, Qualifier: u.Qualifier, Payload: payload})
	switch {
	case errors.Is(err, lambda.ErrTooLarge):
		problem(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
	case errors.Is(err, lambda.ErrThrottled):
		problem(w, http.StatusTooManyRequests, "Too Many Requests")
	case err != nil:
		u.fail(w, err)
	case response.FunctionError != "":
		u.fail(w, errors.New(string(response.Payload)))
	default:
		u.reply(w, response)
	}
}

func (u *functionURL) reply(w http.ResponseWriter, response lambda.Response) {
	answer, err := newReply(response.Payload, "application/json")
	if err != nil {
		u.fail(w, err)
		return
	}
	answer.header.Set("X-Amzn-Requestid", response.RequestID)
	answer.write(w)
}

func (u *functionURL) fail(w http.ResponseWriter, err error) {
	u.warn(u.Function + "'s URL: " + err.Error())
	problem(w, http.StatusBadGateway, "Internal Server Error")
}
