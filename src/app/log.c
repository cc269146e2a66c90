#include "app/log.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/terminal.h"

enum { N_REPEATS = 32 };
#define REPEAT_NS (30 * SF_NS_PER_S)

struct repeat { /* an error logged a short while ago */
    uint64_t hash;
    int64_t since_ns; /* monotonic; 0: free */
    uint64_t n;       /* number of repetitions */
    enum sf_say_level level;
    char text[240];
};

struct sf_log {
    int fd;
    bool is_human, has_color;
    enum sf_say_level level;
    struct sf_mutex mutex; /* guards repeats; no other lock is taken while it is held */
    struct repeat repeats[N_REPEATS];
};

struct sf_log *sf_log_new(int fd, bool is_human, bool has_color, enum sf_say_level level)
{
    struct sf_log *l = sf_heap_new(sizeof(*l));
    if (!l)
        return NULL;
    l->fd = fd;
    l->is_human = is_human;
    l->has_color = has_color;
    l->level = level;
    sf_mutex_init(&l->mutex, SF_LOCK_APP_LOG);
    return l;
}

static const char *level_word(enum sf_say_level level)
{
    static const char *const words[] = {"error", "warn", "info", "debug"};
    return words[level];
}

static const char *level_color(enum sf_say_level level)
{
    static const char *const colors[] = {"\033[31m", "\033[33m", "", "\033[2m"};
    return colors[level];
}

static void log_add_quoted(struct sf_buf *out, const char *text)
{
    sf_buf_add_u8(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            sf_buf_add_u8(out, '\\');
        sf_buf_add_u8(out, iscntrl((unsigned char)*text) ? '?' : (uint8_t)*text);
    }
    sf_buf_add_u8(out, '"');
}

void sf_log_render(bool is_human, bool has_color, int64_t wall_ns, enum sf_say_level level,
                   const char *sentence, struct sf_buf *out)
{
    time_t s = (time_t)(wall_ns / SF_NS_PER_S);
    int ms = (int)(wall_ns / SF_NS_PER_MS % 1000);
    char time_text[40];
    struct tm tm;
    if (is_human) {
        localtime_r(&s, &tm);
        strftime(time_text, sizeof(time_text), "%H:%M:%S", &tm);
        sf_buf_print(out, "%s ", time_text);
        if (level < SF_SAY_INFO)
            sf_buf_print(out, "%s%s:%s ", has_color ? level_color(level) : "", level_word(level),
                         has_color ? "\033[0m" : "");
        for (; *sentence; sentence++)
            sf_buf_add_u8(out, iscntrl((unsigned char)*sentence) ? '?' : (uint8_t)*sentence);
        sf_buf_add_u8(out, '\n');
        return;
    }
    gmtime_r(&s, &tm);
    strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%S", &tm);
    sf_buf_print(out, "ts=%s.%03dZ level=%s msg=", time_text, ms, level_word(level));
    log_add_quoted(out, sentence);
    sf_buf_add_u8(out, '\n');
}

static void log_write_line(struct sf_log *l, enum sf_say_level level, const char *sentence)
{
    struct sf_buf out = {0};
    sf_log_render(l->is_human, l->has_color, sf_clock_wall_ns(), level, sentence, &out);
    if (sf_buf_ok(&out))
        (void)sf_terminal_write(l->fd, sf_buf_str(&out)); /* ignored: a failure of the log cannot be
                                                           * logged */
    sf_buf_done(&out);
}

/* Messages that differ only in digits count as one: ports, offsets and counts change, the cause
 * does not. */
static uint64_t fault_hash(const char *sentence)
{
    char text[240];
    size_t n = 0;
    for (const char *p = sentence; *p && n < sizeof(text); p++) {
        if (isdigit((unsigned char)*p) && n > 0 && text[n - 1] == '0')
            continue;
        text[n++] = isdigit((unsigned char)*p) ? '0' : *p;
    }
    return sf_hash(text, n);
}

/* True: a recent repetition, which is counted only. `gone` is the count of an evicted entry, to be
 * logged. */
static bool count_repeat(struct sf_log *l, enum sf_say_level level, const char *sentence,
                         struct repeat *gone)
{
    uint64_t hash = fault_hash(sentence);
    int64_t now_ns = sf_clock_mono_ns();
    bool is_repeat = false;
    struct repeat *oldest = &l->repeats[0], *found = NULL;
    sf_mutex_lock(&l->mutex);
    for (size_t i = 0; i < N_REPEATS; i++) {
        struct repeat *r = &l->repeats[i];
        if (r->since_ns && r->hash == hash && r->level == level)
            found = r;
        if (r->since_ns < oldest->since_ns)
            oldest = r;
    }
    if (found) {
        found->n++;
        is_repeat = true;
    } else {
        *gone = *oldest;
        *oldest = (struct repeat){.hash = hash, .since_ns = now_ns, .level = level};
        snprintf(oldest->text, sizeof(oldest->text), "%s", sentence);
    }
    sf_mutex_unlock(&l->mutex);
    return is_repeat;
}

static void say_count(struct sf_log *l, const struct repeat *r)
{
    char text[320];
    if (!r->n)
        return;
    snprintf(text, sizeof(text), "%s (%llu more like this)", r->text, (unsigned long long)r->n);
    log_write_line(l, r->level, text);
}

void sf_log_say(struct sf_log *l, enum sf_say_level level, const char *sentence)
{
    struct repeat gone = {0};
    if (!l || level > l->level)
        return;
    if (level <= SF_SAY_WARN && count_repeat(l, level, sentence, &gone))
        return;
    say_count(l, &gone);
    log_write_line(l, level, sentence);
}

void sf_log_print(struct sf_log *l, enum sf_say_level level, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    sf_log_say(l, level, text);
}

void sf_log_tick(struct sf_log *l, int64_t mono_ns)
{
    for (size_t i = 0; i < N_REPEATS; i++) {
        struct repeat over = {0};
        sf_mutex_lock(&l->mutex);
        struct repeat *r = &l->repeats[i];
        if (r->since_ns && mono_ns - r->since_ns > REPEAT_NS) {
            over = *r;
            /* Still repeating: count for another interval. Otherwise the next occurrence is logged
             * again. */
            r->since_ns = r->n ? mono_ns : 0;
            r->n = 0;
        }
        sf_mutex_unlock(&l->mutex);
        say_count(l, &over);
    }
}

void sf_log_free(struct sf_log *l)
{
    if (!l)
        return;
    sf_log_tick(l, INT64_MAX);
    sf_mutex_done(&l->mutex);
    sf_heap_free(l);
}

void sf_log_for_service(void *arg, enum sf_say_level level, const char *sentence)
{
    sf_log_say(arg, level, sentence);
}
