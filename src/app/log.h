/* log.h - lines for the operator, on standard error: for people on a terminal, key=value
 * otherwise. A fault that repeats is one line and, a while later, one line with a count. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "serve/service.h"

struct sf_log;

struct sf_log *sf_log_new(int fd, bool is_human, bool has_color,
                          enum sf_say_level level); /* NULL: no memory */
void sf_log_free(struct sf_log *l);                 /* says what is still counted; NULL is fine */
void sf_log_say(struct sf_log *l, enum sf_say_level level, const char *sentence);
void sf_log_print(struct sf_log *l, enum sf_say_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Says the counts of faults that have been repeating; call it every second or so. */
void sf_log_tick(struct sf_log *l, int64_t mono_ns);

/* As struct sf_service wants it; `arg` is the log. */
void sf_log_for_service(void *arg, enum sf_say_level level, const char *sentence);
/* One line as it would be written, for tests. */
void sf_log_render(bool is_human, bool has_color, int64_t wall_ns, enum sf_say_level level,
                   const char *sentence, struct sf_buf *out);
