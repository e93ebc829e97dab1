package awsenv_test

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/awsenv"
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
		if _, err := awsenv.Read("DYNAMODB", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that names %s", what, err, want)
		}
	}
	endpoint := func(what, given, want string) {
		t.Helper()
		s, err := awsenv.Read("DYNAMODB", given)
		if err != nil || s.Endpoint == nil || *s.Endpoint != want {
			t.Errorf("%s: %+v, %v; want endpoint %s", what, s, err, want)
		}
	}
	refused("nothing set", "AWS_REGION")
	endpoint("an endpoint needs nothing else", "http://given", "http://given")
	t.Setenv("AWS_REGION", "eu-west-1")
	refused("no keys", "AWS_ACCESS_KEY_ID")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	s, err := awsenv.Read("DYNAMODB", "")
	if err != nil || s.Endpoint != nil || s.Region != "eu-west-1" {
		t.Fatalf("%+v, %v", s, err)
	}
	if keys, err := s.Credentials.Retrieve(t.Context()); err != nil || keys.AccessKeyID != "id" ||
		keys.SessionToken != "token" {
		t.Errorf("keys %+v, %v", keys, err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://all")
	endpoint("one for all services", "", "http://all")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://own")
	endpoint("one of its own", "", "http://own")
}
