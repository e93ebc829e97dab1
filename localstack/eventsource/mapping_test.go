package eventsource

import (
	"context"
	"strings"
	"testing"
	"time"
)

func validMapping() Mapping {
	return Mapping{ID: "M", FunctionName: "sort", StreamARN: "arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/1", StartingPosition: TrimHorizon}
}

func TestMappingDefaults(t *testing.T) {
	r, err := validMapping().compile()
	if err != nil {
		t.Fatal(err)
	}
	if r.batchSize != 100 || r.window != 0 || r.lanes != 1 || r.maxRetries != NoRetryLimit || r.maxAge != 0 || r.bisect || r.report || r.filters != nil {
		t.Errorf("defaults = %+v", r)
	}
}

func TestMappingBounds(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Mapping)
		want   string // "" means valid
	}{
		{"smallest", func(m *Mapping) {
			m.BatchSize, m.ParallelizationFactor, m.MaximumRetryAttempts, m.MaximumRecordAge = 1, 1, new(0), time.Minute
		}, ""},
		{"largest", func(m *Mapping) {
			m.BatchSize, m.ParallelizationFactor, m.MaximumRetryAttempts = 10_000, 10, new(10_000)
			m.MaximumRecordAge, m.BatchingWindow = 604_800*time.Second, 300*time.Second
		}, ""},
		{"no limits", func(m *Mapping) { m.MaximumRetryAttempts, m.MaximumRecordAge = new(-1), -time.Second }, ""},
		{"latest", func(m *Mapping) { m.StartingPosition = Latest }, ""},
		{"no ID", func(m *Mapping) { m.ID = " " }, "ID is required"},
		{"no function", func(m *Mapping) { m.FunctionName = "" }, "FunctionName is required"},
		{"no stream", func(m *Mapping) { m.StreamARN = "" }, "StreamARN is required"},
		{"no position", func(m *Mapping) { m.StartingPosition = "" }, "StartingPosition is required"},
		{"timestamp", func(m *Mapping) { m.StartingPosition = "AT_TIMESTAMP" }, `"AT_TIMESTAMP" is not a StartingPosition`},
		{"batch too small", func(m *Mapping) { m.BatchSize = -1 }, "BatchSize: -1 is not within 1 and 10000"},
		{"batch too large", func(m *Mapping) { m.BatchSize = 10_001 }, "BatchSize: 10001"},
		{"window negative", func(m *Mapping) { m.BatchingWindow = -time.Second }, "BatchingWindow: -1s"},
		{"window too long", func(m *Mapping) { m.BatchingWindow = 301 * time.Second }, "within 0 and 300"},
		{"window not whole", func(m *Mapping) { m.BatchingWindow = 1500 * time.Millisecond }, "whole number of seconds"},
		{"too parallel", func(m *Mapping) { m.ParallelizationFactor = 11 }, "ParallelizationFactor: 11 is not within 1 and 10"},
		{"retries too low", func(m *Mapping) { m.MaximumRetryAttempts = new(-2) }, "MaximumRetryAttempts: -2"},
		{"retries too many", func(m *Mapping) { m.MaximumRetryAttempts = new(10_001) }, "within 0 and 10000"},
		{"age too short", func(m *Mapping) { m.MaximumRecordAge = 59 * time.Second }, "MaximumRecordAge: 59s"},
		{"age too long", func(m *Mapping) { m.MaximumRecordAge = 604_801 * time.Second }, "within 60 and 604800"},
		{"response type", func(m *Mapping) { m.FunctionResponseTypes = []string{"ReportAll"} }, `"ReportAll" is not known`},
		{"filter", func(m *Mapping) { m.Filters = []string{`{"a": [1]}`, `{"a": 1}`} }, "Filters[1]: a must be an object or a list"},
		{"filters", func(m *Mapping) { m.Filters = make([]string, 11) }, "11 patterns in Filters, at most 10"},
		{"names the mapping", func(m *Mapping) { m.BatchSize = -1 }, `event source mapping "M"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := validMapping()
			test.change(&m)
			_, err := m.compile()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestMappingReportsAllErrors(t *testing.T) {
	_, err := Mapping{BatchSize: -1, ParallelizationFactor: 11}.compile()
	for _, want := range []string{"ID", "FunctionName", "StreamARN", "StartingPosition", "BatchSize", "ParallelizationFactor"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	m := validMapping()
	m.OnFailureDestination = "arn:aws:sqs:us-east-1:000000000000:failures"
	_, err := New(m, Config{PollInterval: -1, Chaos: Chaos{Duplicate: 1, Late: 2, LateBy: -1, Drop: 3}})
	for _, want := range []string{"Streams is required", "Invoke is required", "OnFailure is required", "PollInterval", "Duplicate: 1", "Late: 2", "LateBy", "Drop: 3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not have %q", err, want)
		}
	}
}

func TestDisabledMapping(t *testing.T) {
	m := validMapping()
	m.Disabled = true
	r, err := New(m, Config{Streams: newMemoryStream(), Invoke: func(context.Context, []byte) ([]byte, string, error) {
		panic("a disabled mapping invokes")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); err != nil {
		t.Errorf("Run = %v", err)
	}
	if !r.Idle(time.Now()) {
		t.Error("a disabled mapping is not idle")
	}
}
