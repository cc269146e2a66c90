/* thread.h - a thread of ours in somebody's process: every signal blocked, a small stack, a name,
 * nobody joins it. */
#pragma once
#include <stdbool.h>

/* False: the system gave none. Keeps errno. */
bool sf_guest_thread_start(const char *name, void (*run)(void *), void *arg);
