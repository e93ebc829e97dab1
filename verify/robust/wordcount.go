package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/xorack"
)

const (
	// treePatience is how long the whole may take, the start aside.
	treePatience = 2 * time.Minute
	// treeRetry is what a failed word waits for its second try, and half of what it waits for its
	// third.
	treeRetry = 500 * time.Millisecond
	// databases is the queue where the databases are sent.
	databases = "databases/library"
	// failing is the word that fails twice.
	failing = "wolf"
)

// library are the databases, in their order.
var library = []database{
	{{"sea.txt", "The sea is wide, the ship is small"}, {"shore.txt", "The wolf waits"}},
	{{"night.txt", "No ship, no sea"}, {"day.txt", "The sea"}},
}

func tagOf(i int) string { return fmt.Sprintf("%s/%d", databases, i+1) }

// wordcount sends two databases to examples/wordcount, the second one first, and prints each step
// of their trees as it comes, the tries of the word that fails twice, how they ended, and their
// counts.
func wordcount(ctx context.Context, w *world) {
	// The acker's function notifies the example's of each end.
	w.Start(ctx, trial.Setup{
		Templates: []string{"localstack/streamsort.template.json",
			"examples/wordcount/wordcount.template.json"},
		Config: localstack.Config{
			Parameters: map[string]string{"FailingWord": failing}, AsyncRetry: treeRetry,
			Env: map[string]string{
				"SweepFunction.STREAMSORT_EVENT_BUS":       "",
				"AckFunction.STREAMSORT_EVENT_BUS":         "",
				"AckFunction.STREAMSORT_ANNOUNCE_FUNCTION": template.FunctionARN("EndFunction"),
			},
		},
	})
	ctx, cancel := context.WithTimeout(ctx, treePatience)
	defer cancel()
	var tags []string
	var messages []traffic.Message
	for i, d := range library {
		tags = append(tags, tagOf(i))
		body := check.Get(json.Marshal(map[string]any{"files": d}))
		messages = append(messages, traffic.Plain(databases, int64(i+1), string(body), ""))
	}
	watched := newTreeWatcher(w.Out, tags)
	w.Later(w.Stack.Subscribe(watched.see))
	w.Say("%q fails twice, and Lambda repeats it after %s and %s, on AWS after 1 and 2 minutes", failing, treeRetry, 2*treeRetry)
	slices.Reverse(messages)
	check.Must(w.SendAll(ctx, 1, 1, messages))
	select {
	case <-watched.all:
	case <-ctx.Done():
		check.Must(fmt.Errorf("not all trees have ended: %w", ctx.Err()))
	}
	w.reportTrees(ctx, watched)
}

// reportTrees prints what became of the databases, and notes what is wrong.
func (w *world) reportTrees(ctx context.Context, watched *treeWatcher) {
	db := check.Get(dynamo.New(&dynamo.Options{Endpoint: w.Direct}))
	outputs := w.Stack.Outputs()
	store := xorack.NewDynamo(db, xorack.Names{Chains: outputs["streamsort"]["ChainsTableName"]})
	var created []step
	for i, d := range library {
		// The end is announced before it is sealed.
		sealed := await(ctx, store, tagOf(i))
		counts := counted(ctx, db, outputs["wordcount"]["CountsTableName"], tagOf(i))
		tag := tagOf(i)
		steps, failed, ends := watched.seen()
		created = steps
		e := ended{tag: tag, counts: counts, sealed: sealed, steps: of(tag, steps),
			failed: of(tag, failed), ends: of(tag, ends)}
		w.Row(tag, "%d edges; counts %v", d.edges(), counts)
		w.note(e.check(d, failing))
	}
	w.note(inOrder(created, len(library)))
	w.NothingGivenUp()
}

// note notes an error as what must not be.
func (w *world) note(err error) {
	if err != nil {
		w.Not("%v", err)
	}
}

// inOrder reports whether the databases' chains were created in the sorter's order.
func inOrder(steps []step, databases int) error {
	var created []string
	for _, s := range steps {
		if s.Kind == "create" && !slices.Contains(created, s.Tag) {
			created = append(created, s.Tag)
		}
	}
	for i, tag := range created {
		if tag != tagOf(i) {
			return fmt.Errorf("%s came as number %d", tag, i+1)
		}
	}
	if len(created) != databases {
		return fmt.Errorf("%d chains were created, want %d", len(created), databases)
	}
	return nil
}

// await waits until nothing is left to do for a chain's end.
func await(ctx context.Context, store *xorack.Store, tag string) (sealed bool) {
	for ctx.Err() == nil && !sealed {
		sealed = check.Get(store.Chain(ctx, tag)).Sealed()
		_ = pause.For(ctx, 50*time.Millisecond)
	}
	return sealed
}

// counted is how often each word of a database is counted.
func counted(ctx context.Context, db *dynamodb.Client, table, tag string) map[string]int {
	pages := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: new(true), KeyConditionExpression: new("tag = :tag"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":tag": &types.AttributeValueMemberS{Value: tag},
		},
	})
	counts := map[string]int{}
	for pages.HasMorePages() {
		var page []struct {
			Word  string   `dynamodbav:"word"`
			Edges []string `dynamodbav:"edges"`
		}
		check.Must(attributevalue.UnmarshalListOfMaps(check.Get(pages.NextPage(ctx)).Items, &page))
		for _, it := range page {
			if it.Word == "" || len(it.Edges) == 0 {
				check.Must(fmt.Errorf("%s has a count without a word or edges", tag))
			}
			counts[it.Word] = len(it.Edges)
		}
	}
	return counts
}
