/* h1_parser.c - HTTP/1.1 as a state machine over bytes. Each state consumes a line or a piece of
 * the body and may yield one event (head complete, body piece, end, fault). A line split over reads
 * is collected in p->line; lines complete in the input are used in place. */
#include "http/h1_parser.h"

#include <string.h>

#include "base/text.h"

enum state {
    STATE_FIRST_LINE,
    STATE_FIELDS,
    STATE_BODY_BEGINS,
    STATE_SIZED,
    STATE_CHUNK_LINE,
    STATE_CHUNK,
    STATE_CHUNK_END,
    STATE_TRAILERS,
    STATE_OVER,
    STATE_BAD
};

/* Allowance for a line in addition to the head's own limits: "POST  HTTP/1.1\r\n" and a
 * method. */
enum { LINE_SLACK_LEN = 64, EXTRA_LEN_MAX = 16 * 1024, KEEP_LINE_LEN = 8 * 1024 };

void sf_h1_parser_init(struct sf_h1_parser *p)
{
    *p = (struct sf_h1_parser){.state = STATE_OVER};
}

void sf_h1_parser_done(struct sf_h1_parser *p)
{
    sf_buf_done(&p->line);
    *p = (struct sf_h1_parser){0};
}

void sf_h1_parser_start(struct sf_h1_parser *p, struct sf_head *head)
{
    struct sf_buf line = p->line;

    sf_buf_reset(&line);
    sf_head_reset(head);
    *p = (struct sf_h1_parser){.head = head, .line = line, .state = STATE_FIRST_LINE};
}

size_t sf_h1_parser_cap(const struct sf_h1_parser *p)
{
    return p->line.cap;
}

/* Frees the memory of a long line, because there may be many idle connections. */
static void drop_line(struct sf_h1_parser *p)
{
    if (p->line.cap > KEEP_LINE_LEN)
        sf_buf_done(&p->line);
    else
        sf_buf_reset(&p->line);
}

uint64_t sf_h1_parser_body_left(const struct sf_h1_parser *p)
{
    return p->state == STATE_SIZED ? p->left : 0;
}

bool sf_h1_parser_is_in_head(const struct sf_h1_parser *p)
{
    return p->state == STATE_FIRST_LINE || p->state == STATE_FIELDS;
}

static enum sf_h1_event h1_parser_bad(struct sf_h1_parser *p, int status, const char *reason)
{
    if (p->head)
        (void)sf_head_fail(p->head, status, reason);
    p->status = p->head ? p->head->status : status;
    p->state = STATE_BAD;
    p->keeps_alive = false;
    return SF_H1_BAD;
}

/* The head has already found the error. */
static enum sf_h1_event bad_head(struct sf_h1_parser *p)
{
    return h1_parser_bad(p, 400, "the head is not valid");
}

/* Returns one line without its CRLF: a view of the input if it is complete there, else of p->line
 * (which the caller resets after use). BODY means that a line was found. */
static enum sf_h1_event h1_parser_take_line(struct sf_h1_parser *p, sf_bytes *in, size_t max,
                                            int over_status, sf_str *out)
{
    const uint8_t *lf = in->len ? memchr(in->p, '\n', in->len) : NULL;
    size_t n = lf ? (size_t)(lf - in->p) + 1 : in->len;
    sf_str line;

    if (n > max || p->line.len > max - n)
        return h1_parser_bad(p, over_status, "a line is too long");
    if (!lf || p->line.len) {
        sf_buf_add(&p->line, in->p, n);
        if (!sf_buf_ok(&p->line))
            return h1_parser_bad(p, 503, "no memory for a line");
    }
    line = p->line.len ? sf_buf_str(&p->line) : (sf_str){(const char *)in->p, n};
    in->p += n;
    in->len -= n;
    if (!lf)
        return SF_H1_MORE;
    if (line.len < 2 || line.p[line.len - 2] != '\r')
        return h1_parser_bad(p, 400, "a line ends without a carriage return");
    line.len -= 2;
    if (memchr(line.p, '\r', line.len))
        return h1_parser_bad(p, 400, "a carriage return stands inside a line");
    *out = line;
    return SF_H1_BODY;
}

static enum sf_h1_event parse_first_line(struct sf_h1_parser *p, sf_str line)
{
    sf_str version;
    size_t first, last;

    if (!sf_str_find_char(line, ' ', &first))
        return h1_parser_bad(p, 400, "the request line is not METHOD TARGET VERSION");
    last = line.len;
    while (line.p[last - 1] != ' ')
        last--;
    if (last - 1 == first)
        return h1_parser_bad(p, 400, "the request line is not METHOD TARGET VERSION");
    version = sf_str_from_at(line, last);
    if (version.len != 8 || !sf_str_starts(version, SF_STR("HTTP/")) || version.p[6] != '.')
        return h1_parser_bad(p, 400, "the request line has no HTTP version");
    if (version.p[5] != '1' || version.p[7] < '0' || version.p[7] > '9')
        return h1_parser_bad(p, 505, "this server supports HTTP/1.1 and HTTP/2");
    p->is_1_0 = version.p[7] == '0';
    if (!sf_head_method(p->head, sf_str_part(line, 0, first)) ||
        !sf_head_target(p->head, sf_str_part(line, first + 1, last - first - 2)))
        return bad_head(p);
    p->state = STATE_FIELDS;
    return SF_H1_MORE;
}

/* Name and value of one line; false: not a field. */
static bool split_field(struct sf_h1_parser *p, sf_str line, sf_str *name, sf_str *val)
{
    size_t colon;

    if (line.p[0] == ' ' || line.p[0] == '\t')
        return sf_head_fail(p->head, 400, "a header is folded over two lines");
    if (!sf_str_find_char(line, ':', &colon))
        return sf_head_fail(p->head, 400, "a header has no colon");
    *name = sf_str_part(line, 0, colon);
    *val = sf_str_trim(sf_str_from_at(line, colon + 1));
    return true;
}

/* The number of fields with that name; *out is the last one. */
static unsigned h1_parser_find_field(const struct sf_request *r, sf_str name, sf_str *out)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < r->n_headers; i++) {
        if (sf_str_eq(r->headers[i].name, name)) {
            *out = r->headers[i].val;
            n++;
        }
    }
    return n;
}

static bool find_framing(struct sf_h1_parser *p)
{
    struct sf_head *h = p->head;
    sf_str len = SF_STR_NONE, coding = SF_STR_NONE;
    unsigned n_len = h1_parser_find_field(&p->request, SF_STR("content-length"), &len);
    unsigned n_coding = h1_parser_find_field(&p->request, SF_STR("transfer-encoding"), &coding);

    if (n_len && n_coding)
        return sf_head_fail(h, 400, "a length and a transfer encoding contradict each other");
    if (n_len > 1)
        return sf_head_fail(h, 400, "there is more than one content length");
    if (n_len && (!sf_str_to_u64(len, &p->content_len) || p->content_len > INT64_MAX))
        return sf_head_fail(h, 400, "the content length is not a number");
    if (n_coding && p->is_1_0)
        return sf_head_fail(h, 400, "HTTP/1.0 has no transfer encodings");
    if (n_coding > 1 || (n_coding && !sf_str_ieq(coding, SF_STR("chunked"))))
        return sf_head_fail(h, 501, "the only supported transfer encoding is chunked");
    p->has_len = n_len > 0;
    p->is_chunked = n_coding > 0;
    return true;
}

static bool find_connection(struct sf_h1_parser *p)
{
    sf_str val = SF_STR_NONE;
    bool closes = false, keeps = false;

    for (uint32_t i = 0; i < p->request.n_headers; i++) {
        if (!sf_str_eq(p->request.headers[i].name, SF_STR("connection")))
            continue;
        closes = closes || sf_head_list_has(p->request.headers[i].val, SF_STR("close"));
        keeps = keeps || sf_head_list_has(p->request.headers[i].val, SF_STR("keep-alive"));
    }
    p->keeps_alive = !closes && (keeps || !p->is_1_0);
    if (h1_parser_find_field(&p->request, SF_STR("expect"), &val)) {
        if (!sf_str_ieq(val, SF_STR("100-continue")))
            return sf_head_fail(p->head, 417, "the only supported expectation is 100-continue");
        p->expects_continue = !p->is_1_0;
    }
    return true;
}

static enum sf_h1_event finish_head(struct sf_h1_parser *p)
{
    sf_str host = SF_STR_NONE;
    unsigned n_hosts;

    if (!sf_head_finish(p->head, &p->request))
        return bad_head(p);
    n_hosts = h1_parser_find_field(&p->request, SF_STR("host"), &host);
    if (n_hosts > 1 || (!n_hosts && !p->is_1_0))
        return h1_parser_bad(p, 400, "there must be one Host header");
    if (!find_framing(p) || !find_connection(p))
        return bad_head(p);
    p->left = p->content_len;
    p->state = STATE_BODY_BEGINS;
    return SF_H1_HEAD;
}

static enum sf_h1_event next_in_head(struct sf_h1_parser *p, sf_bytes *in)
{
    size_t header_max = p->head->len_max ? p->head->len_max : SF_LIMIT_HEADER_LEN;
    bool is_first = p->state == STATE_FIRST_LINE;
    size_t max = (is_first ? SF_LIMIT_TARGET_LEN : header_max) + LINE_SLACK_LEN;
    sf_str line, name, val;
    enum sf_h1_event ev;

    /* Other protocols (such as TLS on a plain port) are refused without waiting for the end of the
     * line. */
    if (is_first && in->len && !p->line.len && in->p[0] != '\r' && in->p[0] != '\n' &&
        (in->p[0] < 'A' || in->p[0] > 'z'))
        return h1_parser_bad(p, 400, "this is not HTTP");
    ev = h1_parser_take_line(p, in, max, is_first ? 414 : 431, &line);

    if (ev != SF_H1_BODY)
        return ev;
    ev = SF_H1_MORE;
    if (is_first && !line.len) {
        /* Some clients send a stray line end after a body; a few are harmless. */
        p->extra_len += 2;
        if (p->extra_len > 8)
            ev = h1_parser_bad(p, 400, "there is no request line");
    } else if (is_first) {
        ev = parse_first_line(p, line);
    } else if (!line.len) {
        ev = finish_head(p);
    } else if (!split_field(p, line, &name, &val) || !sf_head_field(p->head, name, val)) {
        ev = bad_head(p);
    }
    drop_line(p);
    return ev;
}

static enum sf_h1_event next_piece(struct sf_h1_parser *p, sf_bytes *in, int then)
{
    size_t n = in->len < p->left ? in->len : (size_t)p->left;

    if (!n)
        return SF_H1_MORE;
    p->piece = (sf_bytes){in->p, n};
    in->p += n;
    in->len -= n;
    p->left -= n;
    if (!p->left)
        p->state = then;
    return SF_H1_BODY;
}

static enum sf_h1_event parse_chunk_line(struct sf_h1_parser *p, sf_str line)
{
    size_t n = 0;

    p->left = 0;
    while (n < line.len && sf_hex_digit(line.p[n]) >= 0) {
        /* 15 digits are an exabyte; more could overflow. Leading zeros are limited. */
        if (n == 15)
            return h1_parser_bad(p, 400, "a chunk's size is too long");
        p->left = p->left * 16 + (uint64_t)sf_hex_digit(line.p[n]);
        n++;
    }
    if (!n || (n < line.len && line.p[n] != ';'))
        return h1_parser_bad(p, 400, "a chunk does not begin with its size");
    p->extra_len += line.len - n;
    if (p->extra_len > EXTRA_LEN_MAX)
        return h1_parser_bad(p, 400, "the chunk extensions are too long");
    for (size_t i = n; i < line.len; i++) {
        if ((uint8_t)line.p[i] < 0x20 && line.p[i] != '\t')
            return h1_parser_bad(p, 400, "a chunk extension holds a control character");
    }
    p->state = p->left ? STATE_CHUNK : STATE_TRAILERS;
    return SF_H1_MORE;
}

static enum sf_h1_event parse_trailer(struct sf_h1_parser *p, sf_str line)
{
    sf_str name, val;

    if (!line.len) {
        p->state = STATE_OVER;
        return SF_H1_END;
    }
    /* Trailers are read only for framing, and dropped: no route uses them. They count against the
     * limits of the head. */
    if (!split_field(p, line, &name, &val) || !sf_head_check_field(p->head, name, val))
        return bad_head(p);
    return SF_H1_MORE;
}

static enum sf_h1_event next_in_chunks(struct sf_h1_parser *p, sf_bytes *in)
{
    bool is_trailer = p->state == STATE_TRAILERS;
    size_t header_max = p->head->len_max ? p->head->len_max : SF_LIMIT_HEADER_LEN;
    sf_str line;
    enum sf_h1_event ev = h1_parser_take_line(
        p, in, is_trailer ? header_max : EXTRA_LEN_MAX + LINE_SLACK_LEN, is_trailer ? 431 : 400,
        &line);

    if (ev != SF_H1_BODY)
        return ev;
    ev = SF_H1_MORE;
    if (is_trailer) {
        ev = parse_trailer(p, line);
    } else if (p->state == STATE_CHUNK_LINE) {
        ev = parse_chunk_line(p, line);
    } else if (line.len) {
        ev = h1_parser_bad(p, 400, "a chunk is longer than its size");
    } else {
        p->state = STATE_CHUNK_LINE;
    }
    sf_buf_reset(&p->line);
    return ev;
}

static enum sf_h1_event h1_parser_step(struct sf_h1_parser *p, sf_bytes *in)
{
    switch ((enum state)p->state) {
    case STATE_FIRST_LINE:
    case STATE_FIELDS: return next_in_head(p, in);
    case STATE_BODY_BEGINS:
        p->state = p->is_chunked ? STATE_CHUNK_LINE : p->left ? STATE_SIZED : STATE_OVER;
        return p->state == STATE_OVER ? SF_H1_END : SF_H1_MORE;
    case STATE_SIZED: return next_piece(p, in, STATE_BODY_BEGINS);
    case STATE_CHUNK: return next_piece(p, in, STATE_CHUNK_END);
    case STATE_CHUNK_LINE:
    case STATE_CHUNK_END:
    case STATE_TRAILERS: return next_in_chunks(p, in);
    case STATE_OVER: return SF_H1_END;
    case STATE_BAD: break;
    }
    return SF_H1_BAD;
}

enum sf_h1_event sf_h1_parser_next(struct sf_h1_parser *p, sf_bytes *in)
{
    enum sf_h1_event ev;
    int before;

    do {
        before = p->state;
        ev = h1_parser_step(p, in);
        /* A step may end without an event although the next one can continue without input. */
    } while (ev == SF_H1_MORE && (in->len || p->state != before));
    return ev;
}
