#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "os/file.h"

TEST(file, writes_past_the_page_cache_and_reads_the_same)
{
    static uint8_t out[8192] __attribute__((aligned(4096)));
    uint8_t in[sizeof(out)] = {0};
    struct sf_file file = SF_FILE_NONE;
    struct sf_why why;
    bool is_direct;

    for (size_t i = 0; i < sizeof(out); i++)
        out[i] = (uint8_t)(i * 7);
    assert_ok(sf_file_temp("/tmp", &file, &why));
    is_direct = sf_file_set_direct(&file, true); /* not every file system can */
    assert_ok(sf_file_write_at(&file, 0, out, 4096, &why));
    assert_ok(sf_file_write_at(&file, 4096, out + 4096, 4096, &why));
    assert_true(sf_file_set_direct(&file, false) || !is_direct);
    assert_ok(sf_file_write_at(&file, 100, "abc", 3, &why)); /* any length again */
    memcpy(out + 100, "abc", 3);
    assert_ok(sf_file_read_at(&file, 0, in, sizeof(in), &why));
    assert_memory_equal(in, out, sizeof(in));
    sf_file_close(&file);
}
