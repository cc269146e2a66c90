/* Rules of keeping from any bytes: refused, or within their bounds, and the same bytes again when
 * they are written. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/limits.h"
#include "model/keep_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req;
    struct sf_keep_rules r, again;
    struct sf_buf out = {0}, more = {0};
    struct sf_why why;
    uint8_t *copy = malloc(size ? size : 1);
    enum sf_err err;
    SF_ASSERT(copy);
    if (!req.base)
        SF_ASSERT(sf_arena_init(&req, 4u << 20));
    sf_arena_reset(&req);
    if (size)
        memcpy(copy, data, size);
    err = sf_keep_rules_decode((sf_bytes){copy, size}, &req, &r, &why);
    SF_ASSERT(err == SF_OK || err == SF_ERR_CORRUPT || err == SF_ERR_LIMIT);
    if (!err) {
        SF_ASSERT(r.n_services <= SF_LIMIT_KEEP_SERVICES && r.all.baseline_per_10000 <= 10000);
        for (uint32_t i = 0; i < r.n_services; i++)
            SF_ASSERT(sf_keep_rules_of(&r, r.services[i].service)->baseline_per_10000 <= 10000);
        sf_keep_rules_encode(&r, &out);
        SF_ASSERT(sf_buf_ok(&out));
        SF_ASSERT(!sf_keep_rules_decode(sf_buf_bytes(&out), &req, &again, &why));
        sf_keep_rules_encode(&again, &more);
        SF_ASSERT(out.len == more.len && memcmp(out.p, more.p, out.len) == 0);
    }
    sf_buf_done(&out);
    sf_buf_done(&more);
    free(copy);
    return 0;
}
