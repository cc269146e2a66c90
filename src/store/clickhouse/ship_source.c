#include "store/clickhouse/ship_source.h"

#include <inttypes.h>

#include "store/local/local.h"
#include "store/local/view.h"

enum sf_err sf_ship_source_open(struct sf_ship_source *s, uint64_t after_lsn, struct sf_why *why)
{
    if (!s->wal) {
        s->at = after_lsn;
        return SF_OK;
    }
    s->flushed_lsn = sf_view_memory_lsn(s->store);
    return s->follow ? SF_OK : sf_wal_follow_open(s->wal, after_lsn, &s->follow, why);
}

void sf_ship_source_close(struct sf_ship_source *s)
{
    sf_wal_follow_close(s->follow);
    s->follow = NULL;
}

uint64_t sf_ship_source_newest(const struct sf_ship_source *s)
{
    return s->wal ? sf_wal_whole_lsn(s->wal) : sf_history_pieces(s->history);
}

bool sf_ship_source_is_end(const struct sf_ship_source *s, uint64_t lsn)
{
    if (s->wal) /* readers get rows that are in no block from this node: sf_view_lend_memory() */
        return lsn == s->flushed_lsn;
    /* An insert with rows of many days makes a part for each. */
    return !sf_history_is_same_day(s->history, lsn, lsn + 1);
}

static enum sf_err ship_source_next_piece(struct sf_ship_source *s, struct sf_ship_record *out,
                                          struct sf_why *why)
{
    enum sf_err err = sf_history_read(s->history, s->at + 1, &out->piece, why);
    *out = (struct sf_ship_record){.piece = out->piece, .lsn = s->at + 1, .recv_ns = s->begun_ns};
    if (err == SF_ERR_CORRUPT) { /* the store leaves a damaged block out, too */
        out->piece = (struct sf_history_piece){0};
        err = SF_OK;
    }
    if (!err)
        s->at++;
    return err;
}

enum sf_err sf_ship_source_next(struct sf_ship_source *s, struct sf_ship_record *out,
                                struct sf_why *why)
{
    enum sf_err err;
    if (!s->wal)
        return ship_source_next_piece(s, out, why);
    err = sf_wal_follow_next(s->follow, &out->logged, why);
    out->lsn = out->logged.lsn;
    out->recv_ns = err ? 0 : out->logged.logged.recv_ns;
    out->n_lost = !err || err == SF_ERR_NOT_FOUND ? out->logged.n_lost : 0;
    return err;
}

static enum sf_err ship_source_tenant(const struct sf_ship_source *s, uint32_t tenant, sf_str *out,
                                      struct sf_why *why)
{
    return sf_local_tenant_name(s->store, tenant, out)
               ? SF_OK
               : sf_fail(why, SF_ERR_CORRUPT, "tenant %" PRIu32 " has no name", tenant);
}

static enum sf_err ship_source_add_piece(struct sf_ship_source *s, const struct sf_ship_record *r,
                                         struct sf_remote_outbox *to, struct sf_why *why)
{
    const struct sf_history_piece *p = &r->piece;
    sf_str tenant;
    enum sf_err err;
    if (!p->spans && !p->profiles)
        return sf_fail(why, SF_ERR_CORRUPT, "it is in a damaged block");
    err = ship_source_tenant(s, p->tenant, &tenant, why);
    to->record = r->lsn;
    to->tenant = p->tenant;
    if (!err && p->spans)
        sf_span_rows_add(to, tenant, p->at_ns, p->spans);
    if (!err && p->profiles)
        sf_profile_rows_add_history(to, tenant, p->at_ns, p->profiles);
    return err;
}

enum sf_err sf_ship_source_add(struct sf_ship_source *s, const struct sf_ship_record *record,
                               struct sf_remote_outbox *to, struct sf_why *why)
{
    const struct sf_logged *logged = &record->logged.logged;
    struct sf_batch *batch = NULL;
    sf_str tenant;
    enum sf_err err;
    if (!s->wal)
        return ship_source_add_piece(s, record, to, why);
    err = s->replay(s->replay_arg, logged, &batch, why);
    if (!err)
        err = ship_source_tenant(s, logged->tenant, &tenant, why);
    to->record = record->lsn;
    to->tenant = logged->tenant;
    for (const struct sf_batch *b = err ? NULL : batch; b; b = b->next) {
        if (b->spans)
            sf_span_rows_add(to, tenant, logged->recv_ns, b->spans);
        if (b->profiles)
            sf_profile_rows_add(to, tenant, logged->recv_ns, b->profiles);
    }
    sf_batch_free(batch);
    return err;
}
