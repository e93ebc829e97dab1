package main

import (
	"context"

	"github.com/streamsort/streamsort/pkg/delivery"
)

// instrument is given each reader before it is used, and flushSpans is called at the end of each
// invocation. They do nothing but in the build with OpenTelemetry (make build TRACED=1), which has
// _otel/instrument.go beside this file: its SDK is linked into no other.
var (
	instrument = func(*delivery.Reader) error { return nil }
	flushSpans = func(context.Context) {}
)
