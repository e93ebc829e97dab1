package xorack

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

func FuzzChain(f *testing.F) {
	ddbtest.FuzzCodec(f, codec, func(it ddb.Item) (Chain, error) { return decodeChain(it, "tag") },
		chains.Version, chains.Parent, "tag")
}
