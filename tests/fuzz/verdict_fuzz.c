/* A verdict from any bytes, their checksums put right so that what is behind them is read: refused,
 * or lists in order whose numbers are within them, which read back the same when written again. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "model/verdict.h"

static void check(const struct sf_verdict *v)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n_kept; i++) {
        const struct sf_verdict_entry *t = &v->traces[i];
        SF_ASSERT(t->first_span == n && t->baseline_per_10000 <= 10000);
        SF_ASSERT(t->reasons >> SF_KEEP_REASONS == 0);
        n += t->n_spans;
        for (uint32_t k = 0; k < t->n_spans; k++) {
            sf_span_id id = v->spans[t->first_span + k];
            SF_ASSERT(id == 0 || sf_verdict_has_span(v, id));
        }
        SF_ASSERT(sf_verdict_trace(v, t->id));
    }
    SF_ASSERT(n == v->n_kept_spans);
    for (uint32_t i = 0; i < v->n_roots; i++)
        SF_ASSERT(
            sf_verdict_has_root(v, v->roots[i].process, v->roots[i].start_ns, v->roots[i].end_ns));
    for (uint32_t i = 0; i < v->n_services; i++)
        SF_ASSERT(sf_verdict_has_service(v, v->services[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req, more;
    struct sf_verdict v, again;
    struct sf_buf out = {0};
    struct sf_why why;
    uint8_t *copy = malloc(size ? size : 1);
    enum sf_err err;
    SF_ASSERT(copy);
    if (!req.base)
        SF_ASSERT(sf_arena_init(&req, 4u << 20) && sf_arena_init(&more, 16u << 20));
    sf_arena_reset(&req);
    sf_arena_reset(&more);
    if (size)
        memcpy(copy, data, size);
    if (size >= SF_VERDICT_HEADER_LEN + 16) {
        sf_store_u64le(copy + SF_VERDICT_HEADER_LEN, sf_hash(copy, SF_VERDICT_HEADER_LEN));
        sf_store_u64le(copy + size - 8, sf_hash(copy, size - 8));
    }
    err = sf_verdict_decode((sf_bytes){copy, size}, NULL, &req, &v, &why);
    SF_ASSERT(err == SF_OK || err == SF_ERR_CORRUPT || err == SF_ERR_LIMIT ||
              err == SF_ERR_UNSUPPORTED);
    if (!err) {
        check(&v);
        sf_verdict_encode(&v, copy + 8, &out);
        SF_ASSERT(sf_buf_ok(&out));
        SF_ASSERT(!sf_verdict_decode(sf_buf_bytes(&out), copy + 8, &more, &again, &why));
        SF_ASSERT(again.n_kept == v.n_kept && again.n_kept_spans == v.n_kept_spans &&
                  again.n_roots == v.n_roots && again.n_services == v.n_services &&
                  again.rules.n_services == v.rules.n_services);
    }
    sf_buf_done(&out);
    free(copy);
    return 0;
}
