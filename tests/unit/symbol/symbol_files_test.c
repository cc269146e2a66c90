#include "symbol/symbol_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf_make.h"
#include "test.h"

struct home {
    char path[256];
    struct sf_dir *dir;
    struct sf_symbol_files files;
};

static void home_open(struct home *h)
{
    *h = (struct home){0};
    assert_int_equal(sf_dir_make_temporary("spanflame-symbols", h->path, sizeof(h->path), NULL), 0);
    assert_int_equal(sf_dir_open(h->path, SF_DIR_CREATE, &h->dir, NULL), 0);
    h->files = (struct sf_symbol_files){.dir = h->dir,
                                        .max_file_len = 4096,
                                        .max_total_len = 8192,
                                        .max_cache_len = 1500,
                                        .min_free_len = 1};
    assert_int_equal(sf_symbol_files_prepare(&h->files, NULL), 0);
}

static void home_close(struct home *h)
{
    sf_dir_close(h->dir);
    assert_int_equal(sf_dir_delete_tree(h->path, NULL), 0);
}

static struct sf_symbol_id id_of(uint8_t byte)
{
    struct sf_symbol_id id = {0};
    for (int i = 0; i < ELF_MAKE_ID_LEN; i++)
        snprintf(id.hex + 2 * i, 3, "%02x", byte);
    return id;
}

static enum sf_err put_file(struct home *h, uint32_t tenant, const struct elf_make *m,
                            const struct sf_symbol_id *id, bool *is_new, struct sf_why *why)
{
    struct sf_symbol_writer w = {0};
    struct sf_symbol_info info;
    struct sf_buf image = {0};
    enum sf_err err;
    elf_make(m, &image);
    err = sf_symbol_files_writer_begin(&w, &h->files, tenant, image.len, why);
    if (!err)
        err = sf_symbol_files_writer_add(&w, image.p, image.len, why);
    if (!err)
        err = sf_symbol_files_writer_finish(&w, tenant, id, &info, is_new, why);
    sf_symbol_files_writer_done(&w);
    sf_buf_done(&image);
    return err;
}

static uint32_t n_files(struct home *h, uint32_t tenant)
{
    struct sf_arena req = {0};
    const struct sf_symbol_info *list;
    uint32_t n = 0;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_int_equal(sf_symbol_files_list(&h->files, tenant, &req, &list, &n, NULL), 0);
    sf_arena_done(&req);
    return n;
}

TEST(symbol_files, keeps_what_is_checked_by_tenant_and_deletes_it)
{
    struct elf_make m = {.id = 0xab, .memory_len = 64, .file_len = 64};
    struct sf_symbol_id id = id_of(0xab);
    struct sf_why why = {0};
    bool is_new = false;
    struct home h;
    home_open(&h);
    assert_int_equal(put_file(&h, 3, &m, &id, &is_new, &why), 0);
    assert_true(is_new);
    assert_int_equal(put_file(&h, 3, &m, &id, &is_new, &why), 0);
    assert_false(is_new);
    assert_int_equal(n_files(&h, 3), 1);
    assert_int_equal(n_files(&h, 4), 0);
    assert_true(sf_symbol_files_has(&h.files, 3, &id, SF_SYMBOL_PROGRAM));
    assert_false(sf_symbol_files_has(&h.files, 3, &id, SF_SYMBOL_DEBUG));
    assert_int_equal(sf_symbol_files_delete(&h.files, 4, &id, &why), SF_ERR_NOT_FOUND);
    assert_int_equal(sf_symbol_files_delete(&h.files, 3, &id, &why), 0);
    assert_int_equal(n_files(&h, 3), 0);
    home_close(&h);
}

static bool see_none(void *arg, const char *entry, bool is_dir)
{
    (void)arg, (void)is_dir;
    fail_msg("%s is left behind", entry);
    return false;
}

TEST(symbol_files, refuses_another_id_no_id_and_what_is_too_long)
{
    struct elf_make m = {.id = 0xab, .memory_len = 64, .file_len = 64};
    struct sf_symbol_id id = id_of(0xab), other = id_of(0xcd), hash = {0};
    struct sf_why why = {0};
    bool is_new;
    struct home h;
    home_open(&h);
    assert_int_equal(put_file(&h, 1, &m, &other, &is_new, &why), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "the file's build id is abab"));
    m.id = 0; /* a program goes by its hash then, a debug file cannot */
    assert_int_equal(put_file(&h, 1, &m, &id, &is_new, &why), SF_ERR_INPUT);
    assert_int_equal(sscanf(why.text, "the file's build id is %32[0-9a-f]", hash.hex), 1);
    assert_int_equal(put_file(&h, 1, &m, &hash, &is_new, &why), 0);
    assert_int_equal(sf_symbol_files_delete(&h.files, 1, &hash, &why), 0);
    m.is_stripped_of_code = true;
    assert_int_equal(put_file(&h, 1, &m, &hash, &is_new, &why), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "no build id"));
    m.id = 0xab; /* and nothing else is in it */
    assert_int_equal(put_file(&h, 1, &m, &id, &is_new, &why), SF_ERR_INPUT);
    m.is_stripped_of_code = false;
    h.files.max_file_len = 100;
    assert_int_equal(put_file(&h, 1, &m, &id, &is_new, &why), SF_ERR_LIMIT);
    h.files.max_file_len = 4096;
    h.files.max_total_len = 100;
    assert_int_equal(put_file(&h, 1, &m, &id, &is_new, &why), SF_ERR_FULL);
    h.files.max_total_len = 8192;
    h.files.min_free_len = UINT64_MAX / 2;
    assert_int_equal(put_file(&h, 1, &m, &id, &is_new, &why), SF_ERR_FULL);
    assert_int_equal(sf_dir_list(h.dir, "tmp", see_none, NULL, NULL), 0);
    assert_int_equal(n_files(&h, 1), 0);
    home_close(&h);
}

TEST(symbol_files, trims_fetched_files_that_were_used_longest_ago)
{
    struct elf_make m = {.memory_len = 64, .file_len = 64};
    struct sf_why why = {0};
    struct sf_symbol_id ids[3];
    char name[SF_SYMBOL_NAME_CAP];
    bool is_new;
    struct home h;
    home_open(&h);
    for (uint8_t i = 0; i < 3; i++) {
        m.id = (uint8_t)(i + 1);
        ids[i] = id_of(m.id);
        assert_int_equal(put_file(&h, SF_SYMBOL_FETCHED, &m, &ids[i], &is_new, &why), 0);
    }
    sf_symbol_files_name(SF_SYMBOL_FETCHED, &ids[0], SF_SYMBOL_PROGRAM, name);
    for (int tries = 0; tries < 1000; tries++) { /* the file system's clock may tick slowly */
        uint64_t len;
        int64_t a, b;
        char last[SF_SYMBOL_NAME_CAP];
        sf_symbol_files_name(SF_SYMBOL_FETCHED, &ids[2], SF_SYMBOL_PROGRAM, last);
        sf_dir_touch(h.dir, name);
        assert_int_equal(sf_dir_stat(h.dir, name, &len, &a, NULL), 0);
        assert_int_equal(sf_dir_stat(h.dir, last, &len, &b, NULL), 0);
        if (a > b)
            break;
    }
    sf_symbol_files_trim(&h.files); /* 1,500 bytes: two of about 600 */
    assert_int_equal(n_files(&h, SF_SYMBOL_FETCHED), 2);
    assert_true(sf_symbol_files_has(&h.files, SF_SYMBOL_FETCHED, &ids[0], SF_SYMBOL_PROGRAM));
    home_close(&h);
}

TEST(symbol_files, knows_a_build_id_when_it_sees_one)
{
    struct sf_symbol_id id;
    assert_true(sf_symbol_files_id_parse(SF_STR("AB12cd34"), &id));
    assert_string_equal(id.hex, "ab12cd34");
    assert_false(sf_symbol_files_id_parse(SF_STR("ab12cd3"), &id));
    assert_false(sf_symbol_files_id_parse(SF_STR("ab12"), &id));
    assert_false(sf_symbol_files_id_parse(SF_STR("../../../../etc/passwd"), &id));
    assert_false(sf_symbol_files_id_parse(SF_STR("q8s7fAcxN5/NqzeF3kGS/b2"), &id)); /* Go's */
    assert_false(sf_symbol_files_id_parse(SF_STR_NONE, &id));
}

TEST(symbol_files, remembers_for_an_hour_that_servers_had_none)
{
    struct sf_symbol_id id = id_of(0xa1), other = id_of(0xa2);
    struct home h;
    char path[512];
    home_open(&h);
    h.files.servers_key = 0x1234;
    assert_int_equal(sf_symbol_files_absent(&h.files, &id), 0);
    sf_symbol_files_note_absent(&h.files, &id);
    assert_true(sf_symbol_files_absent(&h.files, &id) > 0);
    assert_true(sf_symbol_files_absent(&h.files, &id) <= 3600000000000);
    assert_int_equal(n_files(&h, SF_SYMBOL_FETCHED), 0); /* not a file of anybody */
    h.files.servers_key = 0x1235;
    assert_int_equal(sf_symbol_files_absent(&h.files, &id), 0); /* others may have it */
    h.files.servers_key = 0x1234;
    snprintf(path, sizeof(path), "%s/symbols/fetched/%s.absent-00001234", h.path, id.hex);
    for (int side = -1; side <= 1; side += 2) { /* long ago, and of a clock that was set back */
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) + side * 4000}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_int_equal(sf_symbol_files_absent(&h.files, &id), 0);
    }
    sf_symbol_files_note_absent(&h.files, &other);
    assert_int_equal(access(path, F_OK), -1); /* what is over goes with the next */
    home_close(&h);
}
