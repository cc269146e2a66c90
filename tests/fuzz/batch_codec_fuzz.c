/* What decodes as the log's form of a batch reads back the same after being encoded again. */
#include "fuzz/span_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req, more;
    struct sf_span_batch batch, again;
    struct sf_buf buf = {0};
    struct sf_why why;
    char what[160];
    uint8_t *copy = malloc(size ? size : 1);
    enum sf_err err;

    if (!req.base)
        SF_ASSERT(sf_arena_init(&req, 1u << 20) && sf_arena_init(&more, 4u << 20));
    sf_arena_reset(&req);
    sf_arena_reset(&more);
    SF_ASSERT(copy);
    if (size)
        memcpy(copy, data, size);
    err = sf_batch_codec_decode((sf_bytes){copy, size}, &req, &batch, &why);
    SF_ASSERT(err == SF_OK || err == SF_ERR_CORRUPT || err == SF_ERR_LIMIT ||
              err == SF_ERR_UNSUPPORTED);
    if (!err) {
        sf_batch_codec_encode(&batch, &buf);
        SF_ASSERT(sf_buf_ok(&buf));
        SF_ASSERT(!sf_batch_codec_decode(sf_buf_bytes(&buf), &more, &again, &why));
        SF_ASSERT(sf_otlp_make_is_same(&batch, &again, what));
    }
    sf_buf_done(&buf);
    free(copy);
    return 0;
}
