/* profile_names.c - profiles that a span refers to in its attributes. */
#include "join/profile_names.h"

#include <stdlib.h>

static int profile_names_by_name(const void *a, const void *b)
{
    const struct sf_profile_name *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static int profile_names_by_id(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return (x > y) - (x < y);
}

/* The id of "/profiles/abc123.pb.gz" is abc123. */
static sf_str called(sf_str path)
{
    size_t from = path.len, to;
    while (from > 0 && path.p[from - 1] != '/')
        from--;
    for (to = from; to < path.len && path.p[to] != '.';)
        to++;
    return sf_str_part(path, from, to - from);
}

sf_span_id sf_profile_names_given(const struct sf_span *s)
{
    static const sf_str keys[] = {SF_STR("pyroscope.profile.id"), SF_STR("profile.id"),
                                  SF_STR("profile.file")};
    for (int i = 0; i < 3; i++) {
        sf_str text = sf_attrs_str(s->attrs, keys[i]);
        sf_span_id id = 0;
        if (text.len > 0 && sf_span_id_parse(i == 2 ? called(text) : text, &id) && id != 0)
            return id != s->span_id ? id : 0;
    }
    return 0;
}

/* The C library tags all its samples. */
enum sf_span_tags sf_profile_names_tags_of(const struct sf_span *s,
                                           const struct sf_resource *resource)
{
    sf_str sdk = sf_attrs_str(resource->attrs, SF_STR("telemetry.sdk.name"));
    sf_str own = sf_attrs_str(s->attrs, SF_STR("pyroscope.profile.id"));
    sf_span_id id = 0;
    if (sf_str_eq(sdk, SF_STR("spanflame")))
        return SF_SPAN_TAGS_ALL;
    return own.len > 0 && sf_span_id_parse(own, &id) && id != 0 && id == s->span_id
               ? SF_SPAN_TAGS_SELF
               : SF_SPAN_TAGS_NOTHING;
}

bool sf_profile_names_find(const struct sf_span *spans, const sf_span_id *profiles,
                           uint32_t n_spans, struct sf_arena *req, struct sf_profile_names *out)
{
    struct sf_profile_name *list = NULL;
    sf_span_id *ids = NULL;
    uint32_t n = 0, n_kept = 0;
    *out = (struct sf_profile_names){0};
    for (uint32_t i = 0; i < n_spans; i++) {
        if (profiles[i] == 0)
            continue;
        if (!list && !(list = sf_arena_new_n(req, n_spans, sizeof(*list))))
            return false;
        list[n++] = (struct sf_profile_name){profiles[i], spans[i].span_id};
    }
    if (n == 0)
        return true;
    if (!(ids = sf_arena_new_n(req, n_spans, sizeof(*ids))))
        return false;
    for (uint32_t i = 0; i < n_spans; i++)
        ids[i] = spans[i].span_id;
    qsort(ids, n_spans, sizeof(*ids), profile_names_by_id);
    qsort(list, n, sizeof(*list), profile_names_by_name);
    for (uint32_t i = 0; i < n; i++) {
        bool is_known = (n_kept > 0 && list[n_kept - 1].name == list[i].name) ||
                        bsearch(&list[i].name, ids, n_spans, sizeof(*ids), profile_names_by_id);
        if (!is_known)
            list[n_kept++] = list[i];
    }
    *out = (struct sf_profile_names){list, n_kept};
    return true;
}

sf_span_id sf_profile_names_span(const struct sf_profile_names *names, sf_span_id id)
{
    struct sf_profile_name key = {.name = id};
    const struct sf_profile_name *found = names->n > 0 ? bsearch(&key, names->list, names->n,
                                                                 sizeof(key), profile_names_by_name)
                                                       : NULL;
    return found ? found->span : id;
}
