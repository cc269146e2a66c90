/* ship_state.h - how far the log was shipped: "ship.state" in the data directory. How many of the
 * older blocks were moved is in "move.state", where records are the pieces of local/history.h.
 *
 *     spanflame-ship 3 0123456789abcdef          a checksum of what follows
 *     node 0123456789abcdef0123456789abcdef      the store's uuid
 *     shipped 1200                               records up to here are in ClickHouse
 *     batch 1350                                 the next batch ends here; 0: none is begun
 *     shards 2                                   number of shards that batch is sent to
 *     lost 0                                     records that were not in the log any more
 *     first 1                                    the first record that was ever shipped; 0: unknown
 *     received 1790000000000000000               receipt of the last shipped batch; 0: unknown
 *
 * A batch is recorded before its first byte is sent, so that a restart sends the same records under
 * the same number. The file is replaced atomically and durably. Earlier versions can still be read:
 * version 2 had no `first` and `received`, version 1 had the first line "spanflame ship 1" and no
 * checksum either. */
#pragma once
#include "os/dir.h"

#define SF_SHIP_STATE_NAME "ship.state"
#define SF_SHIP_STATE_MOVE "move.state"

struct sf_ship_state {
    uint8_t node[16];
    uint64_t shipped_lsn, batch_lsn;
    uint32_t n_shards;
    uint64_t n_lost;
    uint64_t first_record;
    int64_t received_ns;
};

/* NOT_FOUND: nothing was shipped from this directory yet. CORRUPT. */
enum sf_err sf_ship_state_read(struct sf_dir *dir, const char *name, struct sf_ship_state *out,
                               struct sf_why *why);
enum sf_err sf_ship_state_parse(sf_str text, const char *name, struct sf_ship_state *out,
                                struct sf_why *why);
enum sf_err sf_ship_state_write(struct sf_dir *dir, const char *name,
                                const struct sf_ship_state *st, struct sf_why *why);
