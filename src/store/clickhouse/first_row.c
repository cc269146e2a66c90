#include "store/clickhouse/first_row.h"

#include <stdio.h>

#include "store/clickhouse/row_removal.h"

enum { MAX_TOKENS = 16, TOKEN_CAP = 120 };

enum sf_err sf_first_row_is_running(struct sf_shard *shard, const char *token, bool *out,
                                    struct sf_why *why)
{
    struct sf_buf sql = {0};
    uint64_t n = 0;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT count() FROM system.processes WHERE "
                 "startsWith(Settings['insert_deduplication_token'], '%s') FORMAT RowBinary",
                 token);
    err = sf_row_removal_ask(shard, &sql, &n, why);
    sf_buf_done(&sql);
    *out = n > 0;
    return err;
}

/* An insert that ran meanwhile may have stored a row after the first look, so look again. */
static enum sf_err first_row_look(const struct sf_first_row *r, bool *out, struct sf_why *why)
{
    bool is_running = false;
    enum sf_err err = r->find(r->arg, out, why);
    if (err || *out)
        return err;
    err = sf_first_row_is_running(r->shard, r->token, &is_running, why);
    if (!err && is_running)
        err = sf_fail(why, SF_ERR_BUSY, "%.80s: another insert of the same row still runs",
                      sf_shard_address(r->shard));
    return err ? err : r->find(r->arg, out, why);
}

enum sf_err sf_first_row_put(const struct sf_first_row *r, struct sf_why *why)
{
    for (unsigned n = 0; n < MAX_TOKENS; n++) {
        char token[TOKEN_CAP];
        int len = snprintf(token, sizeof(token), "%.100s", r->token);
        bool is_there = false;
        enum sf_err err;
        if (n)
            snprintf(token + len, sizeof(token) - (size_t)len, ".%u", n);
        err = r->insert(r->arg, token, why);
        if (!err)
            err = first_row_look(r, &is_there, why);
        if (err || is_there)
            return err;
    }
    return sf_fail(why, SF_ERR_IO, "%.80s: a row is not there after it was inserted",
                   sf_shard_address(r->shard));
}
