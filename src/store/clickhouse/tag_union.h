/* tag_union.h - names and values of attributes over all nodes: `span_tags` of store.h.
 *
 * The node asks its own store and every shard, one query each. Rows that this node has shipped
 * are counted by both: of the two counts the larger one holds, since either side may have dropped
 * rows that the other still has. Attributes of events and links are searched for in at most 20,000
 * spans of a shard; has_more says when there were more. */
#pragma once
#include "store/clickhouse/remote_source.h"

enum sf_err sf_tag_union_open(const struct sf_remote_source *r, const struct sf_tag_query *query,
                              struct sf_query_ctx *q, struct sf_str_cursor **out,
                              struct sf_why *why);
