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

	mu  sync.Mutex
	ids map[string][]string // of each time, by what is said, in words
}

func newAnnouncements(wanted []string, allowed ...string) *announcements {
	return &announcements{wanted: wanted, allowed: allowed, ids: map[string][]string{}}
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
	a.ids[said] = append(a.ids[said], d.ID)
	return nil
}

// missing is what has to be announced and was not.
func (a *announcements) missing() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	wanted := a.wanted
	if a.ids[openAnnounced] != nil {
		wanted = append(slices.Clone(wanted), closedAnnounced)
	}
	for _, want := range wanted {
		if a.ids[want] == nil {
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
	for _, what := range slices.Sorted(maps.Keys(a.ids)) {
		kind, _, _ := strings.Cut(what, ":")
		said[kind]++
		times[kind] += len(a.ids[what])
		ids := slices.Compact(slices.Sorted(slices.Values(a.ids[what])))
		switch known := slices.Contains(a.wanted, what) || slices.Contains(a.allowed, what); {
		case what == openAnnounced || what == closedAnnounced:
			// each time that it opens has an id of its own
		case !known:
			violations = append(violations, "announced, and there is no reason: "+what)
		case len(ids) > 1:
			violations = append(violations, fmt.Sprintf("announced under the ids %q: %s", ids, what))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(said)) {
		lines = append(lines, fmt.Sprintf("%s: %d, in all %d times", kind, said[kind], times[kind]))
	}
	return lines, violations
}
