/* params.h - query parameters with meaning: times, ids. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "http/request.h"
#include "model/ids.h"

/* `from` and `until`; a missing one has its default. Fails with INPUT. */
enum sf_err sf_params_range(const struct sf_request *r, int64_t now_ns, int64_t default_len_ns,
                            int64_t *out_from_ns, int64_t *out_until_ns, struct sf_why *why);
/* INPUT when either is given, because the requested object has its own time range. */
enum sf_err sf_params_no_range(const struct sf_request *r, const char *of, struct sf_why *why);
/* Reads a trace id from a path; its errors are worded as Tempo's. */
enum sf_err sf_params_trace_id(sf_str text, sf_trace_id *out, struct sf_why *why);
/* Tempo's `start` and `end`: unix seconds, both or none (then 0 and 0). */
enum sf_err sf_params_start_end(const struct sf_request *r, int64_t *out_from_ns,
                                int64_t *out_to_ns, struct sf_why *why);
/* Checks such a range given as numbers: 0 is "not given". */
enum sf_err sf_params_check_range(int64_t from_ns, int64_t to_ns, struct sf_why *why);
bool sf_params_parse_duration(sf_str text, int64_t *out_ns);
/* A Go or Prometheus duration above 0, or plain seconds; untouched when it is not given. */
enum sf_err sf_params_duration(const struct sf_request *r, sf_str name, int64_t *out_ns,
                               struct sf_why *why);
/* The parameter's text, copied to `req`; empty when it is not given. */
sf_str sf_params_word(const struct sf_request *r, const char *name, struct sf_arena *req);
/* A number; untouched when it is not given. */
enum sf_err sf_params_count(const struct sf_request *r, sf_str name, uint64_t *out,
                            struct sf_why *why);
/* "true" or "1"; "false" or "0". Untouched when it is not given. */
enum sf_err sf_params_bool(const struct sf_request *r, sf_str name, bool *out, struct sf_why *why);
