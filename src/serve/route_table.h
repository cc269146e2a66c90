/* route_table.h - every call of the server, one row each. */
#pragma once
#include "serve/call.h"

#define SF_OTLP_PACKAGE    "/opentelemetry.proto.collector."
#define SF_QUERIER_PACKAGE "/querier.v1.QuerierService/"
#define SF_TEMPO_PACKAGE   "/tempopb.StreamingQuerier/"

extern const struct sf_route sf_routes[];
extern const size_t sf_n_routes;
