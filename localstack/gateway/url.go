package gateway

import (
	"net/http"
	"time"

	"github.com/streamsort/streamsort/localstack/lambda"
	"github.com/streamsort/streamsort/localstack/template"
)

// maxTimeout is the longest that a function runs.
const maxTimeout = 15 * time.Minute

// NewURL answers for a function URL ("Invoking Lambda function URLs", AWS Lambda Developer Guide).
// 413: a body over 6 MB. 429: the function is throttled. 502: the function failed, or its answer
// cannot be read.
func NewURL(u template.URL, functions *lambda.Service, warn func(string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call{
			target: target{
				apiID: u.LogicalID, domain: domain(u.Endpoint), routeKey: "$default",
				stage: template.Stage{Name: "$default"},
				path:  r.URL.EscapedPath(), iam: u.IAM,
			},
			Request: lambda.Request{Function: u.Function, Qualifier: u.Qualifier}, functions: functions,
			name: u.Function + "'s URL", warn: warn, maxBody: maxURLBody, timeout: maxTimeout,
			contentType: "application/json", idHeader: "X-Amzn-Requestid",
			throttled: http.StatusTooManyRequests, failed: http.StatusBadGateway,
		}.serve(w, r)
	})
}
