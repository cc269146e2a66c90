#include "symbol/file_hash.h"

#include "base/text.h"
#include "test.h"

static void is_hash(const uint8_t *p, size_t len, const char *hex)
{
    uint8_t hash[SF_FILE_HASH_LEN];
    char text[2 * SF_FILE_HASH_LEN + 1] = "";
    assert_true(sf_file_hash((sf_bytes){p, len}, hash));
    sf_hex_encode(hash, sizeof(hash), text);
    assert_string_equal(text, hex);
}

TEST(file_hash, is_what_the_profiler_makes_of_a_file)
{
    uint8_t bytes[10000] = {0};
    is_hash((const uint8_t *)"abc", 3, "a7e79e8a85da69bad5c3fea209342ac9");
    is_hash(bytes, 5000, "e8d38a9450c4b71b4c5a8bee92ccf4b9");
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    is_hash(bytes, sizeof(bytes), "978d635ecf2bdf15d106915edbfcbc6f");
}
