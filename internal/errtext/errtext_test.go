package errtext_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/errtext"
)

// groups are texts as runtimes, drivers and services write them, and their groups.
var groups = []struct {
	group string
	texts []string
}{
	{"ARN failed: Runtime.ExitError: RequestId: # Error: Runtime exited with error: signal: killed", []string{
		"arn:aws:lambda:eu-central-1:123456789012:function:books failed: Runtime.ExitError: RequestId: 7f4b7fe2-9a3c-4a3e-9d9b-4a1c1e3f0a11 Error: Runtime exited with error: signal: killed",
		"arn:aws:lambda:us-east-1:000000000000:function:books:live failed: Runtime.ExitError: RequestId: 00000000-9a3c-4a3e-9d9b-4a1c1e3f0a12 Error: Runtime exited with error: signal: killed",
	}},
	{"ARN failed: Sandbox.Timedout: RequestId: # Error: Task timed out after # seconds", []string{
		"arn:aws:lambda:eu-central-1:123456789012:function:books failed: Sandbox.Timedout: RequestId: 7f4b7fe2-9a3c-4a3e-9d9b-4a1c1e3f0a11 Error: Task timed out after 3.00 seconds",
		"arn:aws-cn:lambda:cn-north-1:123456789012:function:x failed: Sandbox.Timedout: RequestId: 8f4b7fe2-9a3c-4a3e-9d9b-4a1c1e3f0a11 Error: Task timed out after 900.01 seconds",
	}},
	{`ARN failed: NameError: name "#" is not defined`, []string{
		"arn:aws:lambda:eu-central-1:123456789012:function:books failed: NameError: name 'x' is not defined",
		"arn:aws:lambda:eu-central-1:123456789012:function:books failed: NameError: name 'order_id' is not defined",
	}},
	{`ARN failed: TypeError: Cannot read properties of undefined (reading "#")`, []string{
		"arn:aws:lambda:eu-central-1:1:function:a failed: TypeError: Cannot read properties of undefined (reading 'id')",
	}},
	{"ARN failed: ClientError: An error occurred (ConditionalCheckFailedException) when calling the PutItem operation: The conditional request failed", []string{
		"arn:aws:lambda:eu-west-1:123456789012:function:f failed: ClientError: An error occurred (ConditionalCheckFailedException) when calling the PutItem operation: The conditional request failed",
	}},
	{"operation error DynamoDB: PutItem, exceeded maximum number of attempts, #, https response error StatusCode: 400, RequestID: #, api error ThrottlingException:", []string{
		"operation error DynamoDB: PutItem, exceeded maximum number of attempts, 10, https response error StatusCode: 400, RequestID: 4VR8PLF40P5O8CVS044IC479VBVV4KQNSO5AEMVJF66Q9ASUAAJG, api error ThrottlingException: Throughput exceeds the current capacity",
		"operation error DynamoDB: PutItem, exceeded maximum number of attempts, 3, https response error StatusCode: 400, RequestID: AB18PLF40P5O8CVS044IC479VBVV4KQNSO5AEMVJF66Q9ASUAAJG, api error ThrottlingException: Throughput exceeds the current capacity",
	}},
	{`ERROR: duplicate key value violates unique constraint "#" (SQLSTATE #)`, []string{
		`ERROR: duplicate key value violates unique constraint "orders_pkey" (SQLSTATE 23505)`,
	}},
	{`error: duplicate key value violates unique constraint "#" DETAIL: Key (id)=(#) already exists.`, []string{
		"error: duplicate key value violates unique constraint \"orders_pkey\"\n  DETAIL:  Key (id)=(7) already exists.",
		"error: duplicate key value violates unique constraint \"orders_pkey\"\n  DETAIL:  Key (id)=(ord-abc) already exists.",
	}},
	{"connect ECONNREFUSED #", []string{"connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED 10.0.3.17:5432"}},
	{"getaddrinfo ENOTFOUND db.internal", []string{"getaddrinfo ENOTFOUND db.internal"}},
	{"HTTPConnectionPool(host=\"#\", port=#): Max retries exceeded with url: /orders/# (Caused by NewConnectionError(\"#\"))", []string{
		`HTTPConnectionPool(host='sink.example', port=8080): Max retries exceeded with url: /orders/17 (Caused by NewConnectionError('<urllib3.connection.HTTPConnection object at 0x7f1c2b>: Failed'))`,
	}},
	{"sink.example answered 500 in # ms: boom", []string{"sink.example answered 500 in 12 ms: boom", "sink.example answered 500 in 7 ms: boom"}},
	{"sink.example answered 404 in # ms: boom", []string{"sink.example answered 404 in 12 ms: boom"}},
	{"Post https://sink.example:#/hooks/#: context deadline exceeded", []string{
		`Post https://sink.example:8443/hooks/a17?token=abc&n=2: context deadline exceeded`,
		`Post https://sink.example:8444/hooks/0198f7?token=x: context deadline exceeded`,
	}},
	{"order # of customer # was refused at #", []string{
		"order ord-... of customer max@example.com was refused at 2026-11-27T02:03:04Z",
	}},
	{"order-# failed", []string{"order-17 failed", "order-4711 failed"}},
	{"object # is bad", []string{
		"object deadbeefcafe is bad", "object 01ARZ3NDEKTSV4RRFFQ69G5FAV is bad", "object 0x7f1c is bad",
		"object 9f86d081884c7d65 is bad", "object 507f1f77bcf86cd799439011 is bad",
	}},
	{`bad value "#" for "#"`, []string{`bad value "a \"b\" c" for "x"`, "bad value `y` for “z”", "bad value 'it' for 'x'"}},
	{"can't open the user's file", []string{"can't open the user's file"}},
	{"ORA-#: unique constraint (APP.ORDERS_PK) violated", []string{"ORA-00001: unique constraint (APP.ORDERS_PK) violated"}},
	{"WRONGTYPE Operation against a key holding the wrong kind of value", []string{"WRONGTYPE Operation against a key holding the wrong kind of value"}},
	{"größe # überschritten", []string{"größe 12 überschritten", "größe ٣ überschritten"}},
	{"panic: runtime error: index out of range [#] with length #", []string{"panic: runtime error: index out of range [5] with length 3"}},
	{"", []string{"", "  \n"}},
}

func TestGroup(t *testing.T) {
	for _, c := range groups {
		for _, text := range c.texts {
			text = strings.Replace(text, "ord-...", "17", 1)
			got := errtext.Group(text)
			check.Is(t, got, c.group, text)
			check.Is(t, errtext.Group(got), got, "the group of a group")
		}
	}
}

var statuses = regexp.MustCompile(
	`(?i)\b(HTTP|status|status ?code|answered|code)[:= ]{1,2}[1-5][0-9][0-9]\b`)

// FuzzGroup: a group is short, has no number but a status, and is its own group.
func FuzzGroup(f *testing.F) {
	for _, c := range groups {
		for _, text := range c.texts {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		group := errtext.Group(text)
		check.That(t, len(group) <= errtext.Max && utf8.ValidString(group) &&
			!strings.ContainsAny(group, "\n\t"), "%q is of %q", text, group)
		check.That(t, !strings.ContainsAny(statuses.ReplaceAllString(group, ""), "0123456789"),
			"%q is of %q, which has a number", text, group)
		check.Is(t, errtext.Group(group), group, text)
	})
}
