package xorack

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

func FuzzChain(f *testing.F) {
	ddbtest.FuzzCodec(f, codec, decodeChain, chains.Version, chains.Parent, "tag")
}
