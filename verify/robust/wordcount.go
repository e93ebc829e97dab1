package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/localstack"
	"github.com/streamsort/streamsort/localstack/template"
	"github.com/streamsort/streamsort/pkg/xorack"
)

const (
	// treePatience is how long no tree may end.
	treePatience = 2 * time.Minute
	// treeRetry is what a failed word waits for its second try, and half of what it waits for its
	// third.
	treeRetry = 500 * time.Millisecond
	// databases is the queue where the databases are sent.
	databases = "databases/library"
	// failing is the word that fails twice.
	failing = "wolf"
)

// database is a database's files.
type database []file

type file struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// library are the databases, in their order.
var library = []database{
	{{"sea.txt", "The sea is wide, the ship is small"}, {"shore.txt", "The wolf waits"}},
	{{"night.txt", "No ship, no sea"}, {"day.txt", "The sea"}},
}

// tags are those of their chains.
var tags = []string{databases + "/1", databases + "/2"}

// counts are how often each word must be counted, and how many nodes the database's tree has.
func (d database) counts() (counts map[string]int, edges int) {
	counts, edges = map[string]int{}, 1+len(d)
	for _, f := range d {
		for _, word := range strings.FieldsFunc(strings.ToLower(f.Text), func(r rune) bool {
			return !unicode.IsLetter(r)
		}) {
			counts[word]++
			edges++
		}
	}
	return counts, edges
}

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
	var messages []traffic.Message
	for i, d := range library {
		body := check.Get(json.Marshal(map[string]any{"files": d}))
		messages = append(messages, traffic.Plain(databases, int64(i+1), string(body), ""))
	}
	log := &treeLog{out: w.Out}
	w.Later(w.Stack.Subscribe(log.see))
	w.Say("%q fails twice, and Lambda repeats it after %s and %s, on AWS after 1 and 2 minutes", failing, treeRetry, 2*treeRetry)
	slices.Reverse(messages)
	check.Must(w.SendAll(ctx, 1, 1, messages))
	db := check.Get(dynamo.New(&dynamo.Options{Endpoint: w.Direct}))
	outputs := w.Stack.Outputs()
	store := xorack.NewDynamo(db, xorack.Names{Chains: outputs["streamsort"]["ChainsTableName"]})
	ended := progress.Wait{Total: len(library), What: "trees have ended, and nothing is left to do",
		Patience: treePatience, Out: io.Discard}
	check.Must(ended.Until(ctx, func(ctx context.Context) (n int, left string, err error) {
		for _, tag := range tags {
			// The end is announced before it is sealed.
			if check.Get(store.Chain(ctx, tag)).Sealed() && len(log.of(tag).ends) > 0 {
				n++
			}
		}
		return n, "", nil
	}))
	for i, d := range library {
		counts := counted(ctx, db, outputs["wordcount"]["CountsTableName"], tags[i])
		_, edges := d.counts()
		w.Row(tags[i], "%d edges; counts %v", edges, counts)
		if err := log.of(tags[i]).check(d, counts); err != nil {
			w.Not("%s: %v", tags[i], err)
		}
	}
	if created := log.created(); !slices.Equal(created, tags) {
		w.Not("the chains were created in the order %q, want %q", created, tags)
	}
	w.NothingGivenUp()
}

// step is what a function of the example logs: a step, a failed try, or an end.
type step struct {
	Message, Kind, Name, Edge, Tag, Outcome, Reason, N, ID string
	Attempt, Edges, Ended                                  int
}

// treeLog prints the functions' log as it comes, and keeps what it says.
type treeLog struct {
	out io.Writer

	mu    sync.Mutex
	lines []step
}

// see takes a line of a function's log.
func (t *treeLog) see(logged localstack.Line) {
	var l step
	if json.Unmarshal([]byte(logged.Text), &l) != nil {
		return // not of the example
	}
	var said string
	switch l.Message {
	case "step":
		said = fmt.Sprintf("%-18s %2d started, %2d ended   n = %s", l.Kind+" "+l.Name, l.Edges,
			l.Ended, l.N)
	case "failed":
		said = fmt.Sprintf("%-18s FAILS, attempt %d", "word "+l.Name, l.Attempt)
	case "end":
		said = fmt.Sprintf("%s, announced as %s", strings.TrimSpace(l.Outcome+" "+l.Reason), l.ID)
	default:
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, l)
	fmt.Fprintf(t.out, "    %-20s %s\n", l.Tag, said)
}

// created are the tags of the chains, in the order in which they were created.
func (t *treeLog) created() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines {
		if l.Kind == "create" && !slices.Contains(all, l.Tag) {
			all = append(all, l.Tag)
		}
	}
	return all
}

// tree is what was logged of a database.
type tree struct{ steps, failed, ends []step }

// of is what was logged of one chain.
func (t *treeLog) of(tag string) (seen tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	into := map[string]*[]step{"step": &seen.steps, "failed": &seen.failed, "end": &seen.ends}
	for _, l := range t.lines {
		if l.Tag == tag {
			*into[l.Message] = append(*into[l.Message], l)
		}
	}
	return seen
}

// check returns all that is not as it must be.
func (t tree) check(d database, counted map[string]int) error {
	var wrong []error
	add := func(format string, arguments ...any) {
		wrong = append(wrong, fmt.Errorf(format, arguments...))
	}
	counts, edges := d.counts()
	for _, l := range t.ends {
		if l.Outcome != "DONE" || l.Edges != edges || l.Ended != edges {
			add("ended %s with %d edges and %d ended, want DONE with %d", l.Outcome, l.Edges, l.Ended, edges)
		}
		if l.ID == "" || l.ID != t.ends[0].ID {
			add("the end was announced under the ids %q and %q", t.ends[0].ID, l.ID)
		}
	}
	// A repeat of the step that ended the tree is answered the same.
	last := map[string]bool{}
	for _, s := range t.steps {
		if s.Outcome == "ended" {
			last[s.Edge] = true
			if s.N != "0" {
				add("%s ended the tree with n = %s", s.Name, s.N)
			}
		}
	}
	if len(t.ends) == 0 || len(last) != 1 {
		add("%d steps ended the tree, and %d ends were announced", len(last), len(t.ends))
	}
	if !maps.Equal(counted, counts) {
		add("counted %v, want %v", counted, counts)
	}
	if want := 2 * min(1, counts[failing]); len(t.failed) != want {
		add("%d tries failed, want %d", len(t.failed), want)
	}
	return errors.Join(wrong...)
}

// counted is how often each word of a database is counted.
func counted(ctx context.Context, db *dynamodb.Client, table, tag string) map[string]int {
	out := check.Get(db.Query(ctx, &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: new(true), KeyConditionExpression: new("tag = :tag"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":tag": &types.AttributeValueMemberS{Value: tag},
		},
	}))
	var rows []struct {
		Word  string   `dynamodbav:"word"`
		Edges []string `dynamodbav:"edges"`
	}
	check.Must(attributevalue.UnmarshalListOfMaps(out.Items, &rows))
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.Word] = len(r.Edges)
	}
	return counts
}
