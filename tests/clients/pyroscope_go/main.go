// A small service under pyroscope-go with otel-profiling-go: one span, whose child burns the CPU in a
// function that is easy to find. It prints the ids of both spans.
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	"github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const service = "shop-pyroscope-go"

var kept uint64

// The clock is asked rarely: the loop itself is what takes the time.
func spin(d time.Duration, step func(uint64) uint64) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		kept = step(kept)
	}
}

//go:noinline
func plantedHotFunction(n uint64) uint64 {
	for i := uint64(0); i < 2_000_000; i++ {
		n = n*6364136223846793005 + i
	}
	return n
}

//go:noinline
func elsewhere(n uint64) uint64 {
	for i := uint64(0); i < 2_000_000; i++ {
		n = n*2862933555777941757 + i
	}
	return n
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx, server := context.Background(), os.Args[1]
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(server+"/v1/traces"))
	check(err)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", service))))
	tracer := otelpyroscope.NewTracerProvider(provider).Tracer("shop")
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: service,
		ServerAddress:   server,
		Tags:            map[string]string{"env": "test"},
		UploadRate:      time.Minute, // Flush and Stop send what there is
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileCPU, pyroscope.ProfileAllocObjects,
			pyroscope.ProfileAllocSpace, pyroscope.ProfileInuseObjects, pyroscope.ProfileInuseSpace,
			pyroscope.ProfileGoroutines},
	})
	check(err)
	rootCtx, root := tracer.Start(ctx, "GET /checkout")
	_, child := tracer.Start(rootCtx, "totals")
	spin(1500*time.Millisecond, plantedHotFunction)
	child.End()
	root.End()
	spin(700*time.Millisecond, elsewhere)
	profiler.Flush(true) // heap and goroutines are sent with an interval that is over
	check(profiler.Stop())
	check(provider.Shutdown(ctx))
	check(json.NewEncoder(os.Stdout).Encode(map[string]string{
		"service": service,
		"trace":   root.SpanContext().TraceID().String(),
		"root":    root.SpanContext().SpanID().String(),
		"child":   child.SpanContext().SpanID().String(),
	}))
}
