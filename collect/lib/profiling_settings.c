#include "collect/lib/profiling_settings.h"

#include <string.h>

#include "base/amount.h"
#include "base/num.h"
#include "base/str.h"
#include "base/time_unit.h"
#include "collect/lib/sample_ring.h"

#define HEAP (1u << SF_SAMPLES_ALLOC | 1u << SF_SAMPLES_INUSE)

static const struct word {
    const char *word;
    unsigned kinds;
    bool is_default;
    const char *enabled, *rate;
} words[] = {
    {"cpu", 1u << SF_SAMPLES_CPU, true, "SPANFLAME_PROFILING_CPU_ENABLED",
     "SPANFLAME_PROFILING_CPU_SAMPLE_RATE"},
    {"wall", 1u << SF_SAMPLES_WALL, false, "SPANFLAME_PROFILING_WALL_ENABLED",
     "SPANFLAME_PROFILING_WALL_SAMPLE_RATE"},
    {"heap", HEAP, true, "SPANFLAME_PROFILING_MEMORY_ENABLED",
     "SPANFLAME_PROFILING_MEMORY_SAMPLE_RATE"},
    {"mutex", 1u << SF_SAMPLES_MUTEX, false, "SPANFLAME_PROFILING_MUTEX_ENABLED", NULL},
    {"block", 1u << SF_SAMPLES_BLOCK, false, "SPANFLAME_PROFILING_BLOCK_ENABLED", NULL},
    {"threads", 1u << SF_SAMPLES_THREADS, false, "SPANFLAME_PROFILING_THREADS_ENABLED", NULL},
};
enum { N_WORDS = sizeof(words) / sizeof(words[0]) };

const char *const sf_profiling_settings_missing[] = {
    "profiling.conditional.slow_request_threshold",
    "profiling.conditional.cpu_threshold_percent",
    "profiling.conditional.profile_errors",
    "profiling.conditional.baseline",
    "profiling.adaptive.enabled",
    "profiling.adaptive.base_rate",
    "profiling.adaptive.max_rate",
    "profiling.adaptive.cpu_threshold",
    "profiling.adaptive.memory_threshold",
    "profiling.adaptive.interval",
    "profiling.load_shedding.enabled",
    "profiling.load_shedding.cpu_threshold",
    NULL,
};

bool sf_profile_words_parse(const char *list, unsigned *kinds)
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

/* A number and a unit: "512KB", "100Hz", "100". False: neither. */
static bool amount(sf_str text, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {
        {"B", 1},         {"KB", 1 << 10}, {"KiB", 1 << 10}, {"MB", 1 << 20},
        {"MiB", 1 << 20}, {"GB", 1 << 30}, {"GiB", 1 << 30}, {"Hz", 1},
    };
    size_t n = 0;
    uint64_t number, factor = 1;
    bool is_known;
    while (n < text.len && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    is_known = n == text.len;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && !is_known; i++) {
        if (sf_str_eq(sf_str_trim(sf_str_from_at(text, n)), sf_str_from(units[i].unit))) {
            factor = units[i].factor;
            is_known = true;
        }
    }
    return is_known && sf_str_to_u64(sf_str_part(text, 0, n), &number) &&
           !__builtin_mul_overflow(number, factor, out);
}

struct reader {
    sf_settings_get get;
    sf_settings_doubt doubt;
    void *arg;
};

static uint64_t read_amount(struct reader *r, const char *name, uint64_t otherwise, uint64_t least,
                            uint64_t most)
{
    const char *text = name ? r->get(name) : NULL;
    uint64_t v;
    if (!text || !*text)
        return otherwise;
    if (amount(sf_str_trim(sf_str_from(text)), &v) && v >= least && v <= most)
        return v;
    r->doubt(r->arg, name, text);
    return otherwise;
}

/* Without a unit: seconds. */
static int64_t read_duration(struct reader *r, const char *name, int64_t otherwise, int64_t least,
                             int64_t most)
{
    const char *text = r->get(name);
    sf_str trimmed = sf_str_trim(sf_str_from(text ? text : ""));
    uint64_t seconds;
    int64_t ns = -1;
    if (!trimmed.len)
        return otherwise;
    if (sf_str_to_u64(trimmed, &seconds))
        ns = seconds <= INT64_MAX / SF_NS_PER_S ? (int64_t)(seconds * SF_NS_PER_S) : -1;
    else if (sf_duration_parse(trimmed, SF_DURATION_BLANKS, &ns, NULL))
        ns = -1;
    if (ns >= least && ns <= most)
        return ns;
    r->doubt(r->arg, name, text);
    return otherwise;
}

static bool read_bool(struct reader *r, const char *name, bool otherwise, bool *is_said)
{
    const char *text = r->get(name);
    sf_str v = sf_str_trim(sf_str_from(text));
    if (!v.len)
        return otherwise;
    *is_said = true;
    if (sf_str_ieq(v, SF_STR("true")) || sf_str_eq(v, SF_STR("1")))
        return true;
    if (sf_str_ieq(v, SF_STR("false")) || sf_str_eq(v, SF_STR("0")))
        return false;
    r->doubt(r->arg, name, text);
    return otherwise;
}

void sf_profiling_settings_read(struct sf_profiling_settings *s, sf_settings_get get,
                                sf_settings_doubt doubt, void *arg)
{
    struct reader r = {get, doubt, arg};
    const char *list = get("SPANFLAME_PROFILES");
    bool is_said = false;
    unsigned kinds = 0;

    *s = (struct sf_profiling_settings){0};
    for (int i = 0; i < N_WORDS; i++) {
        if (read_bool(&r, words[i].enabled, words[i].is_default, &is_said))
            kinds |= words[i].kinds;
    }
    if (list && *list) {
        is_said = true;
        if (!sf_profile_words_parse(list, &kinds))
            doubt(arg, "SPANFLAME_PROFILES", list);
    }
    s->kinds = kinds;
    s->is_default = !is_said;
    s->periods[SF_SAMPLES_CPU] = SF_NS_PER_S / read_amount(&r, words[0].rate, 100, 1, 1000);
    s->periods[SF_SAMPLES_WALL] = SF_NS_PER_S / read_amount(&r, words[1].rate, 20, 1, 1000);
    s->periods[SF_SAMPLES_ALLOC] = read_amount(&r, words[2].rate, 512 << 10, 1, 1 << 30);
    s->periods[SF_SAMPLES_INUSE] = s->periods[SF_SAMPLES_ALLOC];
    s->periods[SF_SAMPLES_MUTEX] = 1;
    s->window_ns = read_duration(&r, "SPANFLAME_PROFILING_UPLOAD_INTERVAL", 10 * SF_NS_PER_S,
                                 SF_NS_PER_S / 10, SF_NS_PER_HOUR);
    s->max_len = read_amount(&r, "SPANFLAME_PROFILING_MAX_PROFILE_SIZE", 10 << 20, 64 << 10,
                             64 << 20);
    s->max_depth = (uint16_t)read_amount(&r, "SPANFLAME_PROFILING_MAX_STACK_DEPTH",
                                         SF_SAMPLE_FRAMES, 1, 1024);
    if (s->max_depth > SF_SAMPLE_FRAMES)
        s->max_depth = SF_SAMPLE_FRAMES;
}
