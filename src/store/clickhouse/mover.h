/* mover.h - moves the data that a directory had before its server became a node to ClickHouse.
 *
 * What was in blocks when the node began to ship is not in the log any more. begin() lists these
 * blocks (store/local/history.h), and a second shipper sends them, piece by piece, with a node
 * number and a state ("move.state") of its own: so the rules for batches, tokens, rows of unknown
 * outcome, `batches` and store verify are those of the log. A move that was begun continues at the
 * next start. Until all pieces are confirmed, readers of this node use its own disk; then the list
 * is deleted and they use ClickHouse. Thread-safe. */
#pragma once
#include "model/answer/remote_state.h"
#include "store/clickhouse/shipper.h"

struct sf_mover;

struct sf_mover_config {
    struct sf_shipper_config ship; /* of the log: addresses, times and notices are the same */
    struct sf_store *store;
    uint64_t history_lsn; /* the last record that was in blocks; 0: unknown */
    bool is_history_known;
};

/* Continues a move that was begun. */
enum sf_err sf_mover_open(const struct sf_mover_config *config, struct sf_mover **out,
                          struct sf_why *why);
void sf_mover_close(struct sf_mover *m); /* NULL is fine; before the store is closed */

/* Begins, unless it was begun before. INPUT: `to` is not where the node ships to; BUSY,
 * UNSUPPORTED: see sf_history_collect. */
enum sf_err sf_mover_begin(struct sf_mover *m, sf_str to, struct sf_why *why);
/* Has a move been begun? Then batches of `node` are in ClickHouse. */
bool sf_mover_has_begun(const struct sf_mover *m);
/* Is everything that the move is about in ClickHouse? */
bool sf_mover_is_done(const struct sf_mover *m);
const uint8_t *sf_mover_node(const struct sf_mover *m); /* 16 bytes */
/* Of a move that is done: its pieces. Otherwise 0. */
uint64_t sf_mover_done_pieces(const struct sf_mover *m);
struct sf_ship_extent sf_mover_extent(struct sf_mover *m);
void sf_mover_counts(struct sf_mover *m, struct sf_move_counts *out);

/* The node number under which a data directory moves its older blocks. */
void sf_mover_node_of(const uint8_t uuid[16], uint8_t out[16]);
/* Of the state that is stored; 0: no move is known to be done. */
bool sf_mover_was_done(struct sf_dir *dir);
