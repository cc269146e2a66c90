/* Any bytes after a preface as HTTP/2: every stream that begins is closed, answers go out without
 * a fault, memory for heads stays within the limit, and nothing is left in the queues' count. */
#include <stdlib.h>
#include <string.h>

#include "http/grpc.h"
#include "http/h2_session.h"

struct end {
    unsigned n_begun, n_closed;
    size_t unconsumed;
};

static void must(bool what)
{
    if (!what)
        abort();
}

static struct sf_head *on_begin(void *arg, struct sf_h2_stream *s)
{
    struct end *e = arg;
    struct sf_head *h = calloc(1, sizeof(*h));

    s->user = h;
    if (h)
        e->n_begun++;
    return h;
}

static void on_head(void *arg, struct sf_h2_stream *s)
{
    struct sf_request r = {0};
    struct sf_response refusal = {.status = 403, .grpc_status = 7};

    (void)arg;
    if (sf_head_finish(s->head, &r)) {
        must(r.path.len && r.path.p[0] == '/');
        must(r.n_headers <= SF_LIMIT_HEADERS);
    } else {
        must(s->head->status >= 400);
    }
    must(sf_head_cap(s->head) <= 512 * 1024);
    if (r.method == SF_METHOD_PUT) { /* some are refused at their head */
        sf_h2_stream_ignore_body(s);
        (void)sf_h2_stream_answer(s, &(struct sf_h2_answer){.response = &refusal});
    }
}

static void on_body(void *arg, struct sf_h2_stream *s, sf_bytes piece)
{
    (void)arg;
    must(piece.len > 0);
    sf_h2_stream_consume(s, piece.len, piece.p[0] % 2);
}

static void on_end(void *arg, struct sf_h2_stream *s)
{
    struct sf_response r = {.status = 200, .content_type = "text/plain"};
    struct sf_buf body = {0};
    bool is_grpc = s->id % 4 == 1;

    (void)arg;
    must(s->is_request_over);
    sf_buf_add_str(&body, SF_STR("an answer of some length, to be cut by small windows"));
    if (sf_h2_stream_answer(
            s, &(struct sf_h2_answer){.response = &r, .is_grpc = is_grpc, .has_body = true})) {
        (void)sf_h2_stream_write(s, &body);
        (void)sf_h2_stream_end(s, is_grpc ? &r : NULL);
    }
    sf_buf_done(&body);
}

static void on_sent(void *arg, struct sf_h2_stream *s, size_t len)
{
    (void)arg;
    (void)s;
    must(len > 0);
}

static void on_close(void *arg, struct sf_h2_stream *s, bool is_clean)
{
    struct end *e = arg;

    (void)is_clean;
    e->n_closed++;
    sf_head_done(s->user);
    free(s->user);
    s->user = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct end e = {0};
    struct sf_h2_config config = {
        .hooks = {on_begin, on_head, on_body, on_end, on_sent, on_close, &e}, .streams = 8};
    struct sf_h2_session *s = NULL;
    struct sf_buf out = {0};
    enum sf_err err;
    size_t at = 0;

    if (sf_h2_session_new(&config, &s, NULL))
        return 0;
    err = sf_h2_session_recv(s, sf_str_bytes(SF_STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), 0, NULL);
    must(!err);
    while (!err && at < size) {
        size_t step = 1u + data[at] % 64u * 4u;
        size_t len = size - at < step ? size - at : step;
        uint8_t *copy = malloc(len);

        memcpy(copy, data + at, len);
        err = sf_h2_session_recv(s, (sf_bytes){copy, len}, (int64_t)at, NULL);
        free(copy);
        at += len;
        sf_buf_reset(&out);
        if (sf_h2_session_send(s, &out, SIZE_MAX))
            break;
        must(sf_h2_session_n_streams(s) <= e.n_begun - e.n_closed);
    }
    if (sf_h2_session_n_streams(s) == 0)
        must(sf_h2_session_out_len(s) == 0);
    sf_h2_session_free(s);
    must(e.n_begun == e.n_closed);
    sf_buf_done(&out);
    return 0;
}
