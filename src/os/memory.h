/* memory.h - how much memory the kernel says this process has. */
#pragma once
#include <stdint.h>

uint64_t sf_memory_resident_len(void); /* 0 when /proc does not say */
