#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"

static struct sf_dir *open_temporary(void)
{
    char path[] = "/tmp/sf_dir_test.XXXXXX";
    struct sf_dir *d;
    assert_non_null(mkdtemp(path));
    assert_ok(sf_dir_open(path, SF_DIR_CREATE, &d, NULL));
    return d;
}

static bool count(void *arg, const char *entry, bool is_dir)
{
    (void)entry;
    *(int *)arg += is_dir ? 100 : 1;
    return true;
}

TEST(dir, writes_lists_renames_and_deletes)
{
    struct sf_dir *d = open_temporary();
    struct sf_file f = SF_FILE_NONE;
    struct sf_iov pieces[] = {{"ab", 2}, {"", 0}, {"cde", 3}};
    char back[5];
    int n = 0;
    struct sf_why why;

    assert_ok(sf_dir_make(d, "sub", &why));
    assert_ok(sf_dir_make(d, "sub", &why));
    assert_ok(sf_dir_create(d, "sub/x", &f, &why));
    assert_ok(sf_file_writev_at(&f, 3, pieces, 3, &why));
    assert_ok(sf_file_read_at(&f, 3, back, 5, &why));
    assert_memory_equal(back, "abcde", 5);
    assert_err(sf_file_read_at(&f, 4, back, 5, &why), SF_ERR_CORRUPT);
    assert_ok(sf_file_sync(&f, &why));
    sf_file_close(&f);
    assert_ok(sf_dir_rename(d, "sub/x", "y", &why));
    assert_ok(sf_dir_sync(d, ".", &why));
    assert_ok(sf_dir_list(d, ".", count, &n, &why));
    assert_int_equal(n, 101);
    assert_err(sf_dir_open_read(d, "sub/x", &f, &why), SF_ERR_NOT_FOUND);
    assert_ok(sf_dir_unlink(d, "y", &why));
    assert_ok(sf_dir_unlink(d, "y", &why));
    assert_ok(sf_dir_remove(d, "sub", &why));
    rmdir(sf_dir_path(d));
    sf_dir_close(d);
}

TEST(dir, lock_is_held_by_one)
{
    struct sf_dir *d = open_temporary();
    struct sf_file a = SF_FILE_NONE, b = SF_FILE_NONE;
    assert_ok(sf_dir_open_append(d, "LOCK", &a, NULL));
    assert_ok(sf_dir_open_append(d, "LOCK", &b, NULL));
    assert_ok(sf_file_lock(&a, NULL));
    assert_err(sf_file_lock(&b, NULL), SF_ERR_BUSY);
    sf_file_close(&a);
    assert_ok(sf_file_lock(&b, NULL));
    sf_file_close(&b);
    assert_ok(sf_dir_unlink(d, "LOCK", NULL));
    rmdir(sf_dir_path(d));
    sf_dir_close(d);
}

/* Each open that waits for the other end of the FIFO would hang this test. */
TEST(dir, opens_regular_files_only)
{
    struct sf_dir *d = open_temporary();
    struct sf_file f = SF_FILE_NONE;
    static const char *const names[] = {"link", "dangling", "fifo", "sub"};
    char target[128], name[128];
    struct sf_why why;

    assert_ok(sf_dir_create(d, "target", &f, NULL));
    assert_ok(sf_file_write_at(&f, 0, "kept", 4, NULL));
    sf_file_close(&f);
    assert_ok(sf_dir_make(d, "sub", NULL));
    snprintf(target, sizeof(target), "%s/target", sf_dir_path(d));
    snprintf(name, sizeof(name), "%s/link", sf_dir_path(d));
    assert_int_equal(symlink(target, name), 0);
    snprintf(name, sizeof(name), "%s/dangling", sf_dir_path(d));
    assert_int_equal(symlink("nowhere", name), 0);
    snprintf(name, sizeof(name), "%s/fifo", sf_dir_path(d));
    assert_int_equal(mkfifo(name, 0600), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_err(sf_dir_open_read(d, names[i], &f, &why), SF_ERR_IO);
        assert_non_null(strstr(why.text, "it is not a regular file"));
        assert_err(sf_dir_open_write(d, names[i], &f, NULL), SF_ERR_IO);
        assert_err(sf_dir_open_append(d, names[i], &f, NULL), SF_ERR_IO);
        assert_err(sf_dir_create(d, names[i], &f, NULL), SF_ERR_IO);
    }
    assert_ok(sf_dir_open_read(d, "target", &f, NULL));
    uint64_t len = 0;
    assert_ok(sf_file_len(&f, &len, NULL));
    assert_int_equal(len, 4); /* not truncated through the link */
    sf_file_close(&f);
    assert_err(sf_dir_open_read(d, "nowhere", &f, NULL), SF_ERR_NOT_FOUND);
    assert_ok(sf_dir_delete_tree(sf_dir_path(d), NULL));
    sf_dir_close(d);
}

TEST(dir, follows_no_link_to_a_directory)
{
    struct sf_dir *d = open_temporary();
    struct sf_file f = SF_FILE_NONE;
    char target[128], name[128];
    struct sf_why why;

    assert_ok(sf_dir_make(d, "real", NULL));
    assert_ok(sf_dir_make(d, "real/below", NULL));
    assert_ok(sf_dir_create(d, "real/below/file", &f, NULL));
    sf_file_close(&f);
    snprintf(target, sizeof(target), "%s/real", sf_dir_path(d));
    snprintf(name, sizeof(name), "%s/link", sf_dir_path(d));
    assert_int_equal(symlink(target, name), 0);

    assert_err(sf_dir_open_read(d, "link/below/file", &f, &why), SF_ERR_IO);
    assert_string_equal(why.text, "link is a symbolic link, not a directory");
    assert_err(sf_dir_create(d, "link/new", &f, NULL), SF_ERR_IO);
    assert_err(sf_dir_open_append(d, "link/new", &f, NULL), SF_ERR_IO);
    assert_err(sf_dir_make(d, "link", &why), SF_ERR_IO);
    assert_string_equal(why.text, "link is a symbolic link, not a directory");
    assert_err(sf_dir_make(d, "link/new", NULL), SF_ERR_IO);
    assert_err(sf_dir_list(d, "link", NULL, NULL, NULL), SF_ERR_IO);
    assert_err(sf_dir_list(d, "link/below", NULL, NULL, NULL), SF_ERR_IO);
    assert_err(sf_dir_sync(d, "link", NULL), SF_ERR_IO);
    assert_false(sf_dir_exists(d, "real/new"));

    assert_ok(sf_dir_check(d, "real", true, NULL));
    assert_ok(sf_dir_check(d, "real/below/file", false, NULL));
    assert_err(sf_dir_check(d, "real", false, &why), SF_ERR_IO);
    assert_string_equal(why.text, "real is a directory, not a regular file");
    assert_err(sf_dir_check(d, "link", true, NULL), SF_ERR_IO);
    assert_err(sf_dir_check(d, "link/below", true, NULL), SF_ERR_IO);
    assert_err(sf_dir_check(d, "real/below/file", true, &why), SF_ERR_IO);
    assert_string_equal(why.text, "real/below/file is a file, not a directory");
    assert_err(sf_dir_make(d, "real/below/file", NULL), SF_ERR_IO);
    assert_err(sf_dir_check(d, "nothing", true, NULL), SF_ERR_NOT_FOUND);
    assert_ok(sf_dir_open_read(d, "real/below/file", &f, NULL));
    sf_file_close(&f);
    assert_ok(sf_dir_delete_tree(sf_dir_path(d), NULL));
    sf_dir_close(d);
}

TEST(dir, full_path_begins_at_the_root)
{
    struct sf_dir *d = open_temporary();
    char full[SF_DIR_PATH_MAX], through[SF_DIR_PATH_MAX + 2];
    snprintf(through, sizeof(through), "%s/.", sf_dir_path(d));
    assert_string_equal(sf_dir_full_path(through, full), sf_dir_path(d));
    assert_string_equal(sf_dir_full_path("/not/there", full), "/not/there");
    rmdir(sf_dir_path(d));
    sf_dir_close(d);
}
