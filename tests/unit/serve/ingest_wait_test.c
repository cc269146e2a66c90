#include "serve/ingest_wait.h"

#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "listen/exchange_private.h"
#include "os/clock.h"
#include "serve/otlp/otlp_traces.h"
#include "test.h"

/* A store that only knows its pressure. */
static enum sf_pressure pressure;
static bool is_brief;
static enum sf_pressure fake_pressure(__attribute__((unused)) struct sf_store *s,
                                      bool *out_is_brief)
{
    *out_is_brief = is_brief;
    return pressure;
}
/* It has room for a batch after some attempts. */
static unsigned n_attempts, n_needed;
static enum sf_err fake_append(__attribute__((unused)) struct sf_store *s,
                               __attribute__((unused)) unsigned writer, struct sf_batch **give,
                               __attribute__((unused)) struct sf_ticket *ticket,
                               __attribute__((unused)) struct sf_why *why)
{
    if (++n_attempts < n_needed)
        return SF_ERR_BUSY;
    *give = NULL;
    return SF_OK;
}
static const struct sf_store_ops ops = {
    .name = "fake", .pressure = fake_pressure, .append = fake_append};
static struct sf_store store = {&ops};
static const struct sf_route spans = {.class = SF_CLASS_INGEST, .handle = sf_otlp_traces_export};
static const struct sf_route profiles = {.class = SF_CLASS_INGEST};

static struct sf_service *new_service(enum sf_pressure level, bool is_brief_level)
{
    struct sf_service *s = sf_heap_new(sizeof(*s));
    assert_ok(sf_service_init(s, NULL));
    atomic_store(&s->store, &store);
    atomic_store(&s->state, SF_SERVICE_READY);
    pressure = level;
    is_brief = is_brief_level;
    return s;
}

static void free_service(struct sf_service *s)
{
    sf_service_done(s);
    sf_heap_free(s);
}

/* Waits on a request that was whole `waited_ms` ago; 429 when it was refused. */
static int status;
static enum sf_ingest_wait wait_after(struct sf_service *s, const struct sf_route *route,
                                      int64_t waited_ms)
{
    struct sf_exchange *ex = sf_heap_new(sizeof(*ex));
    struct sf_call *call = sf_exchange_user(ex);
    enum sf_ingest_wait got;
    void *queued = NULL;
    *call = (struct sf_call){.service = s,
                             .ex = ex,
                             .route = route,
                             .tenant = SF_STR("single-tenant"),
                             .response = sf_exchange_response(ex),
                             .whole_ns = sf_clock_mono_ns() - waited_ms * SF_NS_PER_MS};
    got = sf_ingest_wait(call);
    assert_int_equal(sf_queue_take_many(s->ingest, &queued, 1), got == SF_INGEST_WAIT_LONGER);
    status = call->response->status;
    sf_response_done(call->response);
    sf_heap_free(ex);
    return got;
}

TEST(ingest_wait, is_for_memory_and_ends_in_a_refusal)
{
    struct sf_service *s = new_service(SF_PRESSURE_SPANS, true);
    assert_int_equal(wait_after(s, &spans, 0), SF_INGEST_WAIT_LONGER);
    assert_int_equal(wait_after(s, &profiles, 0), SF_INGEST_WAIT_LONGER);
    assert_int_equal(wait_after(s, &spans, SF_LIMIT_SPANS_WAIT_MS), SF_INGEST_WAIT_IN_VAIN);
    assert_int_equal(status, 429);
    assert_int_equal(wait_after(s, &profiles, SF_LIMIT_PROFILES_WAIT_MS), SF_INGEST_WAIT_IN_VAIN);
    assert_int_equal(status, 429);
    pressure = SF_PRESSURE_NONE;
    assert_int_equal(wait_after(s, &spans, SF_LIMIT_SPANS_WAIT_MS), SF_INGEST_WAIT_OVER);
    assert_int_equal(wait_after(s, &profiles, 0), SF_INGEST_WAIT_OVER);
    free_service(s);
}

TEST(ingest_wait, spares_spans_until_their_level_and_details_of_profiles_for_a_while)
{
    struct sf_service *s = new_service(SF_PRESSURE_PROFILES, true);
    assert_int_equal(wait_after(s, &spans, 0), SF_INGEST_WAIT_OVER);
    pressure = SF_PRESSURE_BASELINE;
    assert_int_equal(wait_after(s, &profiles, 0), SF_INGEST_WAIT_LONGER);
    /* Then it is taken, without what this level takes away. */
    assert_int_equal(wait_after(s, &profiles, SF_LIMIT_PROFILES_WAIT_MS), SF_INGEST_WAIT_OVER);
    free_service(s);
}

TEST(ingest_wait, is_not_for_shortages_that_last)
{
    struct sf_service *s = new_service(SF_PRESSURE_SPANS, false);
    assert_int_equal(wait_after(s, &spans, 0), SF_INGEST_WAIT_OVER);
    is_brief = true;
    atomic_store(&s->state, SF_SERVICE_STOPPING); /* the queue must get empty */
    assert_int_equal(wait_after(s, &spans, 0), SF_INGEST_WAIT_OVER);
    free_service(s);
}

static enum sf_err append_after(struct sf_service *s, int64_t waited_ms)
{
    struct sf_exchange *ex = sf_heap_new(sizeof(*ex));
    struct sf_call *call = sf_exchange_user(ex);
    struct sf_batch *batch = (struct sf_batch *)(uintptr_t)&ops; /* never read */
    struct sf_why why = {0};
    enum sf_err err;
    *call = (struct sf_call){.service = s,
                             .ex = ex,
                             .route = &spans,
                             .whole_ns = sf_clock_mono_ns() - waited_ms * SF_NS_PER_MS};
    n_attempts = 0;
    err = sf_ingest_wait_append(call, 0, &batch, &why);
    assert_int_equal(batch == NULL, err == SF_OK);
    sf_heap_free(ex);
    return err;
}

TEST(ingest_wait, gives_a_batch_to_the_store_again_until_there_is_memory_for_it)
{
    struct sf_service *s = new_service(SF_PRESSURE_SPANS, true);
    n_needed = 4;
    assert_ok(append_after(s, 0));
    assert_int_equal(n_attempts, 4);
    assert_int_equal(append_after(s, SF_LIMIT_SPANS_WAIT_MS), SF_ERR_BUSY);
    assert_int_equal(n_attempts, 1);
    is_brief = false; /* it lasts */
    assert_int_equal(append_after(s, 0), SF_ERR_BUSY);
    assert_int_equal(n_attempts, 1);
    is_brief = true;
    atomic_store(&s->state, SF_SERVICE_STOPPING);
    assert_int_equal(append_after(s, 0), SF_ERR_BUSY);
    assert_int_equal(n_attempts, 1);
    free_service(s);
}

TEST(ingest_wait, refuses_when_the_queue_has_no_place_for_it_again)
{
    struct sf_service *s = new_service(SF_PRESSURE_SPANS, true);
    static int item;
    while (!sf_queue_give(s->ingest, &item))
        continue;
    struct sf_exchange *ex = sf_heap_new(sizeof(*ex));
    struct sf_call *call = sf_exchange_user(ex);
    *call = (struct sf_call){.service = s,
                             .ex = ex,
                             .route = &spans,
                             .tenant = SF_STR("single-tenant"),
                             .response = sf_exchange_response(ex),
                             .whole_ns = sf_clock_mono_ns()};
    assert_int_equal(sf_ingest_wait(call), SF_INGEST_WAIT_IN_VAIN);
    assert_int_equal(call->response->status, 429);
    sf_response_done(call->response);
    sf_heap_free(ex);
    while (sf_queue_depth(s->ingest) > 0)
        (void)sf_queue_take(s->ingest);
    free_service(s);
}
