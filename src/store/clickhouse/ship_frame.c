#include "store/clickhouse/ship_frame.h"

#include "wire/deflate.h"
#include "wire/native_block.h"

enum { LEVEL = 1 };

enum sf_err sf_ship_frame_init(struct sf_ship_frame *f, struct sf_why *why)
{
    f->deflate = sf_deflate_new();
    for (enum sf_ship_table t = 0; f->deflate && t < SF_SHIP_TABLES; t++) {
        const char *types = sf_schema_table_types(t);
        if (types)
            f->blocks[t] = sf_native_block_new(sf_schema_table_columns(t), types);
        if (types && !f->blocks[t])
            return sf_no_memory(why, "rows for ClickHouse");
    }
    return f->deflate ? SF_OK : sf_no_memory(why, "rows for ClickHouse");
}

void sf_ship_frame_done(struct sf_ship_frame *f)
{
    for (enum sf_ship_table t = 0; t < SF_SHIP_TABLES; t++)
        sf_native_block_free(f->blocks[t]);
    sf_deflate_free(f->deflate);
    sf_buf_done(&f->block);
    *f = (struct sf_ship_frame){0};
}

enum sf_err sf_ship_frame_add(struct sf_ship_frame *f, enum sf_ship_table table, sf_bytes rows,
                              struct sf_buf *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_buf_reset(&f->block);
    if (f->blocks[table]) {
        err = sf_native_block_write(f->blocks[table], rows, &f->block, why);
        rows = sf_buf_bytes(&f->block);
    }
    return err ? err : sf_deflate_zstd(f->deflate, LEVEL, true, rows, out, why);
}
