package deduplambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/deduplambda"
)

// Charge is what a payment results in.
type Charge struct {
	ID    string
	Cents int
}

// A whole handler, keyed by a field of its event. The same order with another amount is refused,
// and so is an event without an order.
func ExampleHandler() {
	ctx := context.Background()
	payments, err := dedup.New[string, Charge](dedup.NewMemory(), "payments", nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := deduplambda.Field[json.RawMessage]("detail.order")
	if err != nil {
		log.Fatal(err)
	}
	payload, err := deduplambda.Fields[json.RawMessage]("detail.cents")
	if err != nil {
		log.Fatal(err)
	}
	handler := deduplambda.Handler(payments, key,
		func(_ context.Context, event json.RawMessage) (Charge, error) {
			fmt.Println("charging for", string(event))
			return Charge{"ch_1", 4200}, nil
		}, &deduplambda.HandlerOptions[json.RawMessage]{Payload: payload})
	// In a Lambda function: lambda.Start(handler).
	for _, event := range []string{
		`{"id":"e1","detail":{"order":"17","cents":4200}}`,
		`{"id":"e2","detail":{"order":"17","cents":4200}}`,
		`{"id":"e3","detail":{"order":"17","cents":9900}}`,
		`{"id":"e4","detail":{"cents":4200}}`,
	} {
		charge, err := handler(ctx, json.RawMessage(event))
		fmt.Println(charge.ID, err)
	}
	// Output:
	// charging for {"id":"e1","detail":{"order":"17","cents":4200}}
	// ch_1 <nil>
	// ch_1 <nil>
	//  "17" of processor "payments": the id was used with another payload
	//  id is missing: it must have 1 to 1024 bytes
}

// A request that is sent again gets the first one's response.
func ExampleHTTPv2() {
	orders, err := dedup.New[string, deduplambda.Response](dedup.NewMemory(), "orders", nil)
	if err != nil {
		log.Fatal(err)
	}
	made := 0
	handler := deduplambda.HTTPv2(orders,
		func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			made++
			return events.APIGatewayV2HTTPResponse{StatusCode: 201,
				Body: fmt.Sprintf(`{"order":%d}`, made)}, nil
		}, nil)
	// In a Lambda function: lambda.Start(handler).
	for _, sent := range []struct{ key, body string }{{"8e03978e", "tea"}, {"8e03978e", "tea"},
		{"8e03978e", "coffee"}, {"", "tea"}} {
		request := events.APIGatewayV2HTTPRequest{RawPath: "/orders", Body: sent.body,
			Headers: map[string]string{"idempotency-key": sent.key}}
		request.RequestContext.HTTP.Method = "POST"
		response, err := handler(context.Background(), request)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(response.StatusCode, response.Headers["Idempotency-Replayed"], response.Body)
	}
	// Output:
	// 201  {"order":1}
	// 201 true {"order":1}
	// 422  {"type":"https://streamsort.dev/problems/payload-mismatch","title":"Unprocessable Entity","status":422,"detail":"the key was used with another request"}
	// 400  {"type":"https://streamsort.dev/problems/key-missing","title":"Bad Request","status":400,"detail":"the header Idempotency-Key is missing"}
}

// A batch of a queue: what is done is skipped when the batch comes again.
func ExampleOnSQS() {
	mails, err := dedup.New[string, struct{}](dedup.NewMemory(), "mails", nil)
	if err != nil {
		log.Fatal(err)
	}
	down := true
	handler := deduplambda.OnSQS(mails, deduplambda.MessageID,
		func(_ context.Context, m events.SQSMessage) (struct{}, error) {
			if m.MessageId == "2" && down {
				return struct{}{}, errors.New("mailbox full")
			}
			fmt.Println("sent", m.MessageId)
			return struct{}{}, nil
		})
	batch := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1"}, {MessageId: "2"},
		{MessageId: "3"}}}
	for range 2 {
		response, err := handler(context.Background(), batch)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("failed:", len(response.BatchItemFailures))
		down = false
	}
	// Output:
	// sent 1
	// sent 3
	// failed: 1
	// sent 2
	// failed: 0
}
