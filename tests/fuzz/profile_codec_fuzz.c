/* What decodes as the log's form of a profile batch reads back the same after being encoded again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "model/profile_codec.h"
#include "support/profile_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req, more;
    struct sf_profile_batch batch, again;
    struct sf_buf buf = {0};
    struct sf_why why;
    char what[160];
    uint8_t *copy = malloc(size ? size : 1);
    enum sf_err err;

    if (!req.base)
        SF_ASSERT(sf_arena_init(&req, 4u << 20) && sf_arena_init(&more, 16u << 20));
    sf_arena_reset(&req);
    sf_arena_reset(&more);
    SF_ASSERT(copy);
    if (size)
        memcpy(copy, data, size);
    err = sf_profile_codec_decode((sf_bytes){copy, size}, &req, &batch, &why);
    SF_ASSERT(err == SF_OK || err == SF_ERR_CORRUPT || err == SF_ERR_LIMIT ||
              err == SF_ERR_UNSUPPORTED);
    if (!err) {
        sf_profile_codec_encode(&batch, &buf);
        SF_ASSERT(sf_buf_ok(&buf));
        SF_ASSERT(!sf_profile_codec_decode(sf_buf_bytes(&buf), &more, &again, &why));
        SF_ASSERT(sf_profile_make_is_same(&batch, &again, what));
    }
    sf_buf_done(&buf);
    free(copy);
    return 0;
}
