package trouble

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
)

func FuzzRow(f *testing.F) { ddbtest.FuzzCodec(f, codec, decode, attrVersion, attrState, attrAt) }

func FuzzPlace(f *testing.F) { ddbtest.FuzzCodec(f, places, nil, attrVersion) }

func FuzzCounts(f *testing.F) { ddbtest.FuzzCodec(f, countsCodec, nil, attrVersion) }
