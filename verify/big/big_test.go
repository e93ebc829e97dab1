package big

import "testing"

// TestShort runs every case at a hundredth of its size.
func TestShort(t *testing.T) {
	for _, c := range Cases {
		lines, err := c.Run(100)
		t.Logf("%s: %q", c.Name, lines)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}
