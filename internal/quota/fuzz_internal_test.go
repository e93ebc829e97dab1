package quota

import (
	"testing"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
)

func FuzzAccount(f *testing.F) {
	ddbtest.FuzzCodec(f, accounts, func(it ddb.Item) (Account, error) {
		a, _, err := took(ddb.Answer{Item: it}, "op", nil)
		return a, err
	}, attrOf[:]...)
}
