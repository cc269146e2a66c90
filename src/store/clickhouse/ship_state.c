#include "store/clickhouse/ship_state.h"

#include <inttypes.h>

#include "base/checked_lines.h"
#include "base/text.h"

enum { MAX_LEN = 1024 };

static bool ship_state_number(sf_str *rest, sf_str word, uint64_t *out)
{
    sf_str line;
    return sf_str_split_next(rest, '\n', &line) && sf_str_starts(line, word) &&
           sf_str_to_u64(sf_str_from_at(line, word.len), out);
}

static bool node(sf_str *rest, uint8_t out[16])
{
    sf_str line;
    return sf_str_split_next(rest, '\n', &line) && sf_str_starts(line, SF_STR("node ")) &&
           sf_hex_decode(sf_str_from_at(line, 5), out, 16);
}

static const char head[] = "spanflame-ship 3 ", head_2[] = "spanflame-ship 2 ";

/* Skips the first line and checks the checksum; version 1 has none. */
static bool ship_state_read_head(const char *name, sf_str *text, bool *out_is_old)
{
    const sf_str old = SF_STR("spanflame ship 1\n");
    *out_is_old = true;
    if (sf_str_starts(*text, old)) {
        *text = sf_str_from_at(*text, old.len);
        return true;
    }
    *out_is_old = sf_str_starts(*text, sf_str_from(head_2));
    return !sf_checked_lines_read(*out_is_old ? head_2 : head, name, *text, text, NULL);
}

enum sf_err sf_ship_state_parse(sf_str text, const char *name, struct sf_ship_state *out,
                                struct sf_why *why)
{
    struct sf_ship_state st = {0};
    uint64_t n_shards, received = 0;
    bool is_old;
    if (!ship_state_read_head(name, &text, &is_old) || !node(&text, st.node) ||
        !ship_state_number(&text, SF_STR("shipped "), &st.shipped_lsn) ||
        !ship_state_number(&text, SF_STR("batch "), &st.batch_lsn) ||
        !ship_state_number(&text, SF_STR("shards "), &n_shards) || n_shards > UINT32_MAX ||
        !ship_state_number(&text, SF_STR("lost "), &st.n_lost) ||
        (!is_old && (!ship_state_number(&text, SF_STR("first "), &st.first_record) ||
                     !ship_state_number(&text, SF_STR("received "), &received))) ||
        received > INT64_MAX || text.len || (st.batch_lsn && st.batch_lsn <= st.shipped_lsn))
        return sf_fail(why, SF_ERR_CORRUPT,
                       "%s is damaged: how far this node has shipped its data is not known; delete "
                       "the file to begin with what is not in blocks yet",
                       name);
    st.n_shards = (uint32_t)n_shards;
    st.received_ns = (int64_t)received;
    *out = st;
    return SF_OK;
}

enum sf_err sf_ship_state_read(struct sf_dir *dir, const char *name, struct sf_ship_state *out,
                               struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    char text[MAX_LEN];
    size_t len = 0;
    enum sf_err err = sf_dir_open_read(dir, name, &file, why);
    if (!err)
        err = sf_file_read_some(&file, 0, text, sizeof(text), &len, why);
    sf_file_close(&file);
    return err ? err : sf_ship_state_parse((sf_str){text, len}, name, out, why);
}

enum sf_err sf_ship_state_write(struct sf_dir *dir, const char *name,
                                const struct sf_ship_state *st, struct sf_why *why)
{
    struct sf_buf body = {0}, text = {0};
    char hex[33] = "";
    enum sf_err err;
    sf_hex_encode(st->node, 16, hex);
    sf_buf_print(&body,
                 "node %s\nshipped %" PRIu64 "\nbatch %" PRIu64 "\nshards %" PRIu32
                 "\nlost %" PRIu64 "\nfirst %" PRIu64 "\nreceived %" PRId64 "\n",
                 hex, st->shipped_lsn, st->batch_lsn, st->n_shards, st->n_lost, st->first_record,
                 st->received_ns);
    sf_checked_lines_write(head, &body, &text);
    err = sf_buf_ok(&text) ? sf_dir_replace(dir, name, sf_buf_bytes(&text), why)
                           : sf_no_memory(why, name);
    sf_buf_done(&text);
    return err;
}
