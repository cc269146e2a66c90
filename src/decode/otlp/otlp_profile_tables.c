/* The tables of OTLP profiles. Entries are located first and decoded when needed: host profilers
 * send tables for a whole machine, of which samples use few entries. */
#include "decode/frame_kind.h"
#include "decode/otlp/otlp_profile.h"

enum { MAX_TABLE_FIELD = 16 }; /* field numbers of tables are below it */

/* Counts the entries, or stores their positions. */
static void walk_holder(struct sf_otlp_reader *r, struct sf_pb pb, bool is_count)
{
    uint8_t kinds[MAX_TABLE_FIELD] = {0}; /* by field number: kind of the table + 1 */
    for (unsigned k = 0; k < SF_OTLP_TABLES; k++)
        kinds[r->layout->tables[k]] = (uint8_t)(k + 1);
    kinds[0] = 0; /* the version has no such table */
    while (sf_pb_next(&pb)) {
        bool is_len = (pb.tag & 7) == SF_PB_LEN;
        int k = is_len && pb.field < MAX_TABLE_FIELD ? kinds[pb.field] - 1 : -1;
        if (k < 0) {
            r->has_other |= is_len;
            sf_pb_skip(&pb);
            continue;
        }
        if (is_count)
            sf_pb_skip(&pb);
        else
            r->tables[k].items[r->tables[k].n] = sf_pb_bytes(&pb);
        r->tables[k].n += r->tables[k].n < UINT32_MAX;
    }
}

static void otlp_profile_tables_walk(struct sf_otlp_reader *r, struct sf_pb pb, bool is_dictionary,
                                     bool is_count)
{
    for (int k = 0; k < SF_OTLP_TABLES; k++)
        r->tables[k].n = 0;
    if (!is_dictionary) {
        walk_holder(r, pb, is_count);
        return;
    }
    while (sf_pb_next(&pb)) {
        if (pb.tag == SF_PB_TAG(2, SF_PB_LEN))
            walk_holder(r, sf_pb_msg(&pb), is_count);
        else
            sf_pb_skip(&pb);
    }
}

bool sf_otlp_profile_tables_read(struct sf_otlp_reader *r, struct sf_pb holder, bool is_dictionary)
{
    otlp_profile_tables_walk(r, holder, is_dictionary, true);
    for (int k = 0; k < SF_OTLP_TABLES; k++) {
        struct sf_otlp_table *t = &r->tables[k];
        t->items = sf_profile_new(r->b, t->n + (size_t)1, sizeof(*t->items));
        t->places = sf_profile_new(r->b, t->n + (size_t)1, sizeof(*t->places));
    }
    r->attrs = sf_profile_new(r->b, r->tables[SF_OTLP_ATTRS].n + (size_t)1, sizeof(*r->attrs));
    r->seen = NULL; /* another version may have been tried before */
    if (r->layout->has_zero && !r->is_json && !r->b->is_inside)
        r->seen = sf_profile_new(r->b, r->tables[SF_OTLP_STRINGS].n + (size_t)1, sizeof(*r->seen));
    if (!r->lines)
        r->lines = sf_profile_new(r->b, SF_LIMIT_FRAMES, sizeof(*r->lines));
    if (r->b->is_full)
        return false;
    otlp_profile_tables_walk(r, holder, is_dictionary, false);
    sf_profile_table_expect_symbols(r->b, r->tables[SF_OTLP_FUNCTIONS].n,
                                    r->tables[SF_OTLP_LOCATIONS].n, r->tables[SF_OTLP_STACKS].n);
    return !r->b->is_full;
}

sf_str sf_otlp_profile_tables_str(const struct sf_otlp_reader *r, uint64_t at)
{
    const struct sf_otlp_table *t = &r->tables[SF_OTLP_STRINGS];
    return at && at < t->n ? sf_bytes_str(t->items[at]) : SF_STR_NONE;
}

/* The value of the first of these keys in the current list; *io_best is its index in `keys`. */
static sf_str find_attr(struct sf_otlp_reader *r, struct sf_pb *run, const sf_str *keys,
                        unsigned n_keys, unsigned *io_best)
{
    sf_str found = SF_STR_NONE;
    uint64_t at;
    while (sf_pb_run_varint(run, &at)) {
        const struct sf_otlp_attr *a = at < r->tables[SF_OTLP_ATTRS].n
                                           ? sf_otlp_profile_attrs_at(r, (uint32_t)at)
                                           : NULL;
        for (unsigned k = 0; a && k < *io_best && k < n_keys; k++) {
            if (sf_str_eq(a->key, keys[k])) {
                found = a->text;
                *io_best = k;
            }
        }
    }
    return found;
}

/* --- mappings, functions, locations, stacks --- */

static bool otlp_profile_tables_known(const struct sf_otlp_table *t, uint64_t at, uint32_t *out)
{
    *out = t->places[at] == SF_NONE ? SF_NONE : t->places[at] - 1;
    return t->places[at] != SF_OTLP_NEW;
}

static uint32_t otlp_profile_tables_learn(struct sf_otlp_table *t, uint64_t at, uint32_t place)
{
    t->places[at] = place == SF_NONE ? SF_NONE : place + 1;
    return place;
}

struct mapping_read {
    struct sf_mapping m;
    uint64_t bias;
};

static void otlp_profile_tables_read_mapping(struct sf_otlp_reader *r, uint64_t at,
                                             struct mapping_read *out)
{
    /* Go's own build id comes last: no file can be found by it. */
    static const sf_str build_ids[] = {{"process.executable.build_id.gnu", 31},
                                       {"process.executable.build_id.htlhash", 35},
                                       {"process.executable.build_id.go", 30}};
    struct sf_pb pb = sf_otlp_entry(r, SF_OTLP_MAPPINGS, at), run;
    struct sf_mapping m = {0};
    unsigned best = 3;
    sf_str id;
    while (sf_pb_next(&pb)) {
        switch (pb.field) {
        case 1: m.start = sf_pb_u64(&pb); break;
        case 2: m.limit = sf_pb_u64(&pb); break;
        case 3: m.file_off = sf_pb_u64(&pb); break;
        case 4: m.file = sf_otlp_profile_tables_str(r, sf_pb_u64(&pb)); break;
        case 5:
            run = sf_pb_run(&pb);
            id = find_attr(r, &run, build_ids, 3, &best);
            if (id.len)
                m.build_id = id;
            sf_pb_join(&pb, &run);
            break;
        default: sf_pb_skip(&pb); break;
        }
    }
    sf_otlp_note_fault(r, &pb);
    out->bias = m.limit > m.start ? m.start - m.file_off : 0;
    out->m = (struct sf_mapping){.file = m.file, .build_id = m.build_id};
}

/* SF_NONE: the entry has no name. */
static uint32_t function_at(struct sf_otlp_reader *r, uint64_t at, enum sf_frame_kind *out_kind)
{
    struct sf_otlp_table *t = &r->tables[SF_OTLP_FUNCTIONS];
    struct sf_function f = {0};
    uint64_t texts[3] = {0};
    int64_t line;
    uint32_t place;
    struct sf_pb pb;

    if (otlp_profile_tables_known(t, at, &place)) {
        if (place != SF_NONE)
            *out_kind = sf_frame_kind_of_file(
                ((const struct sf_function *)r->b->functions.items)[place].file, SF_STR_NONE);
        return place;
    }
    pb = sf_otlp_entry(r, SF_OTLP_FUNCTIONS, at);
    while (sf_pb_next(&pb)) {
        r->has_other |= (pb.tag & 7) == SF_PB_LEN;
        switch (pb.field) {
        case 1: f.name = sf_otlp_profile_tables_str(r, texts[0] = sf_pb_u64(&pb)); break;
        case 2: f.system_name = sf_otlp_profile_tables_str(r, texts[1] = sf_pb_u64(&pb)); break;
        case 3: f.file = sf_otlp_profile_tables_str(r, texts[2] = sf_pb_u64(&pb)); break;
        case 4:
            line = sf_pb_i64(&pb);
            f.start_line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
            break;
        default: sf_pb_skip(&pb); break;
        }
    }
    sf_otlp_note_fault(r, &pb);
    if (!f.name.len)
        f.name = f.system_name;
    if (!f.name.len)
        f.name = f.file;
    if (sf_str_eq(f.system_name, f.name))
        f.system_name = SF_STR_NONE;
    if (!f.name.len)
        return otlp_profile_tables_learn(t, at, SF_NONE);
    for (int i = 0; r->seen && i < 3; i++) {
        if (texts[i] && texts[i] < r->tables[SF_OTLP_STRINGS].n)
            r->seen[texts[i]] = true;
    }
    *out_kind = sf_frame_kind_of_file(f.file, SF_STR_NONE);
    return otlp_profile_tables_learn(t, at, sf_profile_build_function(r->b, &f));
}

/* Reads the current line. False: an index in it is out of range. A line without a function is
 * ignored. */
static bool otlp_profile_tables_read_line(struct sf_otlp_reader *r, struct sf_pb *pb,
                                          struct sf_location *l, enum sf_frame_kind *kind)
{
    struct sf_pb msg = sf_pb_msg(pb);
    enum sf_frame_kind line_kind = SF_FRAME_UNKNOWN;
    uint64_t function = 0;
    int64_t line = 0;
    uint32_t place;
    while (sf_pb_next(&msg)) {
        r->has_other |= (msg.tag & 7) == SF_PB_LEN;
        switch (msg.field) {
        case 1: function = sf_pb_u64(&msg); break;
        case 2: line = sf_pb_i64(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (!sf_pb_join(pb, &msg))
        return false;
    if (!sf_otlp_has(r, SF_OTLP_FUNCTIONS, function))
        return function == 0 && r->layout->has_zero;
    place = function_at(r, function, &line_kind);
    if (place == SF_NONE)
        return true;
    if (l->n_lines == SF_LIMIT_FRAMES) {
        r->b->drops.n_frames++;
        return true;
    }
    if (!l->n_lines)
        *kind = line_kind;
    r->lines[l->n_lines++] = (struct sf_line){place,
                                              line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0};
    return true;
}

static uint32_t finish_location(struct sf_otlp_reader *r, struct sf_location *l, uint64_t mapping,
                                bool has_mapping, enum sf_frame_kind kind)
{
    struct mapping_read m = {0};
    if (has_mapping) {
        otlp_profile_tables_read_mapping(r, mapping, &m);
        l->addr -= l->addr ? m.bias : 0;
        l->mapping = sf_profile_build_mapping(r->b, &m.m);
        if (kind == SF_FRAME_UNKNOWN)
            kind = sf_frame_kind_of_file(SF_STR_NONE, m.m.file);
    }
    if (kind == SF_FRAME_UNKNOWN && !l->n_lines && l->addr)
        kind = SF_FRAME_NATIVE;
    l->kind = (uint8_t)kind;
    l->lines = r->lines;
    if (l->n_lines)
        l->addr = 0;
    if (!l->n_lines && !l->addr)
        return sf_profile_build_frame(r->b, &(struct sf_function){.name = SF_STR("(unknown)")}, 0,
                                      kind);
    return sf_profile_build_location(r->b, l);
}

uint32_t sf_otlp_profile_tables_location(struct sf_otlp_reader *r, uint64_t at)
{
    static const sf_str frame_type[] = {{"profile.frame.type", 18}};
    struct sf_otlp_table *t = &r->tables[SF_OTLP_LOCATIONS];
    struct sf_location l = {.mapping = SF_NONE};
    enum sf_frame_kind kind = SF_FRAME_UNKNOWN, said = SF_FRAME_UNKNOWN;
    uint64_t mapping = 0;
    bool is_good = true, has_mapping = false;
    unsigned best = 1;
    uint32_t place;
    struct sf_pb pb, run;

    if (at >= t->n)
        return SF_NONE;
    if (otlp_profile_tables_known(t, at, &place))
        return place;
    pb = sf_otlp_entry(r, SF_OTLP_LOCATIONS, at);
    while (sf_pb_next(&pb)) {
        if (pb.tag == SF_PB_TAG(1, SF_PB_VARINT)) {
            mapping = sf_pb_u64(&pb);
            has_mapping = true;
        } else if (pb.tag == SF_PB_TAG(2, SF_PB_VARINT)) {
            l.addr = sf_pb_u64(&pb);
        } else if (pb.tag == SF_PB_TAG(3, SF_PB_LEN)) {
            is_good &= otlp_profile_tables_read_line(r, &pb, &l, &kind);
        } else if (pb.field == r->layout->location_attrs) {
            run = sf_pb_run(&pb);
            said = sf_frame_kind_of_word(find_attr(r, &run, frame_type, 1, &best));
            sf_pb_join(&pb, &run);
        } else {
            r->has_other |= (pb.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&pb);
        }
    }
    sf_otlp_note_fault(r, &pb);
    if (has_mapping && !sf_otlp_has(r, SF_OTLP_MAPPINGS, mapping)) {
        is_good &= mapping == 0 && r->layout->has_zero;
        has_mapping = false;
    }
    if (!is_good || !sf_pb_ok(&pb))
        return otlp_profile_tables_learn(t, at, SF_NONE);
    return otlp_profile_tables_learn(
        t, at,
        finish_location(r, &l, mapping, has_mapping, said != SF_FRAME_UNKNOWN ? said : kind));
}

enum { QUICK_RUN = 1 << 16 };

uint32_t sf_otlp_profile_tables_stack(struct sf_otlp_reader *r, uint64_t at)
{
    struct sf_otlp_table *t = &r->tables[SF_OTLP_STACKS];
    const struct sf_otlp_table *locations = &r->tables[SF_OTLP_LOCATIONS];
    uint32_t place, *to;
    uint64_t location;
    struct sf_pb pb, run;
    bool is_room;

    if (at == 0)
        return sf_profile_build_stack(r->b, NULL, 0);
    if (at >= t->n)
        return SF_NONE;
    if (otlp_profile_tables_known(t, at, &place))
        return place;
    r->path.n = 0;
    pb = sf_otlp_entry(r, SF_OTLP_STACKS, at);
    while (sf_pb_next(&pb) && !r->b->is_full) {
        if (pb.field != 1) {
            r->has_other |= (pb.tag & 7) == SF_PB_LEN;
            sf_pb_skip(&pb);
            continue;
        }
        run = sf_pb_run(&pb);
        if (run.end - run.at > QUICK_RUN || r->path.n > QUICK_RUN)
            is_room = false;
        else
            is_room = sf_profile_table_room(
                r->b, &r->path, sizeof(*to),
                (uint32_t)(run.end - run.at)); /* each takes at least a byte */
        while (sf_pb_run_varint(&run, &location) && !r->b->is_full) {
            if (location == 0)
                continue;
            /* Most are known: avoids a call. */
            if (location >= locations->n || !otlp_profile_tables_known(locations, location, &place))
                place = sf_otlp_profile_tables_location(r, location);
            if (place == SF_NONE)
                return otlp_profile_tables_learn(t, at, SF_NONE);
            to = is_room ? (uint32_t *)r->path.items + r->path.n
                         : sf_profile_list_more(r->b, &r->path, sizeof(*to));
            if (to) {
                *to = place;
                r->path.n++;
            }
        }
        sf_pb_join(&pb, &run);
    }
    sf_otlp_note_fault(r, &pb);
    return otlp_profile_tables_learn(t, at, sf_profile_build_stack(r->b, r->path.items, r->path.n));
}
