package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// silentOn is the order of each account whose first charge the bank books and
// does not answer: as where the line breaks, or the caller dies, between the
// effect and its being remembered.
const silentOn = 3

// bank takes charges over HTTP. It charges each id once, and answers a repeated
// one with the first receipt: as a bank does that is given an idempotency key.
type bank struct {
	mu       sync.Mutex
	receipts map[string]int
	// last is the seq of each account's latest charge.
	last map[string]int64
	// again counts the requests for an id that is charged; wrong has what
	// must not be.
	again int
	wrong []string
}

func newBank() *bank { return &bank{receipts: map[string]int{}, last: map[string]int64{}} }

// ServeHTTP implements http.Handler: POST /charges?id=ACCOUNT/SEQ.
func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	account, number, _ := strings.Cut(id, "/")
	seq, err := strconv.ParseInt(number, 10, 64)
	attempt, _ := strconv.Atoi(r.Header.Get("Attempt"))
	if err != nil || attempt < 1 {
		http.Error(w, "a charge needs an id and an attempt", http.StatusBadRequest)
		return
	}
	receipt, known := b.charge(id, account, seq, attempt)
	if seq == silentOn && !known {
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(map[string]int{"number": receipt}) // a killed function hangs up
}

// charge books a charge, and reports whether it was booked before.
func (b *bank) charge(id, account string, seq int64, attempt int) (receipt int, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	receipt, known = b.receipts[id]
	if known {
		b.again++
		if attempt < 2 {
			b.wrong = append(b.wrong, fmt.Sprintf("%s came again, and not as a later attempt", id))
		}
	} else {
		if seq != b.last[account]+1 {
			b.wrong = append(b.wrong, fmt.Sprintf("%s came after %d", id, b.last[account]))
		}
		b.last[account] = seq
		receipt = len(b.receipts) + 1
		b.receipts[id] = receipt
	}
	return receipt, known
}

// state is what the bank saw: charges, repeats of them, and what was wrong.
func (b *bank) state() (charges, again int, wrong []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.receipts), b.again, append([]string(nil), b.wrong...)
}
