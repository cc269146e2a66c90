#include "serve/long_answer.h"

#include "base/time_unit.h"
#include "os/clock.h"

/* Of answers that are compressed as a whole more is kept. */
enum { KEEP_LEN = 8 << 20, KEEP_GZIP_LEN = 32 << 20, PIECE_LEN = 128 << 10 };

static const int64_t PATIENCE_NS = 5 * SF_NS_PER_S;

/* Room for the next piece; the client is given up when it has not made any for a while. */
static enum sf_err wait_for_room(struct sf_call *call)
{
    int64_t until_ns = sf_clock_mono_ns() + PATIENCE_NS;
    if (call->answer_until_ns && call->answer_until_ns < until_ns)
        until_ns = call->answer_until_ns;
    return sf_exchange_stream_wait(call->ex, until_ns);
}

static enum sf_err send_piece(void *arg, struct sf_buf *b)
{
    struct sf_call *call = arg;
    enum sf_err err;
    b->spill_len = PIECE_LEN;
    while ((err = sf_exchange_stream(call->ex, b, NULL)) == SF_ERR_BUSY) {
        err = wait_for_room(call);
        if (err)
            break;
    }
    if (b->cap > KEEP_LEN && !err) { /* what was kept at first is not needed for pieces */
        struct sf_buf small = {
            .max = b->max, .spill = b->spill, .spill_arg = b->spill_arg, .spill_len = b->spill_len};
        sf_buf_done(b);
        *b = small;
    }
    call->is_answer_begun = true;
    return err;
}

void sf_long_answer_begin(struct sf_call *call, const struct sf_query_ctx *q)
{
    struct sf_buf *b = &call->response->body;
    call->answer_until_ns = q->deadline_ns;
    b->spill = send_piece;
    b->spill_arg = call;
    b->spill_len = call->request->wants_gzip ? KEEP_GZIP_LEN : KEEP_LEN;
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
