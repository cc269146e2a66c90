#include "http/grpc.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "base/time_unit.h"

static enum sf_grpc_event read_prefix(struct sf_grpc_reader *r, sf_bytes *in)
{
    size_t n = (size_t)(SF_GRPC_PREFIX_LEN - r->n_prefix);

    if (n > in->len)
        n = in->len;
    if (n)
        memcpy(r->prefix + r->n_prefix, in->p, n);
    r->n_prefix = (uint8_t)(r->n_prefix + n);
    in->p += n;
    in->len -= n;
    /* The flag is checked as soon as it is received, without waiting for the rest. */
    if (r->n_prefix && r->prefix[0] > 1) {
        r->is_bad = true;
        return SF_GRPC_BAD;
    }
    if (r->n_prefix < SF_GRPC_PREFIX_LEN)
        return SF_GRPC_MORE;
    r->is_compressed = r->prefix[0] == 1;
    r->len = sf_load_u32be(r->prefix + 1);
    r->left = r->len;
    r->n_prefix = 0;
    r->is_in_message = true;
    return SF_GRPC_BEGIN;
}

enum sf_grpc_event sf_grpc_reader_next(struct sf_grpc_reader *r, sf_bytes *in)
{
    size_t n;

    if (r->is_bad)
        return SF_GRPC_BAD;
    if (!r->is_in_message)
        return in->len ? read_prefix(r, in) : SF_GRPC_MORE;
    if (!r->left) {
        r->is_in_message = false;
        r->n_messages++;
        return SF_GRPC_END;
    }
    if (!in->len)
        return SF_GRPC_MORE;
    n = in->len < r->left ? in->len : r->left;
    r->piece = (sf_bytes){in->p, n};
    in->p += n;
    in->len -= n;
    r->left -= (uint32_t)n;
    return SF_GRPC_PIECE;
}

bool sf_grpc_reader_is_whole(const struct sf_grpc_reader *r)
{
    return !r->is_bad && !r->is_in_message && !r->n_prefix;
}

void sf_grpc_write_prefix(uint8_t out[SF_GRPC_PREFIX_LEN], uint32_t len, bool is_compressed)
{
    out[0] = is_compressed ? 1 : 0;
    sf_store_u32be(out + 1, len);
}

bool sf_grpc_is_type(sf_str content_type)
{
    sf_str type = sf_str_part(content_type, 0, 16);

    if (!sf_str_ieq(type, SF_STR("application/grpc")))
        return false;
    /* Not application/grpc-web, which frames its trailers differently. */
    return content_type.len == 16 || content_type.p[16] == '+' || content_type.p[16] == ';';
}

bool sf_grpc_timeout_parse(sf_str text, int64_t *out_ns)
{
    static const struct {
        char unit;
        int64_t ns;
    } units[] = {{'n', 1},           {'u', 1000},          {'m', SF_NS_PER_MS},
                 {'S', SF_NS_PER_S}, {'M', SF_NS_PER_MIN}, {'H', SF_NS_PER_HOUR}};
    uint64_t n;

    if (text.len < 2 || text.len > 9 || !sf_str_to_u64(sf_str_part(text, 0, text.len - 1), &n))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        int64_t ns;
        if (units[i].unit != text.p[text.len - 1])
            continue;
        if (__builtin_mul_overflow((int64_t)n, units[i].ns, &ns))
            ns = INT64_MAX;
        *out_ns = ns;
        return true;
    }
    return false;
}

bool sf_grpc_coding(sf_str encoding, enum sf_coding *out)
{
    static const struct {
        const char *name;
        enum sf_coding coding;
    } known[] = {{"identity", SF_CODING_NONE},
                 {"gzip", SF_CODING_GZIP},
                 {"zstd", SF_CODING_ZSTD},
                 {"deflate", SF_CODING_DEFLATE}};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (sf_str_ieq(encoding, sf_str_from(known[i].name))) {
            *out = known[i].coding;
            return true;
        }
    }
    return false;
}

void sf_grpc_message_encode(struct sf_buf *out, sf_str message)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < message.len; i++) {
        uint8_t c = (uint8_t)message.p[i];
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            sf_buf_add_u8(out, c);
            continue;
        }
        sf_buf_add_u8(out, '%');
        sf_buf_add_u8(out, (uint8_t)hex[c >> 4]);
        sf_buf_add_u8(out, (uint8_t)hex[c & 15]);
    }
}

/* Five messages of one or two fields do not need a protobuf writer (which this module may not
 * include). */
static size_t grpc_varint(uint8_t out[10], uint64_t v)
{
    size_t n = 0;

    while (v >= 0x80) {
        out[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    out[n++] = (uint8_t)v;
    return n;
}

static void add_len_field(struct sf_buf *out, uint8_t tag, const void *p, size_t len)
{
    uint8_t raw[10];

    sf_buf_add_u8(out, tag);
    sf_buf_add(out, raw, grpc_varint(raw, len));
    sf_buf_add(out, p, len);
}

void sf_grpc_details_encode(struct sf_buf *out, int code, sf_str message, unsigned retry_after_s)
{
    static const char type_url[] = "type.googleapis.com/google.rpc.RetryInfo";
    uint8_t delay[11] = {0x08}, info[2 + sizeof(delay)] = {0x0a}, raw[10];
    size_t delay_len, n = grpc_varint(raw, (uint64_t)code);

    sf_buf_add_u8(out, 0x08);
    sf_buf_add(out, raw, n);
    if (message.len)
        add_len_field(out, 0x12, message.p, message.len);
    if (!retry_after_s)
        return;
    delay_len = 1 + grpc_varint(delay + 1, retry_after_s); /* Duration.seconds */
    info[1] = (uint8_t)delay_len;                          /* RetryInfo.retry_delay */
    memcpy(info + 2, delay, delay_len);
    sf_buf_add_u8(out, 0x1a); /* Status.details, an Any; all its lengths fit in one byte */
    sf_buf_add_u8(out, (uint8_t)(2 + sizeof(type_url) - 1 + 2 + 2 + delay_len));
    add_len_field(out, 0x0a, type_url, sizeof(type_url) - 1);
    add_len_field(out, 0x12, info, 2 + delay_len);
}

size_t sf_grpc_trailers(const struct sf_response *r, struct sf_buf *text,
                        struct sf_header out[SF_GRPC_TRAILERS_MAX])
{
    sf_str message = {r->grpc_message, strnlen(r->grpc_message, sizeof(r->grpc_message))};
    size_t status_at = text->len, message_at, details_at;
    struct sf_buf made = {0};
    size_t n = 0;

    sf_buf_print(text, "%d", r->grpc_status);
    message_at = text->len;
    sf_grpc_message_encode(text, message);
    details_at = text->len;
    if (r->grpc_details.len) {
        sf_base64_encode(text, sf_buf_bytes(&r->grpc_details));
    } else if (r->grpc_status && r->retry_after_s) {
        sf_grpc_details_encode(&made, r->grpc_status, message, r->retry_after_s);
        sf_base64_encode(text, sf_buf_bytes(&made));
        if (!sf_buf_ok(&made))
            text->len = details_at; /* the answer is valid without them */
    }
    sf_buf_done(&made);
    if (!sf_buf_ok(text))
        return 0;
    out[n++] = (struct sf_header){SF_STR("grpc-status"),
                                  sf_str_part(sf_buf_str(text), status_at, message_at - status_at)};
    if (details_at > message_at)
        out[n++] = (struct sf_header){
            SF_STR("grpc-message"),
            sf_str_part(sf_buf_str(text), message_at, details_at - message_at)};
    if (text->len > details_at)
        out[n++] = (struct sf_header){SF_STR("grpc-status-details-bin"),
                                      sf_str_from_at(sf_buf_str(text), details_at)};
    return n;
}
