#include "serve/query_turn.h"

#include "base/limits.h"
#include "intake/quota.h"
#include "os/clock.h"
#include "os/memory.h"

/* Memory limits in 256ths of the server's memory, the unit of the store's budget. A query with the
 * turn may always hold SURE; more only while the whole process stays within its memory. */
enum {
    SHARES = 256,
    POOL = 40,
    ONE_OF_POOL = 32,
    SURE = 48,
    BESIDE_ARENA = 40,
    SUM = 120,
    MOST = 160
};

void sf_query_turn_init(struct sf_service *s)
{
    size_t unit = (size_t)(s->memory_len ? s->memory_len : SF_LIMIT_MEMORY_LEN) / SHARES;
    size_t large_len = (size_t)s->query_memory_len + BESIDE_ARENA * unit;
    s->query_large_len = SURE * unit < large_len ? SURE * unit : large_len;
    s->query_pool.cap = POOL * unit;
    s->query_pool.query_cap = ONE_OF_POOL * unit;
    s->query_pool.sum_cap = SUM * unit;
    s->query_most_len = MOST * unit > large_len ? MOST * unit : large_len;
}

/* ---- the turn ---- */

static bool query_turn_take_turn(void *arg)
{
    struct sf_worker *worker = arg;
    return !sf_lane_take_large(worker->turns, false, 0, NULL, NULL);
}

/* Allows memory that is unused at the moment: an idle store leaves much of it. */
static bool query_turn_take_spare(void *arg, size_t len)
{
    const struct sf_worker *worker = arg;
    return sf_memory_resident_len() + len < worker->memory_len;
}

static bool is_ended(void *arg)
{
    const struct sf_worker *worker = arg;
    return (worker->cancel && atomic_load(worker->cancel)) ||
           (worker->until_ns && sf_clock_mono_ns() > worker->until_ns);
}

static enum sf_err wait_for_turn(struct sf_call *call, struct sf_worker *worker,
                                 int64_t deadline_ns, struct sf_why *why)
{
    enum sf_err err = worker->is_large ? SF_OK
                                       : sf_lane_take_large(worker->turns, true, deadline_ns,
                                                            sf_exchange_cancel(call->ex), why);
    worker->is_large = worker->is_large || !err;
    return err == SF_ERR_DEADLINE ? SF_ERR_BUSY : err; /* the query has not begun: the client may
                                                        * retry */
}

static void pass_turn(struct sf_worker *worker)
{
    if (!worker->is_large)
        return;
    sf_memory_give_back(); /* before the next query allocates as much again */
    sf_lane_pass_large(worker->turns);
    worker->is_large = false;
}

/* ---- one attempt ---- */

struct answer { /* state of the response before the handler began */
    uint32_t n_headers;
    size_t text_len, max_len;
};

static void clear_answer(struct sf_response *r, const struct answer *before)
{
    sf_buf_done(&r->body);
    sf_buf_done(&r->grpc_details);
    r->body.max = before->max_len;
    r->n_headers = before->n_headers;
    r->text.len = before->text_len;
    r->status = r->grpc_status = 0;
    r->content_type = NULL;
    r->grpc_message[0] = 0;
    r->retry_after_s = 0;
    r->is_uncompressible = r->is_framed = false;
}

/* The smallest limit of all the tenants; 0: none has one. */
static size_t tenants_cap(const struct sf_service *s, sf_str tenants)
{
    uint64_t least = 0;
    sf_str name;
    while (s->quota && sf_str_split_next(&tenants, '|', &name)) {
        uint64_t len = sf_quota_value(s->quota, name, SF_STR_NONE, SF_QUOTA_QUERY_MEMORY);
        least = len && (!least || len < least) ? len : least;
    }
    return (size_t)least;
}

static struct sf_account new_account(struct sf_service *s, struct sf_worker *worker)
{
    return (struct sf_account){.pool = &s->query_pool,
                               .is_ended = is_ended,
                               .arg = worker,
                               .held = sf_arena_touched(&worker->arena)};
}

/* True: the answer is filled. A change is not interrupted by its time limit. */
static bool query_turn_attempt(struct sf_call *call, struct sf_worker *worker, bool is_change)
{
    struct sf_service *s = call->service;
    struct sf_account *a = &worker->account;
    bool is_filled;
    sf_arena_reset(&worker->arena);
    worker->memory_len = s->memory_len;
    worker->until_ns = 0;
    worker->cancel = NULL;
    *a = new_account(s, worker);
    a->large_cap = s->query_large_len;
    a->most_cap = s->query_most_len;
    a->own_cap = tenants_cap(s, call->tenant);
    a->take_turn = query_turn_take_turn;
    a->take_spare = query_turn_take_spare;
    a->is_large = worker->is_large;
    if (is_change)
        a->is_ended = NULL;
    sf_account_open(a);
    is_filled = call->route->handle(call, worker);
    sf_account_close();
    worker->is_large = a->is_large;
    return is_filled;
}

static bool query_turn_fail(struct sf_call *call, const struct answer *before, enum sf_err err,
                            const struct sf_why *why)
{
    if (!sf_exchange_has_streamed(call->ex))
        clear_answer(call->response, before);
    else if (!call->request->is_grpc)
        call->response->is_broken = true; /* the status was sent already, so the answer is
                                           * aborted */
    return sf_call_fail(call, err, why);
}

static enum sf_err fail_own_cap(const struct sf_account *a, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT,
                   "query: needs more than the %zu KiB that a query of this tenant may hold (limit "
                   "query_memory); narrow the time range or ask for less",
                   a->own_cap >> 10);
}

static bool fail_over(struct sf_call *call, const struct sf_worker *worker,
                      const struct answer *before)
{
    struct sf_why why;
    size_t own_cap = worker->account.own_cap;
    if (own_cap && own_cap < call->service->query_most_len) {
        fail_own_cap(&worker->account, &why);
        return query_turn_fail(call, before, SF_ERR_LIMIT, &why);
    }
    sf_fail(&why, SF_ERR_LIMIT,
            "query: needs more than %llu MiB of memory; narrow the time range or ask for less, or "
            "raise limits.query_memory",
            (unsigned long long)(call->service->query_most_len >> 20));
    return query_turn_fail(call, before, SF_ERR_LIMIT, &why);
}

/* The query with the turn does not wait for other queries: requests and merges use the memory. */
static bool fail_busy(struct sf_call *call, const struct sf_worker *worker,
                      const struct answer *before)
{
    struct sf_why why;
    if (worker->is_large)
        sf_fail(&why, SF_ERR_BUSY,
                "query: needs %zu MiB of memory or more, and the server has less unused (key "
                "memory: %llu MiB in all); retry, or narrow the time range or ask for less",
                (worker->account.refused >> 20) + 1,
                (unsigned long long)(call->service->memory_len >> 20));
    else
        sf_fail(&why, SF_ERR_BUSY, "query: other queries use the memory that it needs; retry");
    return query_turn_fail(call, before, SF_ERR_BUSY, &why);
}

static bool fail_late(struct sf_call *call, const struct answer *before)
{
    struct sf_why why;
    bool is_gone = atomic_load(sf_exchange_cancel(call->ex));
    enum sf_err err = is_gone ? SF_ERR_CANCELLED : SF_ERR_DEADLINE;
    sf_fail(&why, err,
            is_gone ? "query: the client disconnected"
                    : "query: took too long; narrow the time range");
    return query_turn_fail(call, before, err, &why);
}

static bool run_read(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_response *r = call->response;
    struct answer before = {r->n_headers, r->text.len, r->body.max};
    int64_t deadline_ns = sf_clock_mono_ns() + call->service->query_ns;
    struct sf_why why;
    enum sf_err err;
    if (!query_turn_attempt(call, worker, false))
        return false;
    if (worker->account.is_put_off && !worker->account.is_late) {
        if (worker->is_large || sf_exchange_has_streamed(call->ex))
            return fail_busy(call, worker, &before);
        clear_answer(r, &before);
        sf_arena_release(&worker->arena);
        err = wait_for_turn(call, worker, deadline_ns, &why);
        if (err)
            return sf_call_fail(call, err, &why);
        if (!query_turn_attempt(call, worker, false))
            return false;
    }
    return worker->account.is_late      ? fail_late(call, &before)
           : worker->account.is_over    ? fail_over(call, worker, &before)
           : worker->account.is_put_off ? fail_busy(call, worker, &before)
                                        : true;
}

/* A handler that changes data cannot be run twice: with a large body, it takes the turn before it
 * begins; otherwise while it runs, if the turn is free. */
static bool run_change(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_response *r = call->response;
    struct answer before = {r->n_headers, r->text.len, r->body.max};
    struct sf_why why;
    bool is_large = sf_exchange_body(call->ex)->len > SF_LIMIT_BODY_MEMORY_LEN;
    enum sf_err err = is_large ? wait_for_turn(call, worker,
                                               sf_clock_mono_ns() + call->service->query_ns, &why)
                               : SF_OK;
    if (err)
        return sf_call_fail(call, err, &why);
    if (!query_turn_attempt(call, worker, true))
        return false;
    return worker->account.is_over      ? fail_over(call, worker, &before)
           : worker->account.is_put_off ? fail_busy(call, worker, &before)
                                        : true;
}

void sf_query_turn_run(struct sf_call *call, struct sf_worker *worker)
{
    bool is_read = call->route->scope == SF_MAY_READ;
    if (is_read ? run_read(call, worker) : run_change(call, worker))
        sf_call_finish(call);
    sf_arena_release(&worker->arena); /* do not keep a large arena for the next query */
    pass_turn(worker);
}

/* ---- the server's own queries ---- */

void sf_query_turn_open_own(struct sf_service *s, sf_str tenants, struct sf_worker *worker,
                            int64_t until_ns, const atomic_bool *cancel)
{
    worker->until_ns = until_ns;
    worker->cancel = cancel;
    worker->account = new_account(s, worker);
    worker->account.own_cap = tenants_cap(s, tenants);
    sf_account_open(&worker->account);
}

enum sf_err sf_query_turn_close_own(struct sf_worker *worker, enum sf_err err, struct sf_why *why)
{
    const struct sf_account *a = &worker->account;
    sf_account_close();
    if (a->is_late)
        return worker->cancel && atomic_load(worker->cancel)
                   ? sf_fail(why, SF_ERR_CANCELLED, "query: the server is stopping")
                   : sf_fail(why, SF_ERR_DEADLINE, "query: took too long");
    if (a->is_over)
        return fail_own_cap(a, why);
    if (!a->is_put_off)
        return err;
    return a->refused > a->pool->query_cap
               ? sf_fail(why, SF_ERR_LIMIT, "query: needs more than %zu MiB of memory",
                         a->pool->query_cap >> 20)
               : sf_fail(why, SF_ERR_BUSY, "query: other queries use the memory that it needs");
}
