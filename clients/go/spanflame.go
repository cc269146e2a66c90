// Package spanflame puts the ids of every OpenTelemetry span on the samples that the Go profiler
// takes in it. Copy this file into your module; it needs the OpenTelemetry API and nothing else.
//
//	otel.SetTracerProvider(spanflame.NewTracerProvider(provider))
//	pyroscope.Start(pyroscope.Config{..., Tags: spanflame.Tags()})
//
// CPU and goroutine profiles carry the labels span_id and trace_id then; heap, mutex and block
// profiles have no labels in Go. A goroutine inherits the labels of the one that starts it. A span
// that ends on another goroutine than it began on leaves its labels on the first one until a span
// begins or ends there.
package spanflame

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// The label set of this goroutine, to be compared and never looked into.
//
//go:linkname currentLabels runtime/pprof.runtime_getProfLabel
func currentLabels() unsafe.Pointer

// ChooseRequest says whose samples name their spans; nil: everybody's. control.go sets it.
var ChooseRequest func(context.Context, trace.TraceID) bool

type provider struct {
	embedded.TracerProvider
	inner trace.TracerProvider
}

type tracer struct {
	embedded.Tracer
	inner trace.Tracer
	of    *provider
}

type span struct {
	trace.Span
	of    *provider
	ours  unsafe.Pointer  // the label set that Start put on its goroutine
	outer context.Context // its labels hold again after End
}

// NewTracerProvider gives a provider whose spans label their goroutine. The one that it wraps is
// still the one to shut down.
func NewTracerProvider(inner trace.TracerProvider) trace.TracerProvider {
	return &provider{inner: inner}
}

func (p *provider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return &tracer{inner: p.inner.Tracer(name, options...), of: p}
}

func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	started, inner := t.inner.Start(ctx, name, options...)
	s := &span{Span: inner, of: t.of, outer: ctx}
	id := inner.SpanContext()
	started = trace.ContextWithSpan(started, s) // else its End in the context would be the inner one's
	if !id.IsSampled() {
		return started, s
	}
	if ChooseRequest != nil && !ChooseRequest(ctx, id.TraceID()) {
		return started, s
	}
	inner.SetAttributes(attribute.String("pyroscope.profile.id", id.SpanID().String()))
	started = pprof.WithLabels(started, pprof.Labels("span_id", id.SpanID().String(), "trace_id", id.TraceID().String()))
	pprof.SetGoroutineLabels(started)
	s.ours = currentLabels()
	return started, s
}

func (s *span) TracerProvider() trace.TracerProvider { return s.of }

// End gives the goroutine back the labels that it had before, unless they are another span's by now.
func (s *span) End(options ...trace.SpanEndOption) {
	s.Span.End(options...)
	if s.ours != nil && currentLabels() == s.ours {
		pprof.SetGoroutineLabels(s.outer)
	}
}

var instance = sync.OnceValue(func() string {
	for _, pair := range strings.Split(os.Getenv("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		key, value, _ := strings.Cut(pair, "=")
		if text, err := url.PathUnescape(strings.TrimSpace(value)); strings.TrimSpace(key) == "service.instance.id" && err == nil && text != "" {
			return text
		}
	}
	var id [16]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
})

// Instance is this process's service.instance.id: that of OTEL_RESOURCE_ATTRIBUTES, else a random
// one. Give it to the resource of the tracer provider.
func Instance() string { return instance() }

// Tags are what profiles need to say to be of the same process as its spans.
func Tags() map[string]string {
	tags := map[string]string{"service.instance.id": Instance(), "process.pid": strconv.Itoa(os.Getpid())}
	if host, err := os.Hostname(); err == nil {
		tags["host.name"] = host
	}
	return tags
}
