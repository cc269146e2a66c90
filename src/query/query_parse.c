#include "query/query_parse.h"

#include "base/limits.h"
#include "query/parser.h"
#include "query/pipeline_parse.h"

static struct sf_parser query_parse_start(sf_str text, struct sf_arena *req, struct sf_why *why)
{
    struct sf_parser p = {.req = req, .why = why};
    p.lexer = (struct sf_lexer){.text = text, .line = 1, .req = req};
    sf_parser_next(&p);
    return p;
}

enum sf_err sf_query_parse(sf_str text, struct sf_arena *req, const struct sf_query **out,
                           struct sf_query_fault *out_fault, struct sf_why *why)
{
    struct sf_parser p;
    struct sf_query *q = sf_arena_new(req, sizeof(*q));
    if (out_fault)
        *out_fault = (struct sf_query_fault){0};
    if (!q)
        return sf_no_room(why, "the query");
    if (text.len > SF_LIMIT_QUERY_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "query of %zu bytes, at most %d are allowed", text.len,
                       SF_LIMIT_QUERY_LEN);
    p = query_parse_start(text, req, why);
    if (!p.err)
        sf_pipeline_parse(&p, q);
    if (p.err) {
        if (out_fault)
            *out_fault = p.fault;
        return p.err;
    }
    q->n_exprs = p.n_exprs;
    *out = q;
    return SF_OK;
}

/* ---- incomplete filters, for completion ---- */

enum { MAX_PARTS = 64 };

static const struct sf_query *as_filter(sf_str text, struct sf_arena *req, bool *out_is_query)
{
    const struct sf_query *q;
    const struct sf_spanset *s;
    *out_is_query = sf_query_parse(text, req, &q, NULL, NULL) == SF_OK;
    if (!*out_is_query || !q->pipeline || q->pipeline->n_stages != 1 ||
        q->pipeline->stages[0].kind != SF_STAGE_SPANSET)
        return NULL;
    s = q->pipeline->stages[0].spanset;
    return s->op == SF_SPANSET_FILTER && s->filter ? q : NULL;
}

struct split {
    sf_str parts[MAX_PARTS];
    size_t n;
    bool has_or; /* at the top level: if one part is true, all of it is */
    size_t end;  /* end of the text between the braces */
};

static size_t skip_string(sf_str text, size_t at)
{
    char quote = text.p[at++];
    for (; at < text.len && text.p[at] != quote; at++) {
        if (quote == '"' && text.p[at] == '\\')
            at++;
    }
    return at;
}

/* Without the lexer, which stops at the first incomplete token. */
static void split_conditions(sf_str text, struct split *out)
{
    size_t from = 0, at = 0, depth = 0;
    for (; at < text.len; at++) {
        char c = text.p[at];
        bool is_pair = at + 1 < text.len && text.p[at + 1] == c;
        if (c == '"' || c == '`') {
            at = skip_string(text, at);
        } else if (c == '(') {
            depth++;
        } else if (c == ')' && depth) {
            depth--;
        } else if (c == '}') {
            break;
        } else if (depth == 0 && c == '|' && is_pair) {
            out->has_or = true;
        } else if (depth == 0 && c == '&' && is_pair && out->n < MAX_PARTS - 1) {
            out->parts[out->n++] = sf_str_part(text, from, at - from);
            from = ++at + 1;
        }
    }
    out->end = at < text.len ? at : text.len;
    out->parts[out->n++] = sf_str_part(text, from, out->end - from);
}

const struct sf_query *sf_query_parse_partial(sf_str text, struct sf_arena *req)
{
    struct split split = {0};
    const struct sf_query *q;
    sf_str kept = SF_STR_NONE, one;
    size_t mark = req->at;
    bool is_query;
    text = sf_str_trim(text);
    q = as_filter(text, req, &is_query);
    if (is_query || text.len == 0 || text.p[0] != '{' || text.len > SF_LIMIT_QUERY_LEN)
        return q;
    text = sf_str_from_at(text, 1);
    split_conditions(text, &split);
    if (split.has_or || sf_str_from_at(text, split.end + 1).len)
        return NULL;
    for (size_t i = 0; i < split.n; i++) {
        if (!sf_arena_print(req, &one, "{%.*s}", SF_STR_ARG(split.parts[i])))
            return NULL;
        if (!as_filter(one, req, &is_query))
            continue;
        if (!sf_arena_print(req, &kept, "%.*s%s%.*s", SF_STR_ARG(kept), kept.len ? "&&" : "",
                            SF_STR_ARG(split.parts[i])))
            return NULL;
    }
    if (kept.len == 0 || !sf_arena_print(req, &one, "{%.*s}", SF_STR_ARG(kept))) {
        req->at = mark;
        return NULL;
    }
    return as_filter(one, req, &is_query);
}

/* Uses the parser of select(), which accepts every spelling; it must have read one attribute and
 * nothing else. */
enum sf_err sf_query_parse_attr(sf_str text, struct sf_arena *req, struct sf_query_attr *out,
                                struct sf_why *why)
{
    const struct sf_query *q;
    const struct sf_stage *s;
    sf_str whole;
    if (text.len > SF_LIMIT_QUERY_LEN / 2 ||
        !sf_arena_print(req, &whole, "{}|select(%.*s)", SF_STR_ARG(text)))
        return sf_fail(why, SF_ERR_LIMIT, "attribute name is too long");
    if (sf_query_parse(whole, req, &q, NULL, NULL) || !q->pipeline || q->pipeline->n_stages != 2 ||
        q->n_hints)
        return sf_fail(why, SF_ERR_INPUT,
                       "%.*s is not an attribute such as span.http.route or name",
                       SF_STR_ARG(sf_str_part(text, 0, 100)));
    s = &q->pipeline->stages[1];
    if (s->kind != SF_STAGE_SELECT || s->n_attrs != 1)
        return sf_fail(why, SF_ERR_INPUT, "%.*s is not one attribute",
                       SF_STR_ARG(sf_str_part(text, 0, 100)));
    *out = s->attrs[0];
    return SF_OK;
}
