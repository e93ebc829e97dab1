//go:build whole

package localstack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dev/localdb"
)

// use is an action of a function on a resource, as IAM sees it.
type use struct{ function, action, resource string }

func (u use) String() string { return u.function + ": " + u.action + " on " + u.resource }

// recorder stands before the services that functions call, and notes who calls what. Functions are
// distinguished by their access key, which is their logical id.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	target *url.URL
	used   map[use]bool
	// queues are those that requests to tables name, as IAM's dynamodb:LeadingKeys.
	queues map[string]bool
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{used: map[use]bool{}, queues: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			r.mu.Lock()
			defer r.mu.Unlock()
			p.SetURL(r.target)
			p.Out.Host = p.In.Host
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		r.note(request, body)
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

// recordTables is a recorder before a DynamoDB server of its own: the templates name the tables.
func recordTables(t *testing.T) *recorder {
	t.Helper()
	server := check.Get(localdb.Start(t.Context(), ddbtest.Servers(t)[0], ""))
	t.Cleanup(server.Close)
	r := newRecorder(t)
	r.forward(t, server.Endpoint)
	return r
}

// recorded are the uses that recorders have noted.
func recorded(recorders ...*recorder) map[use]bool {
	used := map[use]bool{}
	for _, r := range recorders {
		r.mu.Lock()
		maps.Copy(used, r.used)
		r.mu.Unlock()
	}
	return used
}

// forward says where requests go.
func (r *recorder) forward(t *testing.T, address string) {
	t.Helper()
	target := check.Get(url.Parse(address))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

// has reports whether a use was noted.
func (r *recorder) has(u use) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used[u]
}

func (r *recorder) note(request *http.Request, body []byte) {
	_, function, _ := strings.Cut(request.Header.Get("Authorization"), "Credential=")
	function, _, _ = strings.Cut(function, "/")
	if !strings.HasSuffix(function, "Function") {
		return // not one of ours
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range resources(request, body) {
		r.used[use{function, action(request, body), resource}] = true
	}
	if strings.HasPrefix(action(request, body), "dynamodb:") {
		for _, queue := range leadingKeys(body) {
			r.queues[queue] = true
		}
	}
}

var keyValue = regexp.MustCompile(`= *(:[A-Za-z0-9_]+)`)

// leadingKeys are the queues that a request names: the partition keys of items, or of a query; an
// empty one where it names none.
func leadingKeys(body []byte) (queues []string) {
	type value struct{ S string }
	var input struct {
		Key, Item, ExpressionAttributeValues map[string]value
		KeyConditionExpression               string
		RequestItems                         map[string]struct{ Keys []map[string]value }
	}
	_ = json.Unmarshal(body, &input) // the server says what is wrong with it
	for _, of := range input.RequestItems {
		for _, key := range of.Keys {
			queues = append(queues, key["queue"].S)
		}
	}
	if queues != nil {
		return queues
	}
	if queue := input.Key["queue"].S + input.Item["queue"].S; queue != "" {
		return []string{queue}
	}
	name := keyValue.FindStringSubmatch(input.KeyConditionExpression)
	if name == nil {
		return []string{""}
	}
	return []string{input.ExpressionAttributeValues[name[1]].S}
}

// action is the IAM action of a request.
// https://docs.aws.amazon.com/service-authorization/latest/reference/
func action(request *http.Request, body []byte) string {
	target := request.Header.Get("X-Amz-Target")
	service, operation, _ := strings.Cut(target, ".")
	if isS3(request) {
		return map[string]string{http.MethodPut: "s3:PutObject", http.MethodDelete: "s3:DeleteObject",
			http.MethodGet: "s3:ListBucket"}[request.Method]
	}
	switch {
	case strings.HasPrefix(service, "DynamoDB"):
		return "dynamodb:" + operation
	case service == "AmazonSQS":
		return "sqs:" + strings.TrimSuffix(operation, "Batch")
	case service == "AWSEvents":
		return "events:" + operation
	case service == "secretsmanager":
		return "secretsmanager:" + operation
	case service == "AmazonSSM":
		return "ssm:" + operation
	case strings.HasSuffix(request.URL.Path, "/invocations"):
		return "lambda:InvokeFunction"
	}
	form, _ := url.ParseQuery(string(body)) // SNS; anything else comes out as it is
	return "sns:" + strings.TrimSuffix(form.Get("Action"), "Batch")
}

func isS3(request *http.Request) bool {
	return strings.Contains(request.Header.Get("Authorization"), "/s3/aws4_request")
}

// resources are those of a request, by the last part of their ARNs.
func resources(request *http.Request, body []byte) []string {
	if isS3(request) {
		_, key, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
		folder, _, named := strings.Cut(key, "/")
		if !named {
			return []string{"ArchiveBucket"}
		}
		return []string{"ArchiveBucket/" + folder + "/*"}
	}
	if function, invoked := strings.CutSuffix(request.URL.Path, "/invocations"); invoked {
		return []string{called(function)}
	}
	var input struct {
		TableName, IndexName, QueueURL string
		SecretID, Name                 string
		RequestItems                   map[string]any
		Entries                        []struct{ EventBusName string }
	}
	if json.Unmarshal(body, &input) != nil {
		form, _ := url.ParseQuery(string(body))
		return []string{last(form.Get("TopicArn"))}
	}
	switch {
	case input.IndexName != "":
		return []string{"table/" + input.TableName + "/index/" + input.IndexName}
	case input.TableName != "":
		return []string{"table/" + input.TableName}
	case input.SecretID+input.Name != "":
		_, tail, _ := strings.Cut(input.SecretID+input.Name, ":000000000000:")
		return []string{tail}
	case input.QueueURL != "":
		return []string{strings.ReplaceAll(last(input.QueueURL), "streamsort-TimerQueue", "TimerQueue")}
	}
	var all []string
	for table := range input.RequestItems {
		all = append(all, "table/"+table)
	}
	for _, entry := range input.Entries {
		all = append(all, "event-bus/"+last(entry.EventBusName))
	}
	return all
}

// called is a function by its ARN or its name in a path, whichever its alias.
func called(function string) string {
	decoded, err := url.PathUnescape(function)
	if err != nil {
		decoded = function
	}
	return "function:" + last(strings.TrimSuffix(decoded, ":live"))
}

func last(path string) string {
	path = path[strings.LastIndexAny(path, ":/")+1:]
	if decoded, err := url.PathUnescape(path); err == nil {
		path = decoded
	}
	return path[strings.LastIndex(path, ":")+1:]
}

// allowed are the uses that a template's roles allow, each function by its logical id.
func allowed(t *testing.T, template []byte) map[use]bool {
	t.Helper()
	var document struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				TableName      string
				PolicyDocument struct {
					Statement []struct{ Action, Resource any }
				}
				Roles []struct{ Ref string }
			}
		}
	}
	check.OK(t, json.Unmarshal(template, &document))
	// arn is the last part of an ARN that a template writes.
	var arn func(any) string
	arn = func(value any) string {
		switch value := value.(type) {
		case string:
			_, tail, found := strings.Cut(value, ":000000000000:")
			if !found {
				return value
			}
			return tail
		case map[string]any:
			if got, ok := value["Fn::GetAtt"].([]any); ok {
				id := got[0].(string)
				if table := document.Resources[id].Properties.TableName; table != "" {
					return strings.TrimSuffix("table/"+table+"/"+got[1].(string), "/Arn")
				}
				return id
			}
			if join, ok := value["Fn::Join"].([]any); ok {
				var text strings.Builder
				for _, part := range join[1].([]any) {
					text.WriteString(arn(part))
				}
				if _, bus, found := strings.Cut(text.String(), ":event-bus/"); found {
					return "event-bus/" + bus
				}
				if strings.Contains(text.String(), ":function:") {
					return called(text.String())
				}
				return text.String()
			}
		}
		return fmt.Sprint(value)
	}
	all := map[use]bool{}
	for _, resource := range document.Resources {
		if resource.Type != "AWS::IAM::Policy" {
			continue
		}
		for _, role := range resource.Properties.Roles {
			function := strings.TrimSuffix(role.Ref, "Role") + "Function"
			for _, statement := range resource.Properties.PolicyDocument.Statement {
				for _, action := range many(statement.Action) {
					for _, resource := range many(statement.Resource) {
						all[use{function, action.(string), arn(resource)}] = true
					}
				}
			}
		}
	}
	return all
}

func many(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	return []any{value}
}
