package awschain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/streamsort/streamsort/internal/awschain"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestRead: a profile gives what the environment does not.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	profile := "[profile ops]\nregion = eu-north-1\naws_access_key_id = of-the-profile\naws_secret_access_key = secret\n"
	check.OK(t, os.WriteFile(file, []byte(profile), 0o600))
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
		"AWS_SHARED_CREDENTIALS_FILE": file + "-none", "AWS_CONFIG_FILE": file, "AWS_PROFILE": "ops",
	} {
		t.Setenv(name, value)
	}
	reads := func(region, key string) {
		t.Helper()
		s := check.Get(awschain.Read())
		check.Is(t, s.Region, region)
		check.Is(t, check.Get(s.Credentials.Retrieve(t.Context())).AccessKeyID, key)
	}
	reads("eu-north-1", "of-the-profile")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-west-1")
	reads("eu-west-1", "id")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_PROFILE", "nobody")
	check.That(t, check.Err(awschain.Read()) != nil, "no error about a profile that is not there")
}
