#include "render/speedscope.h"

#include "flame/frame_name.h"
#include "flame/tree_order.h"
#include "render/known.h"
#include "render/units.h"
#include "wire/json_write.h"

static sf_str speedscope_unit_of(sf_str unit)
{
    static const sf_str known[] = {{"nanoseconds", 11},
                                   {"microseconds", 12},
                                   {"milliseconds", 12},
                                   {"seconds", 7},
                                   {"bytes", 5}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (sf_str_eq(unit, known[i]))
            return unit;
    }
    return SF_STR("none");
}

static void speedscope_write_plain(struct sf_json_writer *w, sf_str key, sf_str text,
                                   struct sf_buf *room)
{
    sf_buf_reset(room);
    sf_units_plain(room, text);
    sf_json_write_key_str(w, key, sf_buf_str(room));
}

/* speedscope's page shows only the name next to the graph, so an estimate is marked in it. */
static void write_marked(struct sf_json_writer *w, const struct sf_profile_view *v, sf_str name,
                         struct sf_buf *room)
{
    sf_buf_reset(room);
    sf_units_plain(room, name);
    if (v->is_estimate)
        sf_buf_add_str(room, SF_STR(" (" SF_ESTIMATE_FRAME ")"));
    if (v->is_few) {
        sf_buf_add_str(room, SF_STR(" ("));
        sf_known_few(room, v);
        sf_buf_add_u8(room, ')');
    }
    sf_json_write_key_str(w, SF_STR("name"), sf_buf_str(room));
}

static bool speedscope_write_frames(const struct sf_tree *t, struct sf_json_writer *w,
                                    struct sf_arena scratch, struct sf_buf *room)
{
    sf_json_write_key(w, SF_STR("shared"));
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("frames"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < t->n_frames; i++) {
        struct sf_arena names = scratch;
        sf_str name;
        if (!sf_frame_name(&t->frames[i], SF_GROUP_FUNCTION, &names, &name))
            return false;
        sf_json_write_object(w);
        speedscope_write_plain(w, SF_STR("name"), name, room);
        if (t->frames[i].file.len)
            speedscope_write_plain(w, SF_STR("file"), t->frames[i].file, room);
        if (t->frames[i].line)
            sf_json_write_key_u64(w, SF_STR("line"), t->frames[i].line);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
    return true;
}

/* Root first. The depth-first order keeps the current path: path[d] is the frame at depth d. */
static void speedscope_write_samples(const struct sf_tree *t, const struct sf_tree_order *order,
                                     uint32_t *path, struct sf_json_writer *w)
{
    sf_json_write_key(w, SF_STR("samples"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        uint32_t place = order->places[i], depth = order->depths[i];
        path[depth] = t->nodes[place].frame;
        if (!t->nodes[place].self)
            continue;
        sf_json_write_array(w);
        for (uint32_t d = 1; d <= depth; d++)
            sf_json_write_u64(w, path[d]);
        sf_json_write_array_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_key(w, SF_STR("weights"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        if (t->nodes[order->places[i]].self)
            sf_json_write_i64(w, t->nodes[order->places[i]].self);
    }
    sf_json_write_array_end(w);
}

enum sf_err sf_speedscope_render(const struct sf_profile_view *v, struct sf_arena scratch,
                                 struct sf_buf *out, struct sf_why *why)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    const struct sf_tree *t = &v->tree;
    struct sf_tree_order order;
    struct sf_buf room = {0};
    uint32_t *path;
    int64_t *totals;
    enum sf_err err = sf_tree_order_totals(t, &scratch, &totals, why);
    if (!err)
        err = sf_tree_order(t, totals, SF_TREE_BY_NAME, &scratch, &order, why);
    if (err)
        return err;
    path = sf_arena_new_n(&scratch, (size_t)order.max_depth + 1, sizeof(*path));
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("$schema"),
                          SF_STR("https://www.speedscope.app/file-format-schema.json"));
    if (!path || !speedscope_write_frames(t, &w, scratch, &room)) {
        sf_buf_done(&room);
        return sf_no_room(why, "the answer");
    }
    sf_json_write_key(&w, SF_STR("profiles"));
    sf_json_write_array(&w);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("type"), SF_STR("sampled"));
    write_marked(&w, v, v->type.sample_type, &room);
    sf_json_write_key_str(&w, SF_STR("unit"), speedscope_unit_of(v->type.sample_unit));
    sf_json_write_key_u64(&w, SF_STR("startValue"), 0);
    sf_json_write_key(&w, SF_STR("endValue"));
    sf_json_write_i64(&w, t->total);
    speedscope_write_samples(t, &order, path, &w);
    sf_json_write_object_end(&w);
    sf_json_write_array_end(&w);
    sf_json_write_key_u64(&w, SF_STR("activeProfileIndex"), 0);
    write_marked(&w, v, v->service, &room);
    sf_json_write_key_str(&w, SF_STR("exporter"), SF_STR("spanflame"));
    sf_json_write_object_end(&w);
    sf_buf_add_u8(out, '\n');
    bool has_names = sf_buf_ok(&room);
    sf_buf_done(&room);
    if (!has_names)
        return sf_fail(why, SF_ERR_NOMEM, "speedscope: no memory");
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "speedscope: no memory");
}
