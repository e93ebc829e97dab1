package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/internal/dev/trial"
	"github.com/streamsort/streamsort/localstack"
)

// silentOn is the order of each account whose first charge the bank books and does not answer: as
// where the line breaks, or the caller dies, between the effect and its being remembered.
const silentOn = 3

// payments sends MESSAGES orders of each of QUEUES accounts, out of order, to the consumer of
// examples/payments, which charges a bank, while one in four processes is killed. The bank charges
// each id once, and answers a repeated one with the first receipt, as one does that is given an
// idempotency key.
func payments(ctx context.Context, w *world) {
	b := &bank{watched: w.Watch("bank", traffic.Once, traffic.All), receipts: map[string]int{}}
	w.Start(ctx, trial.Setup{
		Templates: []string{"localstack/streamsort.template.json",
			"examples/payments/payments.template.json"},
		Config: localstack.Config{
			Parameters: map[string]string{"BankURL": w.Serve(b)},
			Chaos:      localstack.Chaos{Seed: 1, Kill: 0.25},
		},
	})
	accounts, orders := w.number("QUEUES"), w.number("MESSAGES")
	random := rand.New(rand.NewPCG(2026, 5))
	for account := range accounts {
		var messages []traffic.Message
		for _, i := range random.Perm(orders) {
			messages = append(messages, charge(fmt.Sprintf("account-%d", account), int64(i+1),
				fmt.Sprintf(`{"cents":%d}`, random.IntN(10_000))))
		}
		check.Must(w.Put(ctx, messages))
	}
	charged := w.wait(accounts*orders, "orders are charged")
	charged.Sweep = w.Stack.Sweep
	err := charged.Until(ctx, func(context.Context) (int, string, error) {
		return b.watched.State().Messages, "", nil
	})
	again := b.watched.State().Again
	w.Row("asked again", "%d times, each as a later attempt", again)
	w.Row("killed", "%d processes", w.Stack.Killed())
	if again < accounts {
		w.Not("the bank was silent %d times, and was asked again %d times", accounts, again)
	}
	check.Must(err)
}

// charge is the message of an order. The bank sees its id, and not its bytes.
func charge(queue string, seq int64, body string) traffic.Message {
	m := traffic.Plain(queue, seq, body, "")
	m.Sums = traffic.Sums{}
	return m
}

// bank takes charges over HTTP.
type bank struct {
	watched *traffic.Watcher

	mu       sync.Mutex
	receipts map[string]int
}

// ServeHTTP implements http.Handler: POST /charges?id=ACCOUNT/SEQ.
func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	account, number, _ := strings.Cut(id, "/")
	seq, err := strconv.ParseInt(number, 10, 64)
	attempt, _ := strconv.ParseInt(r.Header.Get("Attempt"), 10, 64)
	if err != nil || attempt < 1 {
		http.Error(w, "a charge needs an id and an attempt", http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	place := traffic.At(account, seq)
	again := b.watched.Take(traffic.Output{Place: place, Token: attempt, At: time.Now()})
	if !again {
		b.receipts[id] = len(b.receipts) + 1
	}
	receipt := b.receipts[id]
	b.mu.Unlock()
	if seq == silentOn && !again {
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(map[string]int{"number": receipt}) // a killed function hangs up
}
