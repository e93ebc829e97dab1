//go:build whole

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/modproxy"
	"github.com/streamsort/streamsort/localstack/ministack"
)

// TestQueueReaderTakesOnce: what SQS delivers again is not taken again, and its queue is empty only
// when it is deleted.
func TestQueueReaderTakesOnce(t *testing.T) {
	server := ministack.ForTest(t)
	outputs, err := server.Deploy(t.Context(), "once", []byte(`{
	 "Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "once", "VisibilityTimeout": 0}}},
	 "Outputs": {"Q": {"Value": {"Ref": "Q"}}}}`), nil)
	check.OK(t, err)
	times := 0
	var reader *queueReader
	reader, err = newQueueReader(outputs["Q"], func(m types.Message) error {
		times++
		if times > 1 {
			return nil
		}
		// Somebody else gets it meanwhile, so that our receipt does not delete it.
		_, err := reader.client.ReceiveMessage(t.Context(),
			&sqs.ReceiveMessageInput{QueueUrl: &reader.url})
		return err
	})
	check.OK(t, err)
	check.Get(reader.client.SendMessage(t.Context(),
		&sqs.SendMessageInput{QueueUrl: &reader.url, MessageBody: aws.String("1")}))
	said := reader.holds(t.Context())
	check.That(t, strings.HasSuffix(said, "/once holds 1 messages, and 0 in flight"), "said %s", said)
	since := time.Now()
	for !reader.empty(since) {
		check.OK(t, reader.once(t.Context()))
	}
	check.That(t, times == 1 && reader.again.Load() == 1, "%d %d", times, reader.again.Load())
}

// TestQueueReaderEnds: a message that cannot be read, and a queue that is not there, end it.
func TestQueueReaderEnds(t *testing.T) {
	server := ministack.ForTest(t)
	reader, err := newQueueReader(server.Endpoint+"/000000000000/nowhere", func(types.Message) error {
		return nil
	})
	check.OK(t, err)
	check.IsA[*types.QueueDoesNotExist](t, reader.run(t.Context()))
	_, err = newQueueReader("", nil)
	check.That(t, err != nil, "no URL was taken")
}

// TestMain is a copy of a consumer where a scenario starts this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && children[os.Args[1]] != nil {
		fmt.Fprintln(os.Stderr, children[os.Args[1]](context.Background(), os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestShort runs the short form of what make check does not run by itself.
func TestShort(t *testing.T) {
	for name, says := range map[string][]string{
		"ledger":   {"out, books          200 messages, 0 again, 0 stale, 0 violations, 0 lost", "sum of all accounts 0"},
		"pingpong": {"100 pings, 100 pongs, 100 written down"},
		"payments": {"out, bank           50 messages"},
		"wordcount": {
			"databases/library/1  DONE", "databases/library/2  DONE", "wolf          FAILS, attempt 2",
			"14 started, 14 ended   n = 0", "14 edges; counts map[is:2 sea:1 ship:1 small:1 the:3 waits:1 wide:1 wolf:1]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			short := func(variable string) string { return map[string]string{"SHORT": "1"}[variable] }
			err := run(t.Context(), []string{name}, short, &out)
			check.Need(t, err == nil, "%v\n%s", err, &out)
			for _, part := range says {
				check.That(t, strings.Contains(out.String(), part), "no %q in\n%s", part, &out)
			}
		})
	}
}

// TestTag makes a release in a clone: every module is tagged, at a commit where what requires
// another one requires the release's, and nothing replaces one.
func TestTag(t *testing.T) {
	root := check.Get(localdb.Root())
	clone := filepath.Join(t.TempDir(), "clone")
	git(t, root, "clone", "--quiet", "--no-hardlinks", "--depth=1", "file://"+root, clone)
	script, err := os.ReadFile(filepath.Join(root, ".ci", "tag"))
	check.OK(t, err)
	// as it stands
	check.OK(t, os.WriteFile(filepath.Join(clone, ".ci", "tag"), script, 0o700))
	check.OK(t, os.WriteFile(filepath.Join(clone, "CHANGELOG.md"),
		[]byte("## 1.9.80\n## 1.9.8\n## 1.9.10\n"), 0o600))
	tag := func(version string) (string, error) {
		c := exec.Command("./.ci/tag", version)
		c.Dir, c.Env = clone, append(os.Environ(), author...)
		said, err := c.CombinedOutput()
		return string(said), err
	}
	if said, err := tag("v1.9.8"); err == nil || !strings.Contains(said, "not committed") {
		t.Fatalf("with changes that are not committed: %v, %q", err, said)
	}
	git(t, clone, "add", "--all")
	git(t, clone, "commit", "--quiet", "--message=name the version")
	for _, version := range []string{"", "1.9.8", "v1.9", "v2.0.0", "v1.9.9", "v1.9.1"} {
		said, err := tag(version)
		check.That(t, err != nil && git(t, clone, "tag") == "", "version %q: %v, %q", version, err, said)
	}
	git(t, clone, "tag", "infra/cdk/v1.9.10") // by hand
	before := git(t, clone, "rev-parse", "HEAD")
	if said, err := tag("v1.9.10"); err == nil || git(t, clone, "tag") != "infra/cdk/v1.9.10\n" ||
		git(t, clone, "rev-parse", "HEAD") != before {
		t.Errorf("the tag of one module was there: %v, %q", err, said)
	}
	said, err := tag("v1.9.8")
	check.Need(t, err == nil, "%v\n%s", err, said)
	const want = "infra/cdk/v1.9.8\npkg/dedup/dedupotel/v1.9.8\npkg/delivery/otel/v1.9.8\nv1.9.8\n"
	if got := git(t, clone, "tag", "--points-at=HEAD"); got != want || !strings.Contains(said, "main v1.9.8 infra/cdk/v1.9.8 pkg/dedup/dedupotel/v1.9.8 pkg/delivery/otel/v1.9.8\n") {
		t.Errorf("tags %q, and it says %q; want %q", got, said, want)
	}
	said = git(t, clone, "grep", "-hE", "^\\s*(require )?"+modproxy.Root+"\\S* v", "--", "*/go.mod")
	check.That(t, strings.Count(said, "\n") == 5 && strings.Count(said, " v1.9.8\n") == 5, "%s", said)
	_, err = modproxy.Write(t.TempDir(), clone)
	check.That(t, err == nil, "%v", err)
	said, err = tag("v1.9.8")
	check.That(t, err != nil, "the same version again: %q", said)
}

// author is whose commits and tags these are, whatever the machine says.
var author = []string{
	"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
}

func git(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	c := exec.Command("git", arguments...)
	c.Dir, c.Env = folder, append(os.Environ(), author...)
	said, err := c.Output()
	check.Need(t, err == nil, "git %q: %v\n%s", arguments, err, said)
	return string(said)
}
