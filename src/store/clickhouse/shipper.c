/* shipper.c - the thread that ships the log to ClickHouse, one batch at a time.
 *
 * The thread reads records of the log, decodes them into rows (remote_outbox.h), records the end
 * of the batch in ship.state, and inserts each part into its shard with a deduplication token. A
 * round sends all parts that are not confirmed; failed ones are retried with growing delays.
 * Before a part that may have been sent already, and after it, the shard is asked which rows it
 * has. When all shards have the batch, ship.state is updated and the log may free the records. */
#include "store/clickhouse/shipper.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/thread.h"
#include "store/clickhouse/first_row.h"
#include "store/clickhouse/pin_book.h"
#include "store/clickhouse/refused_rows.h"
#include "store/clickhouse/remote_erase.h"
#include "store/clickhouse/remote_outbox.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/shard.h"
#include "store/clickhouse/shard_place.h"
#include "store/clickhouse/ship_source.h"
#include "store/clickhouse/stored_rows.h"
#include "store/local/local.h"
#include "wal/wal.h"

#define CONNECT_NS     (5 * SF_NS_PER_S)
#define LAST_TRY_NS    (5 * SF_NS_PER_S) /* for the remaining data when the server stops */
#define FAILING_NS     (10 * SF_NS_PER_S)
#define FIRST_DELAY_NS (SF_NS_PER_S / 5)
#define MAX_DELAY_NS   (10 * SF_NS_PER_S)

enum { TOKEN_CAP = 120, MAX_TOKENS = 16 };

_Static_assert((int)SF_SHIP_N_COUNTED == (int)SF_REMOTE_TABLES,
               "an answer names the tables that are counted");

struct target { /* one shard, and which parts of the batch it has */
    struct sf_shard *shard;
    bool is_ready; /* probed, and its schema is current */
    bool is_done[SF_SHIP_TABLES];
    bool is_in_doubt[SF_SHIP_TABLES]; /* an insert was sent, and its outcome is not known */
    bool is_up;
};

struct sf_shipper {
    struct sf_shipper_config config;
    struct sf_store *store;
    struct sf_wal *wal; /* NULL: blocks are shipped */
    struct sf_thread thread;
    struct sf_ship_source source;
    struct sf_remote_outbox outbox;
    struct sf_remote_erase erasures, of_moved;
    struct sf_pin_book pins;
    struct sf_buf sql;
    struct target *targets;
    struct sf_ship_state state; /* as on disk, or newer */
    bool is_state_old;          /* the file is older than `state` */
    bool is_resumed;            /* the batch was begun before the last restart */
    bool has_told_columns;      /* that they could not be added */
    bool has_sent;              /* a batch, since the start */
    bool is_single;   /* the next batch takes only one record: the last batch was too large */
    bool has_all;     /* the batch ends where the log ended */
    bool had_refused; /* rows were set aside before the start */
    struct sf_refused_rows refused;
    int64_t first_recv_ns; /* of the batch */
    uint64_t last_lsn;
    char said[240]; /* the last error that was logged */

    struct sf_mutex lock; /* guards what follows; a leaf lock */
    struct sf_condvar wake, ended;
    struct sf_remote_counts counts;
    struct sf_ship_extent extent;
    int64_t oldest_ns;    /* receipt of the batch being sent; 0: none is */
    int64_t caught_up_ns; /* when the end of the log was last reached */
    bool has_ended;
    atomic_bool is_stopping, is_cancelled;
};

/* ---- small things ---- */

static void shipper_notice(struct sf_shipper *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void shipper_notice(struct sf_shipper *s, const char *format, ...)
{
    struct sf_why text;
    va_list args;
    if (!s->config.notice)
        return;
    va_start(args, format);
    (void)sf_fail_va(&text, SF_OK, format, args);
    va_end(args);
    s->config.notice(s->config.notice_arg, text.text);
}

/* A fault that continues is logged once; /metrics counts its repetitions. */
static void note_fault(struct sf_shipper *s, const struct sf_why *why)
{
    sf_mutex_lock(&s->lock);
    snprintf(s->counts.last_error, sizeof(s->counts.last_error), "%s", why->text);
    s->counts.n_retries++;
    sf_mutex_unlock(&s->lock);
    if (strcmp(s->said, why->text) == 0)
        return;
    snprintf(s->said, sizeof(s->said), "%s", why->text);
    shipper_notice(s, "ship: %s; data waits in the log", why->text);
}

static void count_up(struct sf_shipper *s)
{
    uint64_t n_up = 0;
    for (uint32_t i = 0; i < s->config.address->n_shards; i++)
        n_up += s->targets[i].is_up;
    sf_mutex_lock(&s->lock);
    s->counts.n_up = n_up;
    sf_mutex_unlock(&s->lock);
}

static bool shipper_wait_ns(struct sf_shipper *s, int64_t ns)
{
    int64_t until_ns = sf_clock_mono_ns() + ns;
    sf_mutex_lock(&s->lock);
    while (!atomic_load(&s->is_stopping) && sf_clock_mono_ns() < until_ns)
        sf_condvar_wait_until(&s->wake, &s->lock, until_ns);
    sf_mutex_unlock(&s->lock);
    return !atomic_load(&s->is_stopping);
}

static enum sf_err shipper_write_state(struct sf_shipper *s, struct sf_why *why)
{
    enum sf_err err = sf_ship_state_write(s->config.dir, s->config.state_name, &s->state, why);
    if (!err) { /* only after the write: a pending batch must still be in the log */
        s->is_state_old = false;
        if (s->wal)
            sf_wal_followed(s->wal, s->state.shipped_lsn);
    }
    return err;
}

/* ---- a batch out of the log ---- */

static uint64_t batch_number(const struct sf_shipper *s)
{
    return sf_remote_source_batch(sf_remote_source_node(s->state.node), s->first_recv_ns,
                                  s->state.shipped_lsn + 1);
}

static enum sf_err shipper_add_record(struct sf_shipper *s, const struct sf_ship_record *record,
                                      struct sf_why *why)
{
    struct sf_why own = {0};
    enum sf_err err;
    s->outbox.erased = s->erasures.open;
    err = sf_ship_source_add(&s->source, record, &s->outbox, &own);
    if (err == SF_ERR_INPUT || err == SF_ERR_CORRUPT) {
        /* The local store skipped this record at replay as well: continue without it. */
        shipper_notice(s, "ship: record %" PRIu64 " skipped: %.180s", record->lsn, own.text);
        sf_mutex_lock(&s->lock);
        s->counts.n_skipped++;
        sf_mutex_unlock(&s->lock);
        return SF_OK;
    }
    if (err && why)
        *why = own;
    return err ? err : sf_remote_outbox_check(&s->outbox, why);
}

static bool shipper_is_full(const struct sf_shipper *s)
{
    if (s->state.batch_lsn)
        return s->last_lsn >= s->state.batch_lsn;
    if (sf_ship_source_is_end(&s->source, s->last_lsn) ||
        sf_remote_erase_is_end(&s->erasures, s->last_lsn))
        return true;
    return s->is_single || sf_remote_outbox_is_full(&s->outbox);
}

static void note_lost(struct sf_shipper *s, uint64_t n_lost)
{
    if (!n_lost)
        return;
    shipper_notice(s, "ship: %" PRIu64 " records are not in the log any more and cannot be shipped",
                   n_lost);
    s->state.n_lost += n_lost;
    sf_mutex_lock(&s->lock);
    s->counts.n_lost = s->state.n_lost;
    sf_mutex_unlock(&s->lock);
}

/* A single record has more rows than a batch may hold: skip it, so that later ones are shipped. */
static void skip_record(struct sf_shipper *s, uint64_t lsn, const struct sf_why *why)
{
    shipper_notice(s, "ship: record %" PRIu64 " skipped: %.180s", lsn, why->text);
    sf_remote_outbox_begin(&s->outbox, s->outbox.batch);
    sf_remote_outbox_forget(&s->outbox);
    sf_mutex_lock(&s->lock);
    s->counts.n_skipped++;
    sf_mutex_unlock(&s->lock);
}

static enum sf_err make_ready(struct sf_shipper *s, struct target *t, struct sf_why *why)
{
    char version[SF_SHARD_VERSION_CAP];
    struct sf_why own = {0};
    enum sf_err err = SF_OK;
    if (!t->is_ready)
        err = sf_shard_probe(t->shard, version, why);
    if (!err && !t->is_ready)
        err = sf_schema_migrate(t->shard, s->config.address->database, why);
    if (!err && !t->is_ready)
        err = sf_shard_place_check(t->shard, s->config.address->database,
                                   (uint32_t)(t - s->targets), why);
    t->is_ready = !err;
    if (!err &&
        sf_attr_columns_add(s->config.attributes, t->shard, s->config.address->database,
                            (uint32_t)(t - s->targets), &own) &&
        !s->has_told_columns) {
        s->has_told_columns = true; /* searches work without them */
        shipper_notice(s, "ship: store.remote.attributes: %.200s", own.text);
    }
    return err;
}

/* Erasures wait for each node that has sent something: for the one as which blocks were moved, this
 * node answers. */
static enum sf_err shipper_acknowledge_moved(struct sf_shipper *s, struct sf_shard *first,
                                             struct sf_why *why)
{
    const uint8_t *node = NULL;
    uint64_t n = s->config.moved ? s->config.moved(s->config.moved_arg, &node) : 0;
    return n ? sf_remote_erase_learn(&s->of_moved, first, s->config.address->database, s->store,
                                     node, n, n, why)
             : SF_OK;
}

/* Reads erasures and pins of other nodes: erased rows must not be shipped from this node's log, and
 * this node's retention must keep pinned traces. */
static enum sf_err shipper_learn(struct sf_shipper *s, struct sf_why *why)
{
    struct target *t = &s->targets[0];
    enum sf_err err = make_ready(s, t, why);
    if (!err)
        err = sf_remote_erase_learn(&s->erasures, t->shard, s->config.address->database, s->store,
                                    s->state.node, sf_ship_source_newest(&s->source),
                                    s->state.shipped_lsn, why);
    if (!err)
        err = shipper_acknowledge_moved(s, t->shard, why);
    if (!err && s->wal)
        err = sf_pin_book_learn(&s->pins, t->shard, s->config.address->database, s->store, why);
    if (err) {
        t->is_up = false;
        t->is_ready = false;
    }
    return err;
}

/* Fills the outbox. NOT_FOUND: nothing to ship. */
static enum sf_err read_batch(struct sf_shipper *s, struct sf_why *why)
{
    struct sf_ship_record record = {0};
    uint64_t n_records = 0;
    enum sf_err err = sf_ship_source_open(&s->source, s->state.shipped_lsn, why);
    s->last_lsn = s->state.shipped_lsn;
    s->first_recv_ns = 0;
    sf_remote_outbox_begin(&s->outbox, 0);
    while (!err && !(n_records && shipper_is_full(s))) {
        err = sf_ship_source_next(&s->source, &record, why);
        if (!err || err == SF_ERR_NOT_FOUND)
            note_lost(s, record.n_lost);
        if (err)
            break;
        if (!n_records++) {
            s->first_recv_ns = record.recv_ns;
            s->outbox.batch = batch_number(s);
        }
        err = shipper_add_record(s, &record, why);
        if (err == SF_ERR_LIMIT && n_records == 1) {
            skip_record(s, record.lsn, why);
            err = SF_OK;
        }
        s->last_lsn = record.lsn;
    }
    s->has_all = err == SF_ERR_NOT_FOUND && n_records;
    if (s->has_all) {
        err = SF_OK;
    } else if (err == SF_ERR_NOT_FOUND && record.n_lost) { /* all remaining records are lost */
        s->state.shipped_lsn += record.n_lost;
        s->is_state_old = true;
    }
    if (err && err != SF_ERR_NOT_FOUND) {
        s->is_single = err == SF_ERR_LIMIT;
        sf_remote_outbox_forget(&s->outbox);
        sf_ship_source_close(&s->source);
    } else if (!err) {
        s->is_single = false;
    }
    return err;
}

/* ---- sending ---- */

static enum sf_err shipper_set_aside(struct sf_shipper *s, uint32_t shard, enum sf_ship_table table,
                                     sf_bytes body, const struct sf_why *refused,
                                     struct sf_why *why)
{
    struct sf_outbox_part *p = sf_remote_outbox_part(&s->outbox, shard, table);
    char name[SF_REFUSED_ROWS_NAME];
    enum sf_err err;
    snprintf(name, sizeof(name), SF_REFUSED_ROWS_FOLDER "/%016" PRIx64 ".%s.%u.zst",
             s->outbox.batch, sf_schema_table_name(table), shard + 1);
    err = sf_refused_rows_write(&s->refused, name, body, refused, why);
    if (err)
        return err;
    shipper_notice(s, "ship: %" PRIu64 " rows of %s are refused and set aside as %s: %.110s", p->n,
                   sf_schema_table_name(table), name, refused->text);
    sf_mutex_lock(&s->lock);
    s->counts.n_refused++;
    sf_mutex_unlock(&s->lock);
    sf_remote_outbox_forget(&s->outbox);
    p->n = 0; /* the row of `batches` counts only stored rows */
    return SF_OK;
}

/* The same for a repeated insert, also after a restart. Includes the time of receipt: a data
 * directory restored from a backup sends other records under the same numbers. */
static void shipper_put_token(const struct sf_shipper *s, uint32_t shard, enum sf_ship_table table,
                              char token[TOKEN_CAP])
{
    snprintf(token, TOKEN_CAP, "%016" PRIx64 ".%" PRIx64 ".%s.%u", s->outbox.batch,
             (uint64_t)s->first_recv_ns, sf_schema_table_name(table), shard + 1);
}

/* `number`: how many tokens of this part were used up by inserts whose rows are lost. */
static enum sf_err shipper_insert(struct sf_shipper *s, uint32_t shard, enum sf_ship_table table,
                                  unsigned number, struct sf_why *why)
{
    enum sf_shard_fault fault = SF_SHARD_RETRY;
    sf_bytes body = {0};
    struct sf_why refused = {0};
    char token[TOKEN_CAP];
    size_t len;
    enum sf_err err;
    sf_buf_reset(&s->sql);
    if (table == SF_SHIP_DETAILS && s->config.is_undecided)
        sf_schema_undecided_insert(s->config.address->database, &s->sql);
    else
        sf_schema_table_insert(table, s->config.address->database, &s->sql);
    err = sf_remote_outbox_body(&s->outbox, shard, table, &body, why);
    if (err || !sf_buf_ok(&s->sql))
        return err ? err : sf_no_memory(why, "a statement");
    shipper_put_token(s, shard, table, token);
    len = strlen(token);
    if (number)
        snprintf(token + len, TOKEN_CAP - len, ".%u", number);
    err = sf_shard_insert(s->targets[shard].shard, sf_buf_str(&s->sql), token, body, &fault,
                          &refused);
    if (err && fault == SF_SHARD_REFUSED)
        return shipper_set_aside(s, shard, table, body, &refused, why);
    if (err)
        *why = refused;
    return err;
}

/* Asks what the shard has of a part. NONE after an insert that it confirmed (`is_confirmed`): it
 * has the token and not the rows. An insert that still runs might add them; BUSY then. */
static enum sf_err ask_what_it_has(const struct sf_shipper *s, uint32_t shard,
                                   const struct sf_stored_rows *rows, uint64_t n_sent,
                                   bool is_confirmed, enum sf_stored *out, struct sf_why *why)
{
    char token[TOKEN_CAP];
    bool is_running = false;
    enum sf_err err = sf_stored_rows_ask(rows, n_sent, out, why);
    if (err || *out == SF_STORED_ALL || *out == SF_STORED_OTHER || !is_confirmed)
        return err;
    shipper_put_token(s, shard, rows->table, token);
    err = sf_first_row_is_running(rows->shard, token, &is_running, why);
    if (!err && is_running)
        err = sf_fail(why, SF_ERR_BUSY, "%.80s: an earlier insert of the same rows still runs",
                      sf_shard_address(rows->shard));
    return err ? err : sf_stored_rows_ask(rows, n_sent, out, why);
}

/* Sends a part until the shard has its rows once. */
static enum sf_err shipper_place(struct sf_shipper *s, uint32_t shard, enum sf_ship_table table,
                                 struct sf_why *why)
{
    struct target *t = &s->targets[shard];
    const struct sf_outbox_part *p = sf_remote_outbox_part(&s->outbox, shard, table);
    struct sf_stored_rows rows = {.shard = t->shard,
                                  .database = s->config.address->database,
                                  .table = table,
                                  .batch = s->outbox.batch,
                                  .from_day = s->outbox.from_day,
                                  .to_day = s->outbox.to_day};
    bool is_in_doubt = t->is_in_doubt[table] && table >= SF_SHIP_TRACES;
    enum sf_stored stored = SF_STORED_NONE;
    enum sf_err err = SF_OK;
    t->is_in_doubt[table] = true;
    for (unsigned n = 0; !err && n <= MAX_TOKENS; n++) {
        if (is_in_doubt)
            err = ask_what_it_has(s, shard, &rows, p->n, n > 0, &stored, why);
        if (err || stored == SF_STORED_ALL)
            return err;
        if (n == MAX_TOKENS)
            break;
        if (stored == SF_STORED_SOME)
            err = sf_stored_rows_delete(&rows, why);
        if (!err)
            err = shipper_insert(s, shard, table, n, why);
        if (!is_in_doubt || stored == SF_STORED_OTHER || !p->n)
            return err;
    }
    return err ? err
               : sf_fail(why, SF_ERR_IO, "%.80s: rows of %s are not there after an insert",
                         sf_shard_address(t->shard), sf_schema_table_name(table));
}

/* Adds the row of `batches`: the rows sent to this shard. */
static void shipper_sum_up(struct sf_shipper *s, uint32_t shard)
{
    struct sf_outbox_part *p = sf_remote_outbox_part(&s->outbox, shard, SF_SHIP_BATCHES);
    bool has_days = s->outbox.from_day <= s->outbox.to_day;
    uint16_t day = sf_remote_outbox_day(s->first_recv_ns);
    sf_buf_reset(&p->rows);
    sf_buf_reset(&p->body);
    p->n = 1;
    sf_buf_add(&p->rows, s->state.node, 16);
    sf_buf_add_u64le(&p->rows, s->outbox.batch);
    sf_buf_add_u16le(&p->rows, (uint16_t)(shard + 1));
    sf_buf_add_u16le(&p->rows, (uint16_t)s->outbox.n_shards);
    sf_buf_add_u64le(&p->rows, s->state.shipped_lsn + 1);
    sf_buf_add_u64le(&p->rows, s->last_lsn);
    sf_buf_add_u16le(&p->rows, day);
    sf_buf_add_u16le(&p->rows, has_days ? s->outbox.from_day : day);
    sf_buf_add_u16le(&p->rows, has_days ? s->outbox.to_day : day);
    sf_buf_add_u64le(&p->rows, (uint64_t)s->first_recv_ns);
    for (enum sf_ship_table t = SF_SHIP_TRACES; t < SF_SHIP_BATCHES; t++)
        sf_buf_add_u64le(&p->rows, sf_remote_outbox_part(&s->outbox, shard, t)->n);
}

static enum sf_err send_to(struct sf_shipper *s, uint32_t shard, struct sf_why *why)
{
    struct target *t = &s->targets[shard];
    enum sf_err err = make_ready(s, t, why);
    for (enum sf_ship_table table = 0; !err && table < SF_SHIP_TABLES; table++) {
        if (table == SF_SHIP_BATCHES)
            shipper_sum_up(s, shard);
        if (!t->is_done[table] && sf_remote_outbox_part(&s->outbox, shard, table)->n)
            err = shipper_place(s, shard, table, why);
        t->is_done[table] = !err;
    }
    return err;
}

/* One attempt to send everything that is not confirmed. */
static enum sf_err send_round(struct sf_shipper *s, struct sf_why *why)
{
    enum sf_err first = SF_OK;
    for (uint32_t i = 0; i < s->outbox.n_shards; i++) {
        struct target *t = &s->targets[i];
        struct sf_why own;
        enum sf_err err;
        if (t->is_done[SF_SHIP_BATCHES])
            continue;
        err = send_to(s, i, &own);
        t->is_up = !err;
        if (!err)
            continue;
        t->is_ready = false; /* its version may have changed */
        if (!first) {
            first = err;
            *why = own;
        }
    }
    count_up(s);
    return first;
}

static void begin_sending(struct sf_shipper *s)
{
    for (uint32_t i = 0; i < s->outbox.n_shards; i++) {
        memset(s->targets[i].is_done, 0, sizeof(s->targets[i].is_done));
        for (enum sf_ship_table table = 0; table < SF_SHIP_TABLES; table++)
            s->targets[i].is_in_doubt[table] = s->is_resumed;
    }
    sf_mutex_lock(&s->lock);
    s->oldest_ns = s->first_recv_ns;
    sf_mutex_unlock(&s->lock);
}

static void shipper_count_batch(struct sf_shipper *s)
{
    s->said[0] = 0;
    for (uint32_t i = 0; i < s->outbox.n_shards && !s->has_sent; i++)
        s->targets[i].is_ready = false; /* now it shows if a server is listed twice */
    s->has_sent = true;
    sf_mutex_lock(&s->lock);
    s->counts.n_batches++;
    for (uint32_t i = 0; i < s->outbox.n_shards; i++) {
        for (enum sf_ship_table t = SF_SHIP_TRACES; t < SF_SHIP_BATCHES; t++)
            s->counts.n_rows[t - SF_SHIP_TRACES] += sf_remote_outbox_part(&s->outbox, i, t)->n;
    }
    s->counts.shipped_record = s->last_lsn;
    s->extent.last_record = s->last_lsn;
    s->extent.received_ns = s->first_recv_ns;
    if (s->counts.last_error[0])
        s->counts.last_error[0] = 0;
    s->oldest_ns = 0;
    sf_mutex_unlock(&s->lock);
}

/* Retries until every shard has confirmed the batch. False: the server stops. */
static bool shipper_send_batch(struct sf_shipper *s)
{
    int64_t delay_ns = FIRST_DELAY_NS;
    struct sf_why why = {0};
    begin_sending(s);
    while (send_round(s, &why)) {
        if (atomic_load(&s->is_stopping))
            return false;
        note_fault(s, &why);
        if (s->config.failed)
            s->config.failed(s->config.confirmed_arg);
        if (!shipper_wait_ns(s, delay_ns))
            return false;
        (void)shipper_learn(s, NULL); /* hide rows that were erased meanwhile */
        delay_ns = delay_ns * 2 < MAX_DELAY_NS ? delay_ns * 2 : MAX_DELAY_NS;
    }
    s->is_resumed = false;
    shipper_count_batch(s);
    if (s->config.confirmed)
        s->config.confirmed(s->config.confirmed_arg, s->last_lsn);
    s->state.shipped_lsn = s->last_lsn;
    s->state.received_ns = s->first_recv_ns;
    s->state.batch_lsn = 0;
    s->is_state_old = true;
    return true;
}

/* ---- the thread ---- */

static void note_caught_up(struct sf_shipper *s)
{
    sf_mutex_lock(&s->lock);
    s->caught_up_ns = sf_clock_wall_ns();
    sf_mutex_unlock(&s->lock);
}

/* Ships one batch. False: the server stops, or there is nothing to do for now. Records that came
 * while a batch was sent wait for the next interval, unless senders wait for them: many small
 * inserts are many parts that the shard has to merge. */
static bool ship_one(struct sf_shipper *s, enum sf_err *out_err, struct sf_why *why)
{
    enum sf_err err = shipper_learn(s, why);
    s->has_all = false;
    if (!err)
        err = read_batch(s, why);
    if (s->has_all || err == SF_ERR_NOT_FOUND)
        note_caught_up(s);
    if (err == SF_ERR_NOT_FOUND) {
        err = s->is_state_old ? shipper_write_state(s, why) : SF_OK;
        *out_err = err;
        return false;
    }
    if (!err && !s->state.batch_lsn) {
        s->state.batch_lsn = s->last_lsn;
        s->state.n_shards = s->outbox.n_shards;
        err = shipper_write_state(s, why);
        if (err) { /* nothing was sent yet: the next attempt may choose another batch */
            s->state.batch_lsn = 0;
            sf_ship_source_close(&s->source);
        }
    }
    *out_err = err;
    if (err || !shipper_send_batch(s))
        return false;
    if (!s->has_all || s->config.confirmed || atomic_load(&s->is_stopping))
        return true;
    *out_err = shipper_write_state(s, why);
    return false;
}

static void ship_loop(void *arg)
{
    struct sf_shipper *s = arg;
    bool is_first = true;
    for (;;) {
        struct sf_why why = {0};
        enum sf_err err = SF_OK;
        bool was_stopping = atomic_load(&s->is_stopping);
        while (ship_one(s, &err, &why)) {
            /* until the log has no more */
        }
        if (err) {
            note_fault(s, &why);
            sf_remote_outbox_forget(&s->outbox);
        }
        if (was_stopping)
            break;
        if (!err && !s->wal && !s->state.batch_lsn && !s->is_state_old &&
            s->state.shipped_lsn == sf_history_pieces(s->config.history)) {
            s->config.finished(s->config.finished_arg);
            break;
        }
        /* Connect at the start, so that a wrong address is reported at once. */
        for (uint32_t i = 0; is_first && i < s->config.address->n_shards; i++) {
            struct target *t = &s->targets[i];
            err = make_ready(s, t, &why);
            t->is_up = !err;
            if (err)
                note_fault(s, &why);
        }
        count_up(s);
        is_first = false;
        (void)shipper_wait_ns(s, s->config.interval_ns);
    }
    sf_mutex_lock(&s->lock);
    s->has_ended = true;
    sf_condvar_wake_all(&s->ended);
    sf_mutex_unlock(&s->lock);
}

/* ---- start and stop ---- */

static enum sf_err shipper_open_shards(struct sf_shipper *s, struct sf_why *why)
{
    const struct sf_remote_address *a = s->config.address;
    enum sf_err err = SF_OK;
    s->targets = sf_heap_new_n(a->n_shards, sizeof(*s->targets));
    if (!s->targets)
        return sf_no_memory(why, "shards");
    for (uint32_t i = 0; !err && i < a->n_shards; i++) {
        struct sf_shard_config c = {.address = a->shards[i],
                                    .database = a->database,
                                    .user = s->config.user,
                                    .password = s->config.password,
                                    .ca_file = s->config.ca_file,
                                    .connect_ns = CONNECT_NS,
                                    .whole_ns = s->config.timeout_ns,
                                    .memory_len = s->config.memory_len,
                                    .answer_len = sf_local_memory_len(s->store) /
                                                  SF_SHARD_ANSWER_PARTS,
                                    .cancel = &s->is_cancelled};
        err = sf_shard_open(&c, &s->targets[i].shard, why);
    }
    return err;
}

static void free_shipper(struct sf_shipper *s)
{
    for (uint32_t i = 0; s->targets && i < s->config.address->n_shards; i++)
        sf_shard_close(s->targets[i].shard);
    sf_heap_free(s->targets);
    sf_ship_source_close(&s->source);
    sf_remote_outbox_done(&s->outbox);
    sf_remote_erase_done(&s->erasures);
    sf_remote_erase_done(&s->of_moved);
    sf_buf_done(&s->sql);
    sf_condvar_done(&s->wake);
    sf_condvar_done(&s->ended);
    sf_mutex_done(&s->lock);
    sf_heap_free(s);
}

/* A batch that was begun must be sent to the same number of shards: some may have its rows. */
static enum sf_err check_shards(const struct sf_shipper *s, struct sf_why *why)
{
    if (s->state.batch_lsn && s->state.n_shards != s->config.address->n_shards)
        return sf_fail(why, SF_ERR_INPUT,
                       "store.remote.url names %" PRIu32 " shards, but a batch over %" PRIu32
                       " is not confirmed yet: start once with the earlier list, let `spanflame "
                       "store status` show no lag, then change it",
                       s->config.address->n_shards, s->state.n_shards);
    return SF_OK;
}

enum sf_err sf_shipper_start(const struct sf_shipper_config *config, struct sf_store *store,
                             const struct sf_ship_state *state, struct sf_shipper **out,
                             struct sf_why *why)
{
    struct sf_shipper *s = sf_heap_new(sizeof(*s));
    enum sf_err err;
    if (!s)
        return sf_no_memory(why, "the shipper");
    s->config = *config;
    s->store = store;
    s->wal = config->history ? NULL : sf_local_log(store);
    s->source = (struct sf_ship_source){.store = store,
                                        .wal = s->wal,
                                        .replay = config->replay,
                                        .replay_arg = config->replay_arg,
                                        .history = config->history,
                                        .begun_ns = state->received_ns};
    s->state = *state;
    s->is_resumed = state->batch_lsn != 0;
    sf_mutex_init(&s->lock, SF_LOCK_STORE_SHIP);
    sf_condvar_init(&s->wake);
    sf_condvar_init(&s->ended);
    s->counts = (struct sf_remote_counts){.shipped_record = state->shipped_lsn,
                                          .spool_max_len = config->spool_len,
                                          .n_lost = state->n_lost,
                                          .n_shards = config->address->n_shards};
    s->extent = (struct sf_ship_extent){.first_record = state->first_record,
                                        .last_record = state->shipped_lsn,
                                        .received_ns = state->received_ns};
    s->caught_up_ns = sf_clock_wall_ns();
    err = check_shards(s, why);
    if (!err)
        err = shipper_open_shards(s, why);
    if (!err)
        err = sf_remote_outbox_init(&s->outbox, config->address->n_shards, why);
    if (!err)
        err = shipper_write_state(s, why);
    s->refused = sf_refused_rows_open(config->dir);
    s->had_refused = s->refused.len > 0;
    if (!err)
        err = sf_thread_start(&s->thread, config->history ? "move" : "ship", 5, ship_loop, s, why);
    if (err) {
        free_shipper(s);
        return err;
    }
    *out = s;
    return SF_OK;
}

void sf_shipper_stop(struct sf_shipper *s)
{
    int64_t until_ns = sf_clock_mono_ns() + LAST_TRY_NS;
    if (!s)
        return;
    sf_mutex_lock(&s->lock);
    atomic_store(&s->is_stopping, true);
    sf_condvar_wake_all(&s->wake);
    while (!s->has_ended && sf_condvar_wait_until(&s->ended, &s->lock, until_ns)) {
        /* wait again */
    }
    sf_mutex_unlock(&s->lock);
    atomic_store(&s->is_cancelled, true);
    sf_thread_join(&s->thread);
    free_shipper(s);
}

/* ---- what it says of itself ---- */

enum sf_pressure sf_shipper_pressure(struct sf_shipper *s)
{
    uint64_t len = sf_wal_waiting_len(s->wal);
    return len >= s->config.spool_len ? SF_PRESSURE_REFUSE
                                      : sf_pressure_of_fill(len, s->config.spool_len);
}

bool sf_shipper_is_failing(struct sf_shipper *s)
{
    bool is_failing;
    sf_mutex_lock(&s->lock);
    is_failing = s->counts.last_error[0] && s->oldest_ns &&
                 sf_clock_wall_ns() - s->oldest_ns > FAILING_NS;
    sf_mutex_unlock(&s->lock);
    return is_failing;
}

uint64_t sf_shipper_shipped(struct sf_shipper *s)
{
    uint64_t lsn;
    sf_mutex_lock(&s->lock);
    lsn = s->counts.shipped_record;
    sf_mutex_unlock(&s->lock);
    return lsn;
}

bool sf_shipper_left_out(struct sf_shipper *s)
{
    bool has;
    sf_mutex_lock(&s->lock);
    has = s->had_refused || s->counts.n_refused || s->counts.n_lost || s->counts.n_skipped;
    sf_mutex_unlock(&s->lock);
    return has;
}

struct sf_ship_extent sf_shipper_extent(struct sf_shipper *s)
{
    struct sf_ship_extent extent;
    sf_mutex_lock(&s->lock);
    extent = s->extent;
    sf_mutex_unlock(&s->lock);
    return extent;
}

void sf_shipper_counts(struct sf_shipper *s, struct sf_remote_counts *out)
{
    uint64_t newest = sf_ship_source_newest(&s->source),
             waiting_len = s->wal ? sf_wal_waiting_len(s->wal) : 0;
    int64_t since_ns;
    sf_mutex_lock(&s->lock);
    *out = s->counts;
    since_ns = s->oldest_ns ? s->oldest_ns : s->caught_up_ns;
    sf_mutex_unlock(&s->lock);
    out->newest_record = newest;
    out->spool_len = waiting_len;
    out->lag_ns = newest > out->shipped_record ? sf_clock_wall_ns() - since_ns : 0;
    if (out->lag_ns < 0)
        out->lag_ns = 0;
}
