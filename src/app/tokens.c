#include "app/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/text.h"
#include "os/file.h"
#include "os/random.h"
#include "os/thread.h"
#include "serve/service.h"

enum { FILE_MAX_LEN = 1 << 20, MAX_TOKENS = 10000, TOKEN_MAX_LEN = 4096, SECRET_LEN = 32 };

struct entry {
    uint8_t hash[SHA256_DIGEST_LENGTH];
    unsigned scopes;
};

struct table {
    struct entry *entries;
    size_t n, cap;
    bool is_shared;
};

struct sf_tokens {
    char *path;
    struct sf_mutex mutex; /* guards table; takes nothing */
    struct table table;
};

static const struct {
    const char *name;
    unsigned bit;
} scope_names[] = {{"read", SF_MAY_READ}, {"write", SF_MAY_WRITE}, {"admin", SF_MAY_ADMIN}};
enum { N_SCOPES = sizeof(scope_names) / sizeof(scope_names[0]) };

/* ---- lines ---- */

bool sf_tokens_parse_scopes(sf_str text, unsigned *out)
{
    unsigned scopes = 0;
    sf_str word;
    while (sf_str_split_next(&text, ',', &word)) {
        unsigned bit = 0;
        word = sf_str_trim(word);
        for (size_t i = 0; i < N_SCOPES; i++) {
            if (sf_str_ieq(word, sf_str_from(scope_names[i].name)))
                bit = scope_names[i].bit;
        }
        if (!bit)
            return false;
        scopes |= bit;
    }
    *out = scopes;
    return scopes != 0;
}

bool sf_tokens_is_name(sf_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '-' || c == '_'))
            return false;
    }
    return name.len > 0 && name.len <= 64;
}

static enum sf_err parse_line(sf_str line, struct entry *out, struct sf_why *why)
{
    sf_str name, scopes, rest = line;

    if (!sf_str_split_next(&rest, ':', &name) || !sf_str_split_next(&rest, ':', &scopes) ||
        rest.len == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "a line is name:scopes:hash; spanflame token new makes such lines");
    if (!sf_tokens_is_name(name))
        return sf_fail(why, SF_ERR_INPUT, "a name is 1 to 64 letters, digits, dots or dashes");
    if (!sf_tokens_parse_scopes(scopes, &out->scopes))
        return sf_fail(why, SF_ERR_INPUT,
                       "\"%.*s\" are no scopes: write read, write or admin, with "
                       "commas between them",
                       SF_STR_ARG(sf_str_part(scopes, 0, 40)));
    if (!sf_hex_decode(sf_str_trim(rest), out->hash, sizeof(out->hash)))
        return sf_fail(why, SF_ERR_INPUT,
                       "the hash of %.*s is not the 64 digits of a SHA-256; "
                       "spanflame token new makes such lines",
                       SF_STR_ARG(name));
    return SF_OK;
}

static enum sf_err add_entry(struct table *t, struct entry entry, struct sf_why *why)
{
    if (t->n == MAX_TOKENS)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d tokens", MAX_TOKENS);
    if (!sf_list_room(&t->entries, t->n, &t->cap, 16))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for tokens");
    t->entries[t->n++] = entry;
    return SF_OK;
}

static enum sf_err parse_file(sf_str text, struct table *out, struct sf_why *why)
{
    sf_str line;
    for (unsigned number = 1; sf_str_split_next(&text, '\n', &line); number++) {
        struct entry entry;
        enum sf_err err;
        line = sf_str_trim(line);
        if (line.len == 0 || line.p[0] == '#')
            continue;
        err = parse_line(line, &entry, why);
        if (!err)
            err = add_entry(out, entry, why);
        if (err) {
            if (why)
                sf_why_prefix(why, "%u", number);
            return err;
        }
    }
    return SF_OK;
}

static enum sf_err read_table(const char *path, struct table *out, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {0};
    enum sf_err err = sf_file_open_path(path, &file, why);

    if (err)
        return err;
    out->is_shared = sf_file_is_shared(&file);
    err = sf_file_read_all(&file, FILE_MAX_LEN, &text, why);
    if (!err)
        err = parse_file(sf_buf_str(&text), out, why);
    if (err && why)
        sf_why_prefix(why, "%s", path);
    sf_buf_done(&text);
    sf_file_close(&file);
    return err;
}

/* ---- the set ---- */

enum sf_err sf_tokens_open(const char *path, struct sf_tokens **out, struct sf_why *why)
{
    struct sf_tokens *t = sf_heap_new(sizeof(*t));
    size_t len = strlen(path);
    enum sf_err err;

    if (!t)
        return sf_fail(why, SF_ERR_NOMEM, "no memory for tokens");
    sf_mutex_init(&t->mutex, SF_LOCK_APP_TOKENS);
    t->path = sf_heap_new(len + 1);
    if (t->path) {
        memcpy(t->path, path, len);
        err = read_table(path, &t->table, why);
    } else {
        err = sf_fail(why, SF_ERR_NOMEM, "no memory for tokens");
    }
    if (err) {
        sf_tokens_close(t);
        return err;
    }
    *out = t;
    return SF_OK;
}

void sf_tokens_close(struct sf_tokens *t)
{
    if (t) {
        sf_mutex_done(&t->mutex);
        sf_heap_free(t->path);
        sf_heap_free(t->table.entries);
        sf_heap_free(t);
    }
}

enum sf_err sf_tokens_reload(struct sf_tokens *t, struct sf_why *why)
{
    struct table table = {0}, old;
    enum sf_err err = read_table(t->path, &table, why);

    if (err) {
        sf_heap_free(table.entries);
        return err;
    }
    sf_mutex_lock(&t->mutex);
    old = t->table;
    t->table = table;
    sf_mutex_unlock(&t->mutex);
    sf_heap_free(old.entries);
    return SF_OK;
}

size_t sf_tokens_count(struct sf_tokens *t)
{
    size_t n;
    sf_mutex_lock(&t->mutex);
    n = t->table.n;
    sf_mutex_unlock(&t->mutex);
    return n;
}

bool sf_tokens_is_shared(struct sf_tokens *t)
{
    bool is_shared;
    sf_mutex_lock(&t->mutex);
    is_shared = t->table.is_shared;
    sf_mutex_unlock(&t->mutex);
    return is_shared;
}

unsigned sf_tokens_scopes(void *arg, sf_str token)
{
    struct sf_tokens *t = arg;
    uint8_t hash[SHA256_DIGEST_LENGTH];
    unsigned scopes = 0;

    if (token.len == 0 || token.len > TOKEN_MAX_LEN)
        return 0;
    SHA256((const unsigned char *)token.p, token.len, hash);
    sf_mutex_lock(&t->mutex);
    /* All of them, and no branch on the outcome: the time says nothing about which one it was. */
    for (size_t i = 0; i < t->table.n; i++) {
        unsigned differs = (unsigned)CRYPTO_memcmp(hash, t->table.entries[i].hash, sizeof(hash)) !=
                           0;
        scopes |= t->table.entries[i].scopes & (differs - 1);
    }
    sf_mutex_unlock(&t->mutex);
    return scopes;
}

/* ---- making one ---- */

enum sf_err sf_tokens_make(sf_str name, unsigned scopes, struct sf_buf *out_token,
                           struct sf_buf *out_line, struct sf_why *why)
{
    uint8_t secret[SECRET_LEN], hash[SHA256_DIGEST_LENGTH];
    char hex[2 * SHA256_DIGEST_LENGTH];
    size_t start = out_token->len;

    if (!sf_tokens_is_name(name))
        return sf_fail(why, SF_ERR_INPUT, "a name is 1 to 64 letters, digits, dots or dashes");
    sf_random_fill(secret, sizeof(secret));
    /* A prefix of its own: scanners for leaked secrets, ours among them, know it by its look. */
    sf_buf_add_str(out_token, SF_STR("sft_"));
    sf_base64_encode(out_token, (sf_bytes){secret, sizeof(secret)});
    for (size_t i = start; i < out_token->len; i++) { /* fit for URLs and headers */
        uint8_t *c = &out_token->p[i];
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    }
    while (out_token->len > start && out_token->p[out_token->len - 1] == '=')
        out_token->len--;
    SHA256(out_token->p + start, out_token->len - start, hash);
    sf_hex_encode(hash, sizeof(hash), hex);
    sf_buf_add_str(out_line, name);
    for (size_t i = 0, n = 0; i < N_SCOPES; i++) {
        if (scopes & scope_names[i].bit)
            sf_buf_print(out_line, "%c%s", n++ ? ',' : ':', scope_names[i].name);
    }
    sf_buf_print(out_line, ":%.*s", (int)sizeof(hex), hex);
    OPENSSL_cleanse(secret, sizeof(secret));
    if (!sf_buf_ok(out_token) || !sf_buf_ok(out_line))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for a token");
    return SF_OK;
}
