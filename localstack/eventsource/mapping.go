package eventsource

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Where a mapping starts to read. AT_TIMESTAMP exists for Kinesis only.
const (
	// TrimHorizon starts at the oldest record that the stream still has.
	TrimHorizon = "TRIM_HORIZON"
	// Latest starts at records that are written after the runner has started.
	Latest = "LATEST"
)

// ReportBatchItemFailures is the response type that allows a function to name the record at which
// it failed.
const ReportBatchItemFailures = "ReportBatchItemFailures"

// NoRetryLimit as MaximumRetryAttempts lets a batch be retried until its records expire.
const NoRetryLimit = -1

// Lambda's bounds, from "CreateEventSourceMapping" in the AWS Lambda API Reference
// (API_CreateEventSourceMapping.html), "Lambda parameters for Amazon DynamoDB event source
// mappings" (services-ddb-params.html) and "Filter" (API_Filter.html).
const (
	defaultBatchSize         = 100
	maxBatchSize             = 10_000
	maxBatchingWindow        = 300 * time.Second
	maxParallelizationFactor = 10
	maxRetryAttempts         = 10_000
	minRecordAge             = 60 * time.Second
	maxRecordAge             = 604_800 * time.Second
	maxFilters               = 10
	maxFilterLength          = 4096
)

// Mapping is what an AWS::Lambda::EventSourceMapping resource says about a DynamoDB stream, with
// the same defaults. [New] checks it.
type Mapping struct {
	// ID names the mapping in logs and errors. Required.
	ID string
	// FunctionName is the function's name or ARN. Required.
	FunctionName string
	// StreamARN is the stream as the DynamoDB server names it. Required.
	StreamARN string
	// StartingPosition is TrimHorizon or Latest. Required.
	StartingPosition string
	// BatchSize is the most records in one event: 1 to 10,000. 0 means 100.
	BatchSize int
	// BatchingWindow is how long records are gathered into a batch that is not full: whole seconds,
	// 0 to 300. The default, 0, sends what is there.
	BatchingWindow time.Duration
	// ParallelizationFactor is how many batches of a shard are in work at the same time: 1 to 10. 0
	// means 1. Order per item is kept.
	ParallelizationFactor int
	// MaximumRetryAttempts is how often a failed batch is tried again: 0 to 10,000, or
	// NoRetryLimit. nil means NoRetryLimit.
	MaximumRetryAttempts *int
	// MaximumRecordAge is the age beyond which a record is no longer sent: whole seconds, 60 to
	// 604,800. 0 or -1 s means no limit.
	MaximumRecordAge time.Duration
	// BisectBatchOnFunctionError splits a failed batch in two.
	BisectBatchOnFunctionError bool
	// FunctionResponseTypes may hold ReportBatchItemFailures. Without it the function's response is
	// not looked at.
	FunctionResponseTypes []string
	// Filters are the patterns of FilterCriteria, JSON documents of at most 4,096 characters, at
	// most 10. A record has to match one of them. Without any, every record passes.
	Filters []string
	// OnFailureDestination is the ARN of the queue or topic that is notified of discarded records.
	// Empty means that nobody is.
	OnFailureDestination string
	// Disabled is a mapping with Enabled: false. Its Run returns at once.
	Disabled bool
}

// rules is a checked mapping with its defaults filled in.
type rules struct {
	batchSize  int
	window     time.Duration
	lanes      int
	maxRetries int
	maxAge     time.Duration // 0 means no limit
	bisect     bool
	report     bool
	filters    []*pattern
}

// compile checks the mapping and fills in the defaults. It reports everything that is wrong, not
// only the first.
func (m Mapping) compile() (rules, error) {
	r := rules{
		batchSize:  m.BatchSize,
		window:     m.BatchingWindow,
		lanes:      m.ParallelizationFactor,
		maxRetries: NoRetryLimit,
		maxAge:     m.MaximumRecordAge,
		bisect:     m.BisectBatchOnFunctionError,
	}
	if r.batchSize == 0 {
		r.batchSize = defaultBatchSize
	}
	if r.lanes == 0 {
		r.lanes = 1
	}
	if m.MaximumRetryAttempts != nil {
		r.maxRetries = *m.MaximumRetryAttempts
	}
	if r.maxAge == -time.Second {
		r.maxAge = 0
	}

	errs := append(m.checkNames(), r.check()...)
	for _, t := range m.FunctionResponseTypes {
		if t != ReportBatchItemFailures {
			errs = append(errs, fmt.Errorf("FunctionResponseTypes: %q is not known, only %s is", t, ReportBatchItemFailures))
		}
		r.report = true
	}
	if len(m.Filters) > maxFilters {
		errs = append(errs, fmt.Errorf("%d patterns in Filters, at most %d are allowed", len(m.Filters), maxFilters))
	}
	for i, text := range m.Filters {
		p, err := compilePattern(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("invalid Filters[%d]: %w", i, err))
			continue
		}
		r.filters = append(r.filters, p)
	}
	if err := errors.Join(errs...); err != nil {
		return rules{}, fmt.Errorf("event source mapping %q: %w", m.ID, err)
	}
	return r, nil
}

// checkNames checks the fields that are names.
func (m Mapping) checkNames() []error {
	var errs []error
	for _, f := range []struct{ name, value string }{
		{"ID", m.ID}, {"FunctionName", m.FunctionName}, {"StreamARN", m.StreamARN}, {"StartingPosition", m.StartingPosition},
	} {
		if strings.TrimSpace(f.value) == "" {
			errs = append(errs, fmt.Errorf("%s is required", f.name))
		}
	}
	if p := m.StartingPosition; p != "" && p != TrimHorizon && p != Latest {
		errs = append(errs, fmt.Errorf("%q is not a StartingPosition of a DynamoDB stream, only %s and %s are", p, TrimHorizon, Latest))
	}
	return errs
}

// check checks the numbers against Lambda's bounds.
func (r rules) check() []error {
	var errs []error
	if r.batchSize < 1 || r.batchSize > maxBatchSize {
		errs = append(errs, fmt.Errorf("BatchSize: %d is not within 1 and %d", r.batchSize, maxBatchSize))
	}
	if r.window < 0 || r.window > maxBatchingWindow || r.window%time.Second != 0 {
		errs = append(errs, fmt.Errorf("BatchingWindow: %v is not a whole number of seconds within 0 and %d", r.window, maxBatchingWindow/time.Second))
	}
	if r.lanes < 1 || r.lanes > maxParallelizationFactor {
		errs = append(errs, fmt.Errorf("ParallelizationFactor: %d is not within 1 and %d", r.lanes, maxParallelizationFactor))
	}
	if r.maxRetries < NoRetryLimit || r.maxRetries > maxRetryAttempts {
		errs = append(errs, fmt.Errorf("MaximumRetryAttempts: %d is not -1 and not within 0 and %d", r.maxRetries, maxRetryAttempts))
	}
	if r.maxAge != 0 && (r.maxAge < minRecordAge || r.maxAge > maxRecordAge || r.maxAge%time.Second != 0) {
		errs = append(errs, fmt.Errorf("MaximumRecordAge: %v is not -1 s and not a whole number of seconds within %d and %d", r.maxAge, minRecordAge/time.Second, maxRecordAge/time.Second))
	}
	return errs
}

// passes reports whether one of the filters lets the record through. Each record is filtered before
// it joins a batch, so a batch is filled with records that the function sees: "Control which events
// Lambda sends to your function" (invocation-eventfiltering.html).
func (r rules) passes(event map[string]any) bool {
	if len(r.filters) == 0 {
		return true
	}
	for _, p := range r.filters {
		if p.matches(event) {
			return true
		}
	}
	return false
}
