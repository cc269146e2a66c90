/* h2_call.c - a minimal HTTP/2 client for unary gRPC calls. Writing builds frames with literal
 * headers; reading collects a frame, then handles SETTINGS, WINDOW_UPDATE, HEADERS, DATA, PING,
 * RST_STREAM and GOAWAY. Only :status and grpc-status are read from header blocks. */
#include "collect/send/h2_call.h"

#include <string.h>

#include "base/num.h"

enum {
    DATA,
    HEADERS,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    PUSH,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    CONTINUATION
};
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, HAS_PRIORITY = 0x20 };
enum { STATIC_ENTRIES = 61, BLOCK_MAX = 16 * 1024, DEFAULT_WINDOW = 65535 };

static bool h2_call_wrong(struct sf_h2_call *c, const char *fault)
{
    if (!c->fault)
        c->fault = fault;
    c->is_leaving = true;
    return false;
}

void sf_h2_call_done(struct sf_h2_call *c)
{
    sf_buf_done(&c->out);
    sf_buf_done(&c->block);
}

void sf_h2_call_forget(struct sf_h2_call *c)
{
    sf_buf_reset(&c->out);
    sf_buf_reset(&c->block);
    c->has_begun = c->is_leaving = false;
    c->n_head = c->n_payload = 0;
}

/* ---- writing ---- */

static void write_frame(struct sf_buf *out, size_t len, uint8_t type, uint8_t flags,
                        uint32_t stream)
{
    uint8_t head[9] = {(uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags};
    sf_store_u32be(head + 5, stream);
    sf_buf_add(out, head, sizeof(head));
}

static void write_int(struct sf_buf *out, uint8_t first, unsigned bits, size_t v)
{
    size_t most = ((size_t)1 << bits) - 1;
    if (v < most) {
        sf_buf_add_u8(out, (uint8_t)(first | v));
        return;
    }
    sf_buf_add_u8(out, (uint8_t)(first | most));
    for (v -= most; v >= 128; v >>= 7)
        sf_buf_add_u8(out, (uint8_t)(v & 127) | 128);
    sf_buf_add_u8(out, (uint8_t)v);
}

static void h2_call_write_text(struct sf_buf *out, sf_str s)
{
    write_int(out, 0, 7, s.len);
    sf_buf_add_str(out, s);
}

/* A literal that is not indexed; `index` is a name in the static table, 0: the name is given. */
static void write_header(struct sf_buf *out, size_t index, sf_str name, sf_str val)
{
    write_int(out, 0, 4, index);
    if (!index) {
        write_int(out, 0, 7, name.len);
        for (size_t i = 0; i < name.len; i++) { /* header names must be lower case */
            char c = name.p[i];
            sf_buf_add_u8(out, (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c));
        }
    }
    h2_call_write_text(out, val);
}

static void h2_call_write_lines(struct sf_buf *out, sf_str lines)
{
    sf_str line;
    size_t at;
    while (sf_str_split_next(&lines, '\n', &line)) {
        if (sf_str_find_char(line, ':', &at))
            write_header(out, 0, sf_str_part(line, 0, at),
                         sf_str_trim(sf_str_from_at(line, at + 1)));
    }
}

static void begin_connection(struct sf_h2_call *c)
{
    static const uint8_t settings[] = {0, 1, 0, 0, 0, 0,  /* header table size 0 */
                                       0, 2, 0, 0, 0, 0}; /* no push */
    sf_buf_reset(&c->out);
    sf_buf_add_str(&c->out, SF_STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    write_frame(&c->out, sizeof(settings), SETTINGS, 0, 0);
    sf_buf_add(&c->out, settings, sizeof(settings));
    c->conn_window = c->first_window = DEFAULT_WINDOW;
    c->next_stream = 1;
    c->has_begun = true;
    c->is_leaving = false;
}

void sf_h2_call_begin(struct sf_h2_call *c, sf_str authority, sf_str path, sf_str headers,
                      bool is_gzip)
{
    struct sf_buf block = {.max = BLOCK_MAX};
    if (!c->has_begun)
        begin_connection(c);
    c->stream = c->next_stream;
    c->next_stream += 2;
    c->window = c->first_window;
    c->is_done = false;
    c->fault = NULL;
    c->http_status = 0;
    c->grpc_status = -1;
    c->n_data = c->body_len = 0;
    sf_buf_add_u8(&block, 0x83);                    /* :method POST */
    sf_buf_add_u8(&block, c->is_tls ? 0x87 : 0x86); /* :scheme https, http */
    write_header(&block, 4, SF_STR_NONE, path);
    write_header(&block, 1, SF_STR_NONE, authority);
    write_header(&block, 31, SF_STR_NONE, SF_STR("application/grpc"));
    write_header(&block, 0, SF_STR("te"), SF_STR("trailers"));
    write_header(&block, 58, SF_STR_NONE, SF_STR("spanflame-c/1.0"));
    if (is_gzip)
        write_header(&block, 0, SF_STR("grpc-encoding"), SF_STR("gzip"));
    h2_call_write_lines(&block, headers);
    if (!sf_buf_ok(&block)) {
        h2_call_wrong(c, "headers longer than one frame");
    } else {
        write_frame(&c->out, block.len, HEADERS, END_HEADERS, c->stream);
        sf_buf_add(&c->out, block.p, block.len);
    }
    sf_buf_done(&block);
}

size_t sf_h2_call_room(const struct sf_h2_call *c)
{
    int64_t room = c->window < c->conn_window ? c->window : c->conn_window;
    if (room <= 0)
        return 0;
    return room < SF_H2_FRAME_MAX ? (size_t)room : SF_H2_FRAME_MAX;
}

void sf_h2_call_data(struct sf_h2_call *c, sf_bytes part, bool is_last)
{
    write_frame(&c->out, part.len, DATA, is_last ? END_STREAM : 0, c->stream);
    sf_buf_add(&c->out, part.p, part.len);
    c->window -= (int64_t)part.len;
    c->conn_window -= (int64_t)part.len;
}

/* ---- header blocks ---- */

struct hpack {
    const uint8_t *at, *end;
    bool is_bad;
};

static size_t read_int(struct hpack *h, unsigned bits)
{
    size_t most = ((size_t)1 << bits) - 1, v;
    if (h->at == h->end) {
        h->is_bad = true;
        return 0;
    }
    v = *h->at++ & most;
    if (v < most)
        return v;
    for (unsigned shift = 0; shift < 28; shift += 7) {
        uint8_t byte;
        if (h->at == h->end)
            break;
        byte = *h->at++;
        v += (size_t)(byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    h->is_bad = true;
    return 0;
}

struct text {
    sf_bytes raw;
    bool is_huffman;
};

static struct text h2_call_read_text(struct hpack *h)
{
    struct text t = {{0}, false};
    size_t len;
    if (h->at < h->end)
        t.is_huffman = *h->at & 128;
    len = read_int(h, 7);
    if (h->is_bad || len > (size_t)(h->end - h->at)) {
        h->is_bad = true;
        return t;
    }
    t.raw = (sf_bytes){h->at, len};
    h->at += len;
    return t;
}

static bool is_grpc_status(struct text t)
{
    static const uint8_t packed[] = {0x9a, 0xca, 0xc8, 0xb2, 0x12, 0x34, 0xda, 0x8f};
    sf_bytes want = t.is_huffman ? (sf_bytes){packed, sizeof(packed)}
                                 : sf_str_bytes(SF_STR("grpc-status"));
    return t.raw.len == want.len && !memcmp(t.raw.p, want.p, want.len);
}

/* A small number in digits, plain or Huffman-coded: 0-2 are 00000-00010, 3-9 are 011001-011111. */
static int h2_call_read_digits(struct text t)
{
    int v = 0;
    unsigned bits = 0, n = 0;
    if (!t.raw.len || t.raw.len > 3)
        return -1;
    if (!t.is_huffman) {
        for (size_t i = 0; i < t.raw.len; i++) {
            if (t.raw.p[i] < '0' || t.raw.p[i] > '9')
                return -1;
            v = v * 10 + t.raw.p[i] - '0';
        }
        return v;
    }
    for (size_t i = 0; i < t.raw.len; i++)
        bits = bits << 8 | t.raw.p[i];
    for (n = (unsigned)t.raw.len * 8; n >= 5;) {
        unsigned five = bits >> (n - 5) & 31;
        if (five <= 2) {
            v = v * 10 + (int)five;
            n -= 5;
        } else if (n >= 6 && (bits >> (n - 6) & 63) >= 25 && (bits >> (n - 6) & 63) <= 31) {
            v = v * 10 + (int)(bits >> (n - 6) & 63) - 22;
            n -= 6;
        } else {
            break;
        }
    }
    return n < 8 && (bits & ((1u << n) - 1)) == (1u << n) - 1 ? v : -1; /* the padding consists of
                                                                         * ones */
}

static void h2_call_read_block(struct sf_h2_call *c, sf_bytes block)
{
    static const int statuses[] = {200, 204, 206, 304, 400, 404, 500}; /* entries 8 to 14 */
    struct hpack h = {0};
    if (block.len) /* an empty block has no address to count from */
        h = (struct hpack){block.p, block.p + block.len, false};
    while (h.at < h.end && !h.is_bad) {
        uint8_t first = *h.at;
        size_t index;
        struct text name = {{0}, false}, val;
        if (first & 0x80) {
            index = read_int(&h, 7);
            if (index >= 8 && index <= 14)
                c->http_status = statuses[index - 8];
            h.is_bad |= !index || index > STATIC_ENTRIES;
            continue;
        }
        if ((first & 0xe0) == 0x20) { /* a change of the table size: there is no table */
            h.is_bad |= read_int(&h, 5) != 0;
            continue;
        }
        index = read_int(&h, first & 0x40 ? 6 : 4);
        if (!index)
            name = h2_call_read_text(&h);
        val = h2_call_read_text(&h);
        h.is_bad |= index > STATIC_ENTRIES;
        if (h.is_bad)
            break;
        if (index >= 8 && index <= 14)
            c->http_status = h2_call_read_digits(val);
        else if (!index && is_grpc_status(name))
            c->grpc_status = h2_call_read_digits(val);
    }
    if (h.is_bad)
        h2_call_wrong(c, "headers that cannot be read");
}

/* ---- frames ---- */

static uint32_t frame_len(const struct sf_h2_call *c)
{
    return (uint32_t)c->head[0] << 16 | (uint32_t)c->head[1] << 8 | c->head[2];
}

static bool on_settings(struct sf_h2_call *c, sf_bytes p, uint8_t flags)
{
    if (flags & ACK)
        return true;
    if (p.len % 6)
        return h2_call_wrong(c, "settings cut short");
    for (size_t i = 0; i < p.len; i += 6) {
        uint32_t val = sf_load_u32be(p.p + i + 2);
        if (p.p[i] == 0 && p.p[i + 1] == 4) {
            if (val > INT32_MAX)
                return h2_call_wrong(c, "a flow control window above the maximum");
            c->window += (int64_t)val - c->first_window;
            c->first_window = val;
        }
    }
    write_frame(&c->out, 0, SETTINGS, ACK, 0);
    return true;
}

static bool on_window(struct sf_h2_call *c, sf_bytes p, uint32_t stream)
{
    uint32_t more;
    if (p.len != 4)
        return h2_call_wrong(c, "a window update cut short");
    more = sf_load_u32be(p.p) & INT32_MAX;
    if (!stream)
        c->conn_window += more;
    else if (stream == c->stream)
        c->window += more;
    if (c->conn_window > INT32_MAX || c->window > INT32_MAX)
        return h2_call_wrong(c, "a flow control window above the maximum");
    return true;
}

static bool unpad(sf_bytes *p, uint8_t flags)
{
    size_t pad = 0, skip = 0;
    if (flags & PADDED) {
        if (!p->len)
            return false;
        pad = p->p[0];
        skip = 1;
    }
    if (flags & HAS_PRIORITY)
        skip += 5;
    if (pad + skip > p->len)
        return false;
    *p = (sf_bytes){p->p + skip, p->len - skip - pad};
    return true;
}

static bool h2_call_on_data(struct sf_h2_call *c, sf_bytes p, uint8_t flags, uint32_t stream)
{
    uint8_t more[4];
    size_t whole = p.len;
    if (!unpad(&p, flags & PADDED))
        return h2_call_wrong(c, "padding longer than its frame");
    if (stream == c->stream) {
        for (size_t i = 0; i < p.len; i++, c->n_data++) {
            if (c->n_data >= 5 && c->body_len < sizeof(c->body))
                c->body[c->body_len++] = p.p[i];
        }
        c->is_done |= flags & END_STREAM;
    }
    if (whole) { /* the stream's window is larger than any answer, so only the connection's is
                  * updated */
        sf_store_u32be(more, (uint32_t)whole);
        write_frame(&c->out, sizeof(more), WINDOW_UPDATE, 0, 0);
        sf_buf_add(&c->out, more, sizeof(more));
    }
    return c->n_data < DEFAULT_WINDOW / 2 ||
           h2_call_wrong(c, "the response exceeds the maximum size");
}

static bool on_headers(struct sf_h2_call *c, sf_bytes p, uint8_t type, uint8_t flags,
                       uint32_t stream)
{
    if (type == HEADERS) {
        sf_buf_reset(&c->block);
        if (!unpad(&p, flags & (PADDED | HAS_PRIORITY)))
            return h2_call_wrong(c, "padding longer than its frame");
        if (stream == c->stream)
            c->is_done |= flags & END_STREAM;
    }
    c->block.max = BLOCK_MAX;
    sf_buf_add(&c->block, p.p, p.len);
    if (!sf_buf_ok(&c->block))
        return h2_call_wrong(c, "headers longer than 16 KiB");
    if (!(flags & END_HEADERS)) {
        c->is_done = false; /* not before the rest of the headers came */
        return true;
    }
    if (stream == c->stream)
        h2_call_read_block(c, sf_buf_bytes(&c->block));
    if (c->grpc_status >= 0) /* trailers end the call, in however many frames */
        c->is_done = true;
    return !c->fault;
}

static bool on_frame(struct sf_h2_call *c)
{
    sf_bytes p = {c->payload, frame_len(c)};
    uint8_t type = c->head[3], flags = c->head[4];
    uint32_t stream = sf_load_u32be(c->head + 5) & INT32_MAX;
    switch (type) {
    case DATA: return h2_call_on_data(c, p, flags, stream);
    case HEADERS:
    case CONTINUATION: return on_headers(c, p, type, flags, stream);
    case RST_STREAM: return stream != c->stream || h2_call_wrong(c, "the server reset the stream");
    case SETTINGS: return on_settings(c, p, flags);
    case PUSH: return h2_call_wrong(c, "an unexpected server push");
    case PING:
        if (!(flags & ACK) && p.len == 8) {
            write_frame(&c->out, 8, PING, ACK, 0);
            sf_buf_add(&c->out, p.p, 8);
        }
        return true;
    case GOAWAY:
        c->is_leaving = true;
        if (p.len >= 8 && (sf_load_u32be(p.p) & INT32_MAX) < c->stream)
            return h2_call_wrong(c, "the server is going away");
        return true;
    case WINDOW_UPDATE: return on_window(c, p, stream);
    default: return true; /* unknown frames must be ignored */
    }
}

bool sf_h2_call_take(struct sf_h2_call *c, sf_bytes in)
{
    while (in.len && !c->fault && !c->is_done) {
        size_t n;
        if (c->n_head < sizeof(c->head)) {
            c->head[c->n_head++] = *in.p++;
            in.len--;
            if (c->n_head == sizeof(c->head) && frame_len(c) > SF_H2_FRAME_MAX)
                return h2_call_wrong(c, "a frame longer than we allow, or not HTTP/2");
        }
        if (c->n_head < sizeof(c->head))
            continue;
        n = frame_len(c) - c->n_payload;
        n = n < in.len ? n : in.len;
        memcpy(c->payload + c->n_payload, in.p, n);
        c->n_payload += (uint32_t)n;
        in = (sf_bytes){in.p + n, in.len - n};
        if (c->n_payload < frame_len(c))
            continue;
        on_frame(c);
        c->n_head = c->n_payload = 0;
    }
    if (in.len) /* frames after the end of the call: do not reuse the connection */
        c->is_leaving = true;
    return !c->fault && !c->is_done;
}
