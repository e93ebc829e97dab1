// Probe is a Lambda function that does what its event says: in "do", or behind an HTTP API or a
// function URL by the path. Any other event is its answer.
package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type event struct {
	Do   string        `json:"do"`
	N    int           `json:"n"`
	For  time.Duration `json:"for"`
	Path string        `json:"path"`
	Fail string        `json:"fail"`

	RawPath         string `json:"rawPath"`
	Body            string `json:"body"`
	IsBase64Encoded bool   `json:"isBase64Encoded"`
}

func (e event) body() json.RawMessage {
	if !e.IsBase64Encoded {
		return json.RawMessage(e.Body)
	}
	text, _ := base64.StdEncoding.DecodeString(e.Body)
	return text
}

var requests atomic.Int64

func (e event) appendTo() error {
	time.Sleep(2 * time.Millisecond)
	f, err := os.OpenFile(e.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fmt.Fprintln(f, e.N)
	time.Sleep(2 * time.Millisecond)
	return f.Close()
}

func handle(ctx context.Context, raw json.RawMessage) (any, error) {
	var e event
	_ = json.Unmarshal(raw, &e)
	n := requests.Add(1)
	if e.Fail != "" {
		return nil, errors.New(e.Fail)
	}
	if e.RawPath != "" {
		fmt.Println("path", e.RawPath)
	}
	switch cmp.Or(e.Do, strings.TrimPrefix(e.RawPath, "/")) {
	case "raw": // the body is the whole answer
		return e.body(), nil
	case "count":
		return map[string]any{"count": n, "pid": os.Getpid()}, nil
	case "sleep":
		select {
		case <-time.After(cmp.Or(e.For, time.Minute)):
		case <-ctx.Done():
			time.Sleep(time.Hour)
		}
		return "slept", nil
	case "touch and wait": // says that it runs, and goes on when the file is gone
		_ = os.WriteFile(e.Path, nil, 0o600)
		for {
			if _, err := os.Stat(e.Path); err != nil {
				return map[string]any{"pid": os.Getpid()}, nil
			}
			time.Sleep(time.Millisecond)
		}
	case "append": // a little work, an effect, a little work
		return e.N, e.appendTo()
	case "exit":
		os.Exit(e.N)
	case "panic":
		panic("on purpose")
	case "crash": // where no handler notices
		go func() { panic("in the background") }()
		time.Sleep(time.Minute)
	case "error":
		return nil, errors.New("no luck")
	case "log":
		for i := range e.N {
			fmt.Printf("line %d\n", i)
		}
		fmt.Fprintln(os.Stderr, "end")
	case "big":
		return strings.Repeat("x", e.N), nil
	case "tick": // writes on behind the answer, as nobody should
		go func() {
			for i := 0; ; i++ {
				_ = os.WriteFile(e.Path, []byte(fmt.Sprint(i)), 0o600)
				time.Sleep(time.Millisecond)
			}
		}()
	case "child": // leaves a process behind
		child := exec.Command("sleep", "1000")
		if err := child.Start(); err != nil {
			return nil, err
		}
		return map[string]any{"pid": child.Process.Pid}, nil
	case "env":
		return os.Environ(), nil
	case "context":
		lc, _ := lambdacontext.FromContext(ctx)
		deadline, _ := ctx.Deadline()
		return map[string]any{
			"id": lc.AwsRequestID, "arn": lc.InvokedFunctionArn, "left": time.Until(deadline).Milliseconds(),
			"client": lc.ClientContext.Custom, "trace": os.Getenv("_X_AMZN_TRACE_ID"),
		}, nil
	}
	return raw, nil
}

func main() {
	if os.Getenv("PROBE_INIT") == "exit" {
		fmt.Println("no settings")
		os.Exit(3)
	}
	lambda.Start(handle)
}
