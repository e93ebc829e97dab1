package awscall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// answer is what a service says: a status, a type of error and a body.
type answer struct {
	status          int
	errorType, body string
}

func says(a answer) *http.Response {
	h := http.Header{}
	h.Set("X-Amzn-Errortype", a.errorType)
	return &http.Response{StatusCode: a.status, Header: h,
		Body: io.NopCloser(strings.NewReader(a.body))}
}

func TestErrors(t *testing.T) {
	environment(t)
	for name, c := range map[string]struct {
		answer answer
		tries  int
		want   string
	}{
		"JSON":            {answer{400, "", `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"nobody"}`}, 1, "status 400: QueueDoesNotExist: nobody"},
		"a great M":       {answer{403, "", `{"__type":"AccessDenied","Message":"not you"}`}, 1, "status 403: AccessDenied: not you"},
		"a header":        {answer{404, "ResourceNotFoundException:http://x", `{"Type":"User","Message":"nobody"}`}, 1, "status 404: ResourceNotFoundException: nobody"},
		"XML":             {answer{403, "", `<ErrorResponse xmlns="x"><Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>no</Message></Error></ErrorResponse>`}, 1, "status 403: AuthorizationError: no"},
		"nothing":         {answer{400, "", ""}, 1, "status 400"},
		"HTML":            {answer{418, "", "<p>secret</p>"}, 1, "status 418"},
		"a redirect":      {answer{307, "", ""}, 1, "status 307"},
		"throttled":       {answer{400, "", `{"__type":"ThrottlingException"}`}, 3, "status 400: ThrottlingException"},
		"a fault":         {answer{500, "", `oops`}, 3, "status 500"},
		"unavailable":     {answer{503, "", ""}, 3, "status 503"},
		"an endless word": {answer{400, strings.Repeat("é", 9999), `{"message":"` + strings.Repeat("é", 9999) + `"}`}, 1, "status 400: éé"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				service := awscall.EventBridge
				if name == "XML" {
					service = awscall.SNS
				}
				client, err := awscall.New(service,
					awscall.Options{Transport: transport(func(*http.Request) (*http.Response, error) {
						tries++
						return says(c.answer), nil
					})})
				check.OK(t, err)
				if service == awscall.SNS {
					_, err = client.PublishBatch(t.Context(), "arn:aws:sns:us-east-1:000000000000:t.fifo", nil)
				} else {
					_, err = client.PutEvents(t.Context(), nil)
				}
				var said *awscall.Error
				check.That(t, errors.As(err, &said) && strings.HasPrefix(err.Error(), c.want) &&
					len(err.Error()) <= 1100 && !strings.Contains(err.Error(), "secret"), "error %v, want %q", err,
					c.want)
				check.That(t, tries == c.tries, "%d tries, want %d", tries, c.tries)
			})
		})
	}
}

// A request that fails and then goes well is no error; the whole body goes each time, signed anew.
func TestTriesAgain(t *testing.T) {
	environment(t)
	synctest.Test(t, func(t *testing.T) {
		var bodies, dates []string
		client, err := awscall.New(awscall.Lambda,
			awscall.Options{Transport: transport(func(r *http.Request) (*http.Response, error) {
				raw, err := io.ReadAll(r.Body)
				bodies, dates = append(bodies, string(raw)), append(dates, r.Header.Get("X-Amz-Date"))
				if len(bodies) == 1 {
					bubble.Sleep(2 * time.Second)
					return nil, io.ErrUnexpectedEOF
				}
				if len(bodies) == 2 {
					half := says(answer{200, "", ""})
					half.Body = io.NopCloser(io.MultiReader(strings.NewReader("half"), failing{}))
					return half, nil
				}
				return says(answer{200, "", "whole"}), err
			})})
		check.OK(t, err)
		done, err := client.Invoke(t.Context(), arn, awscall.RequestResponse, []byte("body"))
		check.That(t, err == nil && string(done.Payload) == "whole" && done.Status == 200,
			"%+v, %v", done, err)
		check.That(t, fmt.Sprint(bodies) == "[body body body]" && dates[0] != dates[1],
			"sent %v at %v", bodies, dates)
	})
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestTheContextEndsIt(t *testing.T) {
	environment(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tries := 0
		client, err := awscall.New(awscall.SQS,
			awscall.Options{Transport: transport(func(*http.Request) (*http.Response, error) {
				tries++
				cancel()
				return says(answer{503, "", ""}), nil
			})})
		check.OK(t, err)
		_, err = client.SendBatch(ctx, "u", nil)
		check.That(t, err != nil && tries == 1, "error %v after %d tries", err, tries)
	})
}

func TestAnAnswerIsBounded(t *testing.T) {
	environment(t)
	client, err := awscall.New(awscall.Lambda,
		awscall.Options{Transport: transport(func(*http.Request) (*http.Response, error) {
			return says(answer{200, "", strings.Repeat("x", 9<<20)}), nil
		})})
	check.OK(t, err)
	_, err = client.Invoke(t.Context(), arn, awscall.Event, nil)
	check.That(t, err != nil && strings.Contains(err.Error(), "more than"), "error %v", err)
}

func TestNewReportsWhatIsMissing(t *testing.T) {
	environment(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	if _, err := awscall.New(awscall.SNS, awscall.Options{}); err == nil ||
		!strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("error %v", err)
	}
	t.Setenv("AWS_ENDPOINT_URL_EVENTBRIDGE", "http://127.0.0.1:1/")
	c, err := awscall.New(awscall.EventBridge, awscall.Options{})
	check.That(t, err == nil && c.Endpoint() == "http://127.0.0.1:1", "endpoint %v, %v", c, err)
}
