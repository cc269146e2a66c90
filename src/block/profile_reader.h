/* profile_reader.h - what the files that read blocks of profiles share. Private to this room. */
#pragma once
#include "block/profile_block_reader.h"
#include "block/section.h"
#include "os/file.h"

struct sf_profile_block_reader {
    struct sf_file file;
    struct sf_buf memory;
    uint64_t len;
    bool is_trusted;
    struct sf_span_block_info info;
    struct sf_arena tables;
    struct sf_section *sections; /* sorted by id and owner */
    uint32_t n_sections;
    struct sf_profile_service *services;
    uint32_t n_services;
    const uint64_t *dups, *sources;
    size_t n_dups, n_sources;
};

enum sf_err sf_profile_section(const struct sf_profile_block_reader *r, uint16_t id, uint32_t owner,
                               struct sf_arena *req, sf_bytes *out, struct sf_why *why);
enum sf_err sf_profile_damaged(const struct sf_profile_block_reader *r, uint16_t id,
                               struct sf_why *why);
enum sf_err sf_profile_no_room(struct sf_why *why);
