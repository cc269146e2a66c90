#include "serve/tags.h"

#include "base/limits.h"
#include "exec/tags.h"
#include "os/clock.h"
#include "query/query_parse.h"
#include "render/tags_result.h"
#include "serve/params.h"
#include "serve/tenant.h"

#define DEFAULT_RANGE_NS (24 * 3600 * 1000000000LL)

struct asked {
    enum sf_tags_form form;
    enum sf_attr_scope scope;
    struct sf_query_attr attr;
    struct sf_buf query; /* owned */
    struct sf_tags tags;
};

static bool is_names(enum sf_tags_form form)
{
    return form == SF_TAGS_NAMES_V1 || form == SF_TAGS_NAMES_V2;
}

static bool is_v2(enum sf_tags_form form)
{
    return form == SF_TAGS_NAMES_V2 || form == SF_TAGS_VALUES_V2;
}

/* ---- what is asked ---- */

static enum sf_err read_scope(const struct sf_request *r, enum sf_attr_scope *out,
                              struct sf_why *why)
{
    struct sf_buf text = {.max = 256};
    sf_str word;
    enum sf_attr_scope s = 0;
    enum sf_err err = SF_OK;
    *out = SF_SCOPE_ANY;
    if (sf_request_param(r, SF_STR("scope"), &text) && text.len) {
        word = sf_buf_str(&text);
        while (s < SF_SCOPES && !sf_str_eq(word, sf_str_from(sf_tag_scope_name(s))))
            s++;
        if (s == SF_SCOPES)
            err = sf_fail(why, SF_ERR_INPUT, "invalid scope: %.*s",
                          SF_STR_ARG(sf_str_part(word, 0, 60)));
        else
            *out = s;
    }
    sf_buf_done(&text);
    return err;
}

/* Names without a scope: intrinsics as the old form spells them, and attributes as they are. */
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

static enum sf_err read_limit(const struct sf_request *r, uint64_t *out, struct sf_why *why)
{
    struct sf_buf text = {.max = 64};
    enum sf_err err = SF_OK;
    *out = 0;
    if (sf_request_param(r, SF_STR("limit"), &text) && text.len &&
        !sf_str_to_u64(sf_buf_str(&text), out))
        err = sf_fail(why, SF_ERR_INPUT, "invalid limit: %.*s is not a number",
                      SF_STR_ARG(sf_str_part(sf_buf_str(&text), 0, 40)));
    sf_buf_done(&text);
    return err;
}

static enum sf_err read_request(struct sf_call *call, struct asked *a, struct sf_arena *req,
                                struct sf_why *why)
{
    const struct sf_request *r = call->request;
    enum sf_err err = read_limit(r, &a->tags.limit, why);
    if (!err)
        err = sf_params_start_end(r, &a->tags.from_ns, &a->tags.to_ns, why);
    if (!err && is_names(a->form))
        err = read_scope(r, &a->scope, why);
    if (err)
        return err;
    if (a->tags.to_ns == 0) { /* completion of what is running now */
        a->tags.from_ns = sf_clock_wall_ns() - DEFAULT_RANGE_NS;
        a->tags.to_ns = INT64_MAX;
    }
    if (a->form == SF_TAGS_VALUES_V1) {
        read_old_tag(call->arg, &a->attr);
    } else if (a->form == SF_TAGS_VALUES_V2 && sf_query_parse_attr(call->arg, req, &a->attr, why)) {
        sf_why_prefix(why, "please provide a valid tagName");
        return SF_ERR_INPUT;
    }
    a->query.max = SF_LIMIT_QUERY_LEN;
    if (is_v2(a->form) && sf_request_param(r, SF_STR("q"), &a->query) && sf_buf_ok(&a->query))
        a->tags.filter = sf_query_parse_partial(sf_buf_str(&a->query), req);
    return SF_OK;
}

/* ---- the answer ---- */

static enum sf_err run(struct sf_call *call, struct sf_worker *worker, struct asked *a,
                       struct sf_tags_result *out, struct sf_why *why)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_query_ctx q = {0};
    struct sf_arena scratch = {0};
    struct sf_tags tags;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, why);
    if (!err)
        err = read_request(call, a, q.req, why);
    if (err || q.n_tenants == 0)
        return err;
    if (!sf_arena_init(&scratch, call->service->query_memory_len))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for the query");
    tags = a->tags;
    tags.scratch = &scratch;
    err = is_names(a->form) ? sf_tags_names(store, &tags, a->scope, &q, out, why)
                            : sf_tags_values(store, &tags, &a->attr, &q, out, why);
    sf_arena_done(&scratch);
    return err;
}

/* The old list of names has intrinsics only when they are asked for. */
static void drop_intrinsics(struct sf_tags_result *r)
{
    if (r->n_scopes && r->scopes[r->n_scopes - 1].scope == SF_SCOPE_INTRINSIC)
        r->n_scopes--;
}

static bool handle(struct sf_call *call, struct sf_worker *worker, enum sf_tags_form form)
{
    struct asked a = {.form = form};
    struct sf_tags_result result = {0};
    struct sf_why why = {0};
    size_t at;
    enum sf_err err = run(call, worker, &a, &result, &why);
    sf_buf_done(&a.query);
    if (err)
        return sf_call_fail(call, err, &why);
    if (form == SF_TAGS_NAMES_V1 && a.scope == SF_SCOPE_ANY)
        drop_intrinsics(&result);
    if (sf_str_find(sf_request_header(call->request, SF_STR("accept")),
                    SF_STR("application/protobuf"), &at)) {
        sf_call_ok(call, "application/protobuf");
        sf_tags_result_pb(&result, form, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_tags_result_json(&result, form, &call->response->body);
    }
    /* The strict parser of clients takes no field of ours: what was cut is said in a header. */
    if (result.is_partial)
        sf_response_header(call->response, "x-spanflame-partial", result.note);
    err = call->response->body.err;
    if (err) {
        sf_fail(&why, err, "the answer does not fit a query's memory");
        return sf_call_fail(call, err, &why);
    }
    return true;
}

bool sf_tags_handle_names_v1(struct sf_call *call, struct sf_worker *worker)
{
    return handle(call, worker, SF_TAGS_NAMES_V1);
}

bool sf_tags_handle_names_v2(struct sf_call *call, struct sf_worker *worker)
{
    return handle(call, worker, SF_TAGS_NAMES_V2);
}

bool sf_tags_handle_values_v1(struct sf_call *call, struct sf_worker *worker)
{
    return handle(call, worker, SF_TAGS_VALUES_V1);
}

bool sf_tags_handle_values_v2(struct sf_call *call, struct sf_worker *worker)
{
    return handle(call, worker, SF_TAGS_VALUES_V2);
}
