/* Functions, mappings and locations of a pprof. */
#include <inttypes.h>

#include "decode/frame_kind.h"
#include "decode/pprof/pprof.h"

static void pprof_tables_read_mapping(struct sf_pprof *p, struct sf_pb *pb)
{
    struct sf_mapping m = {0};
    uint64_t id = 0;
    int64_t file = 0, build_id = 0;
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        sf_pprof_expect_number(p, &msg);
        switch (msg.field) {
        case 1: id = sf_pb_u64(&msg); break;
        case 2: m.start = sf_pb_u64(&msg); break;
        case 3: m.limit = sf_pb_u64(&msg); break;
        case 4: m.file_off = sf_pb_u64(&msg); break;
        case 5: file = sf_pb_i64(&msg); break;
        case 6: build_id = sf_pb_i64(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (!sf_pb_join(pb, &msg))
        return;
    m.file = sf_pprof_str(p, file, &p->b->drops.n_frames, "a mapping's file");
    m.build_id = sf_pprof_str(p, build_id, &p->b->drops.n_frames, "a build id");
    sf_pprof_note(p, file);
    sf_pprof_note(p, build_id);
    /* Addresses become offsets in the file: where it was loaded differs from process to process. */
    p->mapping_files[p->mappings.n] = m.file;
    p->mapping_bias[p->mappings.n] = m.limit > m.start ? m.start - m.file_off : 0;
    m.start = m.limit = m.file_off = 0;
    sf_id_map_add(&p->mappings, id, sf_profile_build_mapping(p->b, &m));
}

/* Puts the file before the name, as the flame graphs of Python's and Ruby's agents show it. */
static sf_str name_with_file(struct sf_pprof *p, sf_str file, sf_str name)
{
    sf_str spy = p->b->hint->spy, out = name;
    bool is_python = sf_str_eq(spy, SF_STR("pyspy"));
    if (!is_python && !sf_str_eq(spy, SF_STR("rbspy")) && !sf_str_eq(spy, SF_STR("scripting")))
        return name;
    if (!file.len || (is_python && file.p[0] == '/'))
        return name;
    if (!sf_arena_print(p->b->a, &out, "%.*s %.*s", SF_STR_ARG(file), SF_STR_ARG(name)))
        p->b->is_full = true;
    return out;
}

/* Removes Go's shapes of type arguments ("[go.shape.int]"), which are not in the source and would
 * split one function into many. */
static sf_str name_without_shapes(struct sf_pprof *p, sf_str name)
{
    sf_str mark = SF_STR("[go.shape."), out = name;
    size_t at, end;
    if (!sf_str_find_char(name, '[', &at) || !sf_str_find(name, mark, &at))
        return name;
    for (end = name.len; end > at && name.p[end - 1] != ']';)
        end--;
    if (end == at)
        return name;
    if (!sf_arena_print(p->b->a, &out, "%.*s[...]%.*s", (int)at, name.p,
                        SF_STR_ARG(sf_str_from_at(name, end))))
        p->b->is_full = true;
    return out;
}

static void pprof_tables_read_function(struct sf_pprof *p, struct sf_pb *pb)
{
    struct sf_function f = {0};
    sf_str sent;
    uint64_t id = 0;
    int64_t name = 0, system_name = 0, file = 0, start_line = 0;
    uint64_t *drops = &p->b->drops.n_frames;
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        sf_pprof_expect_number(p, &msg);
        switch (msg.field) {
        case 1: id = sf_pb_u64(&msg); break;
        case 2: name = sf_pb_i64(&msg); break;
        case 3: system_name = sf_pb_i64(&msg); break;
        case 4: file = sf_pb_i64(&msg); break;
        case 5: start_line = sf_pb_i64(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (!sf_pb_join(pb, &msg))
        return;
    f.file = sf_pprof_str(p, file, drops, "a function's file");
    f.system_name = sf_pprof_str(p, system_name, drops, "a function's system name");
    f.name = sf_pprof_str(p, name, drops, "a function's name");
    if (!f.name.len)
        f.name = f.system_name;
    if (sf_str_eq(f.system_name, f.name))
        f.system_name = SF_STR_NONE; /* most writers give the same name twice */
    sent = f.name;
    f.name = name_without_shapes(p, name_with_file(p, f.file, f.name));
    sf_pprof_note(p, file);
    if (f.name.p == sent.p) {
        sf_pprof_note(p, name);
        sf_pprof_note(p, system_name); /* the same, or kept beside it */
    } else if (f.system_name.len) {
        sf_pprof_note(p, system_name);
    }
    f.start_line = start_line > 0 && start_line <= UINT32_MAX ? (uint32_t)start_line : 0;
    p->kinds[p->functions.n] = sf_frame_kind_of_file(f.file, SF_STR_NONE);
    p->has_function_ids |= id != 0;
    sf_id_map_add(&p->functions, id, sf_profile_build_function(p->b, &f));
}

enum sf_err sf_pprof_tables_read_functions(struct sf_pprof *p)
{
    struct sf_pb mappings = sf_pprof_part(p, 3), functions = sf_pprof_part(p, 5);
    struct sf_profile_build *b = p->b;

    p->mapping_files = sf_profile_new(b, p->n_mappings + 1u, sizeof(*p->mapping_files));
    p->mapping_bias = sf_profile_new(b, p->n_mappings + 1u, sizeof(*p->mapping_bias));
    p->kinds = sf_profile_new(b, p->n_functions + 1u, sizeof(*p->kinds));
    if (!sf_id_map_init(&p->mappings, b, p->n_mappings) ||
        !sf_id_map_init(&p->functions, b, p->n_functions) || b->is_full)
        return SF_OK;
    while (sf_pb_next(&mappings) && !b->is_full) {
        if (mappings.tag == SF_PB_TAG(3, SF_PB_LEN))
            pprof_tables_read_mapping(p, &mappings);
        else
            sf_pb_skip(&mappings);
    }
    if (!sf_pb_ok(&mappings))
        return sf_pb_why(&mappings, "pprof", b->why);
    while (sf_pb_next(&functions) && !b->is_full) {
        if (functions.tag == SF_PB_TAG(5, SF_PB_LEN))
            pprof_tables_read_function(p, &functions);
        else
            sf_pb_skip(&functions);
    }
    b->drops.n_frames += sf_id_map_close(&p->mappings, b);
    if (p->has_function_ids)
        b->drops.n_frames += sf_id_map_close(&p->functions, b);
    return sf_pb_why(&functions, "pprof", b->why);
}

/* Reads the current line. False: it has no function. */
static bool pprof_tables_read_line(struct sf_pprof *p, struct sf_pb *pb, uint32_t at_location,
                                   struct sf_line *out, enum sf_frame_kind *out_kind)
{
    uint64_t function = 0;
    int64_t line = 0;
    uint32_t at;
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        sf_pprof_expect_number(p, &msg);
        switch (msg.field) {
        case 1: function = sf_pb_u64(&msg); break;
        case 2: line = sf_pb_i64(&msg); break;
        default: sf_pb_skip(&msg); break;
        }
    }
    if (!sf_pb_join(pb, &msg))
        return false;
    /* Without ids the nth function belongs to the nth location. */
    at = p->has_function_ids            ? sf_id_map_find(&p->functions, function)
         : at_location < p->functions.n ? at_location
                                        : SF_NONE;
    if (at == SF_NONE) {
        sf_profile_build_drop(p->b, &p->b->drops.n_frames,
                              "pprof: location %" PRIu32 ": function %" PRIu64
                              " is not in the profile",
                              at_location, function);
        return false;
    }
    if (((const struct sf_function *)p->b->functions.items)[p->functions.places[at]].name.len == 0)
        return false; /* Go's list of threads has empty names: ignored */
    /* One library stores the column in the upper bits of the line. */
    *out = (struct sf_line){p->functions.places[at],
                            line < 0 ? 0 : (uint32_t)((uint64_t)line & UINT32_MAX)};
    *out_kind = p->kinds[at];
    return out->function != SF_NONE;
}

static void read_location(struct sf_pprof *p, struct sf_pb *pb, struct sf_line *lines)
{
    struct sf_location l = {.mapping = SF_NONE};
    enum sf_frame_kind kind = SF_FRAME_UNKNOWN, line_kind;
    uint64_t id = 0, mapping = 0;
    uint32_t at = p->locations.n, place = SF_NONE, at_mapping = SF_NONE;
    struct sf_pb msg = sf_pb_msg(pb);
    while (sf_pb_next(&msg)) {
        switch (msg.tag) {
        case SF_PB_TAG(1, SF_PB_VARINT): id = sf_pb_u64(&msg); break;
        case SF_PB_TAG(2, SF_PB_VARINT): mapping = sf_pb_u64(&msg); break;
        case SF_PB_TAG(3, SF_PB_VARINT): l.addr = sf_pb_u64(&msg); break;
        case SF_PB_TAG(4, SF_PB_LEN):
            if (l.n_lines == SF_LIMIT_FRAMES) {
                p->b->drops.n_frames++;
                sf_pb_skip(&msg);
            } else if (pprof_tables_read_line(p, &msg, at, &lines[l.n_lines], &line_kind)) {
                if (!l.n_lines++)
                    kind = line_kind;
            }
            break;
        default:
            sf_pprof_expect_number(p, &msg);
            sf_pb_skip(&msg);
            break;
        }
    }
    if (!sf_pb_join(pb, &msg))
        return;
    if (l.addr == UINT64_MAX)
        l.addr = 0; /* Go's value for "none" */
    if (mapping)
        at_mapping = sf_id_map_find(&p->mappings, mapping);
    if (at_mapping != SF_NONE) {
        l.mapping = p->mappings.places[at_mapping];
        l.addr -= l.addr ? p->mapping_bias[at_mapping] : 0;
        if (kind == SF_FRAME_UNKNOWN)
            kind = sf_frame_kind_of_file(SF_STR_NONE, p->mapping_files[at_mapping]);
    }
    if (kind == SF_FRAME_UNKNOWN)
        kind = p->spy_kind;
    if (kind == SF_FRAME_UNKNOWN && !l.n_lines)
        kind = SF_FRAME_NATIVE;
    l.kind = (uint8_t)kind;
    l.lines = lines;
    if (l.n_lines)
        l.addr = 0;
    if (l.n_lines || l.addr)
        place = sf_profile_build_location(p->b, &l);
    sf_id_map_add(&p->locations, id, place);
}

enum sf_err sf_pprof_tables_read_locations(struct sf_pprof *p)
{
    struct sf_pb pb = sf_pprof_part(p, 4);
    struct sf_profile_build *b = p->b;
    struct sf_line *lines = sf_profile_new(b, SF_LIMIT_FRAMES, sizeof(*lines));
    if (!lines || !sf_id_map_init(&p->locations, b, p->n_locations))
        return SF_OK;
    while (sf_pb_next(&pb) && !b->is_full) {
        if (pb.tag == SF_PB_TAG(4, SF_PB_LEN))
            read_location(p, &pb, lines);
        else
            sf_pb_skip(&pb);
    }
    b->drops.n_frames += sf_id_map_close(&p->locations, b);
    return sf_pb_why(&pb, "pprof", b->why);
}
