package gateway

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/localstack/template"
)

// event is a request in payload format 2.0 ("Create AWS Lambda proxy integrations for HTTP APIs in
// API Gateway", API Gateway Developer Guide; "Invoking Lambda function URLs", AWS Lambda Developer
// Guide).
type event struct {
	events.APIGatewayV2HTTPRequest
	RequestContext requestContext `json:"requestContext"`
}

// requestContext has an authoriser with null where AWS has it, which the SDK's type cannot have,
// and no authentication, which that type always has.
type requestContext struct {
	events.APIGatewayV2HTTPRequestContext
	Authorizer     map[string]any `json:"authorizer,omitempty"`
	Authentication *struct{}      `json:"authentication,omitempty"`
}

// target is what a request was routed to.
type target struct {
	apiID, domain string
	routeKey      string
	stage         template.Stage
	path          string // as the function gets it
	parameters    map[string]string
	iam           bool
	token         *jwt // where the route has a JWT authoriser
}

// newEvent is the payload for a request whose body has been read.
func newEvent(r *http.Request, body []byte, t target, now time.Time) ([]byte, error) {
	host, _, _ := strings.Cut(t.domain, ".")
	var e event
	e.APIGatewayV2HTTPRequest = events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: t.routeKey, RawPath: t.path, RawQueryString: r.URL.RawQuery,
		Cookies: cookies(r), Headers: headers(r), QueryStringParameters: query(r.URL.RawQuery),
		PathParameters: t.parameters, StageVariables: t.stage.Variables,
	}
	e.RequestContext.APIGatewayV2HTTPRequestContext = events.APIGatewayV2HTTPRequestContext{
		AccountID: template.Account, APIID: t.apiID, DomainName: t.domain, DomainPrefix: host,
		RequestID: rand.Text()[:15] + "=", RouteKey: t.routeKey, Stage: t.stage.Name,
		Time: now.UTC().Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
			Method: r.Method, Path: t.path, Protocol: r.Proto,
			SourceIP: sourceIP(r), UserAgent: r.UserAgent(),
		},
	}
	switch {
	case t.iam:
		e.RequestContext.Authorizer = map[string]any{"iam": identity(r)}
	case t.token != nil:
		e.RequestContext.Authorizer = map[string]any{"jwt": t.token}
	}
	// A text that is no UTF-8 fits into no JSON: what AWS makes of it is not documented. In base64
	// the function sees what was sent.
	if len(body) > 0 {
		e.Body, e.IsBase64Encoded = string(body), !isText(r.Header.Get("Content-Type")) ||
			!utf8.Valid(body)
		if e.IsBase64Encoded {
			e.Body = base64.StdEncoding.EncodeToString(body)
		}
	}
	return json.Marshal(e)
}

// isText reports whether API Gateway passes a body on as text. Its documentation says "binary"
// without a list; this one was measured on AWS by others (ministackorg/ministack#766): everything
// else, also no content type at all and a form, is base64.
func isText(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
		kind = strings.ToLower(strings.TrimSpace(kind))
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(kind, "text/")
}

// headers are the request's, with lower-case names, values of one name joined by commas, without
// the cookies, and with those that AWS adds.
func headers(r *http.Request) map[string]string {
	out := map[string]string{"host": r.Host}
	for name, values := range r.Header {
		if name != "Cookie" {
			out[strings.ToLower(name)] = utf8Of(strings.Join(values, ","))
		}
	}
	if r.ContentLength >= 0 {
		out["content-length"] = strconv.FormatInt(r.ContentLength, 10)
	}
	_, port, _ := net.SplitHostPort(r.Host)
	out["x-forwarded-for"] = sourceIP(r)
	out["x-forwarded-port"] = port
	out["x-forwarded-proto"] = "http"
	return out
}

// utf8Of is a header's value; one that is not UTF-8 is Latin-1, as HTTP had it.
func utf8Of(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	characters := make([]rune, len(value))
	for i, b := range []byte(value) {
		characters[i] = rune(b)
	}
	return string(characters)
}

func cookies(r *http.Request) []string {
	var out []string
	for _, line := range r.Header.Values("Cookie") {
		for cookie := range strings.SplitSeq(line, ";") {
			if cookie = strings.TrimSpace(cookie); cookie != "" {
				out = append(out, cookie)
			}
		}
	}
	return out
}

// query is each parameter, decoded; values of one name are joined by commas.
func query(raw string) map[string]string {
	values, _ := url.ParseQuery(raw) // what cannot be decoded is left out
	if len(values) == 0 {
		return nil
	}
	out := make(map[string]string, len(values))
	for name, list := range values {
		out[name] = strings.Join(list, ",")
	}
	return out
}

func sourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// unsigned is the access key of a request without a signature.
const unsigned = "unsigned"

// identity is the caller that a signed request names, unsigned for one without a signature. The
// signature is not checked.
func identity(r *http.Request) map[string]any {
	header := r.Header.Get("Authorization")
	key := unsigned
	if strings.HasPrefix(header, "AWS4-HMAC-SHA256") {
		_, credential, _ := strings.Cut(header, "Credential=")
		key, _, _ = strings.Cut(credential, "/")
	}
	return map[string]any{
		"accessKey": key, "accountId": template.Account, "callerId": key, "userId": key,
		"cognitoIdentity": nil, "principalOrgId": nil,
		"userArn": "arn:" + template.Partition + ":iam::" + template.Account + ":user/" + key,
	}
}
