package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/dev/figures"
)

// build compiles a function with the flags of a deployment.
func build(ctx context.Context, root, arch, source, target string) error {
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", target, source)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if arch != "" {
		command.Env = append(command.Env, "GOARCH="+arch)
	}
	command.Stderr = os.Stderr
	return command.Run()
}

// function measures the size of the enqueue function as it deploys, and its start, beside an empty handler's.
func function(ctx context.Context, root, folder string) (figures.Measured, error) {
	m := figures.Measured{
		Title: "The enqueue function",
		About: "Built as it deploys, for arm64, and started on this machine 20 times, in turn with its limit: a Go function that does nothing.",
		Case:  "what",
	}
	const more = "it contains AWS's DynamoDB client, the sorter and the API"
	var size, zip [2]float64
	for i, source := range sources {
		target := filepath.Join(folder, "arm64")
		if err := build(ctx, root, "arm64", source, target); err != nil {
			return m, err
		}
		var err error
		if size[i], zip[i], err = sizes(target); err != nil {
			return m, err
		}
	}
	took, err := starts(ctx, root, folder)
	row := func(name, format string, of [2]float64, why string) {
		m.Rows = append(m.Rows, figures.MeasuredRow{Name: name, Limit: fmt.Sprintf(format, of[1]), Ours: fmt.Sprintf(format, of[0]), Ratio: of[0] / of[1], Why: why})
	}
	row("binary", "%.2f MB", size, more)
	row("zip, by gzip -9", "%.2f MB", zip, more)
	row("from its spawn to its first poll, median", "%.1f ms", took, "more is initialised, and it reads its settings and makes its client before it polls")
	return m, err
}

// sources are the function, and the one that does nothing.
var sources = [2]string{"./functions/enqueue", "./verify/bench/empty"}

// sizes are a binary's, and the same compressed, in MB.
func sizes(path string) (size, zipped float64, err error) {
	binary, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	var count counter
	zip, err := gzip.NewWriterLevel(&count, gzip.BestCompression)
	if err != nil {
		return 0, 0, err
	}
	if _, err := zip.Write(binary); err != nil {
		return 0, 0, err
	}
	err = zip.Close()
	return float64(len(binary)) / 1e6, float64(count) / 1e6, err
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// starts are how many milliseconds processes of the sources take from their start to the first poll of
// the Runtime API, in the median.
func starts(ctx context.Context, root, folder string) (medians [2]float64, err error) {
	path := func(i int) string { return filepath.Join(folder, fmt.Sprint("start", i)) }
	for i, source := range sources {
		if err := build(ctx, root, "", source, path(i)); err != nil {
			return medians, err
		}
	}
	var took [2][]time.Duration
	for range 20 {
		for i, source := range sources {
			d, err := start(ctx, path(i))
			if err != nil {
				return medians, fmt.Errorf("start of %s: %w", source, err)
			}
			took[i] = append(took[i], d)
		}
	}
	for i := range took {
		slices.Sort(took[i])
		medians[i] = ms(took[i][len(took[i])/2])
	}
	return medians, nil
}

// start starts a function against a Runtime API that only sees it poll.
func start(ctx context.Context, path string) (time.Duration, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	polled := make(chan time.Time, 1)
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case polled <- time.Now():
		default:
		}
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()
	process := exec.CommandContext(ctx, path)
	process.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x",
		"AWS_LAMBDA_FUNCTION_NAME=bench", "STREAMSORT_MESSAGES_TABLE=messages", "STREAMSORT_CURSORS_TABLE=cursors", "STREAMSORT_SWEEPS_TABLE=sweeps",
	}
	began := time.Now()
	if err := process.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}()
	select {
	case at := <-polled:
		return at.Sub(began), nil
	case <-time.After(10 * time.Second):
		return 0, fmt.Errorf("no poll after 10 seconds")
	}
}
