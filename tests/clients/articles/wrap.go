package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
)

func startServer() {
	tracer := otel.Tracer("order-service")
	ctx, root := tracer.Start(context.Background(), "POST /orders")
	_, child := tracer.Start(ctx, "order.calculate_totals")
	plantedHotFunction(1500 * time.Millisecond)
	child.End()
	root.End()
	select {} // the article keeps no handle that would send at the end: the next interval does
}
