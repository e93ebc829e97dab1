package main

import (
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestWhereTheTablesAre: a server of one's own takes any keys; an endpoint of AWS, such as that of
// a VPC, takes those of the chain.
func TestWhereTheTablesAre(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": "",
	} {
		t.Setenv(name, value)
	}
	s := &session{ctx: t.Context(), place: place{Region: "eu-west-2"}}
	where := func(endpoint, region, key string) {
		t.Helper()
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
		got, err := s.tables()
		check.Need(t, err == nil && aws.ToString(got.Endpoint) == endpoint && got.Region == region,
			"%q: %+v, %v; want region %s", endpoint, got, err, region)
		if keys, err := got.Credentials.Retrieve(t.Context()); err != nil || keys.AccessKeyID != key {
			t.Errorf("%q: keys %+v, %v; want %s", endpoint, keys, err, key)
		}
	}
	where("http://127.0.0.1:8000", "us-east-1", "local")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com")
	if got, err := s.tables(); err == nil {
		t.Errorf("without keys: %+v", got)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-west-1")
	where("https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com", "eu-west-2", "id")
	s.Region = ""
	where("", "eu-west-1", "id")
}
