package endpoint

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
)

func FuzzEndpoint(f *testing.F) { ddbtest.FuzzCodec(f, endpoints, decode, attrQueue, attrConsumer) }
