#include "serve/tempo/search_ask.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "serve/params.h"
#include "serve/tempo/legacy_tags.h"
#include "wire/pb.h"
#include "wire/time_text.h"

enum { DEFAULT_LIMIT = 20, MAX_LIMIT = 262144, DEFAULT_SPSS = 3, MAX_SPSS = 100 };

void sf_search_ask_done(struct sf_search_ask *a)
{
    sf_buf_done(&a->query);
}

/* ---- shared by parameters and messages ---- */

static enum sf_err check_counts(struct sf_search_ask *a, struct sf_why *why)
{
    if (a->limit > MAX_LIMIT)
        return sf_fail(why, SF_ERR_INPUT, "limit %llu exceeds max limit %d",
                       (unsigned long long)a->limit, MAX_LIMIT);
    if (a->spans_per_set > MAX_SPSS)
        return sf_fail(why, SF_ERR_INPUT, "spans per span set exceeds %d. received %llu", MAX_SPSS,
                       (unsigned long long)a->spans_per_set);
    if (a->spans_per_set == 0)
        a->spans_per_set = DEFAULT_SPSS;
    return SF_OK;
}

/* The query is the given one, or the old parameters translated, or all traces. */
static enum sf_err settle_query(struct sf_search_ask *a, const struct sf_legacy_tags *legacy,
                                struct sf_why *why)
{
    if (sf_str_trim(sf_buf_str(&a->query)).len && legacy->n_pairs)
        return sf_fail(why, SF_ERR_INPUT,
                       "invalid request: can't specify tags and q in the same query");
    if (sf_buf_ok(&a->query) && sf_str_trim(sf_buf_str(&a->query)).len == 0) {
        sf_buf_reset(&a->query);
        sf_legacy_tags_query(legacy, &a->query);
    }
    if (!sf_buf_ok(&a->query))
        return sf_fail(why, SF_ERR_INPUT, "query is longer than %d bytes", SF_LIMIT_QUERY_LEN);
    return SF_OK;
}

/* ---- query parameters ---- */

/* "since" instead of start and end: a duration before now. */
static enum sf_err read_since(const struct sf_request *r, struct sf_search_ask *a,
                              struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN}, ago = {0};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, SF_STR("since"), &text) && text.len) {
        sf_buf_print(&ago, "now-%.*s", SF_STR_ARG(sf_buf_str(&text)));
        if (sf_time_text_parse(sf_buf_str(&ago), sf_clock_wall_ns(), &a->from_ns))
            a->to_ns = INT64_MAX;
        else
            err = sf_fail(why, SF_ERR_INPUT,
                          "invalid since: %.*s is not a duration such as 15m or 1h",
                          SF_STR_ARG(sf_buf_str(&text)));
    }
    sf_buf_done(&text);
    sf_buf_done(&ago);
    return err;
}

static enum sf_err read_old_params(const struct sf_request *r, const struct sf_search_ask *a,
                                   struct sf_legacy_tags *legacy, struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_QUERY_LEN};
    enum sf_err err = sf_params_duration(r, SF_STR("minDuration"), &legacy->min_ns, why);
    if (!err)
        err = sf_params_duration(r, SF_STR("maxDuration"), &legacy->max_ns, why);
    if (!err && legacy->max_ns && legacy->max_ns < legacy->min_ns)
        err = sf_fail(why, SF_ERR_INPUT, "invalid maxDuration: must be greater than minDuration");
    if (!err && sf_request_param(r, SF_STR("tags"), &text))
        err = sf_legacy_tags_parse(legacy, sf_buf_str(&text), why);
    else if (!err && text.err)
        err = sf_fail(why, SF_ERR_INPUT, "tags are longer than %d bytes", SF_LIMIT_QUERY_LEN);
    else if (!err && a->query.len == 0 && a->from_ns == 0 && a->to_ns == 0)
        err = sf_legacy_tags_params(legacy, r, why);
    sf_buf_done(&text);
    return err;
}

enum sf_err sf_search_ask_params(const struct sf_request *r, struct sf_search_ask *out,
                                 struct sf_why *why)
{
    struct sf_legacy_tags legacy = {0};
    enum sf_err err;
    out->limit = DEFAULT_LIMIT;
    out->spans_per_set = DEFAULT_SPSS;
    err = sf_params_count(r, SF_STR("limit"), &out->limit, why);
    if (!err)
        err = sf_params_count(r, SF_STR("spss"), &out->spans_per_set, why);
    if (!err && out->limit == 0)
        err = sf_fail(why, SF_ERR_INPUT, "invalid limit: must be a positive number");
    if (!err)
        err = check_counts(out, why);
    if (!err)
        err = sf_params_start_end(r, &out->from_ns, &out->to_ns, why);
    if (!err)
        err = read_since(r, out, why);
    if (err)
        return err;
    out->query.max = SF_LIMIT_QUERY_LEN;
    (void)sf_request_param(r, SF_STR("q"), &out->query);
    err = read_old_params(r, out, &legacy, why);
    if (!err)
        err = settle_query(out, &legacy, why);
    sf_legacy_tags_done(&legacy);
    return err;
}

/* ---- SearchRequest ---- */

static enum sf_err read_pair(struct sf_pb *pb, struct sf_legacy_tags *legacy, struct sf_why *why)
{
    struct sf_pb entry = sf_pb_msg(pb);
    sf_str key = SF_STR_NONE, val = SF_STR_NONE;
    while (sf_pb_next(&entry)) {
        switch (entry.tag) {
        case SF_PB_TAG(1, SF_PB_LEN): key = sf_pb_str(&entry); break;
        case SF_PB_TAG(2, SF_PB_LEN): val = sf_pb_str(&entry); break;
        default: sf_pb_skip(&entry); break;
        }
    }
    return sf_pb_join(pb, &entry) ? sf_legacy_tags_add(legacy, key, val, why) : SF_OK;
}

static enum sf_err read_fields(struct sf_pb *pb, struct sf_search_ask *a,
                               struct sf_legacy_tags *legacy, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(pb)) {
        switch (pb->tag) {
        case SF_PB_TAG(1, SF_PB_LEN): err = read_pair(pb, legacy, why); break;
        case SF_PB_TAG(2, SF_PB_VARINT): legacy->min_ns = sf_pb_u32(pb) * SF_NS_PER_MS; break;
        case SF_PB_TAG(3, SF_PB_VARINT): legacy->max_ns = sf_pb_u32(pb) * SF_NS_PER_MS; break;
        case SF_PB_TAG(4, SF_PB_VARINT): a->limit = sf_pb_u32(pb); break;
        case SF_PB_TAG(5, SF_PB_VARINT): a->from_ns = sf_pb_u32(pb) * SF_NS_PER_S; break;
        case SF_PB_TAG(6, SF_PB_VARINT): a->to_ns = sf_pb_u32(pb) * SF_NS_PER_S; break;
        case SF_PB_TAG(8, SF_PB_LEN):
            sf_buf_reset(&a->query);
            sf_buf_add_str(&a->query, sf_pb_str(pb));
            break;
        case SF_PB_TAG(9, SF_PB_VARINT): a->spans_per_set = sf_pb_u32(pb); break;
        case SF_PB_TAG(10, SF_PB_LEN): /* which replicas to query: this server has one */
        case SF_PB_TAG(11, SF_PB_LEN): /* hints for Tempo's query engine that do not change the
                                        * result */
            sf_pb_skip(pb);
            break;
        default:
            a->n_unknown++;
            sf_pb_skip(pb);
            break;
        }
    }
    return err ? err : sf_pb_why(pb, "SearchRequest", why);
}

enum sf_err sf_search_ask_message(sf_bytes message, struct sf_search_ask *out, struct sf_why *why)
{
    struct sf_legacy_tags legacy = {0};
    struct sf_pb pb = sf_pb_init(message);
    enum sf_err err;
    out->query.max = SF_LIMIT_QUERY_LEN;
    err = read_fields(&pb, out, &legacy, why);
    if (!err && out->limit == 0)
        out->limit = DEFAULT_LIMIT;
    if (!err)
        err = check_counts(out, why);
    if (!err)
        err = sf_params_check_range(out->from_ns, out->to_ns, why);
    if (!err)
        err = settle_query(out, &legacy, why);
    sf_legacy_tags_done(&legacy);
    return err;
}
