//go:build whole

package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/child"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/localpg"
	"github.com/streamsort/streamsort/internal/dev/mortal"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/pullhttp"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
	"github.com/streamsort/streamsort/pkg/table"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := children[mode](); err != nil {
			fmt.Fprintln(os.Stderr, mode, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	localpg.Stop()
	os.Exit(code)
}

// The environment of a child process, which runs the tests' own binary.
const (
	childMode     = "TEST_CHILD" // "function" or "consumer"
	childEndpoint = "TEST_ENDPOINT"
	childSuffix   = "TEST_SUFFIX"
	childListen   = "TEST_LISTEN"
	childAPI      = "TEST_API"
	childDriver   = "TEST_DRIVER"
	childSource   = "TEST_SOURCE"
	childDieAt    = "TEST_DIE_AT"
	childBegan    = "TEST_BEGAN"
)

var children = map[string]func() error{"function": runFunction, "consumer": runConsumer}

// faster is how much faster than true time the processes' clock runs: a lease
// of 30 seconds is over after 1.5.
const faster = 20

// fastClock is a clock that all processes share.
func fastClock(began time.Time) func() time.Time {
	return func() time.Time { return began.Add(time.Since(began) * faster) }
}

func beganAt() time.Time {
	nanos, _ := strconv.ParseInt(os.Getenv(childBegan), 10, 64)
	return time.Unix(0, nanos)
}

// tablesOf makes the parts on the tables of a suffix.
func tablesOf(endpoint, suffix string, clock func() time.Time) (*delivery.Deliverer, *cursor.Sorter, error) {
	client, err := dynamo.New(&dynamo.Options{Endpoint: endpoint})
	if err != nil {
		return nil, nil, err
	}
	store, err := cursor.NewDynamo(client, cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Trouble: "trouble" + suffix, Arrivals: "arrivals" + suffix})
	if err != nil {
		return nil, nil, err
	}
	sorter, err := cursor.New(store, &cursor.Options{Now: clock})
	if err != nil {
		return nil, nil, err
	}
	d, err := delivery.New(delivery.NewDynamo(client, delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix}), sorter, &delivery.Options{Now: clock})
	return d, sorter, err
}

// runFunction is the function behind HTTP, until it is killed.
func runFunction() error {
	clock := fastClock(beganAt())
	d, sorter, err := tablesOf(os.Getenv(childEndpoint), os.Getenv(childSuffix), clock)
	if err != nil {
		return err
	}
	handle := runtime.Around(io.Discard, headroom, (&service{deliverer: d, sorter: sorter, now: clock}).api().Handle)
	return http.ListenAndServe(os.Getenv(childListen), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		event := httpapitest.V2(r.Method, r.URL.Path, r.URL.RawQuery, string(body), false)
		raw, err := handle(r.Context(), json.RawMessage(event))
		var answer struct {
			StatusCode int    `json:"statusCode"`
			Body       string `json:"body"`
		}
		if err != nil || json.Unmarshal(raw, &answer) != nil {
			answer.StatusCode = http.StatusInternalServerError
		}
		w.WriteHeader(answer.StatusCode)
		fmt.Fprint(w, answer.Body)
	}))
}

// transfer is a message: an amount of money from one account to another.
type transfer struct {
	From   int `json:"from"`
	To     int `json:"to"`
	Amount int `json:"amount"`
}

const accounts = 8

// bookTransfers books a batch in the ledger.
func bookTransfers(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
	for _, m := range b.Messages {
		var t transfer
		if err := json.Unmarshal(m.Body, &t); err != nil {
			return err
		}
		for _, statement := range []string{
			fmt.Sprintf("UPDATE accounts SET balance = balance - %d WHERE id = %d", t.Amount, t.From),
			fmt.Sprintf("UPDATE accounts SET balance = balance + %d WHERE id = %d", t.Amount, t.To),
			// The line after the last one: a line that comes out of order shows.
			fmt.Sprintf("INSERT INTO ledger (line, seq) SELECT coalesce(max(line), 0) + 1, %d FROM ledger", m.Seq),
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
	}
	return nil
}

// runConsumer consumes over HTTP, until it is killed.
func runConsumer() error {
	ctx := context.Background()
	claims, err := pullhttp.New(os.Getenv(childAPI))
	if err != nil {
		return err
	}
	db, err := sql.Open(os.Getenv(childDriver), os.Getenv(childSource))
	if err != nil {
		return err
	}
	dialect := sqlmarker.SQLite
	if os.Getenv(childDriver) == "pgx" {
		dialect = sqlmarker.PostgreSQL
	}
	if err := sqlmarker.Install(ctx, db, dialect); err != nil {
		return err
	}
	markers, err := sqlmarker.Open(ctx, db, dialect, "killed")
	if err != nil {
		return err
	}
	last := mortal.Step(os.Getenv(childDieAt))
	dying := mortal.Claims{Claims: claims, Last: func(taken mortal.Step) bool { return taken == last }}
	return markers.Consume(ctx, dying, "q", "ledger", bookTransfers, &pull.ConsumeOptions{
		MaxMessages: 10, Lease: 30 * time.Second, Beat: 300 * time.Millisecond,
		Poll: 30 * time.Millisecond, KeepMarkers: 50, Now: fastClock(beganAt()),
	})
}

// killing is a test whose processes die.
type killing struct {
	*testing.T
	deliverer *delivery.Deliverer
	sorter    *cursor.Sorter
	starter   *child.Starter
	db        *sql.DB
	env       []string
	api       *httptest.Server
	dropped   int
	mu        sync.Mutex
	balances  [accounts]int
}

// start starts a child process; it is in a group of its own.
func (k *killing) start(mode string, dieAt mortal.Step) *exec.Cmd {
	k.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), append(k.env, childMode+"="+mode, childDieAt+"="+string(dieAt))...)
	command.Stderr = os.Stderr
	check.OK(k, k.starter.Start(command))
	return command
}

func kill(command *exec.Cmd) {
	child.Signal(command, syscall.SIGKILL)
	_ = command.Wait() // it was killed
}

// newKilling makes the tables, the ledger and a way to the function that drops
// answers.
func newKilling(t *testing.T, driver, source string) *killing {
	t.Helper()
	began := time.Now()
	k := &killing{T: t, starter: child.NewStarter()}
	t.Cleanup(k.starter.Close)
	endpoint, suffix := localdb.ForTest(t, localdb.Choose()), localdb.Suffix()
	client := check.Get(dynamo.New(&dynamo.Options{Endpoint: endpoint}))
	names := delivery.Names{Consumers: "consumers" + suffix, Audit: "operations" + suffix}
	queues := cursor.Names{Messages: "messages" + suffix, Cursors: "cursors" + suffix, Trouble: "trouble" + suffix, Arrivals: "arrivals" + suffix}
	check.OK(t, table.Create(t.Context(), client, append(append(names.Tables(), queues.Tables()...), queues.ArrivalsTable())...))
	k.deliverer, k.sorter = check.Get2(tablesOf(endpoint, suffix, fastClock(began)))
	listener := check.Get(net.Listen("tcp", "127.0.0.1:0"))
	address := listener.Addr().String()
	_ = listener.Close()
	k.api = k.proxy("http://" + address)
	k.db = check.Get(sql.Open(driver, source))
	t.Cleanup(func() { _ = k.db.Close() })
	k.exec("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
	k.exec("CREATE TABLE ledger (line INTEGER NOT NULL, seq INTEGER NOT NULL)")
	for id := range accounts {
		k.exec(fmt.Sprintf("INSERT INTO accounts (id, balance) VALUES (%d, 0)", id))
	}
	k.env = []string{
		childEndpoint + "=" + endpoint, childSuffix + "=" + suffix, childListen + "=" + address, childAPI + "=" + k.api.URL,
		childDriver + "=" + driver, childSource + "=" + source, childBegan + "=" + strconv.FormatInt(began.UnixNano(), 10),
	}
	return k
}

func (k *killing) exec(statement string) {
	k.Helper()
	check.Get(k.db.ExecContext(k.Context(), statement))
}

// proxy drops one answer of 50, after the request took effect.
func (k *killing) proxy(to string) *httptest.Server {
	target := check.Get(url.Parse(to))
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	forward.ModifyResponse = func(*http.Response) error {
		if rand.IntN(50) > 0 {
			return nil
		}
		k.mu.Lock()
		k.dropped++
		k.mu.Unlock()
		return errors.New("dropped")
	}
	api := httptest.NewServer(forward)
	k.Cleanup(api.Close)
	return api
}

// put puts transfers, numbered from 1 on.
func (k *killing) put(count int) {
	k.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for first := 1; first <= count; first += 100 {
		var messages []cursor.Message
		for seq := first; seq < first+100 && seq <= count; seq++ {
			t := transfer{random.IntN(accounts), random.IntN(accounts), 1 + random.IntN(1000)}
			k.balances[t.From] -= t.Amount
			k.balances[t.To] += t.Amount
			body := check.Get(json.Marshal(t))
			messages = append(messages, cursor.Message{Queue: "q", Seq: int64(seq), Body: body})
		}
		check.OK(k, k.sorter.Put(k.Context(), messages...)[0].Err)
	}
	check.Get(k.deliverer.Create(k.Context(), "q", "ledger", delivery.First))
}

// consumer is the consumer as it stands.
func (k *killing) consumer() delivery.Consumer {
	k.Helper()
	list, err := k.deliverer.Status(k.Context(), "q")
	check.Need(k, err == nil && len(list) == 1, "%+v, %v", list, err)
	return list[0].Consumer
}

// audit checks the ledger: each transfer once, in order, no money lost.
func (k *killing) audit(count int) {
	k.Helper()
	rows := check.Get(k.db.QueryContext(k.Context(), "SELECT line, seq FROM ledger ORDER BY line"))
	defer rows.Close()
	lines := 0
	for rows.Next() {
		var line, seq int
		check.OK(k, rows.Scan(&line, &seq))
		if lines++; line != lines || seq != lines {
			k.Fatalf("line %d of the ledger has the transfer %d", line, seq)
		}
	}
	if err := rows.Err(); err != nil || lines != count {
		k.Errorf("%d lines in the ledger, %v; want %d", lines, err, count)
	}
	sum := 0
	for id, want := range k.balances {
		var balance int
		check.OK(k, k.db.QueryRowContext(k.Context(), fmt.Sprintf("SELECT balance FROM accounts WHERE id = %d", id)).Scan(&balance))
		if sum += balance; balance != want {
			k.Errorf("account %d has %d, want %d", id, balance, want)
		}
	}
	check.That(k, sum == 0, "%d of money came or went", sum)
	if c := k.consumer(); c.State != delivery.Idle || c.Delivered != int64(count) || c.Quarantine[0] != (delivery.Quarantined{}) {
		k.Errorf("in the end the consumer is %+v", c)
	}
}

// ledgers are the databases: a driver and a source each.
func ledgers() map[string]func(*testing.T) (driver, source string) {
	return map[string]func(*testing.T) (string, string){
		"sqlite": func(t *testing.T) (string, string) {
			return "sqlite", "file:" + filepath.Join(t.TempDir(), "ledger.db") + "?_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)"
		},
		"postgresql": func(t *testing.T) (string, string) { return "pgx", localpg.ForTest(t) },
	}
}

// await waits until the consumer has everything, and does something between two looks.
func (k *killing) await(count int, meanwhile func()) {
	k.Helper()
	await.Until(k, "all messages", func() (bool, any) {
		c := k.consumer()
		if c.Delivered >= int64(count) && c.State == delivery.Idle {
			return true, nil
		}
		meanwhile()
		return false, c
	})
}

// TestKilledAtEachStep: a consumer dies at each step of the protocol, and the
// next one goes on.
func TestKilledAtEachStep(t *testing.T) {
	for name, ledger := range ledgers() {
		t.Run(name, func(t *testing.T) {
			driver, source := ledger(t)
			k := newKilling(t, driver, source)
			const count = 600
			k.put(count)
			function := k.start("function", "")
			defer kill(function)
			for _, step := range mortal.Steps() {
				died := k.start("consumer", step)
				if err := died.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("at %q: %v, want that it was killed", step, err)
				}
				t.Logf("died at %q: %+v", step, k.consumer().State)
			}
			last := k.start("consumer", "")
			defer kill(last)
			k.await(count, func() {})
			k.audit(count)
		})
	}
}

// TestKilledAtRandom: two copies of a consumer and the function are killed at
// random, and answers are dropped. TEST_TRANSFERS is how many messages there
// are.
func TestKilledAtRandom(t *testing.T) {
	count := 800
	if text := os.Getenv("TEST_TRANSFERS"); text != "" {
		count = check.Get(strconv.Atoi(text))
	}
	for name, ledger := range ledgers() {
		t.Run(name, func(t *testing.T) {
			driver, source := ledger(t)
			k := newKilling(t, driver, source)
			k.put(count)
			kinds := []string{"function", "consumer", "consumer"}
			running := make([]*exec.Cmd, len(kinds))
			for i, kind := range kinds {
				running[i] = k.start(kind, "")
			}
			defer func() {
				for _, process := range running {
					kill(process)
				}
			}()
			// Once a claim at most: processes that start slowly would be killed before they have done anything.
			kills, claims := 0, int64(-1)
			k.await(count, func() {
				c := k.consumer()
				if c.Token.N == claims || rand.IntN(4) > 0 {
					return
				}
				claims = c.Token.N
				i := rand.IntN(len(kinds))
				kill(running[i])
				running[i] = k.start(kinds[i], "")
				kills++
			})
			k.audit(count)
			t.Logf("%d transfers, %d kills, %d answers dropped, %d claims", count, kills, k.dropped, k.consumer().Token.N)
		})
	}
}
