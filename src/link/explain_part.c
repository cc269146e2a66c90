#include "link/explain_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "link/trust.h"

_Static_assert((int)SF_EXPLAIN_PARTS >= (int)SF_PARTS, "an explanation has room for all parts");

static const char *const names[SF_PARTS] = {"on_cpu", "gc",     "run_queue", "lock",
                                            "disk",   "net",    "io",        "sleep",
                                            "child",  "remote", "unknown"};
static const char *const words[SF_PARTS] = {"running",
                                            "in garbage collection",
                                            "waiting for a CPU",
                                            "waiting for a lock",
                                            "waiting for the disk",
                                            "waiting for the network",
                                            "waiting for disk or network",
                                            "sleeping",
                                            "in child spans",
                                            "waiting for other services",
                                            "unknown"};

struct sf_explain_part sf_explain_part_named(enum sf_ledger_part part)
{
    static const char *const sources[SF_PARTS] = {
        [SF_PART_CHILD] = "spans", [SF_PART_REMOTE] = "spans", [SF_PART_UNKNOWN] = "none"};
    return (struct sf_explain_part){.name = names[part],
                                    .words = words[part],
                                    .ledger = sf_ledger_part_name(part),
                                    .source = sources[part] ? sources[part] : "measured",
                                    .low_ns = NAN,
                                    .high_ns = NAN};
}

void sf_explain_part_bound(struct sf_explain_part *p, double sure_ns, double sampled_ns,
                           double worth, double whole_ns)
{
    p->low_ns = p->high_ns = (double)p->ns;
    if (sampled_ns <= 0 || worth <= 0)
        return;
    double each = sampled_ns / worth; /* the time that one sample represents */
    double most = fmax(worth, whole_ns / each);
    struct sf_interval in = sf_trust_share(worth, most);
    p->low_ns = fmax(0, fmin(sure_ns + in.low * most * each, (double)p->ns));
    p->high_ns = fmin(whole_ns, fmax(sure_ns + in.high * most * each, (double)p->ns));
}

struct sf_explain_function sf_explain_part_function_of(const struct sf_hot_piece *piece,
                                                       double part_ns, double worth)
{
    struct sf_explain_function f = {.function = piece->function,
                                    .caller = piece->caller,
                                    .path = piece->path,
                                    .file = piece->file,
                                    .line = piece->line,
                                    .ns = piece->value,
                                    .low_ns = piece->value,
                                    .high_ns = piece->value};
    if (piece->library_value * 2 > piece->value) {
        f.library = piece->library;
        f.library_ns = piece->library_value;
    }
    if (worth > 0 && part_ns > 0) {
        double share = fmin(1, piece->value / part_ns);
        struct sf_interval in = sf_trust_share(share * worth, worth);
        f.low_ns = in.low * part_ns;
        f.high_ns = in.high * part_ns;
    }
    return f;
}

static int explain_part_by_size(const void *a, const void *b)
{
    const struct sf_explain_part *x = a, *y = b;
    int64_t left = llabs(x->ns), right = llabs(y->ns);
    if (left != right)
        return left > right ? -1 : 1;
    return strcmp(x->name, y->name);
}

void sf_explain_parts_fit(struct sf_explain_part *parts, uint32_t n, int64_t whole_ns)
{
    int64_t sum = 0;
    if (n == 0)
        return;
    qsort(parts, n, sizeof(*parts), explain_part_by_size);
    for (uint32_t i = 0; i < n; i++)
        sum += parts[i].ns;
    parts[0].ns += whole_ns - sum; /* rounding */
}

void sf_explain_parts_bound_unknown(struct sf_explain_part *parts, uint32_t n, int64_t whole_ns)
{
    double low = (double)whole_ns, high = (double)whole_ns;
    struct sf_explain_part *unknown = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (parts[i].name == names[SF_PART_UNKNOWN]) {
            unknown = &parts[i];
            continue;
        }
        low -= parts[i].high_ns;
        high -= parts[i].low_ns;
    }
    if (unknown && isfinite(low) && isfinite(high)) {
        unknown->low_ns = fmax(0, fmin(low, (double)unknown->ns));
        unknown->high_ns = fmax(high, (double)unknown->ns);
    }
}
