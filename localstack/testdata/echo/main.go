// Echo is a Lambda function behind an HTTP API, a function URL or a direct invocation. It answers
// with the event that it got, or as the event asks: with the body as its whole answer, with an
// error or a panic, or not in time.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

type event struct {
	RawPath         string `json:"rawPath"`
	Body            string `json:"body"`
	IsBase64Encoded bool   `json:"isBase64Encoded"`
	Fail            string `json:"fail"`
}

func handle(_ context.Context, raw json.RawMessage) (any, error) {
	var e event
	_ = json.Unmarshal(raw, &e)
	fmt.Println("path", e.RawPath)
	if e.Fail != "" {
		return nil, errors.New(e.Fail)
	}
	switch e.RawPath {
	case "/raw":
		body := []byte(e.Body)
		if e.IsBase64Encoded {
			body, _ = base64.StdEncoding.DecodeString(e.Body)
		}
		return json.RawMessage(body), nil
	case "/fail":
		return nil, errors.New("asked to")
	case "/panic":
		panic("asked to")
	case "/crash": // where no handler notices
		go func() { panic("in the background") }()
		time.Sleep(time.Minute)
	case "/sleep":
		time.Sleep(time.Minute)
	case "/env":
		return os.Environ(), nil
	}
	return raw, nil
}

func main() { lambda.Start(handle) }
