/* process.h - what a server costs, seen from outside: CPU time, peak memory, bytes on disk. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool process_cpu_ns(uint64_t pid, uint64_t *out);
/* CPU time of the threads whose name starts with one of `prefixes` (NULL at the end). */
uint64_t process_threads_cpu_ns(uint64_t pid, const char *const *prefixes);
bool process_peak_memory(uint64_t pid, uint64_t *out); /* bytes */
uint64_t process_disk_len(const char *folder,
                          bool has_log); /* of all files below; without wal/ unless asked */
