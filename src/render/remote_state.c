#include "render/remote_state.h"

#include <inttypes.h>

#include "wire/json_write.h"

static void remote_state_write_f64(struct sf_json_writer *j, sf_str key, double v)
{
    sf_json_write_key(j, key);
    sf_json_write_f64(j, v);
}

static void write_shard(struct sf_json_writer *j, const struct sf_remote_shard *s)
{
    sf_json_write_object(j);
    sf_json_write_key_str(j, SF_STR("address"), s->address);
    sf_json_write_key(j, SF_STR("is_up"));
    sf_json_write_bool(j, !s->error.len);
    if (s->error.len)
        sf_json_write_key_str(j, SF_STR("error"), s->error);
    if (s->version.len)
        sf_json_write_key_str(j, SF_STR("version"), s->version);
    if (!s->error.len) {
        sf_json_write_key_u64(j, SF_STR("schema"), s->schema);
        sf_json_write_key_u64(j, SF_STR("rows"), s->n_rows);
        sf_json_write_key_u64(j, SF_STR("bytes"), s->n_bytes);
        sf_json_write_key_u64(j, SF_STR("parts"), s->n_parts);
    }
    sf_json_write_object_end(j);
}

static void remote_state_write_move(struct sf_json_writer *j, const struct sf_move_counts *m)
{
    sf_json_write_object(j);
    sf_json_write_key_str(j, SF_STR("state"),
                          m->is_done     ? SF_STR("done")
                          : m->has_begun ? SF_STR("running")
                                         : SF_STR("none"));
    sf_json_write_key_u64(j, SF_STR("pieces"), m->n_pieces);
    sf_json_write_key_u64(j, SF_STR("moved"), m->n_moved);
    sf_json_write_key_u64(j, SF_STR("retries"), m->n_retries);
    sf_json_write_key_u64(j, SF_STR("skipped"), m->n_skipped);
    sf_json_write_key(j, SF_STR("rows"));
    sf_json_write_object(j);
    for (size_t i = 0; i < SF_REMOTE_TABLES; i++)
        sf_json_write_key_u64(j, sf_remote_table_name(i), m->n_rows[i]);
    sf_json_write_object_end(j);
    if (m->last_error[0])
        sf_json_write_key_str(j, SF_STR("last_error"), sf_str_from(m->last_error));
    sf_json_write_object_end(j);
}

void sf_remote_state_move_json(const struct sf_move_counts *m, struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    remote_state_write_move(&j, m);
}

void sf_remote_state_move_text(const struct sf_move_counts *m, struct sf_buf *out)
{
    if (!m->has_begun) {
        sf_buf_print(out, "no move was begun\n");
        return;
    }
    sf_buf_print(out, "%s %" PRIu64 " of %" PRIu64 " pieces of older blocks",
                 m->is_done ? "moved" : "moving", m->n_moved, m->n_pieces);
    for (size_t i = 0; i < SF_REMOTE_TABLES; i++) {
        if (m->n_rows[i])
            sf_buf_print(out, ", %" PRIu64 " %s", m->n_rows[i], sf_remote_table_name(i).p);
    }
    if (m->n_skipped)
        sf_buf_print(out, ", %" PRIu64 " could not be read", m->n_skipped);
    if (m->last_error[0])
        sf_buf_print(out, "; %s", m->last_error);
    sf_buf_add_u8(out, '\n');
}

void sf_remote_state_json(const struct sf_remote_state *s, struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    const struct sf_remote_counts *c = &s->counts;
    sf_json_write_object(&j);
    sf_json_write_key_str(&j, SF_STR("database"), s->database);
    sf_json_write_key_u64(&j, SF_STR("shipped_record"), c->shipped_record);
    sf_json_write_key_u64(&j, SF_STR("newest_record"), c->newest_record);
    remote_state_write_f64(&j, SF_STR("lag_seconds"), (double)c->lag_ns / 1e9);
    sf_json_write_key_u64(&j, SF_STR("spool_bytes"), c->spool_len);
    sf_json_write_key_u64(&j, SF_STR("spool_max_bytes"), c->spool_max_len);
    sf_json_write_key_u64(&j, SF_STR("batches"), c->n_batches);
    sf_json_write_key_u64(&j, SF_STR("retries"), c->n_retries);
    sf_json_write_key_u64(&j, SF_STR("refused"), c->n_refused);
    sf_json_write_key_u64(&j, SF_STR("records_lost"), c->n_lost);
    sf_json_write_key_u64(&j, SF_STR("records_skipped"), c->n_skipped);
    sf_json_write_key(&j, SF_STR("rows"));
    sf_json_write_object(&j);
    for (size_t i = 0; i < SF_REMOTE_TABLES; i++)
        sf_json_write_key_u64(&j, sf_remote_table_name(i), c->n_rows[i]);
    sf_json_write_object_end(&j);
    if (c->last_error[0])
        sf_json_write_key_str(&j, SF_STR("last_error"), sf_str_from(c->last_error));
    sf_json_write_key(&j, SF_STR("move"));
    remote_state_write_move(&j, &s->move);
    sf_json_write_key(&j, SF_STR("shards"));
    sf_json_write_array(&j);
    for (uint32_t i = 0; i < s->n_shards; i++)
        write_shard(&j, &s->shards[i]);
    sf_json_write_array_end(&j);
    sf_json_write_object_end(&j);
}

void sf_remote_state_text(const struct sf_remote_state *s, struct sf_buf *out)
{
    const struct sf_remote_counts *c = &s->counts;
    sf_buf_print(out, "ClickHouse database %.*s, %" PRIu32 " shard%s\n", SF_STR_ARG(s->database),
                 s->n_shards, s->n_shards == 1 ? "" : "s");
    for (uint32_t i = 0; i < s->n_shards; i++) {
        const struct sf_remote_shard *shard = &s->shards[i];
        sf_buf_print(out, "  %" PRIu32 "  %.*s  ", i + 1, SF_STR_ARG(shard->address));
        if (shard->error.len)
            sf_buf_print(out, "does not answer: %.*s\n", SF_STR_ARG(shard->error));
        else
            sf_buf_print(out,
                         "version %.*s, schema %" PRIu32 ", %" PRIu64 " rows, %" PRIu64
                         " bytes, %" PRIu64 " parts\n",
                         SF_STR_ARG(shard->version), shard->schema, shard->n_rows, shard->n_bytes,
                         shard->n_parts);
    }
    sf_buf_print(out,
                 "shipped  record %" PRIu64 " of %" PRIu64 ", lag %.1f s\n"
                 "spool    %" PRIu64 " of %" PRIu64 " bytes\n"
                 "batches  %" PRIu64 " sent, %" PRIu64 " attempts failed, %" PRIu64
                 " refused (since start)\n",
                 c->shipped_record, c->newest_record, (double)c->lag_ns / 1e9, c->spool_len,
                 c->spool_max_len, c->n_batches, c->n_retries, c->n_refused);
    sf_buf_print(out, "rows    ");
    for (size_t i = 0; i < SF_REMOTE_TABLES; i++)
        sf_buf_print(out, " %" PRIu64 " %s%s", c->n_rows[i], sf_remote_table_name(i).p,
                     i + 1 < SF_REMOTE_TABLES ? "," : " (since start)\n");
    if (s->move.has_begun) {
        sf_buf_print(out, "history  ");
        sf_remote_state_move_text(&s->move, out);
    }
    if (c->n_lost || c->n_skipped)
        sf_buf_print(out, "missing  %" PRIu64 " records lost, %" PRIu64 " skipped\n", c->n_lost,
                     c->n_skipped);
    if (c->last_error[0])
        sf_buf_print(out, "error    %s\n", c->last_error);
}

void sf_remote_state_check_json(const struct sf_remote_check *c, struct sf_buf *out)
{
    struct sf_json_writer j = sf_json_writer_init(out);
    sf_json_write_object(&j);
    sf_json_write_key(&j, SF_STR("is_whole"));
    sf_json_write_bool(&j, c->n_faults == 0);
    sf_json_write_key_u64(&j, SF_STR("batches"), c->n_batches);
    sf_json_write_key_u64(&j, SF_STR("rows"), c->n_rows);
    sf_json_write_key_u64(&j, SF_STR("faults"), c->n_faults);
    sf_json_write_key(&j, SF_STR("list"));
    sf_json_write_array(&j);
    for (uint32_t i = 0; i < c->n_listed; i++) {
        const struct sf_remote_fault *f = &c->faults[i];
        sf_json_write_object(&j);
        sf_json_write_key_u64(&j, SF_STR("shard"), f->shard);
        sf_json_write_key_u64(&j, SF_STR("first_record"), f->first_record);
        sf_json_write_key_u64(&j, SF_STR("last_record"), f->last_record);
        if (f->table.len) {
            sf_json_write_key_str(&j, SF_STR("table"), f->table);
            sf_json_write_key_u64(&j, SF_STR("sent"), f->n_sent);
            sf_json_write_key_u64(&j, SF_STR("found"), f->n_found);
        } else {
            sf_json_write_key_u64(&j, SF_STR("missing_records"),
                                  f->last_record - f->first_record + 1);
        }
        sf_json_write_object_end(&j);
    }
    sf_json_write_array_end(&j);
    sf_json_write_object_end(&j);
}

void sf_remote_state_check_text(const struct sf_remote_check *c, struct sf_buf *out)
{
    for (uint32_t i = 0; i < c->n_listed; i++) {
        const struct sf_remote_fault *f = &c->faults[i];
        sf_buf_print(out, "shard %" PRIu32 ", records %" PRIu64 " to %" PRIu64 ": ", f->shard,
                     f->first_record, f->last_record);
        if (f->table.len)
            sf_buf_print(out, "%.*s has %" PRIu64 " rows of %" PRIu64 "\n", SF_STR_ARG(f->table),
                         f->n_found, f->n_sent);
        else
            sf_buf_print(out, "the shard has no batch with them\n");
    }
    sf_buf_print(out, "%" PRIu64 " batches with %" PRIu64 " rows: ", c->n_batches, c->n_rows);
    if (c->n_faults)
        sf_buf_print(out, "%" PRIu64 " faults\n", c->n_faults);
    else
        sf_buf_print(out, "every row is stored exactly once\n");
}
