// The labels of a goroutine after spans that end in unusual ways; copied beside clients/go/spanflame.go.
package spanflame

import (
	"context"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func label(ctx context.Context, key string) string {
	value, _ := pprof.Label(ctx, key)
	return value
}

func TestLabels(t *testing.T) {
	tracer := NewTracerProvider(sdktrace.NewTracerProvider()).Tracer("test")
	pprof.SetGoroutineLabels(context.Background())
	none := currentLabels()
	ctx, root := tracer.Start(context.Background(), "root")
	ofRoot := currentLabels()
	if ofRoot == none || label(ctx, "span_id") != root.SpanContext().SpanID().String() {
		t.Fatal("a span has labels")
	}
	child, _ := tracer.Start(ctx, "ended through its context")
	trace.SpanFromContext(child).End()
	if currentLabels() == none || label(child, "span_id") == label(ctx, "span_id") {
		t.Fatal("the parent's labels are back")
	}
	before := currentLabels()
	_, a := tracer.Start(ctx, "a")
	_, b := tracer.Start(ctx, "b")
	ofB := currentLabels()
	a.End()
	if currentLabels() != ofB {
		t.Fatal("b overlaps a: its labels stay")
	}
	b.End()
	if currentLabels() == ofB {
		t.Fatal("b ended")
	}
	_, handed := tracer.Start(ctx, "ended elsewhere")
	done := make(chan bool)
	go func() {
		_, own := tracer.Start(context.Background(), "own")
		mine := currentLabels()
		handed.End()
		done <- currentLabels() == mine
		own.End()
	}()
	if !<-done {
		t.Fatal("another's end leaves this goroutine's labels alone")
	}
	other, fresh := tracer.Start(ctx, "new root", trace.WithNewRoot())
	if label(other, "trace_id") != fresh.SpanContext().TraceID().String() {
		t.Fatal("trace_id is that of its own trace")
	}
	if fresh.TracerProvider() != root.TracerProvider() {
		t.Fatal("a span's provider labels, too")
	}
	fresh.End()
	unsampled := NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))).Tracer("test")
	pprof.SetGoroutineLabels(ctx)
	before = currentLabels()
	_, silent := unsampled.Start(context.Background(), "not sampled")
	if currentLabels() != before {
		t.Fatal("a span that is not sent changes nothing")
	}
	silent.End()
	root.End()
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "a=b, service.instance.id=pod%2D7")
	if Instance() != "pod-7" || Tags()["service.instance.id"] != "pod-7" || Tags()["process.pid"] == "" {
		t.Fatal("the instance is that of the environment: ", Tags())
	}
}
