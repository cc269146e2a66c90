package main

import (
	"context"
	"os"
	"time"

	"github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel"
)

func main() {
	profiler, err := pyroscope.Start(pyroscope.Config{ApplicationName: os.Getenv("OTEL_SERVICE_NAME"),
		ServerAddress: os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileCPU}})
	if err != nil {
		panic(err)
	}
	ctx, span := otel.Tracer("checkout-service").Start(context.Background(), "process_checkout")
	WrapWithProfileLabels(ctx)
	plantedHotFunction(1500 * time.Millisecond)
	span.End()
	profiler.Flush(true)
	_ = profiler.Stop()
}
