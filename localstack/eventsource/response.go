package eventsource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// firstFailed reads a function's response to a batch and returns the index of the first record that
// failed, len(records) where none did. An error means that the response names no record of the
// batch, so that all records count as failed (index 0).
//
// An empty or null list of failures and an empty or null response are a complete success; an empty,
// null or wrongly named identifier is a complete failure; of several the lowest is the checkpoint,
// from which on all records are retried (services-ddb-batchfailurereporting.html). Names are
// compared exactly. Open on AWS's pages: an identifier that is not in the batch, and a response of
// another shape, are complete failures here; an empty JSON string or list is an empty response.
func firstFailed(response []byte, records []*record) (int, error) {
	failed, err := FailedItems(response)
	if err != nil {
		return 0, err
	}
	first := len(records)
	for _, id := range failed {
		// A batch is in the shard's order: the lowest index is the lowest sequence number, without
		// comparing numbers of up to 40 digits.
		at := slices.IndexFunc(records, func(r *record) bool { return r.sequence == id })
		if at < 0 {
			return 0, fmt.Errorf("itemIdentifier %q is not a sequence number of the batch", id)
		}
		first = min(first, at)
	}
	return first, nil
}

// FailedItems are the identifiers that a function's response names as failed.
func FailedItems(response []byte) ([]string, error) {
	switch string(bytes.TrimSpace(response)) {
	case "", `""`, "null", "[]":
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(response, &object); err != nil {
		return nil, fmt.Errorf("response is not an object with batchItemFailures: %w", err)
	}
	var failures []map[string]any
	if list := object["batchItemFailures"]; list != nil {
		if err := json.Unmarshal(list, &failures); err != nil {
			return nil, fmt.Errorf("batchItemFailures is not a list of objects: %w", err)
		}
	}
	failed := make([]string, len(failures))
	for i, failure := range failures {
		if failed[i], _ = failure["itemIdentifier"].(string); failed[i] == "" {
			return nil,
				fmt.Errorf("batchItemFailures[%d]: itemIdentifier must be a string that is not empty", i)
		}
	}
	return failed, nil
}
