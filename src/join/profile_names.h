/* profile_names.h - profiles that a span refers to in its attributes.
 *
 * `pyroscope.profile.id` and `profile.id` have the id under which samples were uploaded, and
 * `profile.file` a file named after it ("/profiles/abc123def456.pb.gz"). Samples with that id
 * belong to the span, as if they carried the span's own id. Ids of spans of the same trace refer to
 * those spans. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

struct sf_profile_name {
    sf_span_id name, span;
};

struct sf_profile_names {
    const struct sf_profile_name *list; /* sorted by name, without duplicates */
    uint32_t n;
};

/* The id that the span's attributes give its profile; 0: none besides its own. */
sf_span_id sf_profile_names_given(const struct sf_span *s);
enum sf_span_tags { /* what the attributes of a span say about samples */
                    SF_SPAN_TAGS_NOTHING,
                    SF_SPAN_TAGS_SELF, /* they carry its own id */
                    SF_SPAN_TAGS_ALL   /* so do those of every span of its process */
};
enum sf_span_tags sf_profile_names_tags_of(const struct sf_span *s,
                                           const struct sf_resource *resource);
/* For spans and the profile ids parallel to them. In `req`. False: it is full. */
bool sf_profile_names_find(const struct sf_span *spans, const sf_span_id *profiles,
                           uint32_t n_spans, struct sf_arena *req, struct sf_profile_names *out);
/* The span to which the id belongs: the one that refers to it, otherwise the id itself. */
sf_span_id sf_profile_names_span(const struct sf_profile_names *names, sf_span_id id);
