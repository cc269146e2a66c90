/* inventory - answers whether an item is in stock.
 *
 * Planted here, each with its switch:
 *   lock      the stock table's lock is held half of the time by a thread that counts boxes
 *   database  a query without an index, a commit that waits for the disk, a supplier far away */
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shop.h"

enum { HOLD_US = 12000, REST_US = 12000 };

static pthread_mutex_t stock_lock = PTHREAD_MUTEX_INITIALIZER;
static long stock[64];
static char database_path[512];
static __thread sqlite3 *database;
static pthread_key_t closes; /* closes a thread's connection when the thread ends */

/* ---- the lock ---- */

static APART void countBoxes(void)
{
    pthread_mutex_lock(&stock_lock);
    for (size_t i = 0; i < sizeof(stock) / sizeof(stock[0]); i++)
        stock[i] = stock[i] > 0 ? stock[i] : 100;
    shop_sleep_us(HOLD_US);
    pthread_mutex_unlock(&stock_lock);
}

static void *keep_counting(void *arg)
{
    for (;;) {
        if (shop_has("lock"))
            countBoxes();
        shop_sleep_us(REST_US);
    }
    return arg;
}

static APART void reserveStock(long order)
{
    sf_span span = sf_span_start("inventory.reserve");
    uint64_t asked = shop_now_us();
    pthread_mutex_lock(&stock_lock);
    /* The measured wait; the lock part of the span's time breakdown must match it. */
    sf_span_set_int(span, "shop.lock_wait_us", (int64_t)(shop_now_us() - asked));
    stock[(size_t)order % 64]--;
    pthread_mutex_unlock(&stock_lock);
    sf_span_end(span);
}

/* ---- the database ---- */

static bool run_sql(const char *text)
{
    char *why = NULL;
    if (sqlite3_exec(database, text, NULL, NULL, &why) == SQLITE_OK)
        return true;
    fprintf(stderr, "inventory: %s\n", why ? why : "the database is broken");
    sqlite3_free(why);
    return false;
}

static bool open_database(void)
{
    if (database)
        return true;
    if (sqlite3_open(database_path, &database) != SQLITE_OK)
        return false;
    pthread_setspecific(closes, database);
    sqlite3_busy_timeout(database, 5000);
    return run_sql("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;");
}

static void close_database(void *connection)
{
    sqlite3_close(connection);
}

static bool fill_database(void)
{
    return open_database() &&
           run_sql("CREATE TABLE IF NOT EXISTS boxes(sku TEXT, note TEXT);"
                   "CREATE TABLE IF NOT EXISTS reservations(orders INTEGER);"
                   "DELETE FROM boxes;"
                   "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999)"
                   "INSERT INTO boxes SELECT 'sku-' || (i % 64), printf('shelf %d, row %d, box %d',"
                   " i / 400, i / 20 % 20, i) FROM n;");
}

static APART long findBoxes(long order)
{
    char text[160];
    sqlite3_stmt *ask;
    long n = 0;
    sf_span span = sf_span_start("SELECT boxes");
    uint64_t cpu_us = shop_cpu_us();
    snprintf(text, sizeof(text),
             shop_has("database") ? "SELECT count(*) FROM boxes WHERE note LIKE '%%row %ld, box %%'"
                                  : "SELECT count(*) FROM boxes WHERE rowid = %ld",
             order % 20);
    sf_span_set_str(span, "db.system.name", "sqlite");
    sf_span_set_str(span, "db.query.text", text);
    if (sqlite3_prepare_v2(database, text, -1, &ask, NULL) == SQLITE_OK) {
        if (sqlite3_step(ask) == SQLITE_ROW)
            n = sqlite3_column_int(ask, 0);
        sqlite3_finalize(ask);
    }
    sf_span_set_int(span, "shop.cpu_us", (int64_t)(shop_cpu_us() - cpu_us));
    sf_span_end(span);
    return n;
}

static APART bool writeReservation(long order)
{
    char text[96];
    bool is_written;
    sf_span span = sf_span_start("INSERT reservation");
    sf_span_set_str(span, "db.system.name", "sqlite");
    snprintf(text, sizeof(text), "INSERT INTO reservations VALUES(%ld)", order);
    is_written = run_sql(text);
    if (!is_written)
        sf_span_set_status(span, SF_STATUS_ERROR, sqlite3_errmsg(database));
    sf_span_end(span);
    return is_written;
}

/* ---- the request ---- */

static int check_stock(const struct shop_request *request, char answer[SHOP_ANSWER_CAP])
{
    long n = 0;
    if (!open_database()) {
        shop_say(answer, "no database\n");
        return 500;
    }
    reserveStock(request->order);
    n = findBoxes(request->order);
    if (shop_has("database")) {
        if (!writeReservation(request->order)) {
            shop_say(answer, "the reservation was not written\n");
            return 500;
        }
        if (shop_call("supplier", "GET", "/delivery", request->order, answer) != 200) {
            shop_say(answer, "the supplier does not answer\n");
            return 502;
        }
    }
    snprintf(answer, SHOP_ANSWER_CAP, "{\"order\":%ld,\"boxes\":%ld}\n", request->order, n);
    return 200;
}

int main(void)
{
    static const struct shop_route routes[] = {{"GET", "/stock", check_stock}};
    const char *home = getenv("SHOP_HOME");
    pthread_t counter;
    snprintf(database_path, sizeof(database_path), "%s/inventory.db", home ? home : ".");
    if (pthread_key_create(&closes, close_database) || !fill_database())
        return 1;
    if (pthread_create(&counter, NULL, keep_counting, NULL))
        return 1;
    return shop_serve("inventory", routes, 1);
}
