#include "listen/spool.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/num.h"
#include "os/random.h"

enum { BLOCK_LEN = 16, PIECE_LEN = 32 << 10 };

enum sf_err sf_spool_open(const char *folder, struct sf_spool *out, struct sf_why *why)
{
    enum sf_err err = sf_file_temp(folder, &out->file, why);
    if (!err)
        sf_random_fill(out->key, sizeof(out->key)); /* a key for this file only, so that no position
                                                     * of the key stream is reused */
    return err;
}

bool sf_spool_is_open(const struct sf_spool *s)
{
    return sf_file_is_open(&s->file);
}

void sf_spool_close(struct sf_spool *s)
{
    sf_file_close(&s->file);
    OPENSSL_cleanse(s->key, sizeof(s->key));
}

/* The cipher's key stream from byte `off` on; the same for both directions. NULL: no memory. */
static EVP_CIPHER_CTX *stream_at(const struct sf_spool *s, uint64_t off)
{
    uint8_t counter[BLOCK_LEN] = {0}, skipped[BLOCK_LEN] = {0};
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n;
    if (!c)
        return NULL;
    sf_store_u64be(counter + 8, off / BLOCK_LEN);
    if (EVP_EncryptInit_ex(c, EVP_aes_256_ctr(), NULL, s->key, counter) != 1 ||
        EVP_EncryptUpdate(c, skipped, &n, skipped, (int)(off % BLOCK_LEN)) != 1) {
        EVP_CIPHER_CTX_free(c);
        return NULL;
    }
    return c;
}

static enum sf_err no_cipher(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "no memory to encipher a large request");
}

enum sf_err sf_spool_write(const struct sf_spool *s, uint64_t off, const void *p, size_t len,
                           struct sf_why *why)
{
    uint8_t noise[PIECE_LEN];
    const uint8_t *at = p;
    EVP_CIPHER_CTX *c = stream_at(s, off);
    enum sf_err err = c ? SF_OK : no_cipher(why);
    while (!err && len) {
        size_t n = len < sizeof(noise) ? len : sizeof(noise);
        int done = 0;
        if (EVP_EncryptUpdate(c, noise, &done, at, (int)n) != 1 || (size_t)done != n)
            err = no_cipher(why);
        else
            err = sf_file_write_at(&s->file, off, noise, n, why);
        at += n;
        off += n;
        len -= n;
    }
    EVP_CIPHER_CTX_free(c);
    return err;
}

enum sf_err sf_spool_read(const struct sf_spool *s, uint64_t off, void *p, size_t len,
                          size_t *out_len, struct sf_why *why)
{
    uint8_t *to = p;
    size_t n = 0;
    EVP_CIPHER_CTX *c = stream_at(s, off);
    enum sf_err err = c ? sf_file_read_some(&s->file, off, p, len, &n, why) : no_cipher(why);
    for (size_t at = 0; !err && at < n;) {
        size_t piece = n - at < PIECE_LEN ? n - at : PIECE_LEN; /* OpenSSL uses int lengths */
        int done = 0;
        if (EVP_EncryptUpdate(c, to + at, &done, to + at, (int)piece) != 1 || (size_t)done != piece)
            err = no_cipher(why);
        at += piece;
    }
    EVP_CIPHER_CTX_free(c);
    if (!err)
        *out_len = n;
    return err;
}
