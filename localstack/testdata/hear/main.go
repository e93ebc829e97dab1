// Hear is a Lambda function that prints what it is invoked with.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(func(_ context.Context, raw json.RawMessage) error {
		_, err := fmt.Println(string(raw))
		return err
	})
}
