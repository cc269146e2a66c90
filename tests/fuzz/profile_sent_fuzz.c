/* A record of kind SF_LOG_PROFILE_SENT that decodes is unchanged after encoding and decoding it
 * again. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "decode/profile_sent.h"

static bool is_same(const struct sf_profile_hint *a, const struct sf_profile_hint *b)
{
    bool is_ok = a->n_labels == b->n_labels && sf_str_eq(a->format, b->format) &&
                 sf_str_eq(a->service, b->service) && sf_str_eq(a->spy, b->spy) &&
                 sf_str_eq(a->session_id, b->session_id) && sf_str_eq(a->peer, b->peer) &&
                 sf_trace_id_eq(a->trace_id, b->trace_id) && a->span_id == b->span_id &&
                 memcmp(&a->profile_id, &b->profile_id, sizeof(a->profile_id)) == 0 &&
                 a->from_ns == b->from_ns && a->until_ns == b->until_ns && a->now_ns == b->now_ns &&
                 a->is_request == b->is_request && a->has_sample_rate == b->has_sample_rate &&
                 a->sample_rate == b->sample_rate && a->max_frames == b->max_frames;
    for (uint32_t i = 0; is_ok && i < a->n_labels; i++)
        is_ok = sf_str_eq(a->labels[i].key, b->labels[i].key) &&
                sf_str_eq(a->labels[i].val, b->labels[i].val);
    return is_ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sf_arena req;
    struct sf_profile_hint hint, again;
    struct sf_buf buf = {0};
    struct sf_why why;
    sf_str bytes, bytes_again;
    uint8_t *copy = malloc(size ? size : 1);
    enum sf_err err;

    if (!req.base)
        SF_ASSERT(sf_arena_init(&req, 16u << 20));
    sf_arena_reset(&req);
    SF_ASSERT(copy);
    if (size)
        memcpy(copy, data, size);
    err = sf_profile_sent_decode((sf_bytes){copy, size}, &req, &hint, &bytes, &why);
    SF_ASSERT(err == SF_OK || err == SF_ERR_CORRUPT || err == SF_ERR_LIMIT ||
              err == SF_ERR_UNSUPPORTED);
    if (!err) {
        SF_ASSERT(sf_profile_sent_can(&hint));
        sf_profile_sent_encode(&hint, bytes, &buf);
        SF_ASSERT(sf_buf_ok(&buf));
        SF_ASSERT(!sf_profile_sent_decode(sf_buf_bytes(&buf), &req, &again, &bytes_again, &why));
        SF_ASSERT(is_same(&hint, &again) && sf_str_eq(bytes, bytes_again));
    }
    sf_buf_done(&buf);
    free(copy);
    return 0;
}
