#include "collect/lib/profiling_settings.h"

#include <ctype.h>
#include <stdio.h>

#include "base/time_unit.h"

#define HEAP (1u << SF_SAMPLES_ALLOC | 1u << SF_SAMPLES_INUSE)

static const struct word {
    const char *word;
    unsigned kinds;
    size_t enabled; /* offset of its member in the block */
} words[] = {
    {"cpu", 1u << SF_SAMPLES_CPU, offsetof(struct sf_profiling, has_cpu)},
    {"wall", 1u << SF_SAMPLES_WALL, offsetof(struct sf_profiling, has_wall)},
    {"heap", HEAP, offsetof(struct sf_profiling, has_memory)},
    {"mutex", 1u << SF_SAMPLES_MUTEX, offsetof(struct sf_profiling, has_mutex)},
    {"block", 1u << SF_SAMPLES_BLOCK, offsetof(struct sf_profiling, has_block)},
    {"threads", 1u << SF_SAMPLES_THREADS, offsetof(struct sf_profiling, has_threads)},
};
enum { N_WORDS = sizeof(words) / sizeof(words[0]) };

bool sf_profiling_settings_words_parse(const char *list, unsigned *kinds)
{
    sf_str rest = sf_str_from(list), one;
    unsigned found = 0;
    while (sf_str_split_next(&rest, ',', &one)) {
        bool is_known = false;
        one = sf_str_trim(one);
        for (int i = 0; i < N_WORDS; i++) {
            if (sf_str_eq(one, sf_str_from(words[i].word)) || sf_str_eq(one, SF_STR("all"))) {
                found |= words[i].kinds;
                is_known = true;
            }
        }
        if (!is_known && one.len && !sf_str_eq(one, SF_STR("none")))
            return false;
    }
    *kinds = found;
    return true;
}

struct reader {
    sf_settings_get get;
    sf_settings_warn warn;
    void *arg;
};

void sf_profiling_settings_variable(const char *key, char out[SF_PROFILING_VARIABLE_CAP])
{
    int len = snprintf(out, SF_PROFILING_VARIABLE_CAP, "SPANFLAME_%s", key);
    for (int i = 0; i < len && i < SF_PROFILING_VARIABLE_CAP; i++)
        out[i] = out[i] == '.' ? '_' : (char)toupper((unsigned char)out[i]);
}

/* Reads all keys of the block from their variables. True: one of them selects profilers. */
static bool profiling_settings_read_block(struct reader *r, struct sf_profiling *block)
{
    bool is_said = false;
    sf_profiling_keys_init(block);
    for (size_t i = 0; i < sf_profiling_n_keys; i++) {
        const struct sf_profiling_key *key = &sf_profiling_keys[i];
        char name[SF_PROFILING_VARIABLE_CAP];
        const char *text;
        sf_profiling_settings_variable(key->path, name);
        text = r->get(name);
        if (!text || !sf_str_trim(sf_str_from(text)).len)
            continue;
        for (int w = 0; w < N_WORDS; w++)
            is_said |= key->offset == words[w].enabled;
        if (sf_profiling_keys_set(block, key, sf_str_from(text), NULL))
            r->warn(r->arg, name, text);
    }
    return is_said;
}

void sf_profiling_settings_read(struct sf_profiling_settings *s, sf_settings_get get,
                                sf_settings_warn warn, void *arg)
{
    struct reader r = {get, warn, arg};
    const char *list = get("SPANFLAME_PROFILES");

    *s = (struct sf_profiling_settings){0};
    s->is_default = !profiling_settings_read_block(&r, &s->block);
    for (int i = 0; i < N_WORDS; i++) {
        if (*(const bool *)((const uint8_t *)&s->block + words[i].enabled))
            s->kinds |= words[i].kinds;
    }
    if (list && *list) {
        s->is_default = false;
        if (!sf_profiling_settings_words_parse(list, &s->kinds))
            warn(arg, "SPANFLAME_PROFILES", list);
    }
    if (s->block.is_adaptive && s->block.adaptive_base_rate)
        s->block.cpu_rate = s->block.adaptive_base_rate;
    if (s->block.is_adaptive && s->block.cpu_rate > s->block.adaptive_max_rate)
        s->block.cpu_rate = s->block.adaptive_max_rate;
    s->periods[SF_SAMPLES_CPU] = (uint64_t)SF_NS_PER_S / s->block.cpu_rate;
    s->periods[SF_SAMPLES_WALL] = (uint64_t)SF_NS_PER_S / s->block.wall_rate;
    s->periods[SF_SAMPLES_ALLOC] = s->block.memory_rate;
    s->periods[SF_SAMPLES_INUSE] = s->block.memory_rate;
    s->periods[SF_SAMPLES_MUTEX] = 1;
}
