package awschain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/awschain"
)

// TestRead: a profile gives what the environment does not.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	profile := "[profile ops]\nregion = eu-north-1\naws_access_key_id = of-the-profile\naws_secret_access_key = secret\n"
	if err := os.WriteFile(file, []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_SHARED_CREDENTIALS_FILE": file + "-none", "AWS_CONFIG_FILE": file, "AWS_PROFILE": "ops",
	} {
		t.Setenv(name, value)
	}
	s, err := awschain.Read()
	if err != nil || s.Region != "eu-north-1" {
		t.Fatalf("%+v, %v", s, err)
	}
	if keys, err := s.Credentials.Retrieve(t.Context()); err != nil ||
		keys.AccessKeyID != "of-the-profile" {
		t.Errorf("keys %+v, %v", keys, err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-west-1")
	if s, err = awschain.Read(); err != nil || s.Region != "eu-west-1" {
		t.Fatalf("%+v, %v", s, err)
	}
	if keys, err := s.Credentials.Retrieve(t.Context()); err != nil || keys.AccessKeyID != "id" {
		t.Errorf("keys of the environment: %+v, %v", keys, err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_PROFILE", "nobody")
	if _, err := awschain.Read(); err == nil {
		t.Error("no error about a profile that is not there")
	}
}
