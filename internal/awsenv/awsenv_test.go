package awsenv_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestRead(t *testing.T) {
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB",
	} {
		t.Setenv(name, "")
	}
	refused := func(what, want string) {
		t.Helper()
		check.Says(t, check.Err(awsenv.Read("DYNAMODB", "")), want, what)
	}
	endpoint := func(what, given, want string) {
		t.Helper()
		s, err := awsenv.Read("DYNAMODB", given)
		check.That(t, err == nil && s.Endpoint != nil && *s.Endpoint == want,
			"%s: %+v, %v; want endpoint %s", what, s, err, want)
	}
	refused("nothing set", "AWS_REGION")
	endpoint("an endpoint needs nothing else", "http://given", "http://given")
	t.Setenv("AWS_REGION", "eu-west-1")
	refused("no keys", "AWS_ACCESS_KEY_ID")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	s, err := awsenv.Read("DYNAMODB", "")
	check.Need(t, err == nil && s.Endpoint == nil && s.Region == "eu-west-1", "%+v, %v", s, err)
	keys := check.Get(s.Credentials.Retrieve(t.Context()))
	check.That(t, keys.AccessKeyID == "id" && keys.SessionToken == "token", "keys %+v", keys)
	t.Setenv("AWS_ENDPOINT_URL", "http://all")
	endpoint("one for all services", "", "http://all")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://own")
	endpoint("one of its own", "", "http://own")
}
