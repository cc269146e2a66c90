#include "store/local/write/block_file.h"

#include "block/span/span_block_writer.h"

enum sf_err sf_block_file_publish(struct sf_local *l, const struct sf_block_row *row,
                                  const char *tmp, struct sf_why *why)
{
    char day[32];
    enum sf_err err;
    sf_local_day_dir(row->kind, row->day, day);
    if (!sf_dir_exists(l->dir, day)) {
        err = sf_dir_make(l->dir, day, why);
        if (!err)
            err = sf_dir_sync(l->dir, row->kind == SF_BLOCK_PROFILES ? "prof" : "spans", why);
        if (err)
            return err;
    }
    err = sf_dir_rename(l->dir, tmp, row->path, why);
    return err ? err : sf_dir_sync(l->dir, day, why);
}

static enum sf_err block_file_write_file(struct sf_block_file *f,
                                         struct sf_span_block_options *options,
                                         struct sf_file *file, struct sf_why *why)
{
    struct sf_span_block_writer *writer = NULL;
    struct sf_span_block_info info = {0};
    enum sf_err err;

    options->file = file;
    err = sf_span_block_writer_new(options, &writer, why);
    if (!err)
        err = f->fill(f->arg, writer, &f->row, why);
    if (!err)
        err = sf_span_block_writer_finish(writer, &f->row.len, &info, NULL, why);
    if (!err)
        err = sf_file_sync(file, why);
    sf_span_block_writer_free(writer);
    f->row.n_rows = info.n_rows;
    return err;
}

enum sf_err sf_block_file_write(struct sf_local *l, struct sf_block_file *f, struct sf_why *why)
{
    struct sf_block_row *row = &f->row;
    struct sf_file file = SF_FILE_NONE;
    struct sf_span_block_options options = {
        .is_compressed = true,
        .granule_len = l->tune.granule_len,
        .max_ops = l->tune.max_ops,
        .dup_hashes = f->dup_hashes,
        .n_dup_hashes = f->n_dup_hashes,
        .source_ids = f->source_ids,
        .n_source_ids = f->n_source_ids,
    };
    char tmp[64];
    enum sf_err err;

    row->kind = SF_BLOCK_SPANS;
    row->state = SF_BLOCK_LIVE;
    row->ts_min_ns = INT64_MAX;
    row->ts_max_ns = INT64_MIN;
    row->created_ns = sf_local_wall_ns(l);
    options.info = (struct sf_span_block_info){
        .block_id = row->id,
        .level = row->level,
        .tenant = row->tenant,
        .lsn_lo = row->lsn_lo,
        .lsn_hi = row->lsn_hi,
        .created_ns = row->created_ns,
        .flush_no = row->flush_no,
        .n_siblings = f->n_siblings,
        .sibling = f->sibling,
    };
    memcpy(options.info.store_uuid, l->uuid, 16);
    sf_local_tmp_path(row->kind, row->id, tmp);
    sf_local_block_path(row->kind, row->day, row->id, row->path);
    err = sf_dir_create(l->dir, tmp, &file, why);
    if (err)
        return err;
    err = block_file_write_file(f, &options, &file, why);
    sf_file_close(&file);
    if (!err)
        err = sf_block_file_publish(l, row, tmp, why);
    if (err) {
        sf_dir_unlink(l->dir, tmp, NULL);
        sf_dir_unlink(l->dir, row->path, NULL);
    }
    return err;
}
