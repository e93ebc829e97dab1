package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
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

// sizes prints the size of the enqueue function as it deploys.
func sizes(ctx context.Context, out io.Writer, root, target string) error {
	fmt.Fprintln(out, "==> building functions/enqueue for arm64")
	if err := build(ctx, root, "arm64", "./functions/enqueue", target); err != nil {
		return err
	}
	binary, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	var count counter
	zip, err := gzip.NewWriterLevel(&count, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zip.Write(binary); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	fmt.Fprintf(out, "    enqueue, arm64: %.2f MB, gzip %.2f MB\n", float64(len(binary))/1e6, float64(count)/1e6)
	return nil
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// starts prints how long a process takes from its start to its first poll of
// the Runtime API, beside an empty handler's.
func starts(ctx context.Context, out io.Writer, root, folder string) error {
	fmt.Fprintln(out, "==> starting enqueue and an empty handler, 20 times each in turn")
	names := []string{"enqueue", "empty"}
	for i, source := range []string{"./functions/enqueue", "./verify/bench/empty"} {
		if err := build(ctx, root, "", source, filepath.Join(folder, names[i])); err != nil {
			return err
		}
	}
	took := map[string][]time.Duration{}
	for range 20 {
		for _, name := range names {
			d, err := start(ctx, filepath.Join(folder, name))
			if err != nil {
				return fmt.Errorf("start of %s: %w", name, err)
			}
			took[name] = append(took[name], d)
		}
	}
	median := func(name string) float64 {
		slices.Sort(took[name])
		return took[name][len(took[name])/2].Seconds() * 1000
	}
	fmt.Fprintf(out, "    spawn to first poll, median of 20: enqueue %.1f ms, empty handler %.1f ms (%.1f times)\n",
		median("enqueue"), median("empty"), median("enqueue")/median("empty"))
	return nil
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
