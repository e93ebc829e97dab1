package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// announcements are those that the sweep makes: repeated, under one id each.
type announcements struct {
	mu         sync.Mutex
	times      map[string]int // by what is said, in words
	ids        map[string]string
	violations []string
}

func newAnnouncements() *announcements {
	return &announcements{times: map[string]int{}, ids: map[string]string{}}
}

// What has to be announced, and what may be: a receiver that is killed fails for all queues that
// it was at, which opens the circuit, and an open one has to close.
var (
	blockedAnnounced = fmt.Sprintf("consumer.blocked: queue %s, consumer %s, before %d", poisonQueue, receiver, bad)
	failingAnnounced = fmt.Sprintf("consumer.failing: queue %s, consumer %s, before %d", poisonQueue, receiver, bad)
	gapAnnounced     = fmt.Sprintf("gap.opened: queue %s, missing from %d on", gapQueue, bad)
	openAnnounced    = fmt.Sprintf("consumer.circuit-open: queue , consumer %s, before 1", receiver)
	closedAnnounced  = fmt.Sprintf("consumer.circuit-closed: queue , consumer %s, before 1", receiver)
)

// event takes an announcement.
func (a *announcements) event(m types.Message) error {
	var e event
	if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &e); err != nil {
		return err
	}
	var d struct {
		ID, Queue, Consumer     string
		Delivered, MissingAfter int64
	}
	if err := json.Unmarshal(e.Detail, &d); err != nil {
		return err
	}
	said := fmt.Sprintf("%s: queue %s, missing from %d on", e.DetailType, d.Queue, d.MissingAfter+1)
	if d.Consumer != "" {
		said = fmt.Sprintf("%s: queue %s, consumer %s, before %d", e.DetailType, d.Queue, d.Consumer, d.Delivered+1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times[said]++
	if said == openAnnounced || said == closedAnnounced {
		return nil // each time that it opens has an id of its own
	}
	if known, ok := a.ids[said]; ok && known != d.ID {
		a.violations = append(a.violations, fmt.Sprintf("announced under the ids %q and %q: %s", known, d.ID, said))
	}
	a.ids[said] = d.ID
	if a.times[said] == 1 && said != blockedAnnounced && said != failingAnnounced && said != gapAnnounced {
		a.violations = append(a.violations, "announced, and there is no reason: "+said)
	}
	return nil
}

// complete reports whether all that has to be announced was.
func (a *announcements) complete() bool { return len(a.missing()) == 0 }

// missing is what has to be announced and was not.
func (a *announcements) missing() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	wanted := []string{blockedAnnounced, gapAnnounced}
	if a.times[openAnnounced] > 0 {
		wanted = append(wanted, closedAnnounced)
	}
	for _, want := range wanted {
		if a.times[want] == 0 {
			all = append(all, want)
		}
	}
	return all
}

// report is what was announced, how often, and what is wrong with it.
func (a *announcements) report() (lines, violations []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, said := range slices.Sorted(maps.Keys(a.times)) {
		lines = append(lines, fmt.Sprintf("%s (%d times)", said, a.times[said]))
	}
	return lines, slices.Clone(a.violations)
}
