package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// patience is how long the whole may take, the start aside.
const patience = 2 * time.Minute

// retry is what a failed word waits for its second try, and half of what it waits
// for its third.
const retry = 500 * time.Millisecond

// queue is where the databases are sent.
const queue = "databases/library"

func tagOf(i int) string { return fmt.Sprintf("%s/%d", queue, i+1) }

// run sends databases, the last one first, and waits until all words of all of
// them are counted.
func run(ctx context.Context, databases []database, failing string, out io.Writer) error {
	stack, err := start(ctx, failing)
	if err != nil {
		return err
	}
	defer stack.Close()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tags := make([]string, len(databases))
	for i := range databases {
		tags[i] = tagOf(i)
	}
	watcher := newWatcher(out, tags)
	defer stack.Subscribe(watcher.see)()
	fmt.Fprintf(out, "==> sending %d databases, the last one first; %q fails twice, and Lambda repeats it after %s and %s, on AWS after 1 and 2 minutes\n",
		len(databases), failing, retry, 2*retry)
	if err := send(ctx, stack.URL(), databases); err != nil {
		return err
	}
	select {
	case <-watcher.all:
	case <-ctx.Done():
		return fmt.Errorf("not all trees have ended: %w", ctx.Err())
	}
	return report(ctx, stack, watcher, databases, failing, out)
}

// start starts the stack and the example on it. The acker's function notifies the
// example's of each end.
func start(ctx context.Context, failing string) (*localstack.Stack, error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	return localstack.Run(ctx, localstack.Config{
		Templates: []string{
			filepath.Join(root, "localstack", "streamsort.template.json"),
			filepath.Join(root, "examples", "wordcount", "wordcount.template.json"),
		},
		Parameters: map[string]string{"FailingWord": failing},
		Env: map[string]string{
			"SweepFunction.STREAMSORT_EVENT_BUS":       "",
			"AckFunction.STREAMSORT_EVENT_BUS":         "",
			"AckFunction.STREAMSORT_ANNOUNCE_FUNCTION": template.FunctionARN("EndFunction"),
		},
		AsyncRetry: retry,
		Logger:     slog.New(slog.DiscardHandler),
	})
}

// send sends the databases, the last one first: the sorter delivers them in order.
func send(ctx context.Context, base string, databases []database) error {
	api, err := client.New(base)
	if err != nil {
		return err
	}
	for i, d := range slices.Backward(databases) {
		document, err := json.Marshal(map[string]any{"queue": queue, "seq": i + 1, "body": map[string]any{"files": d}})
		if err != nil {
			return err
		}
		outcomes, err := api.Put(ctx, []json.RawMessage{document})
		if err != nil {
			return err
		}
		if len(outcomes) != 1 || outcomes[0].Status >= 300 {
			return fmt.Errorf("database %d was not taken: %+v", i+1, outcomes)
		}
	}
	return nil
}

// report prints what became of the databases. The error says what is wrong.
func report(ctx context.Context, stack *localstack.Stack, w *watcher, databases []database, failing string, out io.Writer) error {
	db, err := dynamo.New(&dynamo.Options{Endpoint: stack.DynamoDB()})
	if err != nil {
		return err
	}
	outputs := stack.Outputs()
	store, err := xorack.NewDynamo(db, xorack.Names{Chains: outputs["streamsort"]["ChainsTableName"]})
	if err != nil {
		return err
	}
	var wrong []error
	var all []ended
	for i := range databases {
		// The end is announced before it is sealed.
		sealed, err := await(ctx, store, tagOf(i))
		if err != nil {
			return err
		}
		counts, err := counted(ctx, db, outputs["wordcount"]["CountsTableName"], tagOf(i))
		if err != nil {
			return err
		}
		all = append(all, ended{tag: tagOf(i), counts: counts, sealed: sealed})
	}
	steps, failed, ends := w.seen()
	for i, e := range all {
		e.steps, e.failed, e.ends = of(e.tag, steps), of(e.tag, failed), of(e.tag, ends)
		fmt.Fprintln(out)
		e.print(out, databases[i])
		wrong = append(wrong, e.check(databases[i], failing))
	}
	wrong = append(wrong, inOrder(steps, len(databases)))
	for _, f := range stack.Failures() {
		wrong = append(wrong, fmt.Errorf("given up: %s %s", f.Queue, f.Message))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Fprintln(out, "\n==> every tree is DONE, announced once its last word was counted, and every word is counted once")
	return nil
}

// inOrder reports whether the databases' chains were created in the sorter's order.
func inOrder(steps []line, databases int) error {
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
func await(ctx context.Context, store *xorack.Store, tag string) (sealed bool, err error) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		chain, err := store.Chain(ctx, tag)
		if err != nil || chain.Sealed() {
			return chain.Sealed(), err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false, nil
		}
	}
}

// counted is how often each word of a database is counted.
func counted(ctx context.Context, db *dynamodb.Client, table, tag string) (map[string]int, error) {
	pages := dynamodb.NewQueryPaginator(db, &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: new(true), KeyConditionExpression: new("tag = :tag"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":tag": &types.AttributeValueMemberS{Value: tag}},
	})
	counts := map[string]int{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			word, _ := item["word"].(*types.AttributeValueMemberS)
			edges, _ := item["edges"].(*types.AttributeValueMemberSS)
			if word == nil || edges == nil {
				return nil, fmt.Errorf("%s has a count without a word or edges", tag)
			}
			counts[word.Value] = len(edges.Value)
		}
	}
	return counts, nil
}
