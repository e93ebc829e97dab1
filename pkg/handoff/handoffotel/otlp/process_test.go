package otlp_test

import (
	"bytes"
	"compress/flate"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// maxZip bounds the build of process with OpenTelemetry, packed; the one without is below 3.55 MB.
const maxZip = 7_500_000

// build makes one of the two builds of process for this machine's processor, and returns the program.
func build(tb testing.TB, target string) string {
	tb.Helper()
	dist := tb.TempDir()
	make := exec.CommandContext(tb.Context(), "make", "-s", "-C", "../../../..", target, "FUNCTIONS=process", "GOARCH_LAMBDA="+runtime.GOARCH, "DIST="+dist)
	if said, err := make.CombinedOutput(); err != nil {
		tb.Fatalf("make %s: %v\n%s", target, err, said)
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
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	defer cancel()
	folder := filepath.Dir(program)
	consumers := `{"consumers":[{"name":"c","sink":{"kind":"lambda","arn":"arn:aws:lambda:us-east-1:000000000000:function:f"}}]}`
	if err := os.WriteFile(filepath.Join(folder, "consumers.json"), []byte(consumers), 0o600); err != nil {
		tb.Fatal(err)
	}
	var said bytes.Buffer
	process := exec.CommandContext(ctx, program)
	process.Stdout, process.Stderr = &said, &said
	process.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(lambda.URL, "http://"), "LAMBDA_TASK_ROOT=" + folder, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "STREAMSORT_MESSAGES_TABLE=m", "STREAMSORT_CURSORS_TABLE=c", "STREAMSORT_SWEEPS_TABLE=s",
		"STREAMSORT_CONSUMERS_TABLE=n", "STREAMSORT_AUDIT_TABLE=a", "STREAMSORT_ARRIVALS_TABLE=r",
	}
	if err := process.Start(); err != nil {
		tb.Fatal(err)
	}
	select {
	case <-asked:
	case <-ctx.Done():
		tb.Errorf("it never asked for an invocation: %s", said.String())
	}
	_ = process.Process.Kill()
	_ = process.Wait()
}

// TestTheTracedProcess starts, and is not too large for that.
func TestTheTracedProcess(t *testing.T) {
	program := build(t, "build-traced")
	start(t, program)
	raw, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = w.Write(raw)
	}
	if err == nil {
		err = w.Close()
	}
	t.Logf("%.2f MB, packed %.2f MB", float64(len(raw))/1e6, float64(packed.Len())/1e6)
	if err != nil || packed.Len() > maxZip {
		t.Errorf("it is packed %d bytes; %d is the most: %v", packed.Len(), maxZip, err)
	}
}

// BenchmarkStart is from the start of each build to its first question for an invocation.
func BenchmarkStart(b *testing.B) {
	for _, target := range []string{"build", "build-traced"} {
		program := build(b, target)
		b.Run(target, func(b *testing.B) {
			for b.Loop() {
				start(b, program)
			}
		})
	}
}
