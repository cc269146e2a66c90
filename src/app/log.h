/* log.h - the log on standard error: readable text on a terminal, key=value otherwise. A repeating
 * message is logged once and later once more with a count. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "serve/service.h"

struct sf_log;

struct sf_log *sf_log_new(int fd, bool is_human, bool has_color,
                          enum sf_say_level level); /* NULL: no memory */
void sf_log_free(struct sf_log *l);                 /* logs the pending counts; NULL is fine */
void sf_log_say(struct sf_log *l, enum sf_say_level level, const char *sentence);
void sf_log_print(struct sf_log *l, enum sf_say_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Logs the counts of repeating messages; to be called about every second. */
void sf_log_tick(struct sf_log *l, int64_t mono_ns);

/* The callback for struct sf_service; `arg` is the log. */
void sf_log_for_service(void *arg, enum sf_say_level level, const char *sentence);
/* One line as it would be written, for tests. */
void sf_log_render(bool is_human, bool has_color, int64_t wall_ns, enum sf_say_level level,
                   const char *sentence, struct sf_buf *out);
