package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/pkg/xorack"
)

// failures is how often the failing word fails.
const failures = 2

// counts is a table with an item for each word of a database, under (tag, word). It has the edges
// of the word's occurrences as a set, so that an occurrence that comes twice counts once; their
// number is the word's count.
type counts struct {
	client *dynamodb.Client
	table  string
	// failing is a word that cannot be counted at first, to show what happens then; none where it
	// is empty.
	failing string
}

// count counts an occurrence of a word: one write. It returns which attempt it is where the word is
// the failing one, and 1 otherwise.
//
// Lost response, another did it first: the edge is in the set. We die right after: the edge has not
// ended, and the repeat adds it again.
func (c *counts) count(ctx context.Context, edge xorack.Edge,
	word string) (attempt int, err error) {
	if word == c.failing {
		if attempt, err = c.fail(ctx, edge.Tag(), word); err != nil {
			return attempt, err
		}
	}
	_, err = c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:        &c.table,
		Key:              key(edge.Tag(), word),
		UpdateExpression: new("ADD edges :edge"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":edge": &types.AttributeValueMemberSS{Value: []string{edge.String()}},
		},
	})
	return max(attempt, 1), err
}

// fail stands for a service that does not answer at first. It counts its calls in the word's item:
// processes come and go.
func (c *counts) fail(ctx context.Context, tag, word string) (attempt int, err error) {
	out, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:        &c.table,
		Key:              key(tag, word),
		UpdateExpression: new("ADD attempts :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":one": &types.AttributeValueMemberN{Value: "1"},
		},
		ReturnValues: types.ReturnValueUpdatedNew,
	})
	if err != nil {
		return 0, err
	}
	err = attributevalue.Unmarshal(out.Attributes["attempts"], &attempt)
	if err == nil && attempt <= failures {
		err = fmt.Errorf("%s cannot be counted now", word)
	}
	return attempt, err
}

func key(tag, word string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"tag":  &types.AttributeValueMemberS{Value: tag},
		"word": &types.AttributeValueMemberS{Value: word},
	}
}
