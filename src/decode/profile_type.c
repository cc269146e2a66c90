#include "decode/profile_type.h"

#include "base/time_unit.h"
#include "wire/json.h"

sf_str sf_profile_type_unit_of(sf_str unit)
{
    static const struct {
        sf_str from, to;
    } units[] = {
        {SF_STR("ns"), SF_STR("nanoseconds")},  {SF_STR("nanosecond"), SF_STR("nanoseconds")},
        {SF_STR("us"), SF_STR("microseconds")}, {SF_STR("microsecond"), SF_STR("microseconds")},
        {SF_STR("ms"), SF_STR("milliseconds")}, {SF_STR("millisecond"), SF_STR("milliseconds")},
        {SF_STR("s"), SF_STR("seconds")},       {SF_STR("second"), SF_STR("seconds")},
        {SF_STR("byte"), SF_STR("bytes")},      {SF_STR("b"), SF_STR("bytes")},
        {SF_STR("counts"), SF_STR("count")},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (sf_str_ieq(units[i].from, unit))
            return units[i].to;
    }
    return unit;
}

bool sf_profile_type_of_sample(sf_str type, struct sf_arena *a, sf_str *out)
{
    char *p;
    *out = type;
    if (sf_str_eq(type, SF_STR("CPU")))
        *out = SF_STR("cpu");
    if (!sf_str_find_char(type, '-', &(size_t){0}))
        return true;
    p = sf_arena_raw(a, type.len, 1);
    if (!p)
        return false;
    for (size_t i = 0; i < type.len; i++)
        p[i] = type.p[i] == '-' ? '_' : type.p[i];
    *out = (sf_str){p, type.len};
    return true;
}

int64_t sf_profile_type_unit_ns(sf_str unit)
{
    if (sf_str_eq(unit, SF_STR("nanoseconds")))
        return 1;
    if (sf_str_eq(unit, SF_STR("microseconds")))
        return 1000;
    if (sf_str_eq(unit, SF_STR("milliseconds")))
        return SF_NS_PER_MS;
    return sf_str_eq(unit, SF_STR("seconds")) ? SF_NS_PER_S : 0;
}

static sf_str default_display(sf_str type)
{
    static const struct {
        sf_str type, display;
    } names[] = {
        {SF_STR("samples"), SF_STR("cpu")},
        {SF_STR("goroutine"), SF_STR("goroutines")},
        {SF_STR("contentions"), SF_STR("mutex_count")},
        {SF_STR("delay"), SF_STR("mutex_duration")},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (sf_str_eq(names[i].type, type))
            return names[i].display;
    }
    return type;
}

/* An unreadable configuration is ignored: it only chooses a name. */
static sf_str display_of(sf_str type, sf_str config)
{
    struct sf_json j;
    sf_str key, member, name = SF_STR_NONE;

    if (!sf_str_trim(config).len)
        return default_display(type);
    sf_json_init(&j, config, NULL);
    if (!sf_json_object(&j))
        return type;
    while (sf_json_key(&j, &key)) {
        if (!sf_str_eq(key, type) || sf_json_peek(&j) != SF_JSON_OBJECT) {
            sf_json_skip(&j);
            continue;
        }
        if (!sf_json_object(&j))
            break;
        while (sf_json_key(&j, &member)) {
            if (sf_str_eq(member, SF_STR("display-name")) && sf_json_peek(&j) == SF_JSON_STRING)
                name = sf_json_str(&j);
            else
                sf_json_skip(&j);
        }
    }
    return name.len ? name : type;
}

static bool contains(sf_str s, sf_str part)
{
    return sf_str_find(s, part, &(size_t){0});
}

sf_str sf_profile_type_name_of(const sf_str *types, uint32_t n, sf_str config)
{
    sf_str d = SF_STR_NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (sf_str_eq(types[i], SF_STR("wall")) || sf_str_eq(types[i], SF_STR("off_cpu")))
            return types[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        d = display_of(types[i], config);
        if (contains(d, SF_STR("cpu")))
            return SF_STR("process_cpu");
        if (contains(d, SF_STR("alloc_")) || contains(d, SF_STR("inuse_")) ||
            sf_str_eq(d, SF_STR("space")) || sf_str_eq(d, SF_STR("objects")))
            return SF_STR("memory");
        if (contains(d, SF_STR("mutex_")))
            return SF_STR("mutex");
        if (contains(d, SF_STR("block_")))
            return SF_STR("block");
        if (contains(d, SF_STR("goroutines")))
            return SF_STR("goroutines");
    }
    return d;
}

bool sf_profile_type_is_total(sf_str sample_type)
{
    return sf_str_eq(sample_type, SF_STR("alloc_objects")) ||
           sf_str_eq(sample_type, SF_STR("alloc_space")) ||
           sf_str_eq(sample_type, SF_STR("contentions")) || sf_str_eq(sample_type, SF_STR("delay"));
}

#define WORD(w, name, type, unit)                                              \
    {                                                                          \
        SF_STR(w),                                                             \
        {                                                                      \
            SF_STR(name), SF_STR(type), SF_STR(unit), SF_STR_NONE, SF_STR_NONE \
        }                                                                      \
    }

bool sf_profile_type_of_word(sf_str word, bool has_rate, struct sf_profile_type *out,
                             bool *out_is_time)
{
    static const struct {
        sf_str word;
        struct sf_profile_type type;
    } words[] = {
        WORD("cpu", "process_cpu", "cpu", ""),
        WORD("itimer", "process_cpu", "cpu", ""),
        WORD("wall", "wall", "wall", ""),
        WORD("seconds", "wall", "wall", ""),
        WORD("milliseconds", "wall", "wall", ""),
        WORD("microseconds", "wall", "wall", ""),
        WORD("nanoseconds", "wall", "wall", ""),
        WORD("inuse_objects", "memory", "inuse_objects", "count"),
        WORD("alloc_objects", "memory", "alloc_objects", "count"),
        WORD("inuse_space", "memory", "inuse_space", "bytes"),
        WORD("alloc_space", "memory", "alloc_space", "bytes"),
        WORD("alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count"),
        WORD("alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes"),
        WORD("alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count"),
        WORD("alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes"),
        WORD("live", "memory", "live", "count"),
        WORD("bytes", "memory", "samples", "bytes"),
        WORD("goroutines", "goroutine", "goroutines", "count"),
        WORD("mutex_count", "mutex", "contentions", "count"),
        WORD("mutex_duration", "mutex", "delay", "nanoseconds"),
        WORD("block_count", "block", "contentions", "count"),
        WORD("lock_count", "block", "contentions", "count"),
        WORD("block_duration", "block", "delay", "nanoseconds"),
        WORD("lock_duration", "block", "delay", "nanoseconds"),
        WORD("exceptions", "exceptions", "samples", "count"),
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (!sf_str_eq(words[i].word, word))
            continue;
        *out = words[i].type;
        *out_is_time = !out->sample_unit.len && has_rate;
        if (*out_is_time) {
            out->sample_unit = SF_STR("nanoseconds");
            out->period_type = SF_STR("cpu"); /* also for wall time, because clients query it so */
            out->period_unit = SF_STR("nanoseconds");
        } else if (!out->sample_unit.len) {
            out->sample_type = SF_STR("samples");
            out->sample_unit = SF_STR("count");
        }
        return true;
    }
    return false;
}
