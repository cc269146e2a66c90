/* tokens.c - the token file: parse each line, sort entries by hash, refuse duplicates. A lookup
 * hashes the given token and compares it with every entry in constant time, under a mutex; a reload
 * reads the file into a new table and swaps it. */
#include "app/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/text.h"
#include "exec/tenant.h"
#include "os/file.h"
#include "os/random.h"
#include "os/thread.h"
#include "serve/service.h"

enum { FILE_MAX_LEN = 1 << 20, MAX_TOKENS = 10000, TOKEN_MAX_LEN = 4096, SECRET_LEN = 32 };

struct entry {
    uint8_t hash[SHA256_DIGEST_LENGTH];
    unsigned scopes;
    sf_str name, tenants; /* views of the table's text */
};

struct table {
    struct sf_buf text; /* text of the file */
    struct entry *entries;
    size_t n, cap;
    bool is_shared;
};

struct sf_tokens {
    char *path;
    struct sf_mutex mutex; /* guards table; no other lock is taken while it is held */
    struct table table;
};

static const struct {
    const char *name;
    unsigned bit;
} scope_names[] = {{"read", SF_MAY_READ},
                   {"write", SF_MAY_WRITE},
                   {"admin", SF_MAY_ADMIN},
                   {"control", SF_MAY_CONTROL}};
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

enum sf_err sf_tokens_check_tenants(sf_str tenants, struct sf_why *why)
{
    sf_str name;
    while (sf_str_split_next(&tenants, ',', &name)) {
        enum sf_err err = sf_tenant_check_name(name, why);
        if (err)
            return err;
    }
    return SF_OK;
}

static enum sf_err tokens_parse_line(sf_str line, struct entry *out, struct sf_why *why)
{
    sf_str scopes, hash, rest = line;
    size_t at;

    if (!sf_str_split_next(&rest, ':', &out->name) || !sf_str_split_next(&rest, ':', &scopes) ||
        rest.len == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "a line is name:scopes:hash or name:scopes:hash:tenants; spanflame token "
                       "new makes such lines");
    if (!sf_tokens_is_name(out->name))
        return sf_fail(why, SF_ERR_INPUT, "a name is 1 to 64 letters, digits, dots or dashes");
    if (!sf_tokens_parse_scopes(scopes, &out->scopes))
        return sf_fail(why, SF_ERR_INPUT,
                       "\"%.*s\" are not scopes: write read, write, admin or control, with "
                       "commas between them",
                       SF_STR_ARG(sf_str_part(scopes, 0, 40)));
    bool has_tenants = sf_str_find_char(rest, ':', &at);
    hash = has_tenants ? sf_str_part(rest, 0, at) : rest;
    if (!sf_hex_decode(sf_str_trim(hash), out->hash, sizeof(out->hash)))
        return sf_fail(why, SF_ERR_INPUT,
                       "the hash of %.*s is not the 64 digits of a SHA-256; "
                       "spanflame token new makes such lines",
                       SF_STR_ARG(out->name));
    if (!has_tenants)
        return SF_OK;
    out->tenants = sf_str_from_at(rest, at + 1);
    /* A colon with nothing behind it is a missing list, not a token for all tenants. */
    return out->tenants.len ? sf_tokens_check_tenants(out->tenants, why)
                            : sf_fail(why, SF_ERR_INPUT, "the list of tenants of %.*s is empty",
                                      SF_STR_ARG(out->name));
}

static enum sf_err tokens_add_entry(struct table *t, struct entry entry, struct sf_why *why)
{
    if (t->n == MAX_TOKENS)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d tokens", MAX_TOKENS);
    if (!sf_list_room(&t->entries, t->n, &t->cap, 16))
        return sf_no_memory(why, "tokens");
    t->entries[t->n++] = entry;
    return SF_OK;
}

static enum sf_err tokens_parse_file(sf_str text, struct table *out, struct sf_why *why)
{
    sf_str line;
    for (unsigned number = 1; sf_str_split_next(&text, '\n', &line); number++) {
        struct entry entry = {0};
        enum sf_err err;
        line = sf_str_trim(line);
        if (line.len == 0 || line.p[0] == '#')
            continue;
        err = tokens_parse_line(line, &entry, why);
        if (!err)
            err = tokens_add_entry(out, entry, why);
        if (err) {
            if (why)
                sf_why_prefix(why, "%u", number);
            return err;
        }
    }
    return SF_OK;
}

static int tokens_by_hash(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return memcmp(x->hash, y->hash, sizeof(x->hash));
}

/* Refuses duplicates: it would be unclear which line applies. */
static enum sf_err refuse_doubles(struct table *t, struct sf_why *why)
{
    if (t->n)
        qsort(t->entries, t->n, sizeof(*t->entries), tokens_by_hash);
    for (size_t i = 1; i < t->n; i++) {
        if (tokens_by_hash(&t->entries[i - 1], &t->entries[i]) == 0)
            return sf_fail(why, SF_ERR_INPUT, "%.*s and %.*s are the same token",
                           SF_STR_ARG(t->entries[i - 1].name), SF_STR_ARG(t->entries[i].name));
    }
    return SF_OK;
}

static void free_table(struct table *t)
{
    sf_heap_free(t->entries);
    sf_buf_done(&t->text);
}

static enum sf_err tokens_read_table(const char *path, struct table *out, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    enum sf_err err = sf_file_open_path(path, &file, why);

    if (err)
        return err;
    out->is_shared = sf_file_is_shared(&file);
    err = sf_file_read_all(&file, FILE_MAX_LEN, &out->text, why);
    if (!err)
        err = tokens_parse_file(sf_buf_str(&out->text), out, why);
    if (!err)
        err = refuse_doubles(out, why);
    if (err && why)
        sf_why_prefix(why, "%s", path);
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
        return sf_no_memory(why, "tokens");
    sf_mutex_init(&t->mutex, SF_LOCK_APP_TOKENS);
    t->path = sf_heap_new(len + 1);
    if (t->path) {
        memcpy(t->path, path, len);
        err = tokens_read_table(path, &t->table, why);
    } else {
        err = sf_no_memory(why, "tokens");
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
        free_table(&t->table);
        sf_heap_free(t);
    }
}

enum sf_err sf_tokens_reload(struct sf_tokens *t, struct sf_why *why)
{
    struct table table = {0}, old;
    enum sf_err err = tokens_read_table(t->path, &table, why);

    if (err) {
        free_table(&table);
        return err;
    }
    sf_mutex_lock(&t->mutex);
    old = t->table;
    t->table = table;
    sf_mutex_unlock(&t->mutex);
    free_table(&old);
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

bool sf_tokens_grant(void *arg, sf_str token, struct sf_grant *out)
{
    struct sf_tokens *t = arg;
    uint8_t hash[SHA256_DIGEST_LENGTH];
    size_t found = 0; /* index + 1 of the matching entry */

    if (token.len == 0 || token.len > TOKEN_MAX_LEN)
        return false;
    SHA256((const unsigned char *)token.p, token.len, hash);
    sf_mutex_lock(&t->mutex);
    /* Compares all entries without a branch on the result, so that the time does not reveal which
     * one matched. */
    for (size_t i = 0; i < t->table.n; i++) {
        size_t differs = (size_t)(CRYPTO_memcmp(hash, t->table.entries[i].hash, sizeof(hash)) != 0);
        found |= (i + 1) & (differs - 1);
    }
    if (found) {
        const struct entry *e = &t->table.entries[found - 1];
        (void)snprintf(out->name, sizeof(out->name), "%.*s", SF_STR_ARG(e->name));
        sf_buf_add_str(&out->tenants, e->tenants);
        /* Without its list of tenants the token would be valid for all of them. */
        out->scopes = sf_buf_ok(&out->tenants) ? e->scopes : 0;
    }
    sf_mutex_unlock(&t->mutex);
    return out->scopes != 0;
}

/* ---- making a token ---- */

enum sf_err sf_tokens_make(sf_str name, unsigned scopes, sf_str tenants, struct sf_buf *out_token,
                           struct sf_buf *out_line, struct sf_why *why)
{
    uint8_t secret[SECRET_LEN], hash[SHA256_DIGEST_LENGTH];
    char hex[2 * SHA256_DIGEST_LENGTH];
    size_t start = out_token->len;

    if (!sf_tokens_is_name(name))
        return sf_fail(why, SF_ERR_INPUT, "a name is 1 to 64 letters, digits, dots or dashes");
    sf_random_fill(secret, sizeof(secret));
    /* The prefix lets scanners for leaked secrets, ours included, recognise the token. */
    sf_buf_add_str(out_token, SF_STR("sft_"));
    sf_base64_encode(out_token, (sf_bytes){secret, sizeof(secret)});
    for (size_t i = start; i < out_token->len; i++) { /* only characters that are valid in URLs and
                                                       * headers */
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
    if (tenants.len)
        sf_buf_print(out_line, ":%.*s", SF_STR_ARG(tenants));
    OPENSSL_cleanse(secret, sizeof(secret));
    if (!sf_buf_ok(out_token) || !sf_buf_ok(out_line))
        return sf_no_memory(why, "a token");
    return SF_OK;
}
