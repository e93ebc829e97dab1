package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// payments charges the bank.
type payments struct {
	charges *dedup.Deduplicator[string, receipt]
	bank    string
}

// receipt is what the bank answers, and what is remembered of each charge.
type receipt struct {
	Number int `json:"number"`
}

// handle is called with each queue's messages in order. dedup.Each runs charge once for each
// message, and passes over those that have a receipt: a batch that comes again goes on where the
// first one died.
func (p *payments) handle(ctx context.Context, batch delivery.Batch) error {
	done, err := dedup.Each(ctx, p.charges, batch.Messages, chargeID, p.charge)
	slog.InfoContext(ctx, "batch", "queue", batch.Queue, "from", batch.From, "to", batch.To, "token",
		batch.Token.N, "done", done)
	return err
}

// chargeID is the message's place in its queue: it stays the same however often the message is sent
// or delivered.
func chargeID(m cursor.Message) (string, error) {
	return m.Queue + "/" + strconv.FormatInt(m.Seq, 10), nil
}

// charge charges the bank for one message. A process may die between the bank's taking it and our
// remembering it; then it runs again, as a later attempt. So the bank is given the id, by which it
// recognises a repeat: no table can do that for it.
func (p *payments) charge(ctx context.Context, m cursor.Message) (receipt, error) {
	id, err := chargeID(m)
	if err != nil {
		return receipt{}, err
	}
	target := p.bank + "/charges?id=" + url.QueryEscape(id)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(m.Body))
	if err != nil {
		return receipt{}, err
	}
	if run, ok := dedup.RunOf(ctx); ok {
		request.Header.Set("Attempt", strconv.FormatInt(run.Attempt, 10))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return receipt{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return receipt{}, fmt.Errorf("the bank answered %s", response.Status)
	}
	var got receipt
	return got, json.NewDecoder(response.Body).Decode(&got)
}
