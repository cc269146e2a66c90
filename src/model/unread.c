#include "model/unread.h"

#include <stdio.h>

void sf_unread_add(struct sf_unread *m, uint64_t part, const char *what)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->parts[i] == part)
            return;
    }
    if (m->n == SF_UNREAD_PARTS) {
        m->has_more = true;
        return;
    }
    if (m->n == 0)
        snprintf(m->first, sizeof(m->first), "%s", what);
    m->parts[m->n++] = part;
}

void sf_unread_add_away(struct sf_unread *m, uint64_t part, const char *what)
{
    sf_unread_add(m, part, what);
    if (m)
        m->is_away = true;
}

void sf_unread_join(struct sf_unread *m, const struct sf_unread *other)
{
    for (uint32_t i = 0; i < other->n; i++)
        sf_unread_add(m, other->parts[i], i == 0 ? other->first : "others");
    if (m) {
        m->has_more = m->has_more || other->has_more;
        m->is_away = m->is_away || other->is_away;
    }
}

void sf_unread_say(const struct sf_unread *m, char *out, size_t cap)
{
    char others[48] = "";
    out[0] = 0;
    if (m->n == 0)
        return;
    if (m->n > 1)
        snprintf(others, sizeof(others), " and %s%u other%s", m->has_more ? "more than " : "",
                 m->n - 1, m->n == 2 ? "" : "s");
    snprintf(out, cap, "some stored data could not be read: %s%s; GET /ready says more", m->first,
             others);
}
