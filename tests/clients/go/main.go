// Sends the one trace every client of this folder sends (story.py says what is in it) by the
// OpenTelemetry SDK for Go, and prints the ids it was given.
//
// usage: send grpc|http/protobuf BASE_NS; the rest comes from the SDK's own OTEL_ variables.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

func newExporter(ctx context.Context, protocol string) (*otlptrace.Exporter, error) {
	if protocol == "grpc" {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func run(protocol string, baseNs int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	exporter, err := newExporter(ctx, protocol)
	if err != nil {
		return err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	tracer := provider.Tracer("story", trace.WithInstrumentationVersion("1.2.3"))
	at := func(ms int64) time.Time { return time.Unix(0, baseNs+ms*1000000) }

	rootCtx, root := tracer.Start(ctx, "GET /checkout", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(at(0)), trace.WithAttributes(
			attribute.String("http.route", "/checkout"), attribute.Int64("http.response.status_code", 500),
			attribute.Bool("retried", true), attribute.Float64("ratio", 0.25),
			attribute.StringSlice("tags", []string{"a", "b"}), attribute.Int64("lowest", -9007199254740991),
			attribute.String("greeting", "grüße 😀")))

	linkedTrace, _ := trace.TraceIDFromHex("0102030405060708090a0b0c0d0e0f10")
	linkedSpan, _ := trace.SpanIDFromHex("0102030405060708")
	link := trace.Link{
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: linkedTrace, SpanID: linkedSpan, TraceFlags: 1}),
		Attributes:  []attribute.KeyValue{attribute.String("why", "same cart")},
	}
	chargeCtx, charge := tracer.Start(rootCtx, "charge", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(at(10)), trace.WithLinks(link))
	charge.AddEvent("retry", trace.WithTimestamp(at(20)), trace.WithAttributes(attribute.Int64("attempt", 2)))
	charge.AddEvent("declined", trace.WithTimestamp(at(30)), trace.WithAttributes(attribute.String("reason", "no funds")))
	charge.SetStatus(codes.Error, "no funds")

	_, bank := tracer.Start(chargeCtx, "ask the bank", trace.WithTimestamp(at(12)))
	bank.End(trace.WithTimestamp(at(28)))
	charge.End(trace.WithTimestamp(at(40)))
	root.End(trace.WithTimestamp(at(50)))

	if err := provider.ForceFlush(ctx); err != nil {
		return err
	}
	if err := provider.Shutdown(ctx); err != nil {
		return err
	}
	ids := map[string]string{}
	for name, span := range map[string]trace.Span{"GET /checkout": root, "charge": charge, "ask the bank": bank} {
		ids[name] = span.SpanContext().SpanID().String()
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"trace": root.SpanContext().TraceID().String(), "spans": ids})
}

func main() {
	baseNs, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err == nil {
		err = run(os.Args[1], baseNs)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
