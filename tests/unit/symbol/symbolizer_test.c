#include "symbol/symbolizer.h"

#include "base/time_unit.h"
#include "elf_make.h"
#include "os/clock.h"
#include "os/thread.h"
#include "test.h"

enum { TENANT = 3, OTHER = 4, CODE = 0x1000, N_STARTS = 8, N_ASKERS = 4, ROUNDS = 50 };

struct home {
    char path[256];
    struct sf_dir *dir;
    struct sf_symbolizer *s;
    atomic_uint n_notices;
};

static void on_notice(void *arg, const char *sentence)
{
    struct home *h = arg;
    assert_non_null(sentence);
    atomic_fetch_add(&h->n_notices, 1);
}

static void start(struct home *h, const char *const *urls, size_t n_urls)
{
    struct sf_symbolizer_config config = {.dir = h->dir,
                                          .urls = urls,
                                          .n_urls = n_urls,
                                          .max_file_len = 1 << 16,
                                          .max_total_len = 1 << 20,
                                          .max_cache_len = 1 << 20,
                                          .min_free_len = 1,
                                          .wait_ns = 30 * SF_NS_PER_S,
                                          .fetch_ns = 5 * SF_NS_PER_S,
                                          .notice = on_notice,
                                          .notice_arg = h};
    assert_int_equal(sf_symbolizer_open(&config, &h->s, NULL), 0);
}

static void open_home(struct home *h)
{
    *h = (struct home){0};
    assert_int_equal(sf_dir_make_temporary("spanflame-symbols", h->path, sizeof(h->path), NULL), 0);
    assert_int_equal(sf_dir_open(h->path, SF_DIR_CREATE, &h->dir, NULL), 0);
}

static void close_home(struct home *h)
{
    sf_symbolizer_close(h->s);
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

/* A stripped program whose functions begin every 0x10 bytes of its code. */
static void put_program(struct home *h, uint32_t tenant, uint8_t byte)
{
    int32_t starts[N_STARTS];
    struct elf_make m = {.off = CODE,
                         .at = CODE,
                         .file_len = 0x200,
                         .memory_len = 0x200,
                         .id = byte,
                         .starts = starts,
                         .n_starts = N_STARTS};
    struct sf_symbol_id id = id_of(byte);
    struct sf_symbol_writer w = {0};
    struct sf_symbol_info info;
    struct sf_buf image = {0};
    bool is_new;
    for (int i = 0; i < N_STARTS; i++)
        starts[i] = CODE + 0x10 * i - ELF_MAKE_START_BASE;
    elf_make(&m, &image);
    assert_int_equal(
        sf_symbol_files_writer_begin(&w, sf_symbolizer_files(h->s), tenant, image.len, NULL), 0);
    assert_int_equal(sf_symbol_files_writer_add(&w, image.p, image.len, NULL), 0);
    assert_int_equal(sf_symbol_files_writer_finish(&w, tenant, &id, &info, &is_new, NULL), 0);
    sf_symbol_files_writer_done(&w);
    sf_buf_done(&image);
    sf_symbolizer_forget(h->s, tenant, &id);
}

/* How many of the functions' starts were told; the deadline of 0 waits for nothing. */
static uint32_t ask(struct home *h, uint32_t tenant, uint8_t byte, int64_t deadline_ns,
                    struct sf_naming *naming)
{
    struct sf_namer *namer = sf_symbolizer_namer(h->s);
    struct sf_symbol_id id = id_of(byte);
    struct sf_unnamed list[N_STARTS];
    struct sf_named out[N_STARTS];
    struct sf_arena req = {0};
    uint32_t n = 0;
    assert_true(sf_arena_init(&req, 1 << 20));
    for (uint32_t i = 0; i < N_STARTS; i++)
        list[i] = (struct sf_unnamed){sf_str_from(id.hex), CODE + 0x10 * i + 5};
    *naming = (struct sf_naming){0};
    namer->find(namer, &tenant, 1, list, N_STARTS, deadline_ns, &req, out, naming);
    assert_int_equal(naming->n_asked, N_STARTS);
    for (uint32_t i = 0; i < N_STARTS; i++) {
        if (out[i].start_off) {
            assert_int_equal(out[i].start_off, CODE + 0x10 * i);
            n++;
        }
    }
    sf_arena_done(&req);
    return n;
}

static int64_t in_a_while(void)
{
    return sf_clock_mono_ns() + 30 * SF_NS_PER_S;
}

TEST(symbolizer, answers_from_files_that_are_here_for_their_tenant_only)
{
    struct sf_naming naming;
    struct home h;
    open_home(&h);
    start(&h, NULL, 0);
    put_program(&h, TENANT, 0xa1);
    assert_int_equal(ask(&h, TENANT, 0xa1, in_a_while(), &naming), N_STARTS);
    assert_int_equal(naming.n_pending, 0);
    assert_int_equal(ask(&h, TENANT, 0xa1, 0, &naming), N_STARTS); /* from memory */
    assert_int_equal(ask(&h, OTHER, 0xa1, in_a_while(), &naming), 0);
    assert_int_equal(naming.n_pending, 0); /* nothing will come */
    assert_int_equal(ask(&h, TENANT, 0xa2, in_a_while(), &naming), 0);
    close_home(&h);
}

TEST(symbolizer, says_what_is_pending_to_a_query_that_does_not_wait)
{
    struct sf_naming naming;
    struct home h;
    uint32_t n;
    open_home(&h);
    start(&h, NULL, 0);
    put_program(&h, TENANT, 0xa1);
    n = ask(&h, TENANT, 0xa1, 0, &naming);
    assert_int_equal(n + naming.n_pending, N_STARTS);
    while (naming.n_pending) /* the thread that reads files has the query now */
        ask(&h, TENANT, 0xa1, 0, &naming);
    assert_int_equal(ask(&h, TENANT, 0xa1, 0, &naming), N_STARTS);
    close_home(&h);
}

TEST(symbolizer, asks_a_failing_server_once_a_minute_and_no_query_waits)
{
    static const char *const urls[] = {"http://127.0.0.1:1"}; /* nobody listens there */
    struct sf_symbolizer_stats stats = {0};
    struct sf_naming naming;
    struct home h;
    open_home(&h);
    start(&h, urls, 1);
    assert_int_equal(ask(&h, TENANT, 0xa1, in_a_while(), &naming), 0);
    for (int64_t end = in_a_while(); !stats.n_failed && sf_clock_mono_ns() < end;)
        sf_symbolizer_stats(h.s, &stats);
    assert_int_equal(stats.n_failed, 1);
    assert_int_equal(atomic_load(&h.n_notices), 1);
    ask(&h, TENANT, 0xa1, 0, &naming);
    assert_int_equal(naming.n_pending, 0); /* and so it is not asked again now */
    put_program(&h, TENANT, 0xa1);         /* it came by other ways */
    assert_int_equal(ask(&h, TENANT, 0xa1, in_a_while(), &naming), N_STARTS);
    close_home(&h);
}

TEST(symbolizer, remembers_over_a_restart_what_no_server_had)
{
    static const char *const urls[] = {"http://127.0.0.1:1"}, *const others[] = {
                                                                  "http://127.0.0.1:2"};
    struct sf_symbol_id id = id_of(0xa1);
    struct sf_naming naming;
    struct home h;
    open_home(&h);
    start(&h, urls, 1);
    sf_symbol_files_note_absent(sf_symbolizer_files(h.s), &id);
    sf_symbolizer_close(h.s);
    start(&h, urls, 1);
    ask(&h, TENANT, 0xa1, 0, &naming);
    assert_int_equal(naming.n_pending, 0);
    sf_symbolizer_close(h.s);
    start(&h, others, 1); /* another server may have it */
    ask(&h, TENANT, 0xa1, 0, &naming);
    assert_int_equal(naming.n_pending, N_STARTS);
    close_home(&h);
}

struct asker {
    struct home *h;
    atomic_uint *n_wrong;
    uint32_t first;
};

static void ask_on(void *arg)
{
    struct asker *a = arg;
    struct sf_naming naming;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint8_t byte = (uint8_t)(0xa1 + (a->first + i) % 3);
        uint32_t n = ask(a->h, TENANT, byte, i % 2 ? in_a_while() : 0, &naming);
        /* A file that is replaced meanwhile costs a name and never gives a wrong one. */
        if (n > N_STARTS || naming.n_pending > N_STARTS)
            atomic_fetch_add(a->n_wrong, 1);
    }
}

TEST(symbolizer, is_asked_by_several_threads_while_files_come_and_go)
{
    struct sf_thread threads[N_ASKERS] = {0};
    struct asker askers[N_ASKERS];
    struct sf_symbol_id id = id_of(0xa2);
    struct sf_symbolizer_stats stats = {0};
    struct sf_naming naming;
    atomic_uint n_wrong = 0;
    struct home h;
    open_home(&h);
    start(&h, NULL, 0);
    put_program(&h, TENANT, 0xa1);
    for (uint32_t i = 0; i < N_ASKERS; i++) {
        askers[i] = (struct asker){&h, &n_wrong, i};
        assert_int_equal(sf_thread_start(&threads[i], "asker", 0, ask_on, &askers[i], NULL), 0);
    }
    for (int i = 0; i < 10; i++) {
        put_program(&h, TENANT, 0xa2);
        put_program(&h, TENANT, 0xa1);
        (void)sf_symbol_files_delete(sf_symbolizer_files(h.s), TENANT, &id, NULL);
        sf_symbolizer_forget(h.s, TENANT, &id);
        sf_symbolizer_stats(h.s, &stats);
    }
    for (int i = 0; i < N_ASKERS; i++)
        sf_thread_join(&threads[i]);
    assert_int_equal(atomic_load(&n_wrong), 0);
    assert_int_equal(ask(&h, TENANT, 0xa1, in_a_while(), &naming), N_STARTS);
    assert_int_equal(ask(&h, TENANT, 0xa2, in_a_while(), &naming), 0);
    close_home(&h);
}
