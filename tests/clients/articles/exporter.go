// What the articles' Go programs leave out: a provider that exports, and work that is easy to find.
package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

var kept uint64

func init() {
	exporter, err := otlptracehttp.New(context.Background()) // OTEL_EXPORTER_OTLP_ENDPOINT
	if err != nil {
		panic(err)
	}
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
}

//go:noinline
func step(n uint64) uint64 {
	for i := uint64(0); i < 200_000; i++ {
		n = n*6364136223846793005 + i
	}
	return n
}

//go:noinline
func plantedHotFunction(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		kept = step(kept)
	}
}
