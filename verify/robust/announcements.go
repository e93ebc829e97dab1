package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// announcements are those that the sweep makes: repeated, under one id each.
type announcements struct {
	// wanted has to be announced, and allowed may be; of a circuit that opens, that it closes.
	wanted, allowed []string

	mu         sync.Mutex
	times      map[string]int // by what is said, in words
	ids        map[string]string
	violations []string
}

func newAnnouncements(wanted []string, allowed ...string) *announcements {
	return &announcements{wanted: wanted, allowed: allowed, times: map[string]int{},
		ids: map[string]string{}}
}

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
		said = fmt.Sprintf("%s: queue %s, consumer %s, before %d", e.DetailType, d.Queue,
			d.Consumer, d.Delivered+1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times[said]++
	if said == openAnnounced || said == closedAnnounced {
		return nil // each time that it opens has an id of its own
	}
	if known, ok := a.ids[said]; ok && known != d.ID {
		a.violations = append(a.violations,
			fmt.Sprintf("announced under the ids %q and %q: %s", known, d.ID, said))
	}
	a.ids[said] = d.ID
	if a.times[said] == 1 && !slices.Contains(a.wanted, said) && !slices.Contains(a.allowed, said) {
		a.violations = append(a.violations, "announced, and there is no reason: "+said)
	}
	return nil
}

// missing is what has to be announced and was not.
func (a *announcements) missing() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	wanted := a.wanted
	if a.times[openAnnounced] > 0 {
		wanted = append(slices.Clone(wanted), closedAnnounced)
	}
	for _, want := range wanted {
		if a.times[want] == 0 {
			all = append(all, want)
		}
	}
	return all
}

// report is what was announced, by its kind, how often, and what is wrong with it.
func (a *announcements) report() (lines, violations []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	said, times := map[string]int{}, map[string]int{}
	for what, n := range a.times {
		kind, _, _ := strings.Cut(what, ":")
		said[kind]++
		times[kind] += n
	}
	for _, kind := range slices.Sorted(maps.Keys(said)) {
		lines = append(lines, fmt.Sprintf("%s: %d, in all %d times", kind, said[kind], times[kind]))
	}
	return lines, slices.Clone(a.violations)
}
