package main

import (
	"io"
	"strings"
	"testing"
)

// What cannot be read is named with its value, and what it has to be.
func TestWhatCannotBeRead(t *testing.T) {
	for _, flag := range []string{"rate", "batch", "queues"} {
		err := run([]string{"-" + flag, "abc"}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), `invalid value "abc" for flag -`+flag) || !strings.Contains(err.Error(), "BATCH and QUEUES are whole ones") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	for flag, want := range map[string]string{"door": "write api or url", "logs": "write outcome or all", "tracing": "write off or on", "window": "write 1s", "order": "write number or key"} {
		if err := run([]string{"-" + flag, "abc"}, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if err := run([]string{"-window", "1"}, io.Discard); err == nil || !strings.Contains(err.Error(), `invalid value "1" for flag -window`) || !strings.Contains(err.Error(), "write 1s") {
		t.Error(err)
	}
	var out strings.Builder
	if err := run([]string{"-queues", "7", "-tracing", "off", "-window", "30s"}, &out); err != nil || !strings.Contains(out.String(), "gather for 30s (with processBatchSize") || !strings.Contains(out.String(), "to 7 queues") || !strings.Contains(out.String(), "X-Ray off") {
		t.Errorf("%v: %s", err, &out)
	}
}
