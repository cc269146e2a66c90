#include "serve/tempo/tags_ask.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "query/query_parse.h"
#include "serve/params.h"
#include "wire/pb.h"

#define DEFAULT_RANGE_NS SF_NS_PER_DAY

bool sf_tags_ask_is_names(enum sf_tags_form form)
{
    return form == SF_TAGS_NAMES_V1 || form == SF_TAGS_NAMES_V2;
}

static bool is_v2(enum sf_tags_form form)
{
    return form == SF_TAGS_NAMES_V2 || form == SF_TAGS_VALUES_V2;
}

/* ---- shared by parameters and messages ---- */

static enum sf_err settle_scope(sf_str word, enum sf_attr_scope *out, struct sf_why *why)
{
    enum sf_attr_scope s = 0;
    *out = SF_SCOPE_ANY;
    if (word.len == 0)
        return SF_OK;
    while (s < SF_SCOPES && !sf_str_eq(word, sf_str_from(sf_tags_result_scope_name(s))))
        s++;
    if (s == SF_SCOPES)
        return sf_fail(why, SF_ERR_INPUT, "invalid scope: %.*s",
                       SF_STR_ARG(sf_str_part(word, 0, 60)));
    *out = s;
    return SF_OK;
}

/* Reads a name without a scope: an intrinsic in its v1 spelling, or an attribute. */
static void read_old_tag(sf_str tag, struct sf_query_attr *out)
{
    static const struct {
        sf_str name;
        enum sf_intrinsic intrinsic;
    } known[] = {
        {SF_STR("name"), SF_INTRINSIC_NAME},
        {SF_STR("duration"), SF_INTRINSIC_DURATION},
        {SF_STR("status"), SF_INTRINSIC_STATUS},
        {SF_STR("status.code"), SF_INTRINSIC_STATUS},
        {SF_STR("statusMessage"), SF_INTRINSIC_STATUS_MESSAGE},
        {SF_STR("kind"), SF_INTRINSIC_KIND},
        {SF_STR("rootName"), SF_INTRINSIC_ROOT_NAME},
        {SF_STR("root.name"), SF_INTRINSIC_ROOT_NAME},
        {SF_STR("rootServiceName"), SF_INTRINSIC_ROOT_SERVICE},
        {SF_STR("root.service.name"), SF_INTRINSIC_ROOT_SERVICE},
        {SF_STR("traceDuration"), SF_INTRINSIC_TRACE_DURATION},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (sf_str_eq(tag, known[i].name)) {
            *out = (struct sf_query_attr){.scope = SF_SCOPE_INTRINSIC,
                                          .intrinsic = known[i].intrinsic};
            return;
        }
    }
    if (tag.len > 1 && tag.p[0] == '.')
        tag = sf_str_from_at(tag, 1);
    *out = (struct sf_query_attr){.scope = SF_SCOPE_ANY, .name = tag};
}

static enum sf_err tags_ask_settle(struct sf_tags_ask *a, sf_str tag, sf_str query,
                                   struct sf_arena *req, struct sf_why *why)
{
    if (a->tags.to_ns == 0) { /* without times: recent data */
        a->tags.from_ns = sf_clock_wall_ns() - DEFAULT_RANGE_NS;
        a->tags.to_ns = INT64_MAX;
    }
    if (a->form == SF_TAGS_VALUES_V1) {
        read_old_tag(tag, &a->attr);
    } else if (a->form == SF_TAGS_VALUES_V2 && sf_query_parse_attr(tag, req, &a->attr, why)) {
        sf_why_prefix(why, "please provide a valid tagName");
        return SF_ERR_INPUT;
    }
    if (is_v2(a->form) && query.len)
        a->tags.filter = sf_query_parse_partial(query, req);
    return SF_OK;
}

/* ---- query parameters ---- */

static enum sf_err tags_ask_read_scope(const struct sf_request *r, enum sf_attr_scope *out,
                                       struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    enum sf_err err;
    (void)sf_request_param(r, SF_STR("scope"), &text);
    err = settle_scope(sf_buf_str(&text), out, why);
    sf_buf_done(&text);
    return err;
}

enum sf_err sf_tags_ask_params(const struct sf_request *r, sf_str tag, struct sf_arena *req,
                               struct sf_tags_ask *out, struct sf_why *why)
{
    struct sf_buf text = {.max = SF_LIMIT_QUERY_LEN};
    sf_str query = SF_STR_NONE;
    enum sf_err err = sf_params_count(r, SF_STR("limit"), &out->tags.limit, why);
    if (!err)
        err = sf_params_start_end(r, &out->tags.from_ns, &out->tags.to_ns, why);
    if (!err && sf_tags_ask_is_names(out->form))
        err = tags_ask_read_scope(r, &out->scope, why);
    if (err)
        return err;
    /* A query that is too long or cannot be parsed does not filter. */
    if (sf_request_param(r, SF_STR("q"), &text) && sf_buf_ok(&text) &&
        !sf_arena_copy(req, sf_buf_str(&text), &query))
        err = sf_no_room(why, "the query");
    sf_buf_done(&text);
    return err ? err : tags_ask_settle(out, tag, query, req, why);
}

/* ---- messages ---- */

struct message {
    sf_str first, query; /* first: the scope or the tag; query: the filter */
    uint64_t from_s, to_s, limit, n_unknown;
};

/* In SearchTagsRequest times and limit have numbers one lower than in SearchTagValuesRequest. */
static enum sf_err tags_ask_read_message(sf_bytes bytes, bool is_names, struct message *m,
                                         struct sf_why *why)
{
    struct sf_pb pb = sf_pb_init(bytes);
    while (sf_pb_next(&pb)) {
        uint32_t field = is_names && pb.field >= 3 ? pb.field + 1 : pb.field;
        switch (field) {
        case 1: m->first = sf_pb_str(&pb); break;
        case 2: m->query = sf_pb_str(&pb); break;
        case 4: m->from_s = sf_pb_u32(&pb); break;
        case 5: m->to_s = sf_pb_u32(&pb); break;
        case 6: m->limit = sf_pb_u32(&pb); break;
        case 7: /* when Tempo ends a search for values early: ignored */
        case 8: /* which replicas to query: this server has one */ sf_pb_skip(&pb); break;
        default:
            m->n_unknown++;
            sf_pb_skip(&pb);
            break;
        }
    }
    return sf_pb_why(&pb, is_names ? "SearchTagsRequest" : "SearchTagValuesRequest", why);
}

enum sf_err sf_tags_ask_message(sf_bytes message, struct sf_arena *req, struct sf_tags_ask *out,
                                struct sf_why *why)
{
    struct message m = {0};
    bool is_names = sf_tags_ask_is_names(out->form);
    enum sf_err err = tags_ask_read_message(message, is_names, &m, why);
    out->n_unknown = m.n_unknown;
    if (!err && is_names)
        err = settle_scope(m.first, &out->scope, why);
    if (err)
        return err;
    out->tags.from_ns = (int64_t)m.from_s * SF_NS_PER_S;
    out->tags.to_ns = (int64_t)m.to_s * SF_NS_PER_S;
    out->tags.limit = m.limit;
    err = sf_params_check_range(out->tags.from_ns, out->tags.to_ns, why);
    return err ? err : tags_ask_settle(out, is_names ? SF_STR_NONE : m.first, m.query, req, why);
}
