#include "store/clickhouse/schema.h"

#include "test.h"
#include "wire/native_block.h"

/* "a, b, c" in both: what an insert names must be what the table has. */
static size_t count_commas(sf_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += s.p[i] == ',';
    return n;
}

/* By a later step. */
static bool is_added(const struct sf_buf *ddl, enum sf_ship_table t, const char *declared)
{
    char alter[80];
    size_t at, to;
    sf_str rest;
    snprintf(alter, sizeof(alter), "ALTER TABLE db.%s ADD COLUMN", sf_schema_table_name(t));
    if (!sf_str_find(sf_buf_str(ddl), sf_str_from(alter), &at))
        return false;
    rest = sf_str_from_at(sf_buf_str(ddl), at);
    assert_true(sf_str_find(rest, SF_STR(";"), &to));
    return sf_str_find(sf_str_part(rest, 0, to), sf_str_from(declared), &at);
}

TEST(schema, makes_every_table_that_rows_are_sent_to)
{
    struct sf_buf ddl = {0}, insert = {0};
    sf_schema_print(0, "db", &ddl);
    assert_true(sf_buf_ok(&ddl));
    for (enum sf_ship_table t = 0; t < SF_SHIP_TABLES; t++) {
        char create[80];
        size_t at, to;
        sf_str columns, column, name;
        snprintf(create, sizeof(create), "CREATE TABLE IF NOT EXISTS db.%s (",
                 sf_schema_table_name(t));
        assert_true(sf_str_find(sf_buf_str(&ddl), sf_str_from(create), &at));
        sf_str body = sf_str_from_at(sf_buf_str(&ddl), at);
        assert_true(sf_str_find(body, SF_STR("ENGINE ="), &to));
        body = sf_str_part(body, 0, to);
        sf_buf_reset(&insert);
        sf_schema_table_insert(t, "db", &insert);
        assert_true(sf_str_find(sf_buf_str(&insert), SF_STR("("), &at));
        assert_true(sf_str_find(sf_buf_str(&insert), SF_STR(")"), &to));
        columns = sf_str_part(sf_buf_str(&insert), at + 1, to - at - 1);
        assert_true(count_commas(columns) > 2);
        while (sf_str_split_next(&columns, ',', &column)) { /* each is declared: "name Type" */
            char declared[60];
            name = sf_str_trim(column);
            snprintf(declared, sizeof(declared), "%.*s ", SF_STR_ARG(name));
            if (!sf_str_find(body, sf_str_from(declared), &at) && !is_added(&ddl, t, declared))
                fail_msg("%s has no %s", sf_schema_table_name(t), declared);
        }
    }
    sf_buf_done(&insert);
    sf_buf_done(&ddl);
}

/* "name Type" is declared with the type that rows are sent in. */
TEST(schema, sends_columns_in_the_types_that_tables_have)
{
    struct sf_buf ddl = {0};
    unsigned n = 0;
    sf_schema_print(0, "db", &ddl);
    for (enum sf_ship_table t = 0; t < SF_SHIP_TABLES; t++) {
        const char *types = sf_schema_table_types(t);
        sf_str columns = sf_str_from(sf_schema_table_columns(t)), column, body;
        char text[90];
        size_t at, to;
        if (!types)
            continue;
        snprintf(text, sizeof(text), "CREATE TABLE IF NOT EXISTS db.%s (", sf_schema_table_name(t));
        assert_true(sf_str_find(sf_buf_str(&ddl), sf_str_from(text), &at));
        body = sf_str_from_at(sf_buf_str(&ddl), at);
        assert_true(sf_str_find(body, SF_STR("ENGINE ="), &to));
        body = sf_str_part(body, 0, to);
        for (n = 0; sf_str_split_next(&columns, ',', &column); n++, types++) {
            sf_str name = sf_str_trim(column);
            uint8_t size;
            bool is_array = *types == '*';
            types += is_array;
            const char *type = sf_native_block_type(*types, &size);
            assert_non_null(type);
            snprintf(text, sizeof(text), is_array ? "%.*s Array(%s)" : "%.*s %s", SF_STR_ARG(name),
                     type);
            if (!sf_str_find(body, sf_str_from(text), &at) && !is_added(&ddl, t, text))
                fail_msg("%s has no %s", sf_schema_table_name(t), text);
        }
        assert_int_equal(*types, 0);
        assert_true(n > 5);
    }
    sf_buf_done(&ddl);
}

TEST(schema, has_nothing_to_do_at_its_own_version)
{
    struct sf_buf ddl = {0};
    sf_schema_print(SF_SCHEMA_VERSION, "db", &ddl);
    assert_int_equal(ddl.len, 0);
    sf_buf_done(&ddl);
}

TEST(schema, drops_and_changes_nothing)
{
    struct sf_buf ddl = {0};
    size_t at;
    sf_schema_print(0, "db", &ddl);
    assert_false(sf_str_find(sf_buf_str(&ddl), SF_STR("DROP"), &at));
    assert_false(sf_str_find(sf_buf_str(&ddl), SF_STR("MODIFY"), &at));
    sf_buf_done(&ddl);
}
