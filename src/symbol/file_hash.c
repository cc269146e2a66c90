#include "symbol/file_hash.h"

#include <openssl/evp.h>
#include <string.h>

#include "symbol/file_pages.h"

enum { PIECE = 4096 };

bool sf_file_hash(sf_bytes image, uint8_t out[SF_FILE_HASH_LEN])
{
    size_t len = image.len < PIECE ? image.len : PIECE;
    sf_bytes head = {image.p, len}, tail = {image.p + (image.len - len), len};
    uint8_t told[8], sum[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    bool ok = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL);
    for (unsigned i = 0; i < sizeof(told); i++)
        told[i] = (uint8_t)((uint64_t)image.len >> (8 * (sizeof(told) - 1 - i)));
    ok = ok && sf_file_pages_has(head) && EVP_DigestUpdate(md, head.p, head.len);
    ok = ok && sf_file_pages_has(tail) && EVP_DigestUpdate(md, tail.p, tail.len);
    ok = ok && EVP_DigestUpdate(md, told, sizeof(told)) && EVP_DigestFinal_ex(md, sum, NULL);
    EVP_MD_CTX_free(md);
    if (ok)
        memcpy(out, sum, SF_FILE_HASH_LEN);
    return ok;
}
