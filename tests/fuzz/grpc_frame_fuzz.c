/* Any bytes as gRPC messages: whole and in pieces must say the same, messages are as long as their
 * prefix says, and framing them again gives the bytes back. The same bytes as a timeout and as a
 * status message must stay within what a header may hold. */
#include <stdlib.h>
#include <string.h>

#include "http/grpc.h"

static void must(bool what)
{
    if (!what)
        abort();
}

/* Frames again what it reads; true: every byte was part of a whole message. */
static bool read_all(const uint8_t *data, size_t size, size_t step, struct sf_buf *again)
{
    struct sf_grpc_reader r = {0};
    enum sf_grpc_event ev = SF_GRPC_MORE;
    size_t got = 0;

    for (size_t at = 0; at < size && ev != SF_GRPC_BAD; at += step) {
        size_t len = size - at < step ? size - at : step;
        uint8_t *copy = malloc(len);
        uint8_t prefix[SF_GRPC_PREFIX_LEN];
        sf_bytes in = {copy, len};

        memcpy(copy, data + at, len);
        while ((ev = sf_grpc_reader_next(&r, &in)) != SF_GRPC_MORE && ev != SF_GRPC_BAD) {
            if (ev == SF_GRPC_BEGIN) {
                got = 0;
                sf_grpc_write_prefix(prefix, r.len, r.is_compressed);
                sf_buf_add(again, prefix, sizeof(prefix));
            }
            if (ev == SF_GRPC_PIECE) {
                must(r.piece.p >= copy && r.piece.p + r.piece.len <= copy + len);
                got += r.piece.len;
                must(got <= r.len);
                sf_buf_add(again, r.piece.p, r.piece.len);
            }
            if (ev == SF_GRPC_END)
                must(got == r.len);
        }
        free(copy);
    }
    return sf_grpc_reader_is_whole(&r);
}

static void check_words(const uint8_t *data, size_t size)
{
    struct sf_buf text = {0};
    struct sf_response r = {.grpc_status = 14, .retry_after_s = (unsigned)size};
    struct sf_header trailers[SF_GRPC_TRAILERS_MAX];
    sf_str s = {(const char *)data, size};
    enum sf_coding coding;
    int64_t ns = 0;

    must(!sf_grpc_timeout_parse(s, &ns) || ns >= 0);
    (void)sf_grpc_coding(s, &coding);
    (void)sf_grpc_is_type(s);
    memcpy(r.grpc_message, data, size < sizeof(r.grpc_message) ? size : sizeof(r.grpc_message) - 1);
    must(sf_grpc_trailers(&r, &text, trailers) > 0);
    for (size_t i = 0; i < text.len; i++)
        must(text.p[i] >= 0x20 && text.p[i] < 0x7f);
    sf_buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 4, 11};
    struct sf_buf whole = {0};
    bool is_whole = read_all(data, size, size ? size : 1, &whole);

    if (is_whole)
        must(whole.len == size && (!size || memcmp(whole.p, data, size) == 0));
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct sf_buf pieces = {0};
        must(read_all(data, size, steps[i], &pieces) == is_whole);
        must(sf_str_eq(sf_buf_str(&whole), sf_buf_str(&pieces)));
        sf_buf_done(&pieces);
    }
    if (size)
        check_words(data, size);
    sf_buf_done(&whole);
    return 0;
}
