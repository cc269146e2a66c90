/* replay.h - the fuzz targets of one program, for replay_main.c. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct replay_target {
    const char *noun;
    int (*run)(const uint8_t *data, size_t size);
    uint16_t section, without; /* of a target that is one source for many sections of a block */
};

extern const struct replay_target replay_targets[]; /* ends with a noun that is NULL */

/* Of the target that runs: what SECTION and WITHOUT are in its source. */
extern uint16_t replay_section, replay_without;
