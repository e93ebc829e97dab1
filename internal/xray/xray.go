// Package xray is trace contexts as AWS X-Ray has them: in the header X-Amzn-Trace-Id, in SQS's
// message system attribute AWSTraceHeader and in an event's TraceHeader.
// https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader
package xray

import (
	"strings"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// Header is a trace as a header; empty for none. X-Ray has no tracestate.
func Header(t cursor.Trace) string {
	if t.Parent == "" {
		return ""
	}
	id, parent := t.ID(), t.Parent[36:52]
	sampled := "0"
	if t.Sampled() {
		sampled = "1"
	}
	return "Root=1-" + id[:8] + "-" + id[8:] + ";Parent=" + parent + ";Sampled=" + sampled
}

// Trace reads a header. It is the zero Trace where the header names no parent, as what API Gateway
// and load balancers add of their own does not, or is not X-Ray's.
func Trace(header string) cursor.Trace {
	parts := map[string]string{}
	for part := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		parts[name] = value
	}
	root := strings.Split(parts["Root"], "-")
	if len(root) != 3 || root[0] != "1" || len(root[1]) != 8 {
		return cursor.Trace{}
	}
	flags := "00"
	if parts["Sampled"] == "1" {
		flags = "01"
	}
	return cursor.TraceOf("00-"+root[1]+root[2]+"-"+parts["Parent"]+"-"+flags, "")
}
