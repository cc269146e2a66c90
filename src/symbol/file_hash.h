/* file_hash.h - what OpenTelemetry's eBPF profiler calls a file that has no build id: the attribute
 * process.executable.build_id.htlhash. */
#pragma once
#include <stdbool.h>

#include "base/str.h"

enum { SF_FILE_HASH_LEN = 16 };

/* The first bytes of SHA-256(first 4096 bytes, last 4096 bytes, length as u64 big-endian); a
 * shorter file counts whole as both. False: it cannot be read, or no memory. */
bool sf_file_hash(sf_bytes image, uint8_t out[SF_FILE_HASH_LEN]);
