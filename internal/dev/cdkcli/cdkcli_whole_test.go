//go:build whole

package cdkcli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// What the command says on its two ends comes through, and the reason of its failure is a sentence.
func TestRun(t *testing.T) {
	const says = `console.log(process.cwd()); console.error(process.argv[2]); process.exit(Number(process.argv[3]))`
	cli, err := Open(project(t, "2.1148.1", says))
	check.OK(t, err)
	for _, c := range []struct{ said, code, want string }{
		{"fine", "0", ""},
		{"fine", "3", "cdk fine: exit status 3"},
		{"SSM parameter /cdk-bootstrap/hnb659fds/version not found. Has the environment been bootstrapped? Please run", "1", "has not been bootstrapped for the CDK"},
		{"Unable to resolve AWS account to use. It must be either configured", "1", "there are no AWS credentials"},
		{"ExpiredToken: The security token included in the request is expired", "1", "have expired"},
		{"terminal (TTY) is not attached so we are unable to get a confirmation from the user", "1", "--require-approval never"},
		{"This CDK CLI is not compatible. Maximum schema version supported is 43.x.x, but found 54.0.0", "1", "too old for what the app writes"},
	} {
		var stdout, stderr bytes.Buffer
		err := cli.Run(t.Context(),
			Call{Args: []string{c.said, c.code}, Stdout: &stdout, Stderr: &stderr})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.said, err, c.want)
		}
		if !strings.HasSuffix(strings.TrimSpace(stdout.String()), "infra/cdk") ||
			strings.TrimSpace(stderr.String()) != c.said {
			t.Errorf("%s: %q and %q came through", c.said, &stdout, &stderr)
		}
	}
}
