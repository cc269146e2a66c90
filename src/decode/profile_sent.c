/* Version 1. docs/format-log.md lists the fields in order; numbers and strings are encoded as in
 * model/codec.h. */
#include "decode/profile_sent.h"

#include "model/codec.h"

enum { SENT_VERSION = 1 };
enum { SENT_REQUEST = 1, SENT_RATE = 2, SENT_FLAGS = 3 };

static bool sent_has_type(const struct sf_profile_type *t)
{
    return t->name.len || t->sample_type.len || t->sample_unit.len || t->period_type.len ||
           t->period_unit.len;
}

bool sf_profile_sent_can(const struct sf_profile_hint *hint)
{
    return !hint->type_word.len && !sent_has_type(&hint->type) && !hint->is_scrape &&
           hint->part == SF_PROFILE_WHOLE && !hint->otlp_version.len && !hint->jfr_labels.len &&
           !hint->prev.len && !hint->sample_type_config.len && !hint->resource.n;
}

void sf_profile_sent_encode(const struct sf_profile_hint *hint, sf_str bytes, struct sf_buf *out)
{
    struct sf_encoder e;
    sf_codec_put_begin(&e, SENT_VERSION, out);
    sf_buf_add_u8(out, (uint8_t)((hint->is_request ? SENT_REQUEST : 0) |
                                 (hint->has_sample_rate ? SENT_RATE : 0)));
    sf_codec_put_str(&e, hint->format);
    sf_codec_put_str(&e, hint->service);
    sf_codec_put_str(&e, hint->spy);
    sf_codec_put_str(&e, hint->session_id);
    sf_codec_put_str(&e, hint->peer);
    sf_buf_add_varint(out, hint->n_labels);
    for (uint32_t i = 0; i < hint->n_labels; i++) {
        sf_codec_put_str(&e, hint->labels[i].key);
        sf_codec_put_str(&e, hint->labels[i].val);
    }
    sf_buf_add(out, hint->trace_id.b, sizeof(hint->trace_id.b));
    sf_buf_add_u64le(out, hint->span_id);
    sf_buf_add(out, hint->profile_id.b, sizeof(hint->profile_id.b));
    sf_codec_put_zigzag(out, hint->from_ns);
    sf_codec_put_zigzag(out, hint->until_ns);
    sf_codec_put_zigzag(out, hint->now_ns);
    sf_buf_add_varint(out, hint->sample_rate);
    sf_buf_add_varint(out, hint->max_frames);
    sf_buf_add_varint(out, bytes.len);
    sf_buf_add(out, bytes.p, bytes.len);
    sf_codec_put_end(&e);
}

static void sent_get_hint(struct sf_decoder *d, struct sf_profile_hint *h)
{
    uint8_t flags = sf_codec_get_u8(d);
    struct sf_label *labels;
    if (flags > SENT_FLAGS)
        sf_codec_get_fail(d, "unknown flags of a profile");
    h->is_request = flags & SENT_REQUEST;
    h->has_sample_rate = flags & SENT_RATE;
    h->format = sf_codec_get_str(d);
    h->service = sf_codec_get_str(d);
    h->spy = sf_codec_get_str(d);
    h->session_id = sf_codec_get_str(d);
    h->peer = sf_codec_get_str(d);
    h->n_labels = sf_codec_get_count(d, 2);
    labels = sf_codec_get_list(d, h->n_labels, sizeof(*labels));
    for (uint32_t i = 0; i < h->n_labels && !d->fault; i++) {
        labels[i].key = sf_codec_get_str(d);
        labels[i].val = sf_codec_get_str(d);
    }
    h->labels = labels;
    memcpy(h->trace_id.b, sf_codec_get_raw(d, sizeof(h->trace_id.b)), sizeof(h->trace_id.b));
    h->span_id = sf_codec_get_u64le(d);
    memcpy(h->profile_id.b, sf_codec_get_raw(d, sizeof(h->profile_id.b)), sizeof(h->profile_id.b));
    h->from_ns = sf_codec_get_zigzag(d);
    h->until_ns = sf_codec_get_zigzag(d);
    h->now_ns = sf_codec_get_zigzag(d);
    h->sample_rate = sf_codec_get_u32(d);
    h->max_frames = sf_codec_get_u32(d);
}

enum sf_err sf_profile_sent_decode(sf_bytes in, struct sf_arena *req, struct sf_profile_hint *out,
                                   sf_str *out_bytes, struct sf_why *why)
{
    struct sf_profile_hint hint = {0};
    struct sf_decoder d;
    sf_str bytes = SF_STR_NONE;
    uint64_t len;
    enum sf_err err = sf_codec_get_begin(&d, in, SENT_VERSION, req, why);
    if (err)
        return err;
    if (!d.fault)
        sent_get_hint(&d, &hint);
    len = sf_codec_get_varint(&d);
    if (!d.fault && len > (size_t)(d.end - d.at))
        sf_codec_get_fail(&d, "cut off");
    if (!d.fault)
        bytes = (sf_str){(const char *)sf_codec_get_raw(&d, (size_t)len), (size_t)len};
    err = sf_codec_get_end(&d, why);
    if (!err) {
        *out = hint;
        *out_bytes = bytes;
    }
    return err;
}
