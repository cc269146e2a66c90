/* gperftools' CPU profile: machine words of 4 or 8 bytes, of either endianness,
 *
 *     0, 3, 0 (1: Java), period in microseconds, 0
 *     { count, depth, depth addresses }*
 *     0, 1, 0
 *
 * and after it /proc/self/maps as text, or Java's addresses with names. The leaf is the current
 * instruction; the others are return addresses. A second address that is the leaf's again (plus
 * one) comes from the signal frame and is left out, and so is libc's function that returns from a
 * signal: the second address of nearly all stacks. A caller that all stacks share is in the
 * program, and is kept. */
#include <inttypes.h>

#include "base/limits.h"
#include "base/num.h"
#include "decode/pprof/legacy.h"

enum {
    HEADER_WORDS = 5,
    FEW_STACKS = 32 /* one in so many may differ from the others; fewer stacks are no evidence */
};

struct words {
    const uint8_t *p;
    size_t n, at; /* words */
    unsigned size;
    bool is_big;
};

static uint64_t word_at(const struct words *w, size_t i)
{
    const uint8_t *p = w->p + i * w->size;
    if (w->size == 4)
        return w->is_big ? sf_load_u32be(p) : sf_load_u32le(p);
    return w->is_big ? sf_load_u64be(p) : sf_load_u64le(p);
}

static bool legacy_cpu_is_header(const struct words *w)
{
    return w->n >= HEADER_WORDS && word_at(w, 0) == 0 && word_at(w, 1) == 3 && word_at(w, 2) <= 1 &&
           word_at(w, 3) > 0 && word_at(w, 3) < 1u << 31 && word_at(w, 4) == 0;
}

static bool legacy_cpu_find_words(sf_str bytes, struct words *out)
{
    for (unsigned i = 0; i < 4; i++) {
        struct words w = {.p = sf_str_bytes(bytes).p, .size = i < 2 ? 8 : 4, .is_big = i % 2};
        w.n = bytes.len / w.size;
        if (legacy_cpu_is_header(&w)) {
            *out = w;
            return true;
        }
    }
    return false;
}

/* The end of the samples, after "0, 1, 0". False: they do not end. */
static bool find_end(const struct words *w, size_t *out)
{
    size_t at = HEADER_WORDS;
    while (w->n - at >= 2) {
        uint64_t count = word_at(w, at), depth = word_at(w, at + 1);
        if (depth > w->n - at - 2)
            return false;
        if (count == 0 && depth == 1 && word_at(w, at + 2) == 0) {
            *out = at + 3;
            return true;
        }
        if (depth == 0)
            return false;
        at += 2 + (size_t)depth;
    }
    return false;
}

static bool has_trampoline(sf_str file)
{
    size_t slash = file.len;
    sf_str name;
    while (slash && file.p[slash - 1] != '/')
        slash--;
    name = sf_str_from_at(file, slash);
    return sf_str_starts(name, SF_STR("libc-")) || sf_str_starts(name, SF_STR("libc.")) ||
           sf_str_starts(name, SF_STR("libpthread")) || sf_str_starts(name, SF_STR("ld-musl")) ||
           sf_str_starts(name, SF_STR("[vdso]"));
}

/* The second address of nearly all stacks, if it is code that returns from signals, or unknown; 0:
 * none. The majority value is found by a counter that is incremented for the candidate and
 * decremented for any other value. */
static uint64_t find_trampoline(const struct sf_legacy *l, const struct words *w, size_t end)
{
    uint64_t found = 0, lead = 0, n = 0, n_found = 0;
    sf_str file;
    for (size_t at = HEADER_WORDS; at + 3 < end; at += 2 + (size_t)word_at(w, at + 1), n++) {
        uint64_t second = word_at(w, at + 1) > 1 ? word_at(w, at + 3) : 0;
        if (lead == 0)
            found = second;
        lead = second == found ? lead + 1 : lead - 1;
    }
    for (size_t at = HEADER_WORDS; at + 3 < end; at += 2 + (size_t)word_at(w, at + 1))
        n_found += word_at(w, at + 1) > 1 && word_at(w, at + 3) == found;
    if (n < FEW_STACKS || n_found < n - n / FEW_STACKS)
        return 0;
    return !sf_legacy_file(l, found - 1, &file) || has_trampoline(file) ? found : 0;
}

static void legacy_cpu_add_sample(struct sf_legacy *l, const struct words *w, size_t at,
                                  int64_t period_ns, uint64_t trampoline, bool is_java)
{
    uint64_t count = word_at(w, at), depth = word_at(w, at + 1), leaf = word_at(w, at + 2);
    int64_t values[2];
    values[0] = count < INT64_MAX ? (int64_t)count : INT64_MAX;
    values[1] = sf_mul_sat_i64(values[0], period_ns);
    for (uint64_t i = 0; i < depth; i++) {
        uint64_t addr = word_at(w, at + 2 + (size_t)i);
        if (i == 1 && !is_java && (addr == leaf + 1 || (trampoline && addr == trampoline)))
            continue;
        if (sf_profile_build_is_cut(l->b, (size_t)i, (size_t)depth))
            continue;
        sf_legacy_push(l, addr, i > 0 && !is_java);
    }
    sf_legacy_add(l, values, 0, SF_STR_NONE);
}

static enum sf_err legacy_cpu_decode(struct sf_profile_build *b, sf_str bytes)
{
    static const char *const types[] = {"samples/count", "cpu/nanoseconds"};
    struct words w;
    struct sf_legacy l;
    size_t end;
    bool is_java;
    int64_t period_ns;
    uint64_t trampoline;
    if (!legacy_cpu_find_words(bytes, &w))
        return sf_fail(b->why, SF_ERR_INPUT, "legacy CPU profile: its header is not one");
    if (!find_end(&w, &end))
        return sf_fail(b->why, SF_ERR_INPUT,
                       "legacy CPU profile: cut short, its samples do not end, in %zu bytes",
                       bytes.len);
    is_java = word_at(&w, 2) == 1;
    period_ns = (int64_t)word_at(&w, 3) * 1000;
    sf_legacy_init(&l, b);
    sf_legacy_read_map(&l, sf_str_from_at(bytes, end * w.size));
    trampoline = is_java ? 0 : find_trampoline(&l, &w, end);
    sf_legacy_types(&l, types, 2,
                    &(struct sf_legacy_period){"cpu/nanoseconds", period_ns, 0, true});
    for (size_t at = HEADER_WORDS; at + 3 < end && sf_profile_build_ok(b);
         at += 2 + (size_t)word_at(&w, at + 1))
        legacy_cpu_add_sample(&l, &w, at, period_ns, trampoline, is_java);
    return SF_OK;
}

static bool legacy_cpu_is_cpu(sf_str bytes)
{
    struct words w;
    return legacy_cpu_find_words(bytes, &w);
}

const struct sf_profile_format sf_legacy_cpu_format = {
    .name = "pprof-legacy-cpu",
    .also = "",
    .is = legacy_cpu_is_cpu,
    .decode = legacy_cpu_decode,
};
