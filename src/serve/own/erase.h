/* erase.h - deletes data on request; writes data that is in memory to disk. */
#pragma once
#include "serve/call.h"

bool sf_erase_matching(struct sf_call *call, struct sf_worker *worker);
bool sf_erase_flush(struct sf_call *call, struct sf_worker *worker);

struct sf_erase_request {
    struct sf_selector which;
    bool is_all;     /* given explicitly */
    bool is_dry_run; /* only count */
};
/* JSON body or query parameters into a selector; lists live in `req`. INPUT, LIMIT. */
enum sf_err sf_erase_parse_json(sf_str body, int64_t now_ns, struct sf_arena *req,
                                struct sf_erase_request *out, struct sf_why *why);
enum sf_err sf_erase_parse_params(const struct sf_request *r, int64_t now_ns, struct sf_arena *req,
                                  struct sf_erase_request *out, struct sf_why *why);
/* Exactly one of traces, service, all; a range narrows each of them. */
enum sf_err sf_erase_check(struct sf_erase_request *e, struct sf_why *why);
