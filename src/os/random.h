/* random.h - unpredictable random bytes. */
#pragma once
#include <stddef.h>
#include <stdint.h>

void sf_random_fill(void *p, size_t len);
uint64_t sf_random_u64(void);
