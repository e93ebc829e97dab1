package delivery

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/request"
)

func FuzzConsumer(f *testing.F) {
	ddbtest.FuzzCodec(f, consumers, decodeConsumer, attrVersion, attrOutcomes, attrQuarantine)
}

func FuzzOperation(f *testing.F) { ddbtest.FuzzCodec(f, operations, decodeOperation, attrVersion) }

func FuzzHealth(f *testing.F) {
	ddbtest.FuzzCodec(f, healths, func(it ddb.Item) (request.Health, error) { return decodeHealth("a", it) }, attrVersion)
}
