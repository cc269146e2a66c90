// bench plain|client: CPU time of one span that is made current and ended, and of a fixed amount of work.
package main

import (
	"context"
	"fmt"
	"os"
	"syscall"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"my-service/spanflame"
)

func cpu() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano() + used.Stime.Nano())
}

var kept uint64

func main() {
	var provider trace.TracerProvider = sdktrace.NewTracerProvider()
	stop := func() {}
	if os.Args[1] == "client" {
		provider = spanflame.NewTracerProvider(provider)
		stop = spanflame.StartProfiling(os.Getenv("OTEL_SERVICE_NAME"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")).Stop
	}
	tracer := provider.Tracer("bench")
	const spans = 300_000
	best := 1e18
	for round := 0; round < 5; round++ {
		begin := cpu()
		for i := 0; i < spans; i++ {
			_, span := tracer.Start(context.Background(), "GET /cart")
			span.End()
		}
		best = min(best, (cpu()-begin)/spans)
	}
	begin := cpu()
	for i := uint64(0); i < 1_000_000_000; i++ {
		kept = kept*6364136223846793005 + i
	}
	fmt.Println(best, (cpu()-begin)/1e6)
	stop()
}
