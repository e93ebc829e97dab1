package cost

import "testing"

// TestTheReadmeHasThePrices holds the README's table of prices to the bills.
func TestTheReadmeHasThePrices(t *testing.T) {
	if err := readme("../../..").Holds(priceTable(), "make cost PAGE=1"); err != nil {
		t.Error(err)
	}
}
