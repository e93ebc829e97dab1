package main

import (
	"context"
	_ "embed" // for doorsTemplate
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/localstack/ministack"
)

//go:embed deploy/doors.template.json
var doorsTemplate []byte

// door is a way in.
type door struct {
	name string
	// base is its address, for requests that are not signed; empty where it has none.
	base string
	put  func(context.Context, []json.RawMessage) ([]client.Outcome, error)
}

// openDoors finds the stack's two ways in, its HTTP API and the function itself, and makes two
// more.
func (t *deployment) openDoors(ctx context.Context) {
	more := check.Get(t.server.Deploy(ctx, "Doors", doorsTemplate,
		map[string]string{"Function": t.outputs["EnqueueFunctionName"]}))
	for _, d := range []struct{ name, base, service string }{
		{"HTTP API", t.outputs["ApiUrl"], "execute-api"},
		{"REST API", t.at(more["Rest"]+".execute-api") + "/v1", "execute-api"},
		{"function URL", t.functionURL(more["Url"]), "lambda"},
	} {
		c := t.client(d.base, d.service)
		t.doors = append(t.doors, door{d.name, d.base, c.Put})
	}
	t.doors = append(t.doors, door{"direct invoke", "", t.invokeEnqueue})
}

// client calls an address with the keys of the account's root.
func (t *deployment) client(address, service string) *client.Client {
	return client.NewWithKeys(address, t.server.Client(), service, awsenv.Settings{
		Region: ministack.Region,
		Credentials: credentials.NewStaticCredentialsProvider(ministack.AccessKeyID,
			ministack.SecretKey, ""),
	})
}

// at is the server's address by a name of its own.
func (t *deployment) at(name string) string {
	return strings.Replace(t.server.Endpoint, "//", "//"+name+".", 1)
}

// functionURL is the server's address of a function URL, which has AWS's domain in the outputs.
func (t *deployment) functionURL(own string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(own, "https://"), ".")
	return t.at(id + ".lambda-url." + ministack.Region)
}

// invokeEnqueue calls the function by Lambda's own API, with the documents that the HTTP API takes.
func (t *deployment) invokeEnqueue(ctx context.Context,
	messages []json.RawMessage) ([]client.Outcome, error) {
	payload := check.Get(json.Marshal(map[string]any{"messages": messages}))
	answer := t.invoke(ctx, "EnqueueFunctionName", string(payload))
	var document struct{ Results []client.Outcome }
	err := json.Unmarshal(answer, &document)
	if err == nil && len(document.Results) != len(messages) {
		err = fmt.Errorf("%d results for %d messages: %s", len(document.Results), len(messages), answer)
	}
	return document.Results, err
}

// invoke calls a function that an output names.
func (t *deployment) invoke(ctx context.Context, output, payload string) []byte {
	return t.lambda(ctx, http.MethodPost, "/"+t.outputs[output]+"/invocations", payload)
}

// ask makes a request that is not signed. It ends the scenario if the answer is another one than
// wanted.
func (t *deployment) ask(ctx context.Context, method, address string, header http.Header,
	body string, want int) {
	request := check.Get(http.NewRequestWithContext(ctx, method, address, strings.NewReader(body)))
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")
	response, err := t.server.Client().Do(request)
	check.Must(err)
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != want {
		err = fmt.Errorf("%s %s: %s, want %d: %s", method, address, response.Status, want, text)
	}
	check.Must(errors.Join(err, response.Body.Close()))
}

// strangers: each door refuses a request without a signature.
func (t *deployment) strangers(ctx context.Context) {
	for _, d := range t.doors {
		if d.base == "" {
			continue
		}
		t.ask(ctx, http.MethodPost, d.base+"/messages", nil, `{"queue":"q","seq":1,"body":1}`,
			http.StatusForbidden)
		t.Print("%s: 403", d.name)
	}
}

// sendFirst sends the first half, each batch by another door.
func (t *deployment) sendFirst(ctx context.Context) {
	through := map[string]int{}
	for i, batch := range slices.Collect(slices.Chunk(t.messages[:len(t.messages)/2], batchSize)) {
		d := t.doors[i%len(t.doors)]
		t.send(ctx, d, batch)
		through[d.name] += len(batch)
	}
	for _, d := range t.doors {
		t.Print("%-14s %d messages", d.name, through[d.name])
	}
}

// send sends a batch, and counts what became of its messages. Each must have been taken.
func (t *deployment) send(ctx context.Context, d door, batch []traffic.Message) {
	outcomes, err := d.put(ctx, traffic.Documents(batch))
	for _, o := range outcomes {
		t.outcomes[o.Outcome]++
		if o.Status >= 300 {
			err = fmt.Errorf("%d %s: %s", o.Status, o.Outcome, o.Detail)
		}
	}
	if err != nil {
		check.Must(fmt.Errorf("%s: %w", d.name, err))
	}
}

// update deploys the changed stack while the second half is sent, and the last of it only after the
// deployment.
func (t *deployment) update(ctx context.Context) {
	deployed := make(chan struct{})
	stop := t.During(ctx, func(ctx context.Context) error {
		defer close(deployed)
		return check.Try(func() { t.deployAssembly(ctx, "changed") })
	})
	batches := slices.Collect(slices.Chunk(t.messages[len(t.messages)/2:], 3))
	for i, batch := range batches {
		if i == len(batches)-1 {
			<-deployed
			check.Must(stop())
		}
		t.send(ctx, t.doors[0], batch)
		select {
		case <-deployed:
		case <-time.After(50 * time.Millisecond):
			t.inFlight += len(batch)
		}
	}
	t.Print("%d messages were sent meanwhile", t.inFlight)
}
