/* profile_tables_encode.c - encodes a service's symbols, series and profiles. */
#include <string.h>

#include "base/num.h"
#include "block/profile/profile_writer.h"

static void encode_symbols(const struct sf_profile_symbols *y, struct sf_buf *out)
{
    sf_buf_add_varint(out, y->n_strings);
    for (uint32_t i = 0; i < y->n_strings; i++)
        sf_buf_add_varint(out, y->strings[i].len);
    for (uint32_t i = 0; i < y->n_strings; i++)
        sf_buf_add_str(out, y->strings[i]);
    sf_buf_add_varint(out, y->n_functions);
    for (uint32_t i = 0; i < y->n_functions; i++) {
        sf_buf_add_varint(out, y->functions[i].name);
        sf_buf_add_varint(out, y->functions[i].system_name);
        sf_buf_add_varint(out, y->functions[i].file);
        sf_buf_add_varint(out, y->functions[i].start_line);
    }
    sf_buf_add_varint(out, y->n_modules);
    for (uint32_t i = 0; i < y->n_modules; i++) {
        sf_buf_add_varint(out, y->modules[i].file);
        sf_buf_add_varint(out, y->modules[i].build_id);
    }
    sf_buf_add_varint(out, y->n_locations);
    sf_buf_add_varint(out, y->n_lines);
    for (uint32_t i = 0; i < y->n_locations; i++) {
        const struct sf_profile_location *l = &y->locations[i];
        sf_buf_add_varint(out, l->module == SF_NONE ? 0 : (uint64_t)l->module + 1);
        sf_buf_add_varint(out, l->addr);
        sf_buf_add_varint(out, l->kind);
        sf_buf_add_varint(out, l->n_lines);
        for (uint32_t k = 0; k < l->n_lines; k++) {
            sf_buf_add_varint(out, y->lines[l->first_line + k].function);
            sf_buf_add_varint(out, y->lines[l->first_line + k].line);
        }
    }
    sf_buf_add_varint(out, y->n_nodes);
    for (uint32_t i = 1; i < y->n_nodes; i++)
        sf_buf_add_varint(out, i - y->nodes[i].parent);
    for (uint32_t i = 1; i < y->n_nodes; i++)
        sf_buf_add_varint(out, y->nodes[i].location);
}

static void profile_tables_encode_series(const struct sf_profile_tables *t, struct sf_buf *out)
{
    for (uint32_t i = 0; i < t->n_series; i++) {
        const struct sf_profile_series *s = &t->series[i];
        const sf_str parts[] = {s->type.name, s->type.sample_type, s->type.sample_unit,
                                s->type.period_type, s->type.period_unit};
        sf_buf_add_u8(out, s->flags);
        for (size_t k = 0; k < 5; k++)
            sf_profile_put_text(out, parts[k]);
        sf_buf_add_varint(out, s->n_labels);
        for (uint32_t k = 0; k < s->n_labels; k++) {
            sf_profile_put_text(out, s->labels[k].key);
            sf_profile_put_text(out, s->labels[k].val);
        }
    }
    for (uint32_t i = 0; i < t->n_processes; i++) {
        sf_buf_add_u8(out, t->processes[i].is_guess);
        sf_profile_put_text(out, t->processes[i].key);
    }
}

static void encode_rows(const struct sf_profile_tables *t, struct sf_buf *out)
{
    static const sf_profile_id NO_ID = {{0}};
    int64_t before = 0;
    uint32_t series = 0;
    for (uint32_t i = 0; i < t->n_rows; i++) {
        const struct sf_profile_row *r = &t->rows[i];
        bool has_id = memcmp(&r->id, &NO_ID, sizeof(NO_ID)) != 0;
        sf_buf_add_varint(out, (uint64_t)(r->series - series) << 1 | has_id);
        sf_buf_add_varint(out, r->process == SF_NONE ? 0 : (uint64_t)r->process + 1);
        sf_profile_put_signed(out, sf_sub_sat_i64(r->index_ns, before));
        sf_profile_put_signed(out, sf_sub_sat_i64(r->time_ns, r->index_ns));
        sf_buf_add_varint(out, (uint64_t)r->duration_ns);
        sf_profile_put_signed(out, r->period);
        sf_profile_put_signed(out, r->total);
        sf_buf_add_varint(out, r->n_samples);
        if (has_id)
            sf_buf_add(out, r->id.b, 16);
        series = r->series;
        before = r->index_ns;
    }
}

static void profile_tables_encode_threads(const struct sf_profile_block_writer *w,
                                          struct sf_buf *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->t->n_threads; i++)
        n += w->is_thread[i];
    sf_buf_add_varint(out, n);
    for (uint32_t i = 0; i < w->t->n_threads; i++) {
        const struct sf_profile_thread *t = &w->t->threads[i];
        if (!w->is_thread[i])
            continue;
        sf_buf_add_varint(out, t->process == SF_NONE ? 0 : (uint64_t)t->process + 1);
        sf_buf_add_varint(out, t->t.thread);
        sf_buf_add_u8(out, t->t.kernel_id != 0);
        sf_buf_add_varint(out, t->t.runtime_id);
        sf_profile_put_text(out, t->t.name);
    }
}

enum sf_err sf_profile_tables_encode(struct sf_profile_block_writer *w, struct sf_why *why)
{
    enum sf_err err;
    sf_buf_reset(&w->raw);
    encode_symbols(&w->t->symbols, &w->raw);
    err = sf_profile_block_writer_section(w, SF_PROFILE_SYM, w->n_services, &w->raw, why);
    if (err)
        return err;
    sf_buf_reset(&w->raw);
    profile_tables_encode_series(w->t, &w->raw);
    err = sf_profile_block_writer_section(w, SF_PROFILE_SER, w->n_services, &w->raw, why);
    if (err)
        return err;
    sf_buf_reset(&w->raw);
    profile_tables_encode_threads(w, &w->raw);
    err = w->n_own_granules == 0
              ? SF_OK
              : sf_profile_block_writer_section(w, SF_PROFILE_THR, w->n_services, &w->raw, why);
    if (err)
        return err;
    sf_buf_reset(&w->raw);
    encode_rows(w->t, &w->raw);
    return sf_profile_block_writer_section(w, SF_PROFILE_PTS, w->n_services, &w->raw, why);
}
