//go:build !whole

package whole

// Tests tells whether this build has the tag whole.
const Tests = false
