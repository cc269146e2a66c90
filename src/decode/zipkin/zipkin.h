/* zipkin.h - Zipkin v2 spans, JSON and protobuf, as an OTLP trace request.
 *
 * The result is processed like any other request: checked, truncated, redacted and logged by
 * intake. An invalid span refuses the whole body, with its position: Zipkin's answer cannot express
 * partial success. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends protobuf to `out`, whose maximum length applies (LIMIT). INPUT: the body is invalid; the
 * message has offset or path. A span without a time begins at its first annotation, or at
 * `now_ns`. */
enum sf_err sf_zipkin_to_otlp(sf_bytes body, bool is_json, int64_t now_ns, struct sf_buf *out,
                              struct sf_why *why);
