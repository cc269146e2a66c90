#include "store/clickhouse/shard_place.h"

#include <inttypes.h>

#include "wire/row_binary.h"

enum sf_err sf_shard_place_check(struct sf_shard *s, const char *database, uint32_t place,
                                 struct sf_why *why)
{
    struct sf_buf sql = {0}, answer = {.max = 64};
    struct sf_row_reader r;
    uint64_t n = 0, other = 0;
    enum sf_err err;
    sf_buf_print(&sql,
                 "SELECT toUInt64(count()), toUInt64(max(shard)) FROM %s.batches WHERE shard != "
                 "%" PRIu32 " FORMAT RowBinary",
                 database, place + 1);
    err = sf_buf_ok(&sql) ? sf_shard_ask(s, sf_buf_str(&sql), 0, &answer, why)
                          : sf_no_memory(why, "a statement");
    if (!err) {
        r = sf_row_reader_init(sf_buf_bytes(&answer));
        n = sf_row_binary_u64(&r);
        other = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
    }
    if (!err && n)
        err = sf_fail(why, SF_ERR_INPUT,
                      "store.remote.url: %.100s is number %" PRIu32
                      " in the list of shards, but has "
                      "data of number %" PRIu64 ": the order must not change, and no server may be "
                      "listed twice",
                      sf_shard_address(s), place + 1, other);
    sf_buf_done(&sql);
    sf_buf_done(&answer);
    return err;
}
