/* tag_scan.h - attribute names and values, from the blocks' key tables if these are complete. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_tag_scan(struct sf_store *s, const struct sf_tag_query *query,
                        struct sf_query_ctx *q, struct sf_str_cursor **out, struct sf_why *why);
