#!/bin/sh
# Runs the shop's programs in one container: they listen on its loopback address only. Ends when one of them ends.
set -eu
programs=${SHOP_PROGRAMS:-/usr/local/libexec/spanflame}
: "${OTEL_EXPORTER_OTLP_ENDPOINT:?where to send}"
export SHOP_SUPPLIER_PORT=18081 SHOP_INVENTORY_PORT=18082 SHOP_PRICING_PORT=18083 SHOP_ORDER_SERVICE_PORT=18084
export SHOP_GATEWAY_PORT=18085 SHOP_RATE="${SHOP_RATE:-5}" SHOP_SEED=1 SHOP_OFF="${SHOP_OFF:-}" SHOP_COMMIT=abc123
export OTEL_RESOURCE_ATTRIBUTES="commit=abc123,service.version=abc123,deployment.environment=demo"
export SPANFLAME_PROFILES=cpu,heap,mutex,block SPANFLAME_SPAN_COST=cpu,run_queue,waits
SHOP_HOME=$(mktemp -d)
export SHOP_HOME
pids=
trap 'kill $pids 2>/dev/null; rm -rf "$SHOP_HOME"' EXIT
trap 'exit 0' TERM INT
start() { # PROGRAM PORT
    SHOP_PORT=$2 "$programs/$1" &
    pids="$pids $!"
}
start shop_supplier "$SHOP_SUPPLIER_PORT"
start shop_inventory "$SHOP_INVENTORY_PORT"
start shop_pricing "$SHOP_PRICING_PORT"
start shop_order_service "$SHOP_ORDER_SERVICE_PORT"
start shop_gateway "$SHOP_GATEWAY_PORT"
sleep 1 # the shopper gives up on a shop that is not there yet
start shop_shopper 0
while sleep 1; do
    for pid in $pids; do
        kill -0 "$pid" || { echo "shop.sh: a program of the shop ended" >&2; exit 1; }
    done
done
