/* The labels that Pyroscope's Java client sends beside a recording: sets of labels by the number
 * that events carry as contextId. Names and values of labels are numbers of strings. */
#include "decode/jfr/jfr.h"
#include "wire/pb.h"

/* Reads a map entry: key is field 1, value field 2; either may be missing. */
static uint64_t jfr_labels_read_entry(struct sf_pb *pb, sf_bytes *val)
{
    struct sf_pb msg = sf_pb_msg(pb);
    uint64_t key = 0;
    *val = (sf_bytes){msg.end, 0};
    while (sf_pb_next(&msg)) {
        if (msg.tag == SF_PB_TAG(1, SF_PB_VARINT))
            key = sf_pb_u64(&msg);
        else if (msg.tag == SF_PB_TAG(2, SF_PB_LEN))
            *val = sf_pb_bytes(&msg);
        else
            sf_pb_skip(&msg);
    }
    sf_pb_join(pb, &msg);
    return key;
}

static bool jfr_labels_make_room(struct sf_jfr *r, struct sf_pb pb)
{
    uint32_t n_contexts = 0, n_strings = 0;
    while (sf_pb_next(&pb)) {
        n_contexts += pb.tag == SF_PB_TAG(1, SF_PB_LEN);
        n_strings += pb.tag == SF_PB_TAG(2, SF_PB_LEN);
        sf_pb_skip(&pb);
    }
    r->context_items = sf_profile_new(r->b, n_contexts + 1u, sizeof(*r->context_items));
    r->context_read = sf_profile_new(r->b, n_contexts + 1u, sizeof(*r->context_read));
    r->label_strings = sf_profile_new(r->b, n_strings + 1u, sizeof(*r->label_strings));
    return sf_id_map_init(&r->contexts, r->b, n_contexts) &&
           sf_id_map_init(&r->labels_strings, r->b, n_strings) && !r->b->is_full;
}

enum sf_err sf_jfr_labels_read(struct sf_jfr *r)
{
    struct sf_pb pb = sf_pb_init(sf_str_bytes(r->b->hint->jfr_labels));
    if (!r->b->hint->jfr_labels.len || !jfr_labels_make_room(r, pb))
        return SF_OK;
    while (sf_pb_next(&pb)) {
        sf_bytes val;
        uint64_t key;
        if (pb.tag != SF_PB_TAG(1, SF_PB_LEN) && pb.tag != SF_PB_TAG(2, SF_PB_LEN)) {
            sf_pb_skip(&pb);
        } else if (pb.field == 1) {
            key = jfr_labels_read_entry(&pb, &val);
            r->context_items[r->contexts.n] = val;
            sf_id_map_add(&r->contexts, key, 0);
        } else {
            key = jfr_labels_read_entry(&pb, &val);
            r->label_strings[r->labels_strings.n] = sf_profile_clean(r->b, sf_bytes_str(val));
            sf_id_map_add(&r->labels_strings, key, 0);
        }
    }
    sf_id_map_close(&r->contexts, r->b);
    sf_id_map_close(&r->labels_strings, r->b);
    r->has_labels = !r->b->is_full;
    return sf_pb_why(&pb, "jfr: labels", r->b->why);
}

static sf_str jfr_labels_string_of(const struct sf_jfr *r, uint64_t id)
{
    uint32_t at = sf_id_map_find(&r->labels_strings, id);
    return at == SF_NONE ? SF_STR_NONE : r->label_strings[at];
}

static void read_context(struct sf_jfr *r, sf_bytes msg, struct sf_jfr_context *out)
{
    struct sf_pb pb = sf_pb_part(sf_str_bytes(r->b->hint->jfr_labels), msg);
    struct sf_label labels[SF_LIMIT_SAMPLE_LABELS];
    uint32_t n = 0;
    while (sf_pb_next(&pb)) {
        struct sf_pb entry;
        uint64_t ids[2] = {0};
        sf_str key, val;
        if (pb.tag != SF_PB_TAG(1, SF_PB_LEN)) {
            sf_pb_skip(&pb);
            continue;
        }
        entry = sf_pb_msg(&pb);
        while (sf_pb_next(&entry)) {
            if (entry.field == 1 || entry.field == 2)
                ids[entry.field - 1] = sf_pb_u64(&entry);
            else
                sf_pb_skip(&entry);
        }
        key = jfr_labels_string_of(r, ids[0]);
        val = jfr_labels_string_of(r, ids[1]);
        if (!key.len || !val.len || sf_str_starts(key, SF_STR("__")) ||
            sf_profile_label_ids_take_str(&out->ids, key, val))
            continue;
        if (n < SF_LIMIT_SAMPLE_LABELS)
            labels[n++] = (struct sf_label){key, val};
        else
            r->b->drops.n_labels++;
    }
    out->set = sf_profile_build_set(r->b, &r->b->me, labels, n);
    out->is_read = true;
}

const struct sf_jfr_context *sf_jfr_labels_context_of(struct sf_jfr *r, int64_t id)
{
    uint32_t at = id && r->has_labels ? sf_id_map_find(&r->contexts, (uint64_t)id) : SF_NONE;
    if (at == SF_NONE)
        return NULL;
    if (!r->context_read[at].is_read)
        read_context(r, r->context_items[at], &r->context_read[at]);
    return &r->context_read[at];
}
