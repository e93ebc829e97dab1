package localstack

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/streamsort/streamsort/localstack/lambda"
)

// mostLines is how many lines of a stack trace, or of a log, are shown.
const mostLines = 12

// errorText is what a function said that failed: its error and where that was, or, of a process
// that ended and could say nothing, the end of its log.
func errorText(r lambda.Response) string {
	var said struct {
		ErrorType, ErrorMessage string
		StackTrace              []any
	}
	_ = json.Unmarshal(r.Payload, &said) // a runtime may answer anything
	lines := []string{fmt.Sprintf("%s: %s", said.ErrorType, said.ErrorMessage)}
	if said.ErrorMessage == "" {
		lines[0] = string(r.Payload)
	}
	for _, f := range said.StackTrace[:min(len(said.StackTrace), mostLines)] {
		lines = append(lines, "  at "+frame(f))
	}
	if said.ErrorType == "Runtime.ExitError" {
		log := strings.Split(strings.TrimRight(string(r.LogTail), "\n"), "\n")
		for _, line := range fromPanic(log) {
			lines = append(lines, "  "+line)
		}
	}
	return strings.Join(lines, "\n")
}

// frame is an entry of a stack trace, as Go's runtime writes it, an object, or as others do, a
// text.
func frame(entry any) string {
	if text, ok := entry.(string); ok {
		return strings.TrimSpace(text)
	}
	at, _ := entry.(map[string]any)
	return fmt.Sprintf("%v:%v %v", at["path"], at["line"], at["label"])
}

// fromPanic are the last lines of a log, from where a Go program panicked, if it did.
func fromPanic(log []string) []string {
	for i, line := range log {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return log[i:min(len(log), i+mostLines)]
		}
	}
	return log[max(0, len(log)-mostLines):]
}
