#include "serve/long_answer.h"

#include "base/account.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"

enum {
    KEEP_LEN = 8 << 20,
    PIECE_LEN = 128 << 10,
    MOVE_PARTS = 64, /* an answer of more than this part of the server's memory is moved */
};

static const int64_t PATIENCE_NS = 20 * SF_NS_PER_S;

/* Waits until the next piece fits; gives up a client that has read nothing for a while. */
static enum sf_err wait_for_room(struct sf_call *call)
{
    int64_t until_ns = sf_clock_mono_ns() + PATIENCE_NS;
    if (call->answer_until_ns && call->answer_until_ns < until_ns)
        until_ns = call->answer_until_ns;
    return sf_exchange_stream_wait(call->ex, until_ns);
}

static enum sf_err send_slice(struct sf_call *call, struct sf_buf *slice)
{
    enum sf_err err;
    while ((err = sf_exchange_stream(call->ex, slice, NULL)) == SF_ERR_BUSY) {
        err = wait_for_room(call);
        if (err)
            break;
    }
    return err;
}

/* Sends in slices, also the first, longer part: a message is copied more than once on its way to
 * the socket. */
static enum sf_err send_piece(void *arg, struct sf_buf *b)
{
    struct sf_call *call = arg;
    struct sf_buf rest = {
        .max = b->max, .spill = b->spill, .spill_arg = b->spill_arg, .spill_len = PIECE_LEN};
    struct sf_buf slice = {0};
    enum sf_err err = SF_OK;
    if (!call->is_answer_begun) {
        sf_call_say_unread(call);
        sf_exchange_stream_gzip(call->ex);
        sf_account_stop_clock();
    }
    call->is_answer_begun = true;
    for (size_t at = 0; !err && at < b->len; at += PIECE_LEN) {
        sf_buf_add(&slice, b->p + at, b->len - at < PIECE_LEN ? b->len - at : (size_t)PIECE_LEN);
        err = slice.err ? slice.err : send_slice(call, &slice);
    }
    sf_buf_done(&slice);
    if (b->cap > 4 * (size_t)PIECE_LEN) { /* the large first buffer is not needed for pieces */
        sf_buf_done(b);
        *b = rest;
    }
    b->spill_len = PIECE_LEN;
    b->len = 0;
    return err;
}

void sf_long_answer_begin(struct sf_call *call, const struct sf_query_ctx *q)
{
    struct sf_buf *b = &call->response->body;
    (void)q; /* q's deadline limits the search; the request's limits sending the answer */
    call->answer_until_ns = call->request->deadline_ns;
    b->spill = send_piece;
    b->spill_arg = call;
    b->spill_len = KEEP_LEN;
}

static bool answer_is_long(const struct sf_call *call)
{
    const struct sf_response *r = call->response;
    uint64_t memory_len = call->service->memory_len ? call->service->memory_len
                                                    : SF_LIMIT_MEMORY_LEN;
    return r->body.len > memory_len / MOVE_PARTS && !r->body.err && !r->is_framed &&
           !call->is_answer_begun && !sf_exchange_has_streamed(call->ex) &&
           !call->request->is_grpc && call->form != SF_FORM_GRPC_WEB &&
           call->request->method != SF_METHOD_HEAD;
}

void sf_long_answer_move(struct sf_call *call)
{
    struct sf_buf *b = &call->response->body;
    if (!answer_is_long(call))
        return;
    call->answer_until_ns = 1; /* in the past: does not wait */
    if (send_piece(call, b))
        call->response->is_broken = true;
    sf_buf_done(b);
}

bool sf_long_answer_end(struct sf_call *call)
{
    struct sf_buf *b = &call->response->body;
    struct sf_why why;
    enum sf_err err = b->err;
    if (!err && call->is_answer_begun && b->len)
        err = send_piece(call, b);
    b->spill = NULL;
    if (!err)
        return true;
    if (call->is_answer_begun) {
        call->response->is_broken = true;
        sf_buf_reset(b);
        return true;
    }
    sf_fail(&why, err, "the answer does not fit a query's memory");
    return sf_call_fail(call, err, &why);
}
