package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/xorack"
)

type doctorCommand struct {
	readFlags
	queueTables
	Queue string `arg:"" optional:"" help:"Instead of the stack: read what this queue has stored, in the tables, and prove that it is whole: no hole, nothing twice, every message as it was put, consumers within bounds."`
	seqRange
}

// diagnosis is how bad it is, as monitoring plug-ins say it by their exit codes.
type diagnosis int

const (
	well     diagnosis = iota // all is well
	warning                   // somebody should look at it
	critical                  // it does not work
	unknown                   // nobody can tell
)

func (d diagnosis) String() string { return [...]string{"ok", "warning", "critical", "unknown"}[d] }

// unwell is the end of a verb that has said how bad it is.
type unwell struct{ diagnosis }

func (u unwell) Error() string { return "the stack's state is " + u.String() }

// worse is the worse of two: that something does not work counts more than that nobody can tell.
func (d diagnosis) worse(o diagnosis) diagnosis {
	order := [...]int{well: 0, warning: 1, unknown: 2, critical: 3}
	if order[o] > order[d] {
		return o
	}
	return d
}

// Bounds of what is well.
const (
	slowAnswer             = 5 * time.Second
	clocksApart, clocksFar = 5 * time.Second, time.Minute // signatures are refused from 5 minutes on
	sweepLate, sweepDead   = 30 * time.Minute, 2 * time.Hour
	longestLook            = 10 * time.Second
)

type doctor struct {
	*session
	list    *listing
	worst   diagnosis
	groups  []view.Group
	created time.Time // when the latest of the tables was
}

func (c *doctorCommand) Run(s *session) error {
	if c.Queue != "" {
		return c.verify(s)
	}
	if c.seqRange != (seqRange{}) {
		return usageError("--from and --to are for one queue: give its name")
	}
	if err := c.take(s); err != nil {
		return err
	}
	d := &doctor{session: s, list: s.listing("check", "state", "found")}
	d.api()
	d.clock()
	d.tables()
	d.functions()
	d.deployment()
	if err := d.list.end("", nil); err != nil || d.worst == well {
		return err
	}
	return unwell{d.worst}
}

func (d *doctor) say(check string, how diagnosis, found string, arguments ...any) {
	d.worst = d.worst.worse(how)
	text := fmt.Sprintf(found, arguments...)
	document := map[string]string{"check": check, "state": how.String(), "found": text}
	d.list.add(document, check, how, text)
}

// graveness is how grave it is that some are in a state: people need not act on what is paused, nor
// on what has retried for less than a minute.
func graveness(state view.State, ageSeconds float64) diagnosis {
	grave := []view.State{view.Blocked, view.InDoubt, view.Held, view.Gap, view.CatchingUp}
	if slices.Contains(grave, state) || state == view.Retrying && ageSeconds >= time.Minute.Seconds() {
		return warning
	}
	return well
}

func gravenessOf(g view.Group) diagnosis {
	how := well
	for _, in := range g.States {
		how = how.worse(graveness(in.State, g.Age))
	}
	if g.Cause == view.Missing {
		how = critical
	}
	return how
}

// function notes how many invocations of a function failed. Where consumers fail because it does,
// that is as grave as the worst of them.
func (d *doctor) function(name string, how diagnosis, found string, arguments ...any) {
	blamed, grave := false, well
	for _, g := range d.groups {
		if slices.ContainsFunc(g.Examples, func(e view.Example) bool {
			return strings.Contains(string(e.Error)+" ", ":function:"+name+" ")
		}) {
			blamed, grave = true, grave.worse(gravenessOf(g))
		}
	}
	if blamed {
		how = grave
	}
	d.say("function "+name, how, found, arguments...)
}

func (d *doctor) api() {
	began := time.Now()
	var a view.Summary
	_, err := d.get("/summary", nil, &a)
	took := time.Since(began)
	var refused *client.Problem
	switch {
	case errors.As(err, &refused) &&
		(refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden):
		d.say("api", unknown, "%s answers, and refuses these credentials: %v", d.URL, err)
		return
	case err != nil:
		d.say("api", critical, "%s: %v", d.URL, err)
		return
	}
	how := well
	if took > slowAnswer {
		how = warning
	}
	d.say("api", how, "%s answers within %d ms", d.URL, took.Milliseconds())
	said := false
	for _, state := range view.Summarized {
		if n := a.States[state]; n.Count > 0 {
			said = true
			d.say(string(state), graveness(state, n.Age), "%s, the oldest %s; %s",
				howMany(n.Count, n.More), d.session.clock.lasting(n.Age), lookUp(state))
		}
	}
	if !said {
		d.say("queues", well, "all queues and consumers are ok")
	}
	d.groups = a.Groups
	for _, g := range a.Groups {
		d.say("errors of "+g.Consumer, gravenessOf(g), "%s", d.grouped(g))
	}
	if a.Rates != nil {
		d.say("rates", well, "%.1f stored, %.1f delivered a second, in the last 5 minutes",
			a.Rates.Stored, a.Rates.Delivered)
	}
}

func lookUp(state view.State) string {
	switch state {
	case view.Gap:
		return "`streamsort queue --state gap` lists them"
	case "failed", "timed-out":
		return "`streamsort chain --state " + string(state) + "` lists them"
	}
	return "`streamsort consumer --state " + string(state) + "` lists them"
}

// clock compares this machine's clock with that of the API.
func (d *doctor) clock() {
	ctx, cancel := context.WithTimeout(d.ctx, longestLook)
	defer cancel()
	began := time.Now()
	var response *http.Response
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err == nil {
		response, err = http.DefaultClient.Do(request)
	}
	if err != nil {
		return // the check of the API says so
	}
	_ = response.Body.Close()
	theirs, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		d.say("clock", unknown, "the API does not say what time it is")
		return
	}
	// The header has whole seconds.
	apart := (time.Since(theirs) - time.Since(began)/2 - 500*time.Millisecond).Round(time.Second)
	how, where := well, "ahead of"
	if apart.Abs() >= clocksFar {
		how = critical
	} else if apart.Abs() >= clocksApart {
		how = warning
	}
	if apart < 0 {
		where = "behind"
	}
	d.say("clock", how, "this machine's is %s %s the API's", age(apart.Abs().Seconds()), where)
}

// tables looks whether the stack's tables are there, and as they must be, and whether the sweep
// runs.
func (d *doctor) tables() {
	dynamoDB, err := d.dynamo()
	if err != nil {
		d.say("tables", well, "not looked at: there is no region or no credential for them here")
		return
	}
	names := d.names()
	names.Trouble = d.tableName("Trouble")
	consumers := delivery.Names{Consumers: d.tableName("Consumers"), Audit: d.tableName("Audit")}
	chains := xorack.Names{Chains: d.tableName("Chains")}
	queues := append(names.Tables(), names.ArrivalsTable())
	for _, def := range slices.Concat(queues, consumers.Tables(), chains.Tables()) {
		d.table(dynamoDB, def)
	}
	store, err := cursor.NewDynamo(dynamoDB, names)
	if err != nil {
		d.say("sweep", unknown, "%v", err)
		return
	}
	progress, err := store.Requests(queuelog.Inside{}).SweepProgress(d.ctx, "gaps")
	passed := time.Since(progress.Finished)
	ago := age(passed.Seconds()) + " ago"
	switch {
	case err != nil:
		d.say("sweep", unknown, "%v", err)
	case progress.Finished.IsZero() && time.Since(d.created) < sweepLate:
		d.say("sweep", well, "no pass has ended yet: the stack is new")
	case progress.Finished.IsZero():
		d.say("sweep", warning, "no pass has ended yet")
	case passed > sweepDead:
		d.say("sweep", critical, "the last pass ended %s: it does not run", ago)
	case passed > sweepLate:
		d.say("sweep", warning, "the last pass ended %s", ago)
	default:
		d.say("sweep", well, "the last pass ended %s", ago)
	}
}

func (d *doctor) table(on *dynamodb.Client, def table.Definition) {
	ctx, cancel := context.WithTimeout(d.ctx, longestLook)
	defer cancel()
	check := "table " + def.Name
	answer, err := on.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &def.Name})
	switch {
	case errors.As(err, new(*types.ResourceNotFoundException)):
		d.say(check, critical, "is not there: a context of the stack knows its name")
		return
	case err != nil:
		d.say(check, unknown, "%v", dynamo.Translate(ctx, err))
		return
	}
	found := answer.Table
	if at := aws.ToTime(found.CreationDateTime); at.After(d.created) {
		d.created = at
	}
	stream := found.StreamSpecification != nil && aws.ToBool(found.StreamSpecification.StreamEnabled)
	switch {
	case found.TableStatus != types.TableStatusActive &&
		found.TableStatus != types.TableStatusUpdating:
		d.say(check, critical, "is %s", found.TableStatus)
	case def.Stream != table.NoStream && !stream:
		d.say(check, critical, "has no stream: nothing that it is for is called")
	default:
		d.layouts(ctx, on, def, check, found.TableStatus)
	}
}

// functions counts the errors of the functions of a stack on this machine: of all their
// invocations, and of the last ones. On AWS the metrics of Lambda have them.
func (d *doctor) functions() {
	var all []struct {
		LogicalID, Name string
		Stats           struct{ Requests, Errors, Failing, Running int }
	}
	if _, err := d.get("/_streamsort/functions", nil, &all); err != nil || len(all) == 0 {
		return // not a stack on this machine, or the check of the API says so
	}
	requests, fail := 0, false
	for _, f := range all {
		if strings.HasSuffix(f.LogicalID, webhookFunction) {
			here := aws.Config{Region: "us-east-1", Credentials: aws.AnonymousCredentials{},
				BaseEndpoint: &d.URL}
			d.look(secretsCheck, here, func(ctx context.Context, at aws.Config) error {
				return d.secrets(ctx, at, f.Name)
			})
		}
		n := f.Stats
		if requests += n.Requests; n.Errors == 0 {
			continue
		}
		fail = true
		how := well
		if n.Failing > 2 || n.Failing > 0 && n.Failing >= n.Requests-n.Running {
			how = critical
		}
		d.function(f.Name, how, "%d of %d invocations failed, the last %d in a row; `streamsort logs %s` has why",
			n.Errors, max(n.Requests, n.Errors), n.Failing, f.Name)
	}
	if !fail {
		d.say("functions", well, "none of the %s of %s failed",
			count(requests, "invocation", "invocations"), count(len(all), "function", "functions"))
	}
}

// layouts says a table's status, and whether this program is too old for what the first of its
// items have: 1 read unit, and 128 where they are long.
func (d *doctor) layouts(ctx context.Context, on *dynamodb.Client, def table.Definition,
	check string, status types.TableStatus) {
	some, err := on.Scan(ctx, &dynamodb.ScanInput{
		TableName: &def.Name, Limit: aws.Int32(10),
		ProjectionExpression: aws.String("#v"), ExpressionAttributeNames: map[string]string{"#v": "v"},
	})
	if err != nil {
		d.say(check, unknown, "is %s, and cannot be read: %v", status, dynamo.Translate(ctx, err))
		return
	}
	newest := int64(0)
	for _, item := range some.Items {
		if v, is := item["v"].(*types.AttributeValueMemberN); is {
			n, _ := strconv.ParseInt(v.Value, 10, 64)
			newest = max(newest, n)
		}
	}
	if newest > def.Layout {
		d.say(check, critical,
			"has items of layout %d, and this program knows %d: take a newer streamsort", newest, def.Layout)
	} else {
		d.say(check, well, "is %s, and its items' layout is known (%d at most)", status, def.Layout)
	}
}

// howMany is a number, of which there may be more.
func howMany(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d or more", n)
	}
	return strconv.Itoa(n)
}

// grouped is a group of errors in a line, with where to look.
func (s *session) grouped(g view.Group) string {
	var examples []string
	for _, e := range g.Examples {
		example := e.Queue.String()
		if e.Seq != nil {
			example += "@" + failedSeqs(e.Seq, e.To)
		}
		examples = append(examples, example)
	}
	such := ", such as " + strings.Join(examples, ", ")
	if held := g.Held(s.clock.since(g.Since)); held != "" {
		return g.Queues() + such + ". " + held
	}
	if g.Error != "" {
		such = ": " + g.Error.String() + such
	}
	return g.Queues() + such
}
