//go:build whole

package bench_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/figures"
)

// BenchmarkFunction measures the size of the enqueue function as it deploys, and its start, beside
// an empty handler's.
func BenchmarkFunction(b *testing.B) {
	m := &measured{b, figures.Table{
		Title: "The enqueue function",
		About: "Built as it deploys, for arm64, and started on this machine 20 times, in turn with its limit: a Go function that does nothing.",
		Case:  "what",
	}}
	const more = "it contains AWS's DynamoDB client, the sorter and the API"
	var size, zip [2]float64
	var here [2]string
	for i, source := range []string{"./functions/enqueue", "./verify/bench/empty"} {
		deployed := filepath.Join(b.TempDir(), "bootstrap")
		build(b, "arm64", source, deployed)
		size[i], zip[i] = sizes(b, deployed)
		here[i] = filepath.Join(b.TempDir(), "bootstrap")
		build(b, "", source, here[i])
	}
	var took [2][]time.Duration
	for range 20 {
		for i, path := range here {
			took[i] = append(took[i], start(b, path))
		}
	}
	row := func(name, format, unit string, of [2]float64, why string) {
		format += " " + unit
		m.row(figures.Row{Name: name, Limit: fmt.Sprintf(format, of[1]), Ours: fmt.Sprintf(format, of[0]),
			Ratio: of[0] / of[1], Why: why}, of[0], unit)
	}
	row("binary", "%.2f", "MB", size, more)
	row("zip, by gzip -9", "%.2f", "MB", zip, more)
	row("from its spawn to its first poll, median", "%.1f", "ms",
		[2]float64{median(took[0]), median(took[1])},
		"more is initialised, and it reads its settings and makes its client before it polls")
	m.end("function")
}

// build compiles a function with the flags of a deployment.
func build(b *testing.B, arch, source, target string) {
	b.Helper()
	command := exec.CommandContext(b.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-tags",
		"lambda.norpc,nethttpomithttp2",
		"-ldflags", "-s -w", "-o", target, source)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if arch != "" {
		command.Env = append(command.Env, "GOARCH="+arch)
	}
	out, err := command.CombinedOutput()
	check.Need(b, err == nil, "%v: %s", err, out)
}

// sizes are a binary's, and the same compressed, in MB.
func sizes(b *testing.B, path string) (size, zipped float64) {
	b.Helper()
	binary, err := os.ReadFile(path)
	check.OK(b, err)
	var out bytes.Buffer // which never fails
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = zip.Write(binary)
	_ = zip.Close()
	return float64(len(binary)) / 1e6, float64(out.Len()) / 1e6
}

// median is that of some times, in milliseconds, and percentile one of a hundred of them.
func median(times []time.Duration) float64 { return percentile(times, 50) }

func percentile(times []time.Duration, n int) float64 {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)*n/100].Seconds() * 1000
}

// start starts a function against a Runtime API that only sees it poll, and returns how long that
// took.
func start(b *testing.B, path string) time.Duration {
	b.Helper()
	polled := make(chan time.Time, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case polled <- time.Now():
		default:
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	process := exec.CommandContext(b.Context(), path)
	process.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + server.Listener.Addr().String(), "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x",
		"AWS_LAMBDA_FUNCTION_NAME=bench", "STREAMSORT_MESSAGES_TABLE=messages", "STREAMSORT_CURSORS_TABLE=cursors", "STREAMSORT_TROUBLE_TABLE=trouble",
	}
	began := time.Now()
	check.OK(b, process.Start())
	defer func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}()
	return (<-polled).Sub(began)
}
