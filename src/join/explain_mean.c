#include "join/explain_mean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "link/explain_part.h"
#include "link/trust.h"

void sf_explain_mean_init(struct sf_explain_mean *m, struct sf_arena *req)
{
    *m = (struct sf_explain_mean){.req = req};
}

static bool explain_mean_add_function(struct sf_explain_mean *m, uint32_t part,
                                      const struct sf_explain_function *f)
{
    struct sf_explain_function *list = m->parts[part].functions;
    for (uint32_t i = 0; i < m->parts[part].n_functions; i++) {
        if (!sf_str_eq(list[i].function, f->function))
            continue;
        list[i].ns += f->ns;
        list[i].library_ns += f->library_ns;
        return true;
    }
    if (m->parts[part].n_functions == SF_MEAN_FUNCTIONS)
        return true;
    struct sf_explain_function one = *f;
    one.low_ns = one.high_ns = NAN;
    if (!sf_arena_copy(m->req, f->function, &one.function) ||
        !sf_arena_copy(m->req, f->caller, &one.caller) ||
        !sf_arena_copy(m->req, f->library, &one.library) ||
        !sf_arena_copy(m->req, f->path, &one.path) || !sf_arena_copy(m->req, f->file, &one.file))
        return false;
    list[m->parts[part].n_functions++] = one;
    return true;
}

static uint32_t explain_mean_part_of(const struct sf_explain_part *p)
{
    for (uint32_t i = 0; i < SF_PARTS; i++)
        if (strcmp(p->ledger, sf_ledger_part_name((enum sf_ledger_part)i)) == 0)
            return i;
    return SF_PART_UNKNOWN;
}

bool sf_explain_mean_add(struct sf_explain_mean *m, const struct sf_explain_part *parts,
                         uint32_t n_parts)
{
    for (uint32_t i = 0; i < n_parts; i++) {
        uint32_t part = explain_mean_part_of(&parts[i]);
        if (!m->parts[part].functions)
            m->parts[part].functions = sf_arena_new_n(m->req, SF_MEAN_FUNCTIONS,
                                                      sizeof(*m->parts[part].functions));
        if (!m->parts[part].functions)
            return false;
        m->parts[part].ns += (double)parts[i].ns;
        m->parts[part].squares += (double)parts[i].ns * (double)parts[i].ns;
        sf_runnable_sum_add(&m->parts[part].runnable, parts[i].runnable, (double)parts[i].ns);
        m->parts[part].is_estimate = m->parts[part].is_estimate || parts[i].is_estimate;
        if (parts[i].n_more_functions > m->parts[part].n_more)
            m->parts[part].n_more = parts[i].n_more_functions;
        for (uint32_t k = 0; k < parts[i].n_functions; k++)
            if (!explain_mean_add_function(m, part, &parts[i].functions[k]))
                return false;
    }
    m->n++;
    return true;
}

static int explain_mean_by_ns(const void *a, const void *b)
{
    const struct sf_explain_function *x = a, *y = b;
    return x->ns > y->ns ? -1 : x->ns < y->ns ? 1 : sf_str_cmp(x->function, y->function);
}

bool sf_explain_mean_give(const struct sf_explain_mean *m, double n, uint32_t most,
                          struct sf_explain_part **out, uint32_t *out_n, int64_t *out_ns)
{
    struct sf_explain_part *list = sf_arena_new_n(m->req, SF_PARTS, sizeof(*list));
    uint32_t n_list = 0;
    double sum = 0;
    if (!list)
        return false;
    for (uint32_t part = 0; part < SF_PARTS; part++) {
        double mean = m->parts[part].ns / n;
        sum += mean;
        if (mean < 0.5)
            continue;
        struct sf_explain_part *to = &list[n_list++];
        *to = sf_explain_part_named((enum sf_ledger_part)part);
        to->ns = llround(mean);
        to->is_estimate = m->parts[part].is_estimate;
        to->runnable = sf_runnable_sum_mean(&m->parts[part].runnable, m->parts[part].ns);
        double error = sf_trust_mean(m->parts[part].ns, m->parts[part].squares, n);
        to->low_ns = fmax(0, mean - error);
        to->high_ns = mean + error;
        if (!isfinite(error))
            to->low_ns = to->high_ns = NAN;
        qsort(m->parts[part].functions, m->parts[part].n_functions,
              sizeof(*m->parts[part].functions), explain_mean_by_ns);
        for (uint32_t i = 0; i < m->parts[part].n_functions; i++)
            m->parts[part].functions[i].ns /= n;
        to->functions = m->parts[part].functions;
        to->n_functions = m->parts[part].n_functions < most ? m->parts[part].n_functions : most;
        to->n_more_functions = m->parts[part].n_functions - to->n_functions + m->parts[part].n_more;
    }
    *out_ns = llround(sum);
    sf_explain_parts_fit(list, n_list, *out_ns);
    *out = list;
    *out_n = n_list;
    return true;
}
