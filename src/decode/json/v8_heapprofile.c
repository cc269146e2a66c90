/* V8's sampling heap profile (.heapprofile): a tree of call frames, nested, each with the bytes
 * that it allocated and that are still in use. The list "samples" is ignored: it names nodes that
 * are not in the tree and has other sums. */
#include "decode/json/json_shape.h"
#include "decode/json/v8_node.h"

static enum sf_err v8_heapprofile_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_profile_what what = {.type = {.name = SF_STR("memory"),
                                            .sample_type = SF_STR("inuse_space"),
                                            .sample_unit = SF_STR("bytes"),
                                            .period_type = SF_STR("space"),
                                            .period_unit = SF_STR("bytes")}};
    struct sf_v8_nodes nodes;
    struct sf_sample s = {0};
    struct sf_json j;
    sf_str key;
    enum sf_err err;

    sf_json_init(&j, bytes, b->a);
    sf_v8_nodes_init(&nodes, b);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key) && !b->is_full) {
            if (sf_str_eq(key, SF_STR("head")) && !nodes.list.n)
                sf_v8_nodes_read_tree(&nodes, &j);
            else
                sf_json_skip(&j);
        }
    }
    if (b->is_full)
        return SF_OK; /* finish() reports the error */
    sf_json_end(&j);
    err = sf_json_why(&j, "heapprofile", b->why);
    if (!err)
        err = sf_v8_nodes_close(&nodes);
    if (err || b->is_full)
        return err;
    s.series = sf_profile_build_series(b, sf_profile_build_set(b, &b->me, NULL, 0),
                                       sf_profile_build_what(b, &what, true));
    for (uint32_t i = 0; i < nodes.list.n && sf_profile_build_ok(b); i++) {
        s.value = sf_v8_node_at(&nodes, i)->self_size;
        if (!s.value)
            continue;
        s.stack = sf_v8_nodes_stack(&nodes, i);
        sf_profile_build_sample(b, &b->me, &s);
    }
    return SF_OK;
}

/* "head" alone is also the old form of a CPU profile, whose nodes have no sizes. */
static bool is_heapprofile(const struct sf_json_shape *s)
{
    return sf_json_shape_has(s, "head", "selfSize");
}

const struct sf_profile_format sf_heapprofile_format = {
    .name = "heapprofile",
    .also = "",
    .is_json = is_heapprofile,
    .decode = v8_heapprofile_decode,
};
