package main

import (
	"context"
	"crypto/subtle"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dynamo"
)

// xorAck is the algorithm of xor-ack-dynamodb after its description: a stamp
// reads the state, XORs it, and writes it back if it is still what was read;
// where it is not (StaleLocalData), the caller tries again.
type xorAck struct {
	client *dynamodb.Client
	table  string
	// wait is how long to wait before another try.
	wait func(attempt int) time.Duration
}

func atOnce(int) time.Duration { return 0 }

// fullJitter waits for up to 5 ms, 10 ms, 20 ms, … and 1 s at most.
func fullJitter(attempt int) time.Duration {
	most := min(5*time.Millisecond<<min(attempt, 10), time.Second)
	return rand.N(most)
}

func (x *xorAck) create(ctx context.Context, tag string, stamp []byte) error {
	_, err := x.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &x.table, Item: dynamo.Item{"tag": dynamo.Text(tag), "stamp": dynamo.Blob(stamp)},
		ConditionExpression: aws.String("attribute_not_exists(tag)"),
	})
	return err
}

// state reads the stamp as it stands.
func (x *xorAck) state(ctx context.Context, tag string) ([]byte, error) {
	out, err := x.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &x.table, Key: dynamo.Item{"tag": dynamo.Text(tag)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	d := ddb.Decoder{Item: dynamo.FromSDK(out.Item)}
	return d.BytesOr("stamp"), d.Err
}

// stamp reports whether it saw the chain acked.
func (x *xorAck) stamp(ctx context.Context, tag string, stamp []byte) (acked bool, err error) {
	for attempts := 1; ; attempts++ {
		read, err := x.state(ctx, tag)
		if err != nil {
			return false, err
		}
		state := make([]byte, len(read))
		subtle.XORBytes(state, read, stamp)
		_, err = x.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &x.table, Key: dynamo.Item{"tag": dynamo.Text(tag)},
			UpdateExpression: aws.String("SET stamp = :new"), ConditionExpression: aws.String("stamp = :old"),
			ExpressionAttributeValues: dynamo.Item{":new": dynamo.Blob(state), ":old": dynamo.Blob(read)},
		})
		if _, stale := dynamo.ConditionFailed(err); !stale {
			return subtle.ConstantTimeCompare(state, make([]byte, len(state))) == 1, err
		}
		time.Sleep(x.wait(attempts))
	}
}
