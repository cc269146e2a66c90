/* profile_merge.c - merges blocks of profiles. First plans to which outputs (tenant and time
 * window) the inputs contribute; then, for each output, takes the services in order from all inputs
 * and writes them one at a time. On failure all outputs are deleted. */
#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "store/local/profiles/profile_merging.h"
#include "store/local/write/block_file.h"

#define ARENA_CAP ((size_t)2 << 30) /* reserved; only used pages count */

enum sf_err sf_profile_merge_no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge profiles");
}

enum sf_err sf_profile_merge_no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "store: profiles to be merged do not fit their memory");
}

int64_t sf_profile_merge_window(const struct sf_profile_merging *w, int64_t index_ns)
{
    return w->m->split == SF_SPLIT_HOUR ? sf_local_hour_of(index_ns) : sf_local_day_of(index_ns);
}

bool sf_profile_merge_hides(const struct sf_profile_merging *w, const struct sf_merge_input *in,
                            uint32_t tenant, sf_str service, sf_trace_id trace, int64_t at_ns)
{
    return w->m->tombstones && sf_tombstones_hide(w->m->tombstones, in->run->row.id, tenant, trace,
                                                  service, at_ns < 0 ? 0 : (uint64_t)at_ns);
}

enum sf_err sf_profile_merge_blame(const struct sf_merge_input *in, enum sf_err err,
                                   const struct sf_why *why)
{
    if (err == SF_ERR_CORRUPT)
        sf_run_quarantine(in->run, why ? why->text : "damaged");
    return err;
}

/* ---- which outputs ---- */

static bool note_output(struct sf_profile_merging *w, uint32_t tenant, int64_t window)
{
    if (w->m->split == SF_SPLIT_DAY)
        tenant = 0;
    for (size_t i = 0; i < w->n_outputs; i++) {
        if (w->outputs[i].tenant == tenant && w->outputs[i].window == window)
            return true;
    }
    if (!sf_list_room(&w->outputs, w->n_outputs, &w->cap_outputs, 16))
        return false;
    w->outputs[w->n_outputs++] = (struct sf_merge_output){tenant, window};
    return true;
}

static enum sf_err profile_merge_plan(struct sf_profile_merging *w, struct sf_why *why)
{
    static const sf_trace_id NO_TRACE = {{0}};
    for (size_t i = 0; i < w->n_entered; i++) {
        const struct sf_merge_input *in = &w->inputs[i];
        for (uint32_t k = 0; k < in->n_services; k++) {
            const struct sf_profile_service *s = &in->services[k];
            const struct sf_profile_row *rows;
            struct sf_arena tmp = w->arena;
            if (in->is_wanted && !in->is_wanted[k])
                continue;
            enum sf_err err = sf_profile_tables_decode_rows(in->reader, k, &tmp, &rows, why);
            if (err)
                return sf_profile_merge_blame(in, err, why);
            for (uint32_t n = 0; n < s->n_rows; n++) {
                if (!sf_profile_merge_hides(w, in, s->tenant, s->name, NO_TRACE, rows[n].time_ns) &&
                    !note_output(w, s->tenant, sf_profile_merge_window(w, rows[n].index_ns)))
                    return sf_profile_merge_no_memory(why);
            }
        }
    }
    return SF_OK;
}

/* ---- an output ---- */

static int profile_merge_compare_services(const struct sf_profile_service *x,
                                          const struct sf_profile_service *y)
{
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return sf_str_cmp(x->name, y->name);
}

/* The next service of any input, and the number of inputs that have it; these inputs advance. */
static uint32_t next_service(struct sf_profile_merging *w, const struct sf_merge_output *o,
                             struct sf_merge_part *parts, const struct sf_profile_service **out)
{
    const struct sf_profile_service *least = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < w->n_entered; i++) {
        struct sf_merge_input *in = &w->inputs[i];
        while (in->at < in->n_services &&
               ((o->tenant && in->services[in->at].tenant != o->tenant) ||
                (in->is_wanted && !in->is_wanted[in->at])))
            in->at++;
        if (in->at < in->n_services &&
            (!least || profile_merge_compare_services(&in->services[in->at], least) < 0))
            least = &in->services[in->at];
    }
    for (size_t i = 0; least && i < w->n_entered; i++) {
        struct sf_merge_input *in = &w->inputs[i];
        if (in->at < in->n_services &&
            profile_merge_compare_services(&in->services[in->at], least) == 0)
            parts[n++] = (struct sf_merge_part){.in = in, .service = in->at++};
    }
    *out = least;
    return n;
}

/* Called after a service was written, when memory use is highest. */
static void profile_merge_count_memory(struct sf_profile_merging *w,
                                       const struct sf_profile_set *set,
                                       const struct sf_profile_block_writer *to)
{
    size_t len = sf_arena_used(&w->arena) + sf_arena_used(&w->thinning.arena) + w->streams_len +
                 w->gathered_len + sf_profile_block_writer_memory(to) +
                 (set ? sf_profile_set_memory(set) : 0);
    sf_budget_sub(&w->l->budget, SF_LINE_MERGE, w->counted_len);
    sf_budget_add(&w->l->budget, SF_LINE_MERGE, len);
    w->counted_len = len;
}

static enum sf_err write_services(struct sf_profile_merging *w, const struct sf_merge_output *o,
                                  struct sf_profile_block_writer *to, struct sf_why *why)
{
    struct sf_merge_part *parts = sf_heap_new_n(w->n_entered + 1, sizeof(*parts));
    const struct sf_profile_service *me;
    enum sf_err err = parts ? SF_OK : sf_profile_merge_no_memory(why);
    uint32_t n;
    for (size_t i = 0; i < w->n_entered; i++)
        w->inputs[i].at = 0;
    while (!err && (n = next_service(w, o, parts, &me))) {
        struct sf_service_merge s = {.w = w,
                                     .o = o,
                                     .parts = parts,
                                     .n_parts = n,
                                     .t = {.tenant = me->tenant, .service = me->name}};
        sf_arena_release(&w->arena);
        w->streams_len = w->gathered_len = 0;
        s.set = sf_profile_set_new(me->tenant, me->name);
        err = s.set ? sf_profile_merge_service_write(&s, to, why) : sf_profile_merge_no_memory(why);
        profile_merge_count_memory(w, s.set, to);
        sf_profile_set_free(s.set);
    }
    sf_heap_free(parts);
    return err;
}

static bool is_by_pins(const struct sf_merge *m)
{
    return m->details == SF_DETAILS_PINNED || m->details == SF_DETAILS_PINNED_ALONE;
}

static enum sf_err profile_merge_write_output(struct sf_profile_merging *w, size_t number,
                                              const uint64_t *sources, const uint64_t *dups,
                                              size_t n_dups, struct sf_why *why)
{
    struct sf_local *l = w->l;
    const struct sf_merge_output *o = &w->outputs[number];
    struct sf_file file = SF_FILE_NONE;
    struct sf_profile_block_writer *writer = NULL;
    struct sf_span_block_info info = {0};
    struct sf_block_row row = {
        .id = w->done.next_id + number,
        .tenant = o->tenant,
        .kind = SF_BLOCK_PROFILES,
        .level = w->m->level,
        .state = SF_BLOCK_LIVE,
        .day = w->m->split == SF_SPLIT_HOUR ? sf_local_day_of(o->window * SF_NS_PER_HOUR)
                                            : o->window,
        .lsn_lo = w->m->lsn_lo,
        .lsn_hi = w->m->lsn_hi,
        .flush_no = w->done.flush_no,
        .created_ns = sf_local_wall_ns(l),
    };
    struct sf_profile_block_options options = {
        .info = {.block_id = row.id,
                 .level = row.level,
                 .tenant = row.tenant,
                 .lsn_lo = row.lsn_lo,
                 .lsn_hi = row.lsn_hi,
                 .created_ns = row.created_ns,
                 .flush_no = row.flush_no,
                 .n_siblings = sf_u16(w->n_outputs),
                 .sibling = sf_u16(number)},
        .is_compressed = true,
        .file = &file,
        .dup_hashes = dups,
        .n_dup_hashes = number == 0 ? n_dups : 0,
        .source_ids = sources,
        .n_source_ids = sources ? w->m->n_inputs : 0,
    };
    char tmp[64];
    enum sf_err err;

    memcpy(options.info.store_uuid, l->uuid, 16);
    sf_local_tmp_path(row.kind, row.id, tmp);
    sf_local_block_path(row.kind, row.day, row.id, row.path);
    err = sf_dir_create(l->dir, tmp, &file, why);
    if (err)
        return err;
    err = sf_profile_block_writer_new(&options, &writer, why);
    if (!err && !is_by_pins(w->m))
        err = sf_thinning_begin(&w->thinning, l, o->tenant, o->window, w->m->split == SF_SPLIT_HOUR,
                                why);
    if (!err)
        err = write_services(w, o, writer, why);
    if (!is_by_pins(w->m))
        sf_thinning_end(&w->thinning);
    if (!err)
        err = sf_profile_block_writer_finish(writer, &row.len, &info, NULL, why);
    if (!err)
        err = sf_file_sync(&file, why);
    sf_profile_block_writer_free(writer);
    sf_file_close(&file);
    row.ts_min_ns = info.ts_min_ns;
    row.ts_max_ns = info.ts_max_ns;
    row.n_rows = info.n_rows;
    if (!err)
        err = sf_block_file_publish(l, &row, tmp, why);
    if (err) {
        sf_dir_unlink(l->dir, tmp, NULL);
        sf_dir_unlink(l->dir, row.path, NULL);
        return err;
    }
    w->done.rows[w->done.n++] = row;
    return SF_OK;
}

/* Request hashes of recent inputs are copied to the output. */
static uint64_t *profile_merge_collect_dups(const struct sf_profile_merging *w, size_t *out_n)
{
    int64_t since = sf_local_wall_ns(w->l) - 600 * SF_NS_PER_S;
    uint64_t *all;
    size_t n = 0;
    for (size_t i = 0; i < w->n_entered; i++) {
        size_t more = 0;
        sf_profile_block_reader_dup_hashes(w->inputs[i].reader, &more);
        n += more;
    }
    all = sf_heap_new_n(n + 1, sizeof(*all));
    n = 0;
    for (size_t i = 0; all && i < w->n_entered; i++) {
        size_t more = 0;
        const uint64_t *list = sf_profile_block_reader_dup_hashes(w->inputs[i].reader, &more);
        if (more && w->inputs[i].run->row.created_ns >= since) {
            memcpy(all + n, list, more * sizeof(*all));
            n += more;
        }
    }
    *out_n = n;
    return all;
}

static enum sf_err profile_merge_write_all(struct sf_profile_merging *w, struct sf_why *why)
{
    uint64_t *sources = sf_heap_new_n(w->m->n_inputs + 1, sizeof(*sources));
    size_t n_dups = 0;
    uint64_t *dups = profile_merge_collect_dups(w, &n_dups);
    enum sf_err err = SF_OK;
    w->done.rows = sf_heap_new_n(w->n_outputs + 1, sizeof(*w->done.rows));
    if (!sources || !dups || !w->done.rows)
        err = sf_profile_merge_no_memory(why);
    for (size_t i = 0; !err && i < w->m->n_inputs; i++)
        sources[i] = w->m->inputs[i]->row.id;
    sf_mutex_lock(&w->l->number_lock);
    w->done.next_id = w->l->next_block;
    w->done.flush_no = w->l->next_flush;
    w->l->next_block += w->n_outputs;
    w->l->next_flush++;
    sf_mutex_unlock(&w->l->number_lock);
    for (size_t i = 0; !err && i < w->n_outputs; i++)
        err = profile_merge_write_output(w, i, sources, dups, n_dups, why);
    sf_heap_free(sources);
    sf_heap_free(dups);
    return err;
}

static enum sf_err profile_merge_enter_all(struct sf_profile_merging *w, struct sf_why *why)
{
    w->inputs = sf_heap_new_n(w->m->n_inputs + 1, sizeof(*w->inputs));
    if (!w->inputs)
        return sf_profile_merge_no_memory(why);
    for (; w->n_entered < w->m->n_inputs; w->n_entered++) {
        struct sf_merge_input *in = &w->inputs[w->n_entered];
        enum sf_err err;
        in->run = w->m->inputs[w->n_entered];
        err = sf_run_enter_profiles(in->run, &in->reader, why);
        if (err)
            return err;
        in->services = sf_profile_block_reader_services(in->reader, &in->n_services);
    }
    return SF_OK;
}

/* Finds the samples of pinned traces, and the services that have none. */
static enum sf_err load_pins(struct sf_profile_merging *w, struct sf_why *why)
{
    uint32_t tenant = w->inputs[0].run->row.tenant;
    for (size_t i = 1; i < w->n_entered; i++)
        tenant = w->inputs[i].run->row.tenant == tenant ? tenant : 0;
    enum sf_err err = sf_thinning_begin_pins(&w->thinning, w->l, tenant, why);
    for (size_t i = 0; !err && w->m->details == SF_DETAILS_PINNED_ALONE && i < w->n_entered; i++) {
        struct sf_merge_input *in = &w->inputs[i];
        in->is_wanted = sf_heap_new_n(in->n_services + 1u, sizeof(*in->is_wanted));
        if (!in->is_wanted)
            return sf_profile_merge_no_memory(why);
        for (uint32_t k = 0; !err && k < in->n_services; k++)
            err = sf_profile_merge_details_has_pinned(w, in, k, &in->is_wanted[k], why);
    }
    return err;
}

enum sf_err sf_profile_merge_run(struct sf_local *l, const struct sf_merge *merge,
                                 struct sf_merge_result *out, struct sf_why *why)
{
    struct sf_profile_merging w = {.l = l, .m = merge};
    enum sf_err err = sf_uncommitted_settle(l, why);
    if (!err && !sf_arena_init(&w.arena, ARENA_CAP))
        err = sf_profile_merge_no_memory(why);
    if (!err)
        err = profile_merge_enter_all(&w, why);
    if (!err && is_by_pins(merge))
        err = load_pins(&w, why);
    if (!err)
        err = profile_merge_plan(&w, why);
    if (!err && w.n_outputs > UINT16_MAX)
        err = sf_profile_merge_no_room(why);
    if (!err)
        err = profile_merge_write_all(&w, why);
    if (err)
        sf_merge_result_discard(l, &w.done);
    else
        *out = w.done;
    for (size_t i = 0; i < w.n_entered; i++) {
        sf_run_leave(w.inputs[i].run);
        sf_heap_free(w.inputs[i].is_wanted);
    }
    sf_thinning_end(&w.thinning);
    sf_budget_sub(&l->budget, SF_LINE_MERGE, w.counted_len);
    sf_heap_free(w.inputs);
    sf_heap_free(w.outputs);
    sf_arena_done(&w.arena);
    return err;
}
