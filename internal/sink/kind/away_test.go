package kind

import (
	"context"
	"errors"
	"fmt"
	"testing"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestIsAway(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"Lambda is throttled":               {&awscall.Error{Status: 429, Code: "TooManyRequestsException"}, true},
		"Lambda has a fault":                {&awscall.Error{Status: 500, Code: "ServiceException"}, true},
		"Lambda's network":                  {&awscall.Error{Status: 502, Code: "EC2ThrottledException"}, true},
		"a status alone":                    {&awscall.Error{Status: 503}, true},
		"SQS is throttled":                  {&awscall.Error{Status: 400, Code: "RequestThrottled"}, true},
		"SQS's key is throttled":            {&awscall.Error{Status: 400, Code: "KmsThrottled"}, true},
		"SNS is throttled":                  {&awscall.Error{Status: 400, Code: "Throttled"}, true},
		"SNS's key is throttled":            {&awscall.Error{Status: 400, Code: "KMSThrottling"}, true},
		"EventBridge is throttled":          {&awscall.Error{Status: 400, Code: "ThrottlingException"}, true},
		"nobody listens":                    {&smithyhttp.RequestSendError{Err: errors.New("connection refused")}, true},
		"no answer in time":                 {&smithyhttp.RequestSendError{Err: context.DeadlineExceeded}, true},
		"an entry is refused by a fault":    {&RefusedError{"sqs", 1, Refusal{Code: "InternalError", Away: true}}, true},
		"an entry is throttled":             {&RefusedError{"eventbridge", 1, Refusal{Code: "ThrottlingException"}}, true},
		"an entry is refused for good":      {&RefusedError{"sqs", 1, Refusal{Code: "InvalidMessageContents", Final: true}}, false},
		"an entry without a verdict":        {&RefusedError{"sns", 1, Refusal{Code: "NoVerdict"}}, false},
		"an entry, and the time is over":    {errors.Join(&RefusedError{"sns", 1, Refusal{Code: "NoVerdict"}}, context.DeadlineExceeded), false},
		"no such function":                  {&awscall.Error{Status: 404, Code: "ResourceNotFoundException"}, false},
		"no permission":                     {&awscall.Error{Status: 403, Code: "AccessDeniedException", Message: "Throttling"}, false},
		"what a function says":              {errors.New("TooManyRequestsException: rate exceeded, status 429"), false},
		"a message that is too large":       {&TooLargeError{"sqs", 1, 2, 1}, false},
		"nothing":                           {nil, false},
		"an answer that nobody can read":    {errors.New("the answer has more than 8388608 bytes"), false},
		"a request that was not even built": {context.Canceled, false},
	} {
		if c.err != nil {
			c.err = fmt.Errorf("call arn: %w", c.err)
		}
		check.Is(t, IsAway(c.err), c.want, name)
	}
}
