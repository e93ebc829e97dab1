// Command traced is a program of a user who wants traces of what runs once.
package main

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel"

	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/dedup/dedupotel"
)

func main() {
	o := &dedup.Options[string, int]{}
	if err := dedupotel.Instrument(o, otel.GetTracerProvider(), otel.GetMeterProvider()); err != nil {
		log.Fatal(err)
	}
	payments, err := dedup.New(dedup.NewMemory(), "payments", o)
	if err != nil {
		log.Fatal(err)
	}
	charged := 0
	for range 2 {
		if _, err := payments.Once(context.Background(), "order-1", func(context.Context) (int, error) {
			charged++
			return charged, nil
		}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("charged %d time\n", charged)
}
