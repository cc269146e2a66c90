#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/file_pages.h"

enum { LEN = 3 << 20 };

static char path[] = "/tmp/spanflame-pages-XXXXXX";

/* Each byte says where it is. */
static int make_file(size_t len)
{
    int fd;
    uint8_t *bytes = malloc(len);
    memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
    fd = mkstemp(path);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 4096);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    free(bytes);
    return fd;
}

static bool is_right(const struct sf_file_pages *f, size_t at, size_t n)
{
    for (size_t i = at; i < at + n; i++) {
        if (f->base[i] != (uint8_t)(i * 7 + i / 4096))
            return false;
    }
    return true;
}

TEST(file_pages, reads_what_is_asked_for)
{
    struct sf_file_pages f;
    int fd = make_file(LEN);
    assert_true(sf_file_pages_open(&f, path));
    assert_int_equal(f.len, LEN);
    assert_ptr_equal(sf_file_pages_end(f.base + 5000, f.base + LEN), f.base + 5000);
    assert_true(sf_file_pages_has((sf_bytes){f.base + 5000, 9000}));
    assert_true(is_right(&f, 5000, 9000));
    assert_true(sf_file_pages_end(f.base + 5000, f.base + LEN) >= f.base + 14000);
    assert_true(sf_file_pages_has((sf_bytes){f.base + LEN - 10, 10}));
    assert_true(is_right(&f, LEN - 10, 10));
    assert_null(sf_file_pages_need(f.base + LEN - 10, 11, f.base + LEN));
    sf_file_pages_close(&f);
    assert_null(sf_file_pages_open_ones);
    close(fd);
    unlink(path);
}

/* A mapping would end the process here. */
TEST(file_pages, bytes_of_a_file_that_was_cut_cannot_be_had)
{
    struct sf_file_pages f;
    int fd = make_file(LEN);
    assert_true(sf_file_pages_open(&f, path));
    assert_true(sf_file_pages_has((sf_bytes){f.base, 100}));
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_true(sf_file_pages_has((sf_bytes){f.base + 4096, 4096}));
    assert_true(is_right(&f, 0, 100) && is_right(&f, 4096, 4096));
    assert_false(sf_file_pages_has((sf_bytes){f.base + 8192, 1}));
    assert_int_equal(sf_file_pages_text((const char *)f.base + 100000, 50).len, 0);
    sf_file_pages_close(&f);
    close(fd);
    unlink(path);
}

/* As a program does that closes all descriptors and opens its own. */
TEST(file_pages, a_number_that_means_another_file_is_left_alone)
{
    struct sf_file_pages f;
    int fd = make_file(LEN), other = open("/dev/zero", O_RDONLY), ours;
    assert_true(sf_file_pages_open(&f, path));
    ours = f.fd;
    assert_int_equal(dup2(other, ours), ours);
    assert_false(sf_file_pages_has((sf_bytes){f.base, 100}));
    sf_file_pages_close(&f);
    assert_true(fcntl(ours, F_GETFD) >= 0); /* still the program's */
    close(ours);
    close(other);
    close(fd);
    unlink(path);
}

TEST(file_pages, holds_no_more_than_its_limit)
{
    struct sf_file_pages f;
    int fd = make_file(SF_FILE_PAGES_MAX + LEN);
    size_t at = 0;
    assert_true(sf_file_pages_open(&f, path));
    for (; at + 65536 <= f.len && sf_file_pages_has((sf_bytes){f.base + at, 65536}); at += 65536)
        ;
    assert_true(at >= SF_FILE_PAGES_MAX / 2 && at <= SF_FILE_PAGES_MAX);
    sf_file_pages_trim();
    assert_true(sf_file_pages_has((sf_bytes){f.base + at, 65536}));
    assert_true(is_right(&f, at, 65536));
    assert_ptr_equal(sf_file_pages_end(f.base, f.base + f.len), f.base);
    sf_file_pages_close(&f);
    close(fd);
    unlink(path);
}
