#include "store/clickhouse/refused_rows.h"

#include <stdio.h>

#include "base/limits.h"

static bool refused_rows_add(void *arg, const char *entry, bool is_dir)
{
    struct sf_refused_rows *r = arg;
    char name[300];
    uint64_t len;
    int64_t ns;
    snprintf(name, sizeof(name), SF_REFUSED_ROWS_FOLDER "/%.200s", entry);
    if (!is_dir && !sf_dir_stat(r->dir, name, &len, &ns, NULL))
        r->len += len;
    return true;
}

struct sf_refused_rows sf_refused_rows_open(struct sf_dir *dir)
{
    struct sf_refused_rows r = {.dir = dir};
    (void)sf_dir_list(dir, SF_REFUSED_ROWS_FOLDER, refused_rows_add, &r, NULL);
    return r;
}

enum sf_err sf_refused_rows_write(struct sf_refused_rows *r, const char *name, sf_bytes rows,
                                  const struct sf_why *refused, struct sf_why *why)
{
    enum sf_err err;
    if (r->len + rows.len > SF_LIMIT_SHIP_SET_ASIDE_LEN)
        return sf_fail(why, SF_ERR_FULL,
                       "ClickHouse refuses rows, and " SF_REFUSED_ROWS_FOLDER
                       " holds %u MiB of such: %.100s",
                       SF_LIMIT_SHIP_SET_ASIDE_LEN >> 20, refused->text);
    err = sf_dir_make(r->dir, SF_REFUSED_ROWS_FOLDER, why);
    if (!err)
        err = sf_dir_replace(r->dir, name, rows, why);
    if (!err)
        r->len += rows.len;
    return err;
}
