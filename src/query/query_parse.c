#include "query/query_parse.h"

#include "base/limits.h"
#include "query/parser.h"
#include "query/pipeline_parse.h"

static struct sf_parser start(sf_str text, struct sf_arena *req, struct sf_why *why)
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
        return sf_fail(why, SF_ERR_LIMIT, "query: no room for it");
    if (text.len > SF_LIMIT_QUERY_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "query of %zu bytes, at most %d are allowed", text.len,
                       SF_LIMIT_QUERY_LEN);
    p = start(text, req, why);
    if (!p.err)
        sf_parser_query(&p, q);
    if (p.err) {
        if (out_fault)
            *out_fault = p.fault;
        return p.err;
    }
    q->n_exprs = p.n_exprs;
    *out = q;
    return SF_OK;
}

/* The longest prefix of conditions joined by && that parses: the text is cut at each && from the
 * right until what is left is whole. */
const struct sf_expr *sf_query_parse_partial(sf_str text, struct sf_arena *req)
{
    sf_str inner = sf_str_trim(text);
    unsigned tries = 0;
    if (inner.len > SF_LIMIT_QUERY_LEN || inner.len == 0 || inner.p[0] != '{')
        return NULL;
    inner = sf_str_from_at(inner, 1);
    if (inner.len && inner.p[inner.len - 1] == '}')
        inner.len--;
    while (inner.len && tries++ < 32) {
        struct sf_why why;
        struct sf_parser p = start(inner, req, &why);
        const struct sf_expr *e = sf_parser_expr(&p);
        size_t at = inner.len;
        if (e && !p.err && p.token.kind == SF_TOKEN_END && sf_parser_check_filter(&p, e))
            return e;
        while (at >= 2 && !(inner.p[at - 1] == '&' && inner.p[at - 2] == '&'))
            at--;
        inner.len = at >= 2 ? at - 2 : 0;
    }
    return NULL;
}
