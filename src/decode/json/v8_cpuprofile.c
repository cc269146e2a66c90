/* V8's CPU profile (.cpuprofile): a call tree, the node that ran at each sample, and the time
 * between samples.
 *
 * A delta is the time since the previous sample: the node of a sample ran until the next one, and
 * the gap before the first belongs to no node. Deltas can be negative, so samples are sorted by
 * time and nothing is clamped. "(idle)" is wall time, not CPU time. hitCount has another meaning
 * and is used only if there are no samples. Times are of a monotonic clock: they become absolute
 * when the upload gives its start, otherwise only sums are stored.
 *
 * The old form nests its nodes in "head" and has timestamps instead of deltas. */
#include "decode/json/json_shape.h"
#include "decode/json/v8_cpu.h"

static enum sf_err v8_cpuprofile_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct sf_v8_cpu *p = sf_profile_new(b, 1, sizeof(*p));
    struct sf_json j;
    enum sf_err err;
    sf_str key;

    if (!p)
        return SF_OK; /* finish() reports the error */
    sf_v8_cpu_init(p, b);
    sf_json_init(&j, bytes, b->a);
    if (sf_json_object(&j)) {
        while (sf_json_key(&j, &key) && !b->is_full) {
            if ((sf_str_eq(key, SF_STR("nodes")) && p->nodes.list.n) || !sf_v8_cpu_take(p, &j, key))
                sf_json_skip(&j);
        }
    }
    if (b->is_full)
        return SF_OK;
    sf_json_end(&j);
    err = sf_json_why(&j, "cpuprofile", b->why);
    return err ? err : sf_v8_cpu_finish(p);
}

static bool is_cpuprofile(const struct sf_json_shape *s)
{
    if (sf_json_shape_has(s, "", "nodes"))
        return (sf_json_shape_has(s, "", "startTime") && sf_json_shape_has(s, "", "endTime")) ||
               (sf_json_shape_has(s, "", "samples") && sf_json_shape_has(s, "", "timeDeltas"));
    return sf_json_shape_has(s, "", "head") && sf_json_shape_has(s, "", "samples") &&
           sf_json_shape_has(s, "", "timestamps");
}

const struct sf_profile_format sf_cpuprofile_format = {
    .name = "cpuprofile",
    .also = "",
    .is_json = is_cpuprofile,
    .decode = v8_cpuprofile_decode,
};
