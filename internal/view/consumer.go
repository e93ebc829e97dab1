package view

import (
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// Head is what is known of a queue, or of a consumer and the message at its head: a row of a list,
// and the beginning of a consumer's document.
type Head struct {
	// Consumer is missing in the row of a queue.
	Queue    printable.Name `json:"queue,omitempty"`
	Consumer string         `json:"consumer,omitempty"`
	State    State          `json:"state,omitempty"`
	Cause    string         `json:"cause,omitempty"`
	Also     []State        `json:"also,omitempty"`
	Since    time.Time      `json:"since,omitzero"`
	Age      float64        `json:"ageSeconds,omitempty"`
	// Seq is the message at the head, or the first one that is missing; nil where none waits.
	Seq *jsonseq.Seq `json:"seq,omitempty"`
	// To is the last message of the batch that failed with the one at the head; nil where that
	// failed alone.
	To        *jsonseq.Seq `json:"to,omitempty"`
	Lag       *jsonseq.Seq `json:"lag,omitempty"`
	Delivered *jsonseq.Seq `json:"delivered,omitempty"`
	Position  *jsonseq.Seq `json:"position,omitempty"`
	// Attempt is how often the message at the head was tried, NextTry when it is tried again.
	Attempt int       `json:"attempt,omitempty"`
	NextTry time.Time `json:"nextTry,omitzero"`
	// Error is why it failed last, Group the group of such errors.
	Error printable.Name `json:"error,omitempty"`
	Group printable.Name `json:"group,omitempty"`
}

// Is reports whether it is in a state, alone or among others.
func (h Head) Is(state State) bool {
	return h.State == state || slices.Contains(h.Also, state)
}

// Consumer is a consumer of a queue.
type Consumer struct {
	Head
	// Attempts are the last ones on the message at the head, the oldest first.
	Attempts []Attempt `json:"attempts,omitempty"`
	Rewinds  int64     `json:"rewinds"`
	Starting bool      `json:"starting,omitempty"`
	Claim    *Claim    `json:"claim,omitempty"`
	// Answer is what the sink answered when it took the last batch, where it says so.
	Answer  *Answer `json:"answer,omitempty"`
	Blocked *Block  `json:"blocked,omitempty"`
	Paused  *Pause  `json:"paused,omitempty"`
	// Quarantine are the claims that stayed in doubt too long, Refused the replies that could never
	// be stored.
	Quarantine []Quarantine `json:"quarantine,omitempty"`
	Refused    *Refused     `json:"refused,omitempty"`
	// Waiting is the message at the head, where one consumer was asked for.
	Waiting *Wait `json:"waiting,omitempty"`
	// Sink is what is known of the sink of all consumers of the name; nil where nothing is.
	Sink *Sink `json:"sink,omitempty"`
}

// FailedSeq is the message at the head, where it blocks or failed: what can be skipped and
// redriven; else nil.
func (c Consumer) FailedSeq() *jsonseq.Seq {
	switch {
	case c.Blocked != nil:
		return &c.Blocked.Seq
	case c.Attempt > 0 || c.Error != "":
		return c.Seq
	}
	return nil
}

// AttemptsOn are the attempts that had a message in their batch.
func (c Consumer) AttemptsOn(seq int64) []Attempt {
	return slices.DeleteFunc(slices.Clone(c.Attempts), func(a Attempt) bool {
		return seq < int64(a.From) || int64(a.To) < seq
	})
}

// Attempt is an attempt on the message at a consumer's head that did not end with its commit.
type Attempt struct {
	Attempt int `json:"attempt"`
	// At is when it ended, Ms how long the handler ran, where that was measured.
	At   time.Time   `json:"at"`
	Ms   int64       `json:"ms,omitempty"`
	From jsonseq.Seq `json:"from"`
	To   jsonseq.Seq `json:"to"`
	// Claim is the claim's token, By what was called, and RequestID the call's id there, where the
	// sink says so.
	Claim     string         `json:"claim"`
	By        printable.Name `json:"by,omitempty"`
	RequestID string         `json:"requestId,omitempty"`
	// Answer is the beginning of what was answered. Died: nothing was until the lease was over.
	Answer printable.Name `json:"answer,omitempty"`
	Died   bool           `json:"died,omitempty"`
}

// Claim is the claim that is in flight, of the seqs From to To.
type Claim struct {
	// State is the protocol's: STARTED, PREPARED, IN_DOUBT or SENDING.
	State      string      `json:"state"`
	Token      string      `json:"token"`
	From       jsonseq.Seq `json:"from"`
	To         jsonseq.Seq `json:"to"`
	LeaseUntil time.Time   `json:"leaseUntil"`
	// Deferred: the batch was handed over, and a worker, or the chain of its work, commits it.
	Deferred bool `json:"deferred,omitempty"`
	// Chain is the tag under which a tracked batch's chain is.
	Chain printable.Name `json:"chain,omitempty"`
}

// Answer is what a sink answered when it took a batch.
type Answer struct {
	Code int            `json:"code"`
	Ms   int64          `json:"ms"`
	At   time.Time      `json:"at"`
	Text printable.Name `json:"text,omitempty"`
}

// Block is the message that blocks, and since when.
type Block struct {
	Seq   jsonseq.Seq `json:"seq"`
	Since time.Time   `json:"since"`
	Age   float64     `json:"ageSeconds"`
}

// Pause is why and since when an operator paused a consumer.
type Pause struct {
	Reason printable.Name `json:"reason"`
	Since  time.Time      `json:"since"`
}

// Quarantine is a claim in quarantine, of the seqs From to To: IN_DOUBT, or ABORTED and waiting for
// an operator.
type Quarantine struct {
	Token string      `json:"token"`
	From  jsonseq.Seq `json:"from"`
	To    jsonseq.Seq `json:"to"`
	State string      `json:"state"`
	Since time.Time   `json:"since"`
}

// Refused are the replies that could never be stored.
type Refused struct {
	Count  int64          `json:"count"`
	Claim  string         `json:"claim"`
	Reason printable.Name `json:"reason"`
	Since  time.Time      `json:"since"`
}

// Wait is the next message to deliver: since when it waits, or that it is not stored any more.
type Wait struct {
	Seq     jsonseq.Seq `json:"seq"`
	Since   time.Time   `json:"since,omitzero"`
	Age     float64     `json:"ageSeconds,omitempty"`
	Missing bool        `json:"missing,omitempty"`
}

// Sink is what is known of a consumer's sink, from all queues of its name.
type Sink struct {
	// OpenSince is since when its circuit breaker is open, ProbeAt when it is asked next, Probes
	// how often it was.
	OpenSince time.Time `json:"openSince,omitzero"`
	ProbeAt   time.Time `json:"probeAt,omitzero"`
	Probes    int64     `json:"probes,omitempty"`
	// Waking: queues that the circuit breaker held are being woken up.
	Waking       bool      `json:"waking,omitempty"`
	FailingSince time.Time `json:"failingSince,omitzero"`
	TakenAt      time.Time `json:"takenAt,omitzero"`
}

// Consumers is a page of a queue's consumers.
type Consumers struct {
	Status    int            `json:"status"`
	Queue     printable.Name `json:"queue"`
	Consumers []Consumer     `json:"consumers"`
	// Next is what to ask for as after; empty after the last page.
	Next string `json:"next,omitempty"`
}
