#include "store/clickhouse/mover.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "os/clock.h"
#include "os/thread.h"
#include "store/clickhouse/ship_state.h"
#include "store/local/history.h"
#include "store/local/local.h"

struct sf_mover {
    struct sf_mover_config config;
    uint8_t node[16];
    atomic_bool has_begun, is_done;
    /* Of a move that was done before this start: */
    struct sf_ship_extent extent;
    struct sf_mutex lock; /* guards what follows; held while a move begins */
    struct sf_history *history;
    struct sf_shipper *shipper;
};

void sf_mover_node_of(const uint8_t uuid[16], uint8_t out[16])
{
    for (size_t i = 0; i < 16; i++)
        out[i] = uuid[i] ^ 0xa5;
}

bool sf_mover_was_done(struct sf_dir *dir)
{
    return sf_dir_exists(dir, SF_SHIP_STATE_MOVE) && !sf_dir_exists(dir, SF_HISTORY_FOLDER "/list");
}

/* On the shipper's thread, when every shard has confirmed the last piece. */
static void mover_finish(void *arg)
{
    struct sf_mover *m = arg;
    struct sf_why why;
    atomic_store(&m->is_done, true);
    sf_history_keep_apart(m->config.store, 0);
    if (m->config.ship.notice)
        m->config.ship.notice(m->config.ship.notice_arg,
                              "move: all older data of this node is in ClickHouse");
    if (sf_history_remove(m->config.store, &why) && m->config.ship.notice)
        m->config.ship.notice(m->config.ship.notice_arg, why.text);
}

/* Takes the list over on success. */
static enum sf_err mover_start(struct sf_mover *m, const struct sf_ship_state *state,
                               struct sf_history *history, struct sf_why *why)
{
    struct sf_shipper_config c = m->config.ship;
    enum sf_err err;
    c.state_name = SF_SHIP_STATE_MOVE;
    c.history = history;
    c.finished = mover_finish;
    c.finished_arg = m;
    c.confirmed = NULL;
    c.failed = NULL;
    c.moved = NULL;
    c.is_undecided = false; /* the store has judged its hours itself */
    err = sf_shipper_start(&c, m->config.store, state, &m->shipper, why);
    if (err)
        return err;
    m->history = history;
    atomic_store(&m->has_begun, true);
    return SF_OK;
}

static enum sf_err mover_resume(struct sf_mover *m, struct sf_why *why)
{
    struct sf_ship_state state = {0};
    struct sf_history *history = NULL;
    enum sf_err err = sf_ship_state_read(m->config.ship.dir, SF_SHIP_STATE_MOVE, &state, why);
    if (err == SF_ERR_NOT_FOUND) /* none was begun, or it was interrupted before its first batch */
        return sf_history_remove(m->config.store, why);
    if (!err && memcmp(state.node, m->node, sizeof(m->node)) != 0)
        err = sf_fail(why, SF_ERR_CORRUPT, SF_SHIP_STATE_MOVE " belongs to another data directory");
    if (!err)
        err = sf_history_open(m->config.store, &history, why);
    if (err == SF_ERR_NOT_FOUND) {
        m->extent = (struct sf_ship_extent){.first_record = state.first_record,
                                            .last_record = state.shipped_lsn,
                                            .received_ns = state.received_ns};
        atomic_store(&m->is_done, true);
        atomic_store(&m->has_begun, true);
        return SF_OK;
    }
    if (!err)
        err = mover_start(m, &state, history, why);
    if (err)
        sf_history_close(history);
    return err;
}

enum sf_err sf_mover_open(const struct sf_mover_config *config, struct sf_mover **out,
                          struct sf_why *why)
{
    struct sf_mover *m = sf_heap_new(sizeof(*m));
    enum sf_err err;
    if (!m)
        return sf_no_memory(why, "the mover");
    m->config = *config;
    sf_mutex_init(&m->lock, SF_LOCK_STORE_MOVE);
    sf_mover_node_of(sf_local_uuid(config->store), m->node);
    err = mover_resume(m, why);
    if (err) {
        sf_mover_close(m);
        return err;
    }
    *out = m;
    return SF_OK;
}

void sf_mover_close(struct sf_mover *m)
{
    if (!m)
        return;
    sf_shipper_stop(m->shipper);
    sf_history_close(m->history);
    sf_mutex_done(&m->lock);
    sf_heap_free(m);
}

static enum sf_err mover_begin(struct sf_mover *m, struct sf_why *why)
{
    struct sf_ship_state state = {.first_record = 1, .received_ns = sf_clock_wall_ns()};
    struct sf_history *history = NULL;
    enum sf_err err;
    if (!m->config.is_history_known)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "an earlier version of this program began to ship from this data directory "
                       "and did not record where: its older blocks cannot be told from later ones");
    err = sf_history_collect(m->config.store, m->config.history_lsn, why);
    if (!err)
        err = sf_history_open(m->config.store, &history, why);
    if (err)
        return err;
    memcpy(state.node, m->node, sizeof(m->node));
    err = mover_start(m, &state, history, why);
    if (err)
        sf_history_close(history);
    return err;
}

static enum sf_err mover_check_address(const struct sf_mover *m, sf_str to, struct sf_why *why)
{
    struct sf_remote_address *address = sf_heap_new(sizeof(*address));
    enum sf_err err = address ? sf_remote_address_parse(to, address, why)
                              : sf_no_memory(why, "an address");
    if (!err && memcmp(address, m->config.ship.address, sizeof(*address)) != 0)
        err = sf_fail(why, SF_ERR_INPUT,
                      "this node ships to another address (store.remote.url): its older data can "
                      "only be moved to the same shards and database");
    sf_heap_free(address);
    return err;
}

enum sf_err sf_mover_begin(struct sf_mover *m, sf_str to, struct sf_why *why)
{
    enum sf_err err = mover_check_address(m, to, why);
    if (err)
        return err;
    sf_mutex_lock(&m->lock);
    err = atomic_load(&m->has_begun) ? SF_OK : mover_begin(m, why);
    sf_mutex_unlock(&m->lock);
    return err;
}

bool sf_mover_has_begun(const struct sf_mover *m)
{
    return atomic_load(&m->has_begun);
}

bool sf_mover_is_done(const struct sf_mover *m)
{
    return atomic_load(&m->is_done);
}

const uint8_t *sf_mover_node(const struct sf_mover *m)
{
    return m->node;
}

/* The shipper of a move that has begun is not stopped before close. */
static struct sf_shipper *mover_shipper(struct sf_mover *m)
{
    struct sf_shipper *s;
    sf_mutex_lock(&m->lock);
    s = m->shipper;
    sf_mutex_unlock(&m->lock);
    return s;
}

struct sf_ship_extent sf_mover_extent(struct sf_mover *m)
{
    struct sf_shipper *s = mover_shipper(m);
    return s ? sf_shipper_extent(s) : m->extent;
}

uint64_t sf_mover_done_pieces(const struct sf_mover *m)
{
    if (!atomic_load(&m->is_done))
        return 0;
    return m->history ? sf_history_pieces(m->history) : m->extent.last_record;
}

void sf_mover_counts(struct sf_mover *m, struct sf_move_counts *out)
{
    struct sf_remote_counts c = {0};
    struct sf_shipper *s = mover_shipper(m);
    *out = (struct sf_move_counts){.has_begun = atomic_load(&m->has_begun),
                                   .is_done = atomic_load(&m->is_done)};
    if (!s) {
        out->n_pieces = out->n_moved = m->extent.last_record;
        return;
    }
    sf_shipper_counts(s, &c);
    out->n_pieces = c.newest_record;
    out->n_moved = c.shipped_record;
    out->n_retries = c.n_retries;
    out->n_skipped = c.n_skipped;
    for (size_t i = 0; i < SF_REMOTE_TABLES; i++)
        out->n_rows[i] = c.n_rows[i];
    snprintf(out->last_error, sizeof(out->last_error), "%s", c.last_error);
}
