/* Any bytes as HTTP/1.1: read whole and read in pieces must say the same; a path begins with '/',
 * names are lower-case words, values hold no line ends, and a body is as long as it said. */
#include <stdlib.h>
#include <string.h>

#include "http/h1_parser.h"

struct said {
    struct sf_buf log;
    struct sf_buf body;
};

static void must(bool what)
{
    if (!what)
        abort();
}

static void note_head(struct said *said, const struct sf_h1_parser *p)
{
    const struct sf_request *r = &p->request;

    must(r->path.len && r->path.p[0] == '/');
    must(r->method_name.len > 0);
    must(!(p->is_chunked && p->has_len));
    must(r->n_headers <= SF_LIMIT_HEADERS);
    sf_buf_print(&said->log, "[%d %zu %zu %d %d]", (int)r->method, r->path.len, r->query.len,
                 (int)p->keeps_alive, (int)p->expects_continue);
    for (uint32_t i = 0; i < r->n_headers; i++) {
        const struct sf_header *h = &r->headers[i];
        must(h->name.len > 0);
        for (size_t k = 0; k < h->name.len; k++)
            must(h->name.p[k] > ' ' && !(h->name.p[k] >= 'A' && h->name.p[k] <= 'Z'));
        must(!h->val.len ||
             (!memchr(h->val.p, '\n', h->val.len) && !memchr(h->val.p, 0, h->val.len)));
        sf_buf_add_str(&said->log, h->name);
        sf_buf_add_str(&said->log, h->val);
    }
}

static void read_all(const uint8_t *data, size_t size, size_t step, struct said *said)
{
    struct sf_h1_parser p;
    struct sf_head head = {.len_max = 4096};
    enum sf_h1_event ev = SF_H1_MORE;
    bool is_started = false;
    size_t body_from = 0;

    sf_h1_parser_init(&p);
    for (size_t at = 0; at < size && ev != SF_H1_BAD; at += step) {
        size_t len = size - at < step ? size - at : step;
        uint8_t *copy = malloc(len);
        sf_bytes in = {copy, len};

        memcpy(copy, data + at, len);
        do {
            if (!is_started) {
                if (!in.len)
                    break;
                sf_h1_parser_start(&p, &head);
                is_started = true;
            }
            ev = sf_h1_parser_next(&p, &in);
            if (ev == SF_H1_HEAD) {
                note_head(said, &p);
                body_from = said->body.len;
            }
            if (ev == SF_H1_BODY) {
                must(p.piece.len && p.piece.p >= copy && p.piece.p + p.piece.len <= copy + len);
                sf_buf_add(&said->body, p.piece.p, p.piece.len);
            }
            if (ev == SF_H1_END) {
                must(p.is_chunked || said->body.len - body_from == p.content_len);
                sf_buf_print(&said->log, "<end>");
                is_started = false;
            }
            if (ev == SF_H1_BAD) {
                must(p.status >= 400 && p.status <= 599 && head.reason);
                sf_buf_print(&said->log, "<%d>", p.status);
            }
            must(ev != SF_H1_MORE || !in.len);
        } while (ev != SF_H1_MORE && ev != SF_H1_BAD);
        free(copy);
    }
    sf_h1_parser_done(&p);
    sf_head_done(&head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 3, 17};
    struct said whole = {0};

    if (size > 65536)
        return 0;
    read_all(data, size, size ? size : 1, &whole);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct said pieces = {0};
        read_all(data, size, steps[i], &pieces);
        must(sf_str_eq(sf_buf_str(&whole.log), sf_buf_str(&pieces.log)));
        must(sf_str_eq(sf_buf_str(&whole.body), sf_buf_str(&pieces.body)));
        sf_buf_done(&pieces.log);
        sf_buf_done(&pieces.body);
    }
    sf_buf_done(&whole.log);
    sf_buf_done(&whole.body);
    return 0;
}
