/* zipkin.h - Zipkin v2 spans, JSON and protobuf, as an OTLP trace request.
 *
 * What comes out goes the way of every other request: checked, cut, redacted and logged by intake.
 * A span that is wrong refuses the whole body, with its place: Zipkin's answer has no word for "all
 * but this one". */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends protobuf to `out`, whose bound holds (LIMIT). INPUT: the body, with byte or path. A span
 * without a time begins at its first annotation, or at `now_ns`. */
enum sf_err sf_zipkin_to_otlp(sf_bytes body, bool is_json, int64_t now_ns, struct sf_buf *out,
                              struct sf_why *why);
