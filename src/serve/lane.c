/* lane.c - a fair queue for one kind of worker threads. Waiting calls hang on their client; take()
 * chooses the tenant and then the client with the fewest running calls, of equal ones the one
 * served longest ago; a client never exceeds its share of threads. lane_give() refuses a call that
 * could not start in time or finds no space. One further call at a time may use much memory. */
#include "serve/lane.h"

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/thread.h"
#include "serve/call.h"

enum { MAX_AFTER_S = 60, MEAN_OF = 4 };
static const int64_t LOOK_NS = 50 * SF_NS_PER_MS; /* disconnected callers are found by polling at
                                                   * this interval */

struct party { /* a tenant, or a client of one */
    uint64_t key;
    uint32_t tenant; /* of a client: index of its tenant */
    uint32_t n_waiting, n_running;
    uint64_t served_at; /* value of the lane's counter when it was last served or first came */
    int64_t mean_ns;    /* of a client: recent mean duration of its calls; 0: not known */
    struct sf_call *first, *last;
};

struct sf_lane {
    struct sf_mutex lock; /* guards all below; no other lock is taken while it is held */
    struct sf_condvar has_work;
    size_t cap, client_cap, n;
    uint32_t client_threads; /* threads that one client may use at once */
    int64_t wait_ns;
    uint64_t n_served;
    bool is_closed;
    bool is_large_taken, has_large_waiter; /* a call holds much memory; another call waits for it to
                                            * end */
    struct sf_condvar large_passed;
    /* Those with waiting or running calls; a key of 0 marks a free place. */
    struct party *tenants, *clients;
    uint32_t n_tenants, n_clients, n_places;
};

enum { THREADS_MAX = 256 };

struct sf_lane *sf_lane_new(size_t cap, size_t client_cap)
{
    struct sf_lane *l = sf_heap_new(sizeof(*l));
    uint32_t n_places = (uint32_t)cap + THREADS_MAX;
    if (!l)
        return NULL;
    l->cap = cap;
    l->client_cap = client_cap;
    l->client_threads = 1;
    l->n_places = n_places;
    l->tenants = sf_heap_new_n(n_places, sizeof(*l->tenants));
    l->clients = sf_heap_new_n(n_places, sizeof(*l->clients));
    sf_mutex_init(&l->lock, SF_LOCK_SERVE_LANE);
    sf_condvar_init(&l->has_work);
    sf_condvar_init(&l->large_passed);
    if (l->tenants && l->clients)
        return l;
    sf_lane_free(l);
    return NULL;
}

void sf_lane_free(struct sf_lane *l)
{
    if (!l)
        return;
    sf_mutex_done(&l->lock);
    sf_condvar_done(&l->has_work);
    sf_condvar_done(&l->large_passed);
    sf_heap_free(l->tenants);
    sf_heap_free(l->clients);
    sf_heap_free(l);
}

void sf_lane_serve(struct sf_lane *l, unsigned n_threads, int64_t wait_ns)
{
    sf_mutex_lock(&l->lock);
    l->client_threads = n_threads > 1 ? n_threads - 1 : 1;
    l->wait_ns = wait_ns;
    sf_mutex_unlock(&l->lock);
}

/* ---- clients in the lane ---- */

/* Finds the party with that key, or takes a free place for it; NULL: none is free. */
static struct party *place_party(struct sf_lane *l, struct party *list, uint32_t *n, uint64_t key,
                                 uint32_t tenant)
{
    struct party *spare = NULL;
    for (uint32_t i = 0; i < *n; i++) {
        if (list[i].key == key && list[i].tenant == tenant)
            return &list[i];
        if (!list[i].key && !spare)
            spare = &list[i];
    }
    if (!spare && *n < l->n_places)
        spare = &list[(*n)++];
    if (spare)
        *spare = (struct party){.key = key, .tenant = tenant, .served_at = l->n_served};
    return spare;
}

static uint64_t lane_key_of(uint64_t hash)
{
    return hash ? hash : 1; /* 0 marks a free place */
}

static struct party *lane_client_of(struct sf_lane *l, struct sf_lane_client who)
{
    struct party *t = place_party(l, l->tenants, &l->n_tenants, lane_key_of(who.tenant), 0);
    uint32_t place = t ? (uint32_t)(t - l->tenants) : 0;
    return t ? place_party(l, l->clients, &l->n_clients, lane_key_of(who.client), place) : NULL;
}

static void lane_count(struct sf_lane *l, struct party *c, int waiting, int running)
{
    struct party *t = &l->tenants[c->tenant];
    c->n_waiting += (uint32_t)waiting;
    t->n_waiting += (uint32_t)waiting;
    c->n_running += (uint32_t)running;
    t->n_running += (uint32_t)running;
    l->n += (size_t)waiting;
}

static void forget_idle(struct sf_lane *l, struct party *c)
{
    struct party *t = &l->tenants[c->tenant];
    if (!c->n_waiting && !c->n_running)
        *c = (struct party){0};
    if (!t->n_waiting && !t->n_running)
        *t = (struct party){0};
    while (l->n_clients && !l->clients[l->n_clients - 1].key)
        l->n_clients--;
    while (l->n_tenants && !l->tenants[l->n_tenants - 1].key)
        l->n_tenants--;
}

/* ---- waiting ---- */

static void lane_append(struct party *c, struct sf_call *call)
{
    call->next_in_lane = NULL;
    if (c->last)
        c->last->next_in_lane = call;
    else
        c->first = call;
    c->last = call;
}

static struct sf_call *cut_last(struct party *c)
{
    struct sf_call *last = c->last, *before = NULL;
    for (struct sf_call *at = c->first; at != last; at = at->next_in_lane)
        before = at;
    c->last = before;
    if (before)
        before->next_in_lane = NULL;
    else
        c->first = NULL;
    return last;
}

static bool is_left(const struct sf_call *call)
{
    return call->ex && atomic_load(sf_exchange_cancel(call->ex));
}

/* Removes the client's first waiting call whose connection is closed. */
static struct sf_call *cut_left(struct party *c)
{
    struct sf_call *before = NULL, *at = c->first;
    while (at && !is_left(at)) {
        before = at;
        at = at->next_in_lane;
    }
    if (!at)
        return NULL;
    if (before)
        before->next_in_lane = at->next_in_lane;
    else
        c->first = at->next_in_lane;
    if (c->last == at)
        c->last = before;
    return at;
}

static uint32_t count_present(const struct party *c)
{
    uint32_t n = 0;
    for (const struct sf_call *at = c->first; at; at = at->next_in_lane)
        n += !is_left(at);
    return n;
}

static struct party *longest(struct sf_lane *l)
{
    struct party *most = NULL;
    for (uint32_t i = 0; i < l->n_clients; i++) {
        if (!most || l->clients[i].n_waiting > most->n_waiting)
            most = &l->clients[i];
    }
    return most;
}

static unsigned seconds_of(int64_t ns)
{
    int64_t s = (ns + SF_NS_PER_S - 1) / SF_NS_PER_S;
    return s < 1 ? 1 : s > MAX_AFTER_S ? (unsigned)MAX_AFTER_S : (unsigned)s;
}

/* Minimum wait of the client's next call: until its own calls are done, if no other client came in
 * between. Calls of closed connections cost nothing. */
static int64_t least_wait_ns(const struct sf_lane *l, const struct party *c)
{
    return (int64_t)count_present(c) * (c->mean_ns / (int64_t)l->client_threads);
}

static enum sf_err check_client(const struct sf_lane *l, const struct party *c, struct sf_why *why)
{
    int64_t wait_ns = least_wait_ns(l, c);
    uint32_t n_waiting = count_present(c);
    if (n_waiting >= l->client_cap)
        return sf_fail(why, SF_ERR_BUSY,
                       "%u queries of this client are waiting already; wait for their answers",
                       n_waiting);
    if (l->wait_ns && wait_ns > l->wait_ns)
        return sf_fail(why, SF_ERR_BUSY,
                       "%u queries of this client are waiting and each takes about %u s: this one "
                       "could not begin within %u s; wait for their answers",
                       n_waiting, seconds_of(c->mean_ns), seconds_of(l->wait_ns));
    return SF_OK;
}

static enum sf_err lane_make_room(struct sf_lane *l, const struct party *c, struct sf_call *call,
                                  struct sf_call **out_refused, struct sf_why *why)
{
    struct party *most = longest(l);
    struct sf_call *left = NULL;
    if (l->n < l->cap)
        return SF_OK;
    for (uint32_t i = 0; i < l->n_clients && !left; i++) {
        left = cut_left(&l->clients[i]);
        if (left)
            lane_count(l, &l->clients[i], -1, 0);
    }
    *out_refused = left ? left : call;
    if (left)
        return sf_fail(why, SF_ERR_BUSY, "too many queries are waiting; retry");
    if (most && most->n_waiting > c->n_waiting + 1) {
        *out_refused = cut_last(most);
        lane_count(l, most, -1, 0);
    }
    return sf_fail(why, SF_ERR_BUSY, "too many queries are waiting; retry");
}

static enum sf_err lane_give(struct sf_lane *l, struct sf_call *call, struct sf_call **out_refused,
                             unsigned *out_after_s, struct sf_why *why)
{
    struct party *c;
    enum sf_err err;
    if (l->is_closed)
        return sf_fail(why, SF_ERR_CANCELLED, "stopping");
    *out_refused = call;
    *out_after_s = 1;
    c = lane_client_of(l, call->client);
    if (!c)
        return sf_fail(why, SF_ERR_BUSY, "too many queries are waiting; retry");
    err = check_client(l, c, why);
    if (err) {
        *out_after_s = seconds_of(least_wait_ns(l, c));
        forget_idle(l, c);
        return err;
    }
    err = lane_make_room(l, c, call, out_refused, why);
    if (!err || *out_refused != call) {
        lane_append(c, call);
        lane_count(l, c, 1, 0);
        sf_condvar_wake_one(&l->has_work);
    }
    forget_idle(l, c);
    for (uint32_t i = l->n_clients; err && i-- > 0;) /* a client may have lost its only call */
        forget_idle(l, &l->clients[i]);
    return err;
}

enum sf_err sf_lane_give(struct sf_lane *l, struct sf_call *call, struct sf_call **out_refused,
                         unsigned *out_after_s, struct sf_why *why)
{
    enum sf_err err;
    sf_mutex_lock(&l->lock);
    err = lane_give(l, call, out_refused, out_after_s, why);
    sf_mutex_unlock(&l->lock);
    return err;
}

/* ---- taking the next call ---- */

static bool is_before(const struct party *a, const struct party *b)
{
    return a->n_running != b->n_running ? a->n_running < b->n_running : a->served_at < b->served_at;
}

static bool is_next(const struct sf_lane *l, const struct party *a, const struct party *b)
{
    return a->tenant == b->tenant ? is_before(a, b)
                                  : is_before(&l->tenants[a->tenant], &l->tenants[b->tenant]);
}

/* Chooses the client to serve next; NULL: no waiting call may run. Limits do not apply once the
 * lane is closed. */
static struct party *next_client(struct sf_lane *l)
{
    struct party *next = NULL;
    for (uint32_t i = 0; i < l->n_clients; i++) {
        struct party *c = &l->clients[i];
        bool may_run = c->first && (l->is_closed || c->n_running < l->client_threads);
        if (may_run && (!next || is_next(l, c, next)))
            next = c;
    }
    return next;
}

static struct sf_call *lane_take_first(struct sf_lane *l, struct party *c,
                                       struct sf_lane_client *out)
{
    struct sf_call *call = c->first;
    c->first = call->next_in_lane;
    if (!c->first)
        c->last = NULL;
    lane_count(l, c, -1, 1);
    c->served_at = l->tenants[c->tenant].served_at = ++l->n_served;
    *out = call->client;
    return call;
}

struct sf_call *sf_lane_take(struct sf_lane *l, struct sf_lane_client *out)
{
    struct party *c;
    struct sf_call *call = NULL;
    sf_mutex_lock(&l->lock);
    while (!(c = next_client(l)) && !l->is_closed)
        sf_condvar_wait(&l->has_work, &l->lock);
    if (c)
        call = lane_take_first(l, c, out);
    sf_mutex_unlock(&l->lock);
    return call;
}

void sf_lane_end(struct sf_lane *l, struct sf_lane_client client, int64_t ran_ns)
{
    struct party *c;
    sf_mutex_lock(&l->lock);
    c = lane_client_of(l, client);
    if (c && c->n_running) {
        lane_count(l, c, 0, -1);
        c->mean_ns += c->mean_ns ? (ran_ns - c->mean_ns) / MEAN_OF : ran_ns;
    }
    if (c)
        forget_idle(l, c);
    if (l->n)
        sf_condvar_wake_one(&l->has_work);
    sf_mutex_unlock(&l->lock);
}

/* ---- memory ---- */

static enum sf_err wait_for_large(struct sf_lane *l, int64_t deadline_ns, const atomic_bool *cancel,
                                  struct sf_why *why)
{
    while (l->is_large_taken) {
        int64_t now_ns = sf_clock_mono_ns(), until_ns = now_ns + LOOK_NS;
        if (cancel && atomic_load(cancel))
            return sf_fail(why, SF_ERR_CANCELLED, "query: the client disconnected");
        if (deadline_ns && now_ns >= deadline_ns)
            return sf_fail(why, SF_ERR_DEADLINE,
                           "query: its time limit passed while it waited for memory; retry");
        (void)sf_condvar_wait_until(&l->large_passed, &l->lock, until_ns);
    }
    return SF_OK;
}

enum sf_err sf_lane_take_large(struct sf_lane *l, bool waits, int64_t deadline_ns,
                               const atomic_bool *cancel, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_mutex_lock(&l->lock);
    if (l->is_large_taken && (!waits || l->has_large_waiter)) {
        err = sf_fail(why, SF_ERR_BUSY,
                      "query: other queries that need much memory are waiting; retry");
    } else {
        l->has_large_waiter = l->is_large_taken;
        if (l->is_large_taken) {
            err = wait_for_large(l, deadline_ns, cancel, why);
            l->has_large_waiter = false;
        }
        if (!err)
            l->is_large_taken = true;
    }
    sf_mutex_unlock(&l->lock);
    return err;
}

void sf_lane_pass_large(struct sf_lane *l)
{
    sf_mutex_lock(&l->lock);
    l->is_large_taken = false;
    sf_condvar_wake_all(&l->large_passed);
    sf_mutex_unlock(&l->lock);
}

size_t sf_lane_depth(struct sf_lane *l)
{
    size_t n;
    sf_mutex_lock(&l->lock);
    n = l->n;
    sf_mutex_unlock(&l->lock);
    return n;
}

void sf_lane_close(struct sf_lane *l)
{
    sf_mutex_lock(&l->lock);
    l->is_closed = true;
    sf_condvar_wake_all(&l->has_work);
    sf_mutex_unlock(&l->lock);
}
