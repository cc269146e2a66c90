#include "store/clickhouse/shard_clock.h"

#include "base/time_unit.h"
#include "wire/row_binary.h"

enum sf_err sf_shard_clock_bound(struct sf_shard *s, int64_t now_ns, int64_t *out_ns,
                                 struct sf_why *why)
{
    struct sf_buf answer = {.max = 64};
    struct sf_row_reader r;
    uint64_t shard_s = 0;
    enum sf_err err = sf_shard_ask(
        s, SF_STR("SELECT toUInt64(toUnixTimestamp(now())) FORMAT RowBinary"), 0, &answer, why);
    if (!err) {
        r = sf_row_reader_init(sf_buf_bytes(&answer));
        shard_s = sf_row_binary_u64(&r);
        err = sf_row_binary_check(&r, why);
    }
    if (!err)
        *out_ns = shard_s < (uint64_t)(now_ns / SF_NS_PER_S) ? (int64_t)shard_s * SF_NS_PER_S
                                                             : now_ns;
    sf_buf_done(&answer);
    return err;
}
