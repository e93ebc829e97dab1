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

func FuzzEvidence(f *testing.F) {
	ddbtest.FuzzCodec(f, evidences, func(it ddb.Item) (Evidence, error) { return decodeEvidence("a", it) }, attrVersion)
}
