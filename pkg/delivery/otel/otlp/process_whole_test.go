//go:build whole

package otlp_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// build makes one of the two builds of process for this machine's processor, and returns the
// program.
func build(tb testing.TB, traced string) string {
	tb.Helper()
	dist := tb.TempDir()
	args := []string{"-s", "-C", "../../../..", "build", traced, "FUNCTIONS=process",
		"GOARCH_LAMBDA=" + runtime.GOARCH, "DIST=" + dist}
	if said, err := exec.CommandContext(tb.Context(), "make", args...).CombinedOutput(); err != nil {
		tb.Fatalf("make build %s: %v\n%s", traced, err, said)
	}
	return filepath.Join(dist, runtime.GOARCH, "process", "bootstrap")
}

// start starts a program as Lambda does, and returns when it asks for its first invocation.
func start(tb testing.TB, program string) {
	tb.Helper()
	asked := make(chan struct{}, 1)
	lambda := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invocation/next") {
			asked <- struct{}{}
			<-r.Context().Done()
		}
	}))
	defer lambda.Close()
	folder := filepath.Dir(program)
	consumers := `{"consumers":[{"name":"c","sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:000000000000:function:f"}}]}`
	if err := os.WriteFile(filepath.Join(folder, "consumers.json"), []byte(consumers),
		0o600); err != nil {
		tb.Fatal(err)
	}
	var said bytes.Buffer
	process := exec.CommandContext(tb.Context(), program)
	process.Stdout, process.Stderr = &said, &said
	process.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(lambda.URL, "http://"), "LAMBDA_TASK_ROOT=" + folder, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "STREAMSORT_MESSAGES_TABLE=m", "STREAMSORT_CURSORS_TABLE=c", "STREAMSORT_TROUBLE_TABLE=s",
		"STREAMSORT_CONSUMERS_TABLE=n", "STREAMSORT_AUDIT_TABLE=a", "STREAMSORT_ARRIVALS_TABLE=r",
	}
	if err := process.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	select {
	case <-asked:
		_ = process.Process.Kill()
		if err := <-ended; err == nil {
			tb.Error("it ended well, and was killed")
		}
	case err := <-ended:
		tb.Errorf("it ended (%v), and never asked for an invocation: %s", err, said.String())
	}
}

func TestTheTracedProcess(t *testing.T) { start(t, build(t, "TRACED=1")) }

// BenchmarkStart is from the start of each build to its first question for an invocation.
func BenchmarkStart(b *testing.B) {
	for _, traced := range []string{"TRACED=", "TRACED=1"} {
		program := build(b, traced)
		b.Run(traced, func(b *testing.B) {
			for b.Loop() {
				start(b, program)
			}
		})
	}
}
