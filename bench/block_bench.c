/* block_bench.c - what does a span cost in a block: bytes on disk, and time to write, read, scan?
 *
 * The spans are those of a shop with 20 services of 5 pods each: 200 operations, 10-13 attributes
 * of http, db or code shape, a url and a client address that are different almost every time, a
 * request id per trace, half of the services with microsecond clocks. Seed fixed. Ratios are
 * against memcpy and zstd 1 of the same bytes in the same run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "block/format/encoding.h"
#include "block/span/granule_copy.h"
#include "block/span/reader.h"
#include "block/span/span_block_writer.h"

enum { SERVICES = 20, PODS = 5, OPERATIONS = 200, MEAN_TRACE = 9 };
enum { SLICE = 24000, TENANT = 1 }; /* rows held at once: a memtable, a merge's chunk */

static uint64_t seed = 42;

static uint64_t roll(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return n ? (seed * 0x9e3779b97f4a7c15u >> 11) % n : seed;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct load {
    struct sf_arena arena;
    struct sf_span *spans;
    int64_t *index_ns;
    uint32_t *trace_ends;
    struct sf_resource resources[SERVICES * PODS];
    struct sf_scope scopes[3];
    uint32_t n_spans, n_traces;
    char names[OPERATIONS][48];
    char keys[64][32];
};

static sf_str text(struct load *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
static sf_str text(struct load *l, const char *format, ...)
{
    char out[256];
    va_list args;
    sf_str s = SF_STR_NONE;
    va_start(args, format);
    vsnprintf(out, sizeof(out), format, args);
    va_end(args);
    if (!sf_arena_copy(&l->arena, sf_str_from(out), &s))
        abort();
    return s;
}

static struct sf_attr str_attr(sf_str key, sf_str val)
{
    return (struct sf_attr){key, {.type = SF_VALUE_STR, .str = val}};
}

static struct sf_attr int_attr(sf_str key, int64_t val)
{
    return (struct sf_attr){key, {.type = SF_VALUE_INT, .i64 = val}};
}

static sf_str request_id(struct load *l)
{
    uint64_t a = roll(0), b = roll(0);
    return text(l, "%08x-%04x-4%03x-a%03x-%012llx", (unsigned)a, (unsigned)(a >> 32) & 0xffff,
                (unsigned)(a >> 48) & 0xfff, (unsigned)b & 0xfff,
                (unsigned long long)(b >> 16) & 0xffffffffffff);
}

static uint32_t http_attrs(struct load *l, struct sf_attr *to, unsigned op)
{
    static const char *const METHODS[] = {"GET", "GET", "GET", "POST", "PUT", "DELETE"};
    uint32_t n = 0;
    const char *method = METHODS[op % 6];
    to[n++] = str_attr(SF_STR("http.request.method"), text(l, "%s", method));
    to[n++] = str_attr(SF_STR("url.full"),
                       text(l, "https://shop.example.com/api/v1/%s/%llu?page=%llu&sort=%s",
                            op % 3 ? "products" : "orders", (unsigned long long)roll(1000000),
                            (unsigned long long)roll(20), roll(2) ? "asc" : "desc"));
    to[n++] = str_attr(SF_STR("http.route"),
                       text(l, "/api/v1/%s/{id}", op % 3 ? "products" : "orders"));
    to[n++] = int_attr(SF_STR("http.response.status_code"), roll(50) ? 200 : roll(3) ? 404 : 500);
    to[n++] = int_attr(SF_STR("http.response.body.size"),
                       (int64_t)(roll(4) ? roll(4096) : roll(60000)));
    to[n++] = str_attr(SF_STR("client.address"),
                       text(l, "10.%llu.%llu.%llu", (unsigned long long)roll(16),
                            (unsigned long long)roll(256), (unsigned long long)roll(256)));
    to[n++] = int_attr(SF_STR("client.port"), 32768 + (int64_t)roll(28000));
    to[n++] = str_attr(SF_STR("user_agent.original"),
                       text(l, "Mozilla/5.0 (agent %llu)", (unsigned long long)roll(12)));
    to[n++] = str_attr(SF_STR("network.protocol.version"), text(l, "%s", roll(3) ? "1.1" : "2"));
    to[n++] = str_attr(SF_STR("user.id"), text(l, "user-%llu", (unsigned long long)roll(20000)));
    to[n++] = int_attr(SF_STR("thread.id"), 1 + (int64_t)roll(64));
    return n;
}

static uint32_t db_attrs(struct load *l, struct sf_attr *to, unsigned op)
{
    uint32_t n = 0;
    to[n++] = str_attr(SF_STR("db.system"), text(l, "postgresql"));
    to[n++] = str_attr(SF_STR("db.namespace"), text(l, "shop_%u", op % 4));
    to[n++] = str_attr(SF_STR("db.operation.name"), text(l, "%s", op % 5 ? "SELECT" : "UPDATE"));
    to[n++] = str_attr(
        SF_STR("db.query.text"),
        text(l, "SELECT id, name, price FROM table_%u WHERE id = $1 AND tenant = $2", op));
    to[n++] = str_attr(SF_STR("db.collection.name"), text(l, "table_%u", op));
    to[n++] = int_attr(SF_STR("db.response.returned_rows"), (int64_t)roll(30));
    to[n++] = str_attr(SF_STR("server.address"), text(l, "db-%u.internal", op % 6));
    to[n++] = int_attr(SF_STR("server.port"), 5432);
    to[n++] = str_attr(SF_STR("network.transport"), text(l, "tcp"));
    to[n++] = int_attr(SF_STR("thread.id"), 1 + (int64_t)roll(64));
    return n;
}

static uint32_t code_attrs(struct load *l, struct sf_attr *to, unsigned op)
{
    uint32_t n = 0;
    to[n++] = str_attr(SF_STR("code.function.name"), text(l, "com.shop.Service%u.handle", op % 40));
    to[n++] = str_attr(SF_STR("code.file.path"),
                       text(l, "src/main/java/com/shop/Service%u.java", op % 40));
    to[n++] = int_attr(SF_STR("code.line.number"), 10 + op * 3);
    to[n++] = str_attr(SF_STR("thread.name"), text(l, "worker-%llu", (unsigned long long)roll(32)));
    to[n++] = int_attr(SF_STR("thread.id"), 1 + (int64_t)roll(64));
    to[n++] = (struct sf_attr){SF_STR("cache.hit"),
                               {.type = SF_VALUE_BOOL, .is_true = roll(4) != 0}};
    to[n++] = int_attr(SF_STR("cpu.time_ns"), (int64_t)roll(12) * 10000000);
    to[n++] = int_attr(SF_STR("queue.length"), (int64_t)roll(8));
    to[n++] = str_attr(SF_STR("feature.flag"), text(l, "%s", roll(2) ? "on" : "off"));
    return n;
}

static void make_span(struct load *l, struct sf_span *s, uint64_t at, sf_str request)
{
    unsigned op = (unsigned)roll(OPERATIONS);
    unsigned service = op % SERVICES;
    uint64_t unit = service % 2 ? 1000 : 1, duration = 20000 + roll(1 + (50000000ull >> roll(12)));
    struct sf_attr *attrs = sf_arena_new_n(&l->arena, 14, sizeof(*attrs));
    uint32_t n;

    if (!attrs)
        abort();
    n = op % 3 == 0   ? http_attrs(l, attrs, op)
        : op % 3 == 1 ? db_attrs(l, attrs, op)
                      : code_attrs(l, attrs, op);
    attrs[n++] = str_attr(SF_STR("request.id"), request);
    s->span_id = roll(0);
    s->start_ns = at / unit * unit;
    s->end_ns = s->start_ns + duration / unit * unit;
    s->resource = service * PODS + (uint32_t)roll(PODS);
    s->scope = op % 3;
    s->name = sf_str_from(l->names[op]);
    s->kind = op % 3 == 0 ? SF_KIND_SERVER : op % 3 == 1 ? SF_KIND_CLIENT : SF_KIND_INTERNAL;
    s->status = roll(50) ? SF_STATUS_UNSET : SF_STATUS_ERROR;
    if (s->status == SF_STATUS_ERROR)
        s->status_msg = SF_STR("internal error");
    s->flags = 0x101;
    s->attrs = (struct sf_attrs){attrs, n};
    if (s->status == SF_STATUS_ERROR) {
        struct sf_event *e = sf_arena_new(&l->arena, sizeof(*e));
        struct sf_attr *a = sf_arena_new_n(&l->arena, 2, sizeof(*a));
        if (!e || !a)
            abort();
        a[0] = str_attr(SF_STR("exception.type"), SF_STR("java.lang.IllegalStateException"));
        a[1] = str_attr(SF_STR("exception.message"),
                        text(l, "order %llu is closed", (unsigned long long)roll(5000)));
        *e = (struct sf_event){
            .time_ns = s->end_ns - 1000, .name = SF_STR("exception"), .attrs = {a, 2}};
        s->events = e;
        s->n_events = 1;
    }
}

static void make_load(struct load *l, uint32_t n_spans)
{
    uint64_t at = 1700000000000000000u;

    if (!sf_arena_init(&l->arena, (size_t)n_spans * 2500 + (64 << 20)))
        abort();
    l->spans = sf_arena_new_n(&l->arena, n_spans + 64, sizeof(*l->spans));
    l->index_ns = sf_arena_new_n(&l->arena, n_spans + 64, sizeof(*l->index_ns));
    l->trace_ends = sf_arena_new_n(&l->arena, n_spans, sizeof(*l->trace_ends));
    for (int i = 0; i < OPERATIONS; i++)
        snprintf(l->names[i], sizeof(l->names[i]), "%s /api/v1/resource-%d/{id}",
                 i % 3 ? "GET" : "POST", i);
    for (unsigned i = 0; i < SERVICES * PODS; i++) {
        struct sf_attr *a = sf_arena_new_n(&l->arena, 6, sizeof(*a));
        a[0] = str_attr(SF_STR("service.name"), text(l, "service-%u", i / PODS));
        a[1] = str_attr(SF_STR("k8s.pod.name"), text(l, "service-%u-7d9f8-%u", i / PODS, i));
        a[2] = str_attr(SF_STR("service.version"), text(l, "1.4.%u", i / PODS));
        a[3] = str_attr(SF_STR("k8s.namespace.name"), SF_STR("shop"));
        a[4] = str_attr(SF_STR("host.name"), text(l, "node-%u", i % 12));
        a[5] = str_attr(SF_STR("telemetry.sdk.language"), SF_STR("java"));
        l->resources[i] = (struct sf_resource){.attrs = {a, 6}, .service = a[0].val.str};
    }
    l->scopes[0] = (struct sf_scope){.name = SF_STR("io.opentelemetry.tomcat"),
                                     .version = SF_STR("2.1")};
    l->scopes[1] = (struct sf_scope){.name = SF_STR("io.opentelemetry.jdbc"),
                                     .version = SF_STR("2.1")};
    l->scopes[2] = (struct sf_scope){.name = SF_STR("com.shop"), .version = SF_STR("1.0")};
    while (l->n_spans < n_spans) {
        uint32_t n = 1 + (uint32_t)roll(2 * MEAN_TRACE - 1), first = l->n_spans;
        sf_str request = request_id(l);
        sf_trace_id id;
        sf_store_u64le(id.b, roll(0));
        sf_store_u64le(id.b + 8, roll(0));
        at += roll(2000000);
        for (uint32_t i = 0; i < n; i++) {
            struct sf_span *s = &l->spans[first + i];
            make_span(l, s, at + i * roll(3000000), request);
            s->trace_id = id;
            s->parent_id = i ? l->spans[first + roll(i)].span_id : 0;
            l->index_ns[first + i] = (int64_t)s->start_ns;
        }
        l->n_spans += n;
        l->trace_ends[l->n_traces++] = l->n_spans;
    }
}

static void must(enum sf_err err, const struct sf_why *why)
{
    if (err) {
        fprintf(stderr, "block_bench: %s: %s\n", sf_err_name(err), why->text);
        exit(1);
    }
}

struct write_cost {           /* CPU */
    double rows_ns, block_ns; /* spans to a rowset, rowsets to a block */
};

static void add_rows(struct load *l, struct sf_rowset *rows, uint32_t first, uint32_t end,
                     struct sf_why *why)
{
    uint32_t resources[SERVICES * PODS], scopes[3];
    sf_rowset_reset(rows);
    for (int i = 0; i < SERVICES * PODS; i++)
        must(sf_rowset_resource(rows, TENANT, &l->resources[i], &resources[i], why), why);
    for (int i = 0; i < 3; i++)
        must(sf_rowset_scope(rows, TENANT, &l->scopes[i], &scopes[i], why), why);
    for (uint32_t i = first; i < end; i++) {
        struct sf_span s = l->spans[i];
        s.resource = resources[s.resource];
        s.scope = scopes[s.scope];
        must(sf_rowset_add(rows, TENANT, &s, l->index_ns[i], l->index_ns[i], why), why);
    }
}

/* Slices of whole traces, as a memtable holds them. */
static struct write_cost write_block(struct load *l, bool is_compressed, struct sf_buf *out)
{
    struct sf_span_block_options o = {.is_compressed = is_compressed,
                                      .info = {.tenant = TENANT, .level = 1}};
    struct sf_span_block_writer *w;
    struct sf_why why = {""};
    struct write_cost cost = {0};
    struct sf_rowset rows;
    struct sf_arena scratch;
    uint64_t len;
    double start = now_ns();

    if (!sf_rowset_init(&rows, 2 * SLICE, 256 << 20) || !sf_arena_init(&scratch, 256 << 20))
        abort();
    must(sf_span_block_writer_new(&o, &w, &why), &why);
    cost.block_ns = now_ns() - start;
    for (uint32_t t = 0, first = 0; t < l->n_traces; first = l->trace_ends[t - 1]) {
        while (t < l->n_traces && l->trace_ends[t] - first < SLICE)
            t++;
        t += t < l->n_traces;
        start = now_ns();
        add_rows(l, &rows, first, l->trace_ends[t - 1], &why);
        cost.rows_ns += now_ns() - start;
        start = now_ns();
        must(sf_rowset_write(&rows, w, scratch, NULL, &why), &why);
        cost.block_ns += now_ns() - start;
    }
    start = now_ns();
    must(sf_span_block_writer_finish(w, &len, NULL, out, &why), &why);
    cost.block_ns += now_ns() - start;
    if (getenv("BLOCK_BENCH_MEMORY"))
        printf("writer_memory %.1f MB\n", (double)sf_span_block_writer_memory(w) / 1e6);
    sf_span_block_writer_free(w);
    sf_rowset_done(&rows);
    sf_arena_done(&scratch);
    return cost;
}

/* What a merge does with the rows of a block before it writes them. */
static double copy_block(const struct sf_span_block_reader *r, struct sf_arena *a)
{
    struct sf_rowset rows;
    struct sf_why why = {""};
    double start;

    if (!sf_rowset_init(&rows, 2 * SLICE, 256 << 20))
        abort();
    start = now_ns();
    for (uint32_t g = 0; g < r->n_granules; g++) {
        struct sf_granule_copy *c;
        a->at = 0;
        if (rows.n_rows + r->granules[g].n_rows > SLICE)
            sf_rowset_reset(&rows);
        must(sf_granule_copy_open(r, g, &rows, a, &c, &why), &why);
        for (uint32_t i = 0; i < r->granules[g].n_rows; i++)
            must(sf_granule_copy_row(c, i, 0, 0, 0, &why), &why);
    }
    start = now_ns() - start;
    sf_rowset_done(&rows);
    return start;
}

static void print_columns(const struct sf_span_block_reader *r)
{
    double sum[65536] = {0}, all = 0;
    uint32_t n_chunks = 0;
    uint8_t enc[65536] = {0};
    for (uint32_t g = 0; g < r->n_granules; g++) {
        for (uint32_t i = 0; i < r->places[g].n_chunks; i++) {
            struct sf_chunk_desc d = sf_span_block_reader_desc(r, r->places[g].first_chunk + i);
            sum[d.column] += d.stored_len;
            enc[d.column] = d.encoding;
            all += d.stored_len;
            n_chunks++;
        }
    }
    for (uint32_t c = 0; c < 65536; c++) {
        if (sum[c] > 0)
            printf("  column %u %s %.*s: %.3f B/span\n", c, sf_encoding_name(enc[c]),
                   SF_STR_ARG(c >= 64 ? r->typed[c - 64].name : SF_STR("")),
                   sum[c] / (double)r->info.n_rows);
    }
    for (uint16_t s = 1; s < (uint16_t)SF_SECTIONS; s++)
        printf("  section %s: %.3f B/span (raw %.3f)\n", sf_section_name(s),
               (double)r->sections[s].stored_len / (double)r->info.n_rows,
               (double)r->sections[s].raw_len / (double)r->info.n_rows);
    printf("  columns in all %.2f B/span, %u chunks\n", all / (double)r->info.n_rows, n_chunks);
}

static double read_block(const struct sf_span_block_reader *r, uint32_t columns, struct sf_arena *a,
                         size_t *out_used)
{
    double start = now_ns();
    for (uint32_t g = 0; g < r->n_granules; g++) {
        struct sf_span_rows rows;
        struct sf_why why = {""};
        a->at = 0;
        must(sf_granule_view_read(r, g, columns, NULL, 0, a, &rows, &why), &why);
        *out_used = a->at > *out_used ? a->at : *out_used;
    }
    return now_ns() - start;
}

static uint64_t matches;

static double scan_block(const struct sf_span_block_reader *r, struct sf_arena *a)
{
    double start = now_ns();
    matches = 0;
    for (uint32_t g = 0; g < r->n_granules; g++) {
        struct sf_span_rows rows;
        struct sf_why why = {""};
        uint32_t name = UINT32_MAX;
        a->at = 0;
        must(sf_granule_view_read(r, g, SF_COL_TIMES | SF_COL_NAME | SF_COL_RESOURCE, NULL, 0, a,
                                  &rows, &why),
             &why);
        for (uint32_t i = 0; i < rows.name.n_dict; i++) {
            if (sf_str_eq(rows.name.dict[i], SF_STR("GET /api/v1/resource-44/{id}")))
                name = i;
        }
        for (uint32_t i = 0; i < rows.n_rows; i++)
            matches += rows.name.code[i] == name && rows.resource[i] / PODS == 4 &&
                       rows.end_ns[i] - rows.start_ns[i] > 1000000;
    }
    return now_ns() - start;
}

/* What examining every byte of the input costs: nobody can be faster. */
static uint64_t touched;
static double touch_input(const struct load *l)
{
    double start = now_ns();
    for (uint32_t i = 0; i < l->n_spans; i++) {
        const struct sf_span *s = &l->spans[i];
        touched += sf_hash_str(s->name);
        for (uint32_t k = 0; k < s->attrs.n; k++) {
            const struct sf_value *v = &s->attrs.list[k].val;
            touched += v->type == SF_VALUE_STR ? sf_hash_str(v->str) : (uint64_t)v->i64;
        }
    }
    return now_ns() - start;
}

static double best(double a, double b)
{
    return a == 0 || b < a ? b : a;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)atoi(argv[1]) : 200000;
    struct load l = {0};
    struct sf_arena a;
    struct sf_buf plain = {0}, packed = {0}, copy = {0};
    struct sf_span_block_reader *r, *p;
    struct sf_why why = {""};
    double t_touch = 0, t_rows = 0, t_plain = 0, t_packed = 0, t_read = 0, t_read_plain = 0,
           t_scan = 0, t_scan_plain = 0, t_copy = 0, t_zstd = 0, t_rows_of = 0, t_rows_of_plain = 0;
    size_t used = 0, zlen = 0, plain_len, packed_len;

    make_load(&l, n);
    if (!sf_arena_init(&a, 256 << 20))
        return 1;
    for (int run = 0; getenv("BLOCK_BENCH_PLAIN") && run < 30; run++) { /* for a profiler */
        sf_buf_done(&plain);
        t_plain = best(t_plain, write_block(&l, false, &plain).block_ns);
    }
    for (int run = 0; run < 5; run++) {
        struct write_cost cost;
        sf_buf_done(&plain);
        sf_buf_done(&packed);
        t_touch = best(t_touch, touch_input(&l));
        cost = write_block(&l, false, &plain);
        t_rows = best(t_rows, cost.rows_ns);
        t_plain = best(t_plain, cost.block_ns);
        t_packed = best(t_packed, write_block(&l, true, &packed).block_ns);
    }
    plain_len = plain.len;
    packed_len = packed.len;
    if (!sf_buf_reserve(&copy, ZSTD_compressBound(plain.len)))
        return 1;
    for (int run = 0; run < 5; run++) {
        double start = now_ns();
        memcpy(copy.p, plain.p, plain.len);
        t_copy = best(t_copy, now_ns() - start);
        start = now_ns();
        zlen = ZSTD_compress(copy.p, copy.cap, plain.p, plain.len, 1);
        t_zstd = best(t_zstd, now_ns() - start);
    }
    must(sf_span_block_reader_open_memory(&packed, SF_TABLES_ALL, &r, &why), &why);
    must(sf_span_block_reader_open_memory(&plain, SF_TABLES_ALL, &p, &why), &why);
    for (int run = 0; run < 5; run++) {
        t_read = best(t_read, read_block(r, SF_COL_ALL, &a, &used));
        t_read_plain = best(t_read_plain, read_block(p, SF_COL_ALL, &a, &used));
        t_rows_of = best(t_rows_of, copy_block(r, &a));
        t_rows_of_plain = best(t_rows_of_plain, copy_block(p, &a));
        t_scan = best(t_scan, scan_block(r, &a));
        t_scan_plain = best(t_scan_plain, scan_block(p, &a));
    }
    if (argc > 2)
        print_columns(r);
    n = l.n_spans;
    printf("spans %u in %u traces, %u granules\n", n, l.n_traces, r->n_granules);
    printf("bytes_plain %.1f B/span\n", (double)plain_len / n);
    printf("bytes_packed %.1f B/span\n", (double)packed_len / n);
    printf("bytes_zstd_of_plain %.1f B/span\n", (double)zlen / n);
    printf("hash_of_input %.0f ns/span\n", t_touch / n);
    printf("spans_to_rows %.0f ns/span\n", t_rows / n);
    printf("write_plain_per_hash_of_input %.1f x\n", (t_rows + t_plain) / t_touch);
    printf("write_plain %.0f ns/span\n", t_plain / n);
    printf("write_packed %.0f ns/span\n", t_packed / n);
    printf("memcpy_of_plain %.1f ns/span\n", t_copy / n);
    printf("zstd_of_plain %.0f ns/span\n", t_zstd / n);
    printf("write_plain_per_memcpy %.1f x\n", t_plain / t_copy);
    printf("write_packed_per_zstd %.2f x\n", t_packed / t_zstd);
    printf("read_all_packed %.0f ns/span\n", t_read / n);
    printf("read_all_plain %.0f ns/span\n", t_read_plain / n);
    printf("packed_to_rows %.0f ns/span\n", t_rows_of / n);
    printf("plain_to_rows %.0f ns/span\n", t_rows_of_plain / n);
    printf("scan_packed %.1f ns/span, %llu matches\n", t_scan / n, (unsigned long long)matches);
    printf("scan_plain %.1f ns/span\n", t_scan_plain / n);
    printf("granule_decoded %.1f MB\n", (double)used / 1e6);
    printf("reader_memory %.2f B/span\n",
           (double)(sf_span_block_reader_memory(r) - r->memory.cap) / n);
    sf_span_block_reader_close(r);
    sf_span_block_reader_close(p);
    sf_buf_done(&copy);
    sf_arena_done(&l.arena);
    sf_arena_done(&a);
    return 0;
}
