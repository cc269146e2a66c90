/* tag_union.h - names and values of attributes over all nodes: `span_tags` of store.h.
 *
 * The node queries its own store and every shard, once each. Rows that this node has shipped are
 * counted by both; the larger count is used, since either side may have deleted rows that the other
 * still has. Attributes of events and links are searched in at most 20,000 spans of a shard;
 * has_more is set if there were more. */
#pragma once
#include "store/clickhouse/remote_source.h"

enum sf_err sf_tag_union_open(const struct sf_remote_source *r, const struct sf_tag_query *query,
                              struct sf_query_ctx *q, struct sf_str_cursor **out,
                              struct sf_why *why);
