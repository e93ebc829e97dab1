package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/localstack"
)

// killed is how often a request's process is killed.
const killed = 0.25

// patience is how long nothing may be charged. Each claim that a dead process
// leaves takes half a minute to run out.
const patience = 3 * time.Minute

// run sends orders to accounts and waits until the bank has charged all.
func run(ctx context.Context, accounts, orders int, out io.Writer) error {
	began := time.Now()
	bank := newBank()
	server := httptest.NewServer(bank)
	defer server.Close()
	stack, err := start(ctx, server.URL)
	if err != nil {
		return err
	}
	defer stack.Close()
	fmt.Fprintf(out, "==> sending %d orders of %d accounts, out of order; 1 of %.0f processes is killed while it pays\n", accounts*orders, accounts, 1/killed)
	if err := send(ctx, stack.URL(), accounts, orders); err != nil {
		return err
	}
	charged := progress.Wait{Total: accounts * orders, What: "orders are charged", Patience: patience, Sweep: stack.Sweep, Out: out}
	if err := charged.Until(ctx, func(context.Context) (int, string, error) {
		charges, _, _ := bank.state()
		return charges, "", nil
	}); err != nil {
		return err
	}
	charges, again, wrong := bank.state()
	for _, row := range []struct {
		name  string
		value any
	}{
		{"orders", accounts * orders},
		{"charged", charges},
		{"asked again", fmt.Sprintf("%d, each as a later attempt", again)},
		{"order violations", len(wrong)},
		{"processes killed", stack.Killed()},
		{"seconds", fmt.Sprintf("%.1f", time.Since(began).Seconds())},
	} {
		fmt.Fprintf(out, "    %-17s %v\n", row.name, row.value)
	}
	if again < accounts {
		wrong = append(wrong, fmt.Sprintf("the bank was silent %d times, and was asked again %d times", accounts, again))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	fmt.Fprintln(out, "==> every order is charged once, in order; what the bank did not answer was asked again, as a later attempt")
	return nil
}

// start starts the stack, the example on it, and the bank's address in it.
func start(ctx context.Context, bank string) (*localstack.Stack, error) {
	root, err := localdb.Root()
	if err != nil {
		return nil, err
	}
	return localstack.Run(ctx, localstack.Config{
		Templates: []string{
			filepath.Join(root, "localstack", "streamsort.template.json"),
			filepath.Join(root, "examples", "payments", "payments.template.json"),
		},
		Parameters: map[string]string{"BankURL": bank},
		Env:        map[string]string{"SweepFunction.STREAMSORT_EVENT_BUS": ""},
		Chaos:      localstack.Chaos{Seed: 1, Kill: killed},
		Logger:     slog.New(slog.DiscardHandler),
	})
}

// send sends each account's orders, shuffled.
func send(ctx context.Context, base string, accounts, orders int) error {
	api, err := client.New(base)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(2026, 5))
	for account := range accounts {
		var documents []json.RawMessage
		for _, i := range random.Perm(orders) {
			documents = append(documents, fmt.Appendf(nil, `{"queue":"account-%d","seq":%d,"body":{"cents":%d}}`, account, i+1, random.IntN(10_000)))
		}
		if _, err := api.Put(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}
