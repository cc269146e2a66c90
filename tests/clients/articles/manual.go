package main

import (
	"context"
	"os"
	"time"

	"go.opentelemetry.io/otel"
)

func expensiveCalculation() { plantedHotFunction(1500 * time.Millisecond) }

// Before the continuous profiler starts: a process has one CPU profile at a time.
func init() {
	ctx, span := otel.Tracer("go-service").Start(context.Background(), "profiled-operation")
	profiledOperation(ctx)
	collectRuntimeStats(ctx)
	span.End()
	_ = os.WriteFile("span", []byte(span.SpanContext().TraceID().String()+" "+span.SpanContext().SpanID().String()), 0o600)
}

func startServer() {
	plantedHotFunction(time.Second)
	select {}
}
