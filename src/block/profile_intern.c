#include "block/profile_intern.h"

#include "base/heap.h"

/* Keys of the dictionaries are the records themselves; functions and modules are read back from
 * there as lists. */
_Static_assert(sizeof(struct sf_profile_function) == 16, "no padding in a key");
_Static_assert(sizeof(struct sf_profile_module) == 8, "no padding in a key");

enum sf_err sf_profile_set_no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "store: no memory for profiles");
}

bool sf_profile_more(void **list, uint32_t n, uint32_t *cap, size_t size)
{
    void *grown;
    uint32_t want = *cap ? *cap * 2 : 64;
    if (n < *cap)
        return true;
    if (*cap > UINT32_MAX / 2)
        return false;
    grown = sf_heap_grow(*list, want, size);
    if (!grown)
        return false;
    *list = grown;
    *cap = want;
    return true;
}

enum { FEW_LINES = 2, LOCATION_KEY_LEN = 16 };

struct location_key { /* of one without many inlined calls, which is nearly every one */
    uint64_t addr;
    uint32_t module, kind;
    struct sf_line lines[FEW_LINES];
};
_Static_assert(sizeof(struct location_key) == LOCATION_KEY_LEN + FEW_LINES * 8, "no padding");

/* Room comes first, so that no key is ever without its location. */
bool sf_profile_set_location(struct sf_profile_set *s, const struct sf_profile_location *l,
                             const struct sf_line *lines, struct sf_buf *key, uint32_t *out)
{
    struct location_key few = {l->addr, l->module, l->kind, {{0, 0}}};
    size_t lines_len = l->n_lines * sizeof(*lines);
    sf_str text = sf_profile_key(&few, LOCATION_KEY_LEN + lines_len);
    if (l->n_lines > FEW_LINES) {
        sf_buf_reset(key);
        sf_buf_add(key, &few, LOCATION_KEY_LEN);
        sf_buf_add(key, lines, lines_len);
        if (!sf_buf_ok(key))
            return false;
        text = sf_buf_str(key);
    } else if (l->n_lines) {
        memcpy(few.lines, lines, lines_len);
    }
    for (uint32_t i = 0; i < l->n_lines; i++) {
        if (!sf_profile_more((void **)&s->lines, s->n_lines + i, &s->cap_lines, sizeof(*s->lines)))
            return false;
        s->lines[s->n_lines + i] = lines[i];
    }
    if (!sf_profile_more((void **)&s->locations, s->n_locations, &s->cap_locations,
                         sizeof(*s->locations)) ||
        !sf_dict_add(&s->location_keys, text, out))
        return false;
    if (*out == s->n_locations) {
        s->locations[*out] = *l;
        s->locations[*out].first_line = s->n_lines;
        s->n_lines += l->n_lines;
        s->n_locations++;
    }
    return true;
}

static bool add_text(struct sf_profile_set *s, struct sf_buf *key, sf_str text)
{
    uint32_t place;
    if (!sf_dict_add(&s->strings, text, &place))
        return false;
    sf_buf_add_u32le(key, place);
    return true;
}

bool sf_profile_set_one_series(struct sf_profile_set *s, const struct sf_profile_series *from,
                               struct sf_buf *key, uint32_t *out)
{
    const sf_str parts[] = {from->type.name, from->type.sample_type, from->type.sample_unit,
                            from->type.period_type, from->type.period_unit};
    sf_buf_reset(key);
    sf_buf_add_u32le(key, from->flags);
    for (size_t i = 0; i < 5; i++) {
        if (!add_text(s, key, parts[i]))
            return false;
    }
    for (uint32_t i = 0; i < from->n_labels; i++) {
        if (!add_text(s, key, from->labels[i].key) || !add_text(s, key, from->labels[i].val))
            return false;
    }
    return sf_buf_ok(key) && sf_dict_add(&s->series, sf_buf_str(key), out);
}

bool sf_profile_set_process(struct sf_profile_set *s, const struct sf_process *p, uint32_t *out)
{
    uint32_t key[2] = {0, p->is_guess};
    return sf_dict_add(&s->strings, p->key, &key[0]) &&
           sf_dict_add(&s->processes, sf_profile_key(key, sizeof(key)), out);
}
