/* otlp_count.h - counts the items in an OTLP request of metrics or logs.
 *
 * The server discards these signals and has to tell the sender how much: data points of metrics,
 * records of logs. Only the messages around the items are read; the items are skipped. Malformed
 * bytes are INPUT with their byte offset or JSON path. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum sf_otlp_signal { SF_OTLP_METRICS, SF_OTLP_LOGS };

/* `req` is used for keys of JSON objects that contain escapes; not needed for protobuf. */
enum sf_err sf_otlp_count_pb(enum sf_otlp_signal signal, sf_bytes body, uint64_t *out,
                             struct sf_why *why);
enum sf_err sf_otlp_count_json(enum sf_otlp_signal signal, sf_bytes body, struct sf_arena *req,
                               uint64_t *out, struct sf_why *why);
