/* file_hash.h - the hash by which OpenTelemetry's eBPF profiler identifies files without a build
 * id: the attribute process.executable.build_id.htlhash. */
#pragma once
#include <stdbool.h>

#include "base/str.h"

enum { SF_FILE_HASH_LEN = 16 };

/* The first bytes of SHA-256(first 4096 bytes, last 4096 bytes, length as u64 big-endian); for a
 * shorter file, both are the whole file. False: it cannot be read, or no memory. */
bool sf_file_hash(sf_bytes image, uint8_t out[SF_FILE_HASH_LEN]);
