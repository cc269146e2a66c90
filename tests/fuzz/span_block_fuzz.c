/* span_block_fuzz.c - a whole block from nowhere, with checksums not looked at: everything is read,
 * searched and verified. What decodes must be in range. */
#include <stdlib.h>

#include "base/invariant.h"
#include "block/reader.h"

static void look(void *arg, const char *sentence)
{
    (void)arg;
    SF_ASSERT(sentence[0] != 0);
}

static void check_rows(const struct sf_span_rows *rows)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        struct sf_span s = sf_span_rows_get(rows, i);
        SF_ASSERT(s.resource < rows->n_resources && s.scope < rows->n_scopes);
        for (uint32_t k = 0; k < s.attrs.n; k++) {
            const struct sf_attr *a = &s.attrs.list[k];
            SF_ASSERT(a->val.type > SF_VALUE_NONE && a->val.type < SF_VALUE_TYPES);
            for (size_t c = 0; c < a->key.len; c++)
                sum += (uint8_t)a->key.p[c];
            if (a->val.type == SF_VALUE_STR && a->val.str.len)
                sum += (uint8_t)a->val.str.p[a->val.str.len - 1];
        }
        for (uint32_t e = 0; e < s.n_events; e++)
            sum += s.events[e].name.len + s.events[e].attrs.n;
        for (uint32_t l = 0; l < s.n_links; l++)
            sum += s.links[l].trace_id.b[0] + s.links[l].attrs.n;
    }
    SF_ASSERT(sum != 1); /* so that all of it is looked at */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sf_key WANT[] = {
        {SF_SCOPE_ANY, {"http.method", 11}}, {SF_SCOPE_EVENT, {"x", 1}}, {SF_SCOPE_LINK, {"x", 1}}};
    struct sf_value v = {.type = SF_VALUE_STR, .str = SF_STR("GET")};
    struct sf_cond cond = {SF_SCOPE_ANY, SF_OP_EQ, SF_STR("http.method"), &v, 1};
    struct sf_span_block_reader *r;
    struct sf_buf bytes = {0};
    struct sf_arena a;
    struct sf_why why;
    uint64_t n_faults;
    uint32_t row, at, n;
    bool is_yes;
    sf_trace_id trace = {{0}};

    sf_buf_add(&bytes, data, size);
    if (!sf_arena_init(&a, 32 << 20))
        abort();
    if (sf_span_block_open_trusted(&bytes, &r, &why)) {
        sf_buf_done(&bytes);
        sf_arena_done(&a);
        return 0;
    }
    n = sf_span_block_granules(r);
    for (uint32_t g = 0; g < n && g < 8; g++) {
        struct sf_span_rows rows;
        struct sf_arena req = a;
        if (!sf_span_block_read(r, g, SF_COL_ALL, WANT, 3, &req, &rows, &why)) {
            check_rows(&rows);
            for (int w = 0; w < 3; w++) {
                for (uint32_t i = 0; i < rows.n_rows; i++)
                    SF_ASSERT(rows.want[w].code[i] == SF_NONE ||
                              rows.want[w].code[i] < rows.want[w].n_vals);
            }
            trace = rows.trace_id[rows.n_rows - 1];
            sf_span_block_find_span(r, rows.tenant, rows.span_id[0], req, &is_yes, &trace, &why);
            sf_span_block_find_trace(r, rows.tenant, trace, req, &is_yes, &at, &row, &why);
        }
        sf_span_block_may_match(r, g, sf_span_block_granule(r, g)->tenant, &cond, 1, a, &is_yes,
                                &why);
    }
    sf_span_block_verify(r, a, look, NULL, &n_faults, &why);
    sf_span_block_close(r);
    sf_arena_done(&a);
    return 0;
}
