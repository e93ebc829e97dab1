package eventsource

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// firstFailed reads a function's response to a batch and returns the index of the first record that
// failed, len(records) where none did. An error means that the response names no record of the
// batch, so that all records count as failed (index 0).
//
// "Configuring partial batch response with DynamoDB and Lambda"
// (services-ddb-batchfailurereporting.html): an empty or null list of failures and an empty or null
// response are a complete success; an empty, null or wrongly named identifier is a complete
// failure; of several identifiers the lowest sequence number is the checkpoint, and all records
// from it on are retried. Names are compared exactly, so an object without the field
// "batchItemFailures" is an empty response.
//
// Open on AWS's pages: an identifier that is not in the batch, and a response of another shape.
// Both are complete failures here; an empty JSON string or list at the top is an empty response.
func firstFailed(response []byte, records []*record) (int, error) {
	failures, err := decodeFailures(response)
	if err != nil {
		return 0, err
	}
	first := len(records)
	for i, raw := range failures {
		id, err := decodeIdentifier(raw)
		if err != nil {
			return 0, fmt.Errorf("batchItemFailures[%d]: %w", i, err)
		}
		// A batch is in the shard's order: the lowest index is the lowest sequence number, without
		// comparing numbers of up to 40 digits.
		at := slices.IndexFunc(records, func(r *record) bool { return r.sequence == id })
		if at < 0 {
			return 0, fmt.Errorf("batchItemFailures[%d]: itemIdentifier %q is not a sequence number of the batch", i, id)
		}
		first = min(first, at)
	}
	return first, nil
}

// decodeFailures returns the elements of batchItemFailures, nil for a response that reports none.
func decodeFailures(response []byte) ([]json.RawMessage, error) {
	response = bytes.TrimSpace(response)
	switch string(response) {
	case "", `""`, "null":
		return nil, nil
	}
	if response[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(response, &list); err != nil || len(list) > 0 {
			return nil, errors.New("response is a list, not an object with batchItemFailures")
		}
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(response, &object); err != nil {
		return nil, fmt.Errorf("response is not an object with batchItemFailures: %w", err)
	}
	list, ok := object["batchItemFailures"]
	if !ok {
		return nil, nil
	}
	var failures []json.RawMessage
	if err := json.Unmarshal(list, &failures); err != nil {
		return nil, fmt.Errorf("batchItemFailures is not a list: %w", err)
	}
	return failures, nil
}

// decodeIdentifier returns the sequence number that one failure names.
func decodeIdentifier(raw json.RawMessage) (string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return "", fmt.Errorf("not an object: %w", err)
	}
	field, ok := object["itemIdentifier"]
	if !ok {
		return "", errors.New("itemIdentifier is missing")
	}
	var id *string
	if err := json.Unmarshal(field, &id); err != nil {
		return "", errors.New("itemIdentifier is not a string")
	}
	if id == nil || *id == "" {
		return "", errors.New("itemIdentifier is null or empty")
	}
	return *id, nil
}
