package record

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
)

func FuzzConsumer(f *testing.F) {
	ddbtest.FuzzCodec(f, consumers, decodeConsumer, attrVersion, attrOutcomes, attrQuarantine)
}

func FuzzOperation(f *testing.F) { ddbtest.FuzzCodec(f, operations, decodeOperation, attrVersion) }

func FuzzHealth(f *testing.F) {
	ddbtest.FuzzCodec(f, healths, func(it ddb.Item) (Health, error) { return decodeHealth("a", it) }, attrVersion)
}
