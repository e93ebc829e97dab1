//go:build !unix

package producer_test

import (
	"testing"
	"time"
)

// cpu is not measured here.
func cpu(testing.TB) time.Duration { return 0 }
