#include "test.h"

#include "base/err.h"
#include "base/secret_shape.h"

static bool is_secret(const void *arg, sf_str name, bool is_number)
{
    (void)arg;
    if (sf_str_ieq(name, SF_STR("tokens")))
        return !is_number;
    return sf_str_ieq(name, SF_STR("password")) || sf_str_ieq(name, SF_STR("token")) ||
           sf_str_ieq(name, SF_STR("authorization")) || sf_str_ieq(name, SF_STR("user.password"));
}
static const struct sf_shape_names names = {is_secret, NULL, true};

static void assert_hit(const char *text, enum sf_shape shape, const char *secret)
{
    struct sf_shape_hit hits[8];
    sf_str all = sf_str_from(text);
    size_t n = sf_secret_shape_find(all, sf_secret_shape_scan(all), &names, hits, 8);
    for (size_t i = 0; i < n && i < 8; i++) {
        sf_str found = sf_str_part(sf_str_from(text), hits[i].at, hits[i].end - hits[i].at);
        if (hits[i].shape == shape && sf_str_eq(found, sf_str_from(secret)))
            return;
    }
    fail_msg("\"%s\" not found in \"%s\" (%zu hits)", secret, text, n);
}

static void assert_clean(const char *text)
{
    struct sf_shape_hit hits[8];
    sf_str all = sf_str_from(text);
    if (sf_secret_shape_find(all, sf_secret_shape_scan(all), &names, hits, 8))
        fail_msg("\"%s\": took \"%.*s\" for a secret (%d)", text, (int)(hits[0].end - hits[0].at),
                 text + hits[0].at, hits[0].shape);
}

TEST(secret_shape, finds_cards_with_and_without_gaps)
{
    assert_hit("4111111111111111", SF_SHAPE_CARD, "4111111111111111");
    assert_hit("card 4111 1111 1111 1111.", SF_SHAPE_CARD, "4111 1111 1111 1111");
    assert_hit("4111-1111-1111-1111", SF_SHAPE_CARD, "4111-1111-1111-1111");
    assert_hit("amex 378282246310005 ok", SF_SHAPE_CARD, "378282246310005");
    assert_hit("order 12 4111111111111111 7", SF_SHAPE_CARD, "4111111111111111");
    assert_hit("a=5555555555554444&b=1", SF_SHAPE_CARD, "5555555555554444");
    assert_hit("6011111111111117", SF_SHAPE_CARD, "6011111111111117");
    assert_true(sf_shape_is_card(4111111111111111));
}

TEST(secret_shape, leaves_other_numbers_alone)
{
    assert_clean("4111111111111112");                 /* checksum */
    assert_clean("1700000000000000000");              /* a time stamp */
    assert_clean("5b8efff798034111111111111111d269"); /* inside an id */
    assert_clean("411111111111111111111111111111");   /* too long */
    assert_clean("2026-08-21 12:30:00.123456789");
    assert_clean("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15");
    assert_clean("550e8400-e29b-41d4-a716-446655440000");
    assert_false(sf_shape_is_card(1700000000000000000));
    assert_false(sf_shape_is_card(42));
}

TEST(secret_shape, finds_keys_and_tokens)
{
    assert_hit("id=AKIAIOSFODNN7EXAMPLE", SF_SHAPE_CLOUD_KEY, "AKIAIOSFODNN7EXAMPLE");
    assert_hit("AIzaSyA1234567890abcdefghijklmnopqrstuv", SF_SHAPE_CLOUD_KEY,
               "AIzaSyA1234567890abcdefghijklmnopqrstuv");
    assert_hit("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl!", SF_SHAPE_JWT,
               "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl");
    assert_hit("Authorization Bearer abc123.def-456", SF_SHAPE_AUTH_HEADER, "abc123.def-456");
    assert_hit("BEARER abcdefghijklmnopqrstuvwxyz", SF_SHAPE_AUTH_HEADER,
               "abcdefghijklmnopqrstuvwxyz");
    assert_hit("basic dXNlcjpwYXNz", SF_SHAPE_AUTH_HEADER, "dXNlcjpwYXNz");
    assert_hit("ghp_abcdefghijklmnopqrstuvwxyz0123456789", SF_SHAPE_TOKEN,
               "ghp_abcdefghijklmnopqrstuvwxyz0123456789");
    assert_hit("sft_abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE", SF_SHAPE_TOKEN,
               "sft_abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE");
    assert_hit("x xoxb-123456789012-abcdef", SF_SHAPE_TOKEN, "xoxb-123456789012-abcdef");
    assert_hit("k: sk_live_abcdefghijklmnop1234", SF_SHAPE_TOKEN, "sk_live_abcdefghijklmnop1234");
    assert_hit("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nb",
               SF_SHAPE_PRIVATE_KEY,
               "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----");
    assert_hit("-----BEGIN PRIVATE KEY-----\nMIIBcut off", SF_SHAPE_PRIVATE_KEY,
               "-----BEGIN PRIVATE KEY-----\nMIIBcut off");
}

TEST(secret_shape, finds_passwords_in_urls)
{
    assert_hit("postgres://app:hunter2@db:5432/x", SF_SHAPE_URL_PASSWORD, "hunter2");
    assert_hit("https://u:p@ss@host/", SF_SHAPE_URL_PASSWORD, "p@ss");
    assert_hit("redis://:s3cret@cache:6379", SF_SHAPE_URL_PASSWORD, "s3cret");
    assert_hit("https://abcdefghijklmnopqrstuvwx@host/", SF_SHAPE_URL_PASSWORD,
               "abcdefghijklmnopqrstuvwx");
    assert_clean("https://host:8080/path?mail=a@b.example");
    assert_hit("x://u:p@ss@host", SF_SHAPE_URL_PASSWORD, "p@ss");
    assert_hit("a@b x://u:p@h y://v:q@ss@h", SF_SHAPE_URL_PASSWORD, "q@ss");
    assert_hit("x://u@me:p@ss@host", SF_SHAPE_URL_PASSWORD, "p@ss");
    assert_clean("mailto:someone@example.com");
    assert_clean("https://alice@host/");
}

TEST(secret_shape, finds_pairs_in_many_notations)
{
    assert_hit("password=hunter2&a=b", SF_SHAPE_PAIR, "hunter2");
    assert_hit("{\"password\":\"hun\\\"ter2\"}", SF_SHAPE_PAIR, "hun\\\"ter2");
    assert_hit("{\\\"token\\\": \\\"hunter2\\\", \\\"a\\\":1}", SF_SHAPE_PAIR, "hunter2");
    assert_hit("SET password = 'hunter2' WHERE", SF_SHAPE_PAIR, "hunter2");
    assert_hit("user.password: hunter(2)", SF_SHAPE_PAIR, "hunter(2)");
    assert_hit("opts[password]=hunter2", SF_SHAPE_PAIR, "hunter2");
    assert_hit("Authorization: Digest a=1, b=2\nX: y", SF_SHAPE_PAIR, "Digest a=1, b=2");
    assert_hit("token=>'x'", SF_SHAPE_PAIR, "x");
    assert_hit("tokens=abc", SF_SHAPE_PAIR, "abc");
    assert_hit("java -Dpassword=hunter2 -jar a", SF_SHAPE_PAIR, "hunter2");
    assert_hit("-Dtoken=hunter2", SF_SHAPE_PAIR, "hunter2");
    assert_hit("/login?next=%2Fcart%3Ftoken%3Dhunter2%26page%3d2", SF_SHAPE_PAIR, "hunter2");
    assert_hit("/login?next=password%3dhunter2&a=b", SF_SHAPE_PAIR, "hunter2");
    assert_hit("/login?q=%7Btoken%3Dhunter2%22", SF_SHAPE_PAIR, "hunter2");
    assert_hit("a=%20token=hunter2", SF_SHAPE_PAIR, "hunter2");
    assert_hit("password:\thunter2", SF_SHAPE_PAIR, "hunter2");
    assert_hit("password\t=\thunter2", SF_SHAPE_PAIR, "hunter2");
    assert_hit("{\"token\":\t\"hunter2\"}", SF_SHAPE_PAIR, "hunter2");
    assert_clean("/login?next=%2Fcart%3Fpage%3D2");
    assert_clean("/login?next=tokens%3D15");
    assert_clean("/login?next=token%3D");
    assert_clean("token%2Dhunter2");
    assert_clean("tokens=15");
    assert_clean("token::parse(x)");
    assert_clean("password=");
    assert_clean("name=value&other=1");
    assert_clean("https://host/a?b=c:d");
}

TEST(secret_shape, finds_what_an_element_holds)
{
    assert_hit("<password>hunter2</password>", SF_SHAPE_PAIR, "hunter2");
    assert_hit("<a><ns:Password Type=\"x\">hun ter&amp;2</ns:Password></a>", SF_SHAPE_PAIR,
               "hun ter&amp;2");
    assert_hit("<tokens>abc</tokens>", SF_SHAPE_PAIR, "abc");
    assert_hit("<token><![CDATA[a>b&c]]></token>", SF_SHAPE_PAIR, "a>b&c");
    assert_hit("<token><![CDATA[hunter2]]></token>", SF_SHAPE_PAIR, "hunter2");
    assert_clean("<tokens>15</tokens>");
    assert_clean("<name>hunter2</name>");
    assert_clean("<password></password>");
    assert_clean("<a><b/></password>");
    assert_clean("hunter2</password>");
    assert_clean("<password>hunter2</password");
    assert_clean("]]></password>");
    assert_clean("</token>");
}

TEST(secret_shape, finds_values_whose_name_is_a_value)
{
    assert_hit("{\"name\":\"password\",\"value\":\"hunter2\"}", SF_SHAPE_PAIR, "hunter2");
    assert_hit("{\"key\": \"token\",\n  \"value\": \"hunter2\"}", SF_SHAPE_PAIR, "hunter2");
    assert_hit("{\\\"Name\\\":\\\"token\\\",\\\"Value\\\":\\\"hunter2\\\"}", SF_SHAPE_PAIR,
               "hunter2");
    assert_hit("<add key=\"token\" value=\"hunter2\"/>", SF_SHAPE_PAIR, "hunter2");
    assert_hit("name=token&value=hunter2", SF_SHAPE_PAIR, "hunter2");
    assert_hit("name: tokens, value: x", SF_SHAPE_PAIR, "x");
    assert_clean("name: tokens, value: 15");
    assert_clean("{\"name\":\"color\",\"value\":\"red\"}");
    assert_clean("{\"username\":\"token\",\"value\":\"red\"}");
    assert_clean("{\"name\":\"token\",\"value\":{\"a\":1}}");
    assert_clean("a token, value: x");
    assert_clean("value=token");
}

TEST(secret_shape, finds_arguments_of_commands)
{
    assert_hit("tool --password hunter2 run", SF_SHAPE_ARG, "hunter2");
    assert_hit("--password hunter2", SF_SHAPE_ARG, "hunter2");
    assert_hit("tool --token 'a b' -v", SF_SHAPE_ARG, "a b");
    assert_hit("app -password hunter2", SF_SHAPE_ARG, "hunter2");
    assert_hit("[\"tool\",\"--token\",\"abc\"]", SF_SHAPE_ARG, "abc");
    assert_hit("mysql -uroot -phunter2 shop", SF_SHAPE_ARG, "hunter2");
    assert_hit("/usr/bin/mysqldump -p'hun ter' x", SF_SHAPE_ARG, "'hun ter'");
    assert_hit("docker exec -it db mysql -phunter", SF_SHAPE_ARG, "hunter");
    assert_hit("sh -c \"mysql -phunter2 -e x\"", SF_SHAPE_ARG, "hunter2");
    assert_hit("cd /; mysql -phunter2; ls", SF_SHAPE_ARG, "hunter2");
    assert_hit("mysql -prod", SF_SHAPE_ARG, "rod"); /* that is what mysql takes it for */
    assert_hit("sshpass -p hunter2 ssh h", SF_SHAPE_ARG, "hunter2");
    assert_hit("redis-cli -h c -a hunter2 ping", SF_SHAPE_ARG, "hunter2");
    assert_hit("docker login -u me -p hunter2 reg", SF_SHAPE_ARG, "hunter2");
    assert_hit("curl -u alice:hunter2 http://h/", SF_SHAPE_ARG, "hunter2");
    assert_hit("curl -ualice:hunter2 h", SF_SHAPE_ARG, "hunter2");
    assert_hit("curl --user alice:hunter2 h", SF_SHAPE_ARG, "hunter2");
    assert_hit("curl --user=alice:hunter2 h", SF_SHAPE_ARG, "hunter2");
    assert_hit("curl -s -U p:hunter2 h", SF_SHAPE_ARG, "hunter2");
    assert_hit("curl -sSu alice:hunter2 h", SF_SHAPE_ARG, "hunter2"); /* flags in one word */
    assert_hit("curl -fsSLualice:hunter2 h", SF_SHAPE_ARG, "hunter2");
    assert_hit("curl -sU p:hunter2 h", SF_SHAPE_ARG, "hunter2");
    assert_hit("mysql -sNphunter2 shop", SF_SHAPE_ARG, "hunter2");
    assert_hit("mysqldump -tp'hun ter' x", SF_SHAPE_ARG, "'hun ter'");
    assert_hit("ldapsearch -xLLLw hunter2 -D cn", SF_SHAPE_ARG, "hunter2");
    assert_hit("http -va joe:hunter2 h", SF_SHAPE_ARG, "hunter2");
    assert_hit("redis-cli --pass hunter2 ping", SF_SHAPE_ARG, "hunter2");
    assert_hit("mongodump -phunter2", SF_SHAPE_ARG, "hunter2");
    assert_hit("zip -P hunter2 a.zip b", SF_SHAPE_ARG, "hunter2");
    assert_hit("7z a -phunter2 a.7z b", SF_SHAPE_ARG, "hunter2");
    assert_hit("az login -u joe -p hunter2", SF_SHAPE_ARG, "hunter2");
}

TEST(secret_shape, leaves_other_arguments_alone)
{
    assert_clean("find . -print -path x -prune");
    assert_clean("gcc -pthread -pipe -o a a.c");
    assert_clean("docker run -p 8080:80 nginx");
    assert_clean("the mysql -prod cluster is down");
    assert_clean("mysql -p shop"); /* it asks */
    assert_clean("mysql -P 3306 -h db");
    assert_clean("ps -u root");
    assert_clean("curl -u alice http://h/");
    assert_clean("chown -u a:b x");
    assert_clean("tool --no-password --verbose");
    assert_clean("tool --password --user x");
    assert_clean("llm --tokens 100");
    assert_clean("tool --password");
    assert_clean("a - b -- c --- d -");
    assert_clean("x -1 -p");
    assert_clean("curl -sXu a:b h"); /* -X takes u */
    assert_clean("curl -sS a:b h");
    assert_clean("mysql -sN -e x shop");
    assert_clean("mysql -sNp shop");
}

TEST(secret_shape, finds_passwords_in_sql)
{
    assert_hit("CREATE USER a IDENTIFIED BY 'hunter2'", SF_SHAPE_SQL, "hunter2");
    assert_hit("alter user a identified by 'it''s'", SF_SHAPE_SQL, "it''s");
    assert_hit("ALTER USER a IDENTIFIED BY \"hunter2\"", SF_SHAPE_SQL, "hunter2");
    assert_hit("ALTER USER a IDENTIFIED BY hunter2;", SF_SHAPE_SQL, "hunter2");
    assert_hit("IDENTIFIED BY\n   'hunter2'", SF_SHAPE_SQL, "hunter2");
    assert_hit("IDENTIFIED WITH mysql_native_password BY 'hunter2'", SF_SHAPE_SQL, "hunter2");
    assert_hit("IDENTIFIED WITH 'caching_sha2_password' BY 'hunter2'", SF_SHAPE_SQL, "hunter2");
    assert_hit("CREATE ROLE a LOGIN PASSWORD 'hunter2'", SF_SHAPE_SQL, "hunter2");
    assert_hit("SET PASSWORD = PASSWORD('hunter2')", SF_SHAPE_PAIR, "PASSWORD('hunter2");
    assert_hit("SET PASSWORD FOR 'joe' = PASSWORD('hunter2')", SF_SHAPE_SQL, "hunter2");
    assert_hit("set password for 'joe'@'%' = PASSWORD('hunter2')", SF_SHAPE_SQL, "hunter2");
    assert_hit("UPDATE user SET p = PASSWORD('hunter2')", SF_SHAPE_SQL, "hunter2");
    assert_hit("SET PASSWORD FOR 'joe'@'%' = 'it''s'", SF_SHAPE_SQL, "it''s");
    assert_hit(" set password for joe=\"hunter2\"", SF_SHAPE_SQL, "hunter2");
    assert_hit("SET PASSWORD FOR joe TO RANDOM, x = 'hunter2'", SF_SHAPE_SQL, "hunter2");
    assert_clean("SET PASSWORDS FOR 'joe' = 1");
    assert_clean("SET x = 'password'");
    assert_clean("password()");
    assert_clean("PASSWORD('')");
    assert_clean("SELECT a FROM b ORDER BY 'name'");
    assert_clean("GROUP BY day HAVING x");
    assert_clean("the user was identified by the driver as x");
}

TEST(secret_shape, finds_both_passwords_of_a_change)
{
    struct sf_shape_hit hits[4];
    sf_str text = SF_STR("ALTER USER a IDENTIFIED BY 'newer' REPLACE 'older' RETAIN");
    assert_int_equal(sf_secret_shape_find(text, sf_secret_shape_scan(text), &names, hits, 4), 2);
    assert_str(sf_str_part(text, hits[0].at, hits[0].end - hits[0].at), "older");
    assert_str(sf_str_part(text, hits[1].at, hits[1].end - hits[1].at), "newer");
    assert_hit("ALTER USER a IDENTIFIED BY 'newer' REPLACED 'x'", SF_SHAPE_SQL, "newer");
    assert_hit("ALTER USER a IDENTIFIED BY 'newer' REPLACE", SF_SHAPE_SQL, "newer");
}

TEST(secret_shape, finds_webhooks_signatures_and_more_tokens)
{
    assert_hit("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
               SF_SHAPE_WEBHOOK, "XXXXXXXXXXXXXXXXXXXXXXXX");
    assert_hit("/services/T0000ABCD/B0000ABCD/abcdefghijklmnop", SF_SHAPE_WEBHOOK,
               "abcdefghijklmnop");
    assert_hit("https://hooks.slack.com/workflows/T0000ABCD/A0000ABCD/123456789/abcdefghijklmnop",
               SF_SHAPE_WEBHOOK, "abcdefghijklmnop");
    assert_hit("https://hooks.slack.com/triggers/E0000ABCD/123456789012/abcdefghijklmnop",
               SF_SHAPE_WEBHOOK, "abcdefghijklmnop");
    assert_hit("https://discord.com/api/webhooks/123456789012345678/abcDEF_ghi-jklmnopqrst",
               SF_SHAPE_WEBHOOK, "abcDEF_ghi-jklmnopqrst");
    assert_hit("https://api.telegram.org/bot123456789:AAabcdefghijklmnopqrstuvwxyz01234/x",
               SF_SHAPE_TOKEN, "AAabcdefghijklmnopqrstuvwxyz01234");
    assert_hit("https://h/x?sv=1&sig=abcdefghijklmnop%3D&se=2", SF_SHAPE_PAIR,
               "abcdefghijklmnop%3D");
    assert_hit("https://h/x?Signature=abcdefghijklmnopq", SF_SHAPE_PAIR, "abcdefghijklmnopq");
    assert_hit("hvs.CAESIabcdefghijklmnopqrst", SF_SHAPE_TOKEN, "hvs.CAESIabcdefghijklmnopqrst");
    assert_hit("SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz", SF_SHAPE_TOKEN,
               "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz");
    assert_hit("dapi0123456789abcdef0123456789abcdef", SF_SHAPE_TOKEN,
               "dapi0123456789abcdef0123456789abcdef");
    assert_hit("AGE-SECRET-KEY-1ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLM", SF_SHAPE_TOKEN,
               "AGE-SECRET-KEY-1ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLM");
    assert_clean("GET /api/services/T1/B2/x");
    assert_clean("/webhooks/42/deliveries");
    assert_clean("/orders/services/list");
    assert_clean("https://hooks.slack.com/triggers/42/123456789012/abcdefghijklmnop");
    assert_clean("https://hooks.slack.com/workflows/T0000ABCD/123456789/abcdefghijklmnop");
    assert_clean("https://hooks.slack.com/triggers/T0000ABCD/last/abcdefghijklmnop");
    assert_clean("https://hooks.slack.com/triggers/T0000ABCD/1234567890");
    assert_clean("MSG.example.SG.x");
    assert_clean("ldap.dapi dapi0123");
    assert_clean("hvs.x");
    assert_clean("bot12:ok");
    assert_clean("?sig=short&signature=");
}

TEST(secret_shape, leaves_everyday_text_alone)
{
    static const char *const clean[] = {"GET /api/v1/users/{id}",
                                        "SELECT a, b FROM orders WHERE id = $1 AND state = 'open'",
                                        "bearer authentication failed",
                                        "basic authentication",
                                        "task-b sk-1 risk-free",
                                        "test --pass twice",
                                        "az group -p x",
                                        "exec_abcdefghijklmnopqrstuvwx",
                                        "version 1.29.abcdefghijklmnopqrstuvwx",
                                        "</a></b>",
                                        "text/html; charset=utf-8",
                                        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
                                        "eyJust.kidding",
                                        "AKIASHORT",
                                        "-----BEGIN CERTIFICATE-----",
                                        "10.1.2.3:8080",
                                        "java.lang.IllegalStateException: unexpected token",
                                        "x",
                                        "",
                                        "a=",
                                        "=b",
                                        "@"};
    for (size_t i = 0; i < sizeof(clean) / sizeof(clean[0]); i++)
        assert_clean(clean[i]);
}

/* With a search that begins anew at each name or prefix, one of these texts would take hours. */
TEST(secret_shape, reads_a_long_text_once)
{
    static const char *const parts[] = {"a=",
                                        "a:",
                                        "=",
                                        "a= ",
                                        "cookie:",
                                        "sk-",
                                        "ghp_",
                                        "a%3D",
                                        "1=1",
                                        "4111 ",
                                        "-p\"",
                                        "-----BEGIN PRIVATE KEY",
                                        "by ",
                                        "bearer",
                                        "eyJ.",
                                        "u@",
                                        "identified by 'a ",
                                        "password='",
                                        "//@",
                                        "\\\"",
                                        "cookie=\"",
                                        "mysql -p'",
                                        "services/T",
                                        "webhooks/1",
                                        "</",
                                        "</a>",
                                        "]]></a>",
                                        "<token>",
                                        "value=",
                                        "name=token value=",
                                        "a=\t"};
    enum { LEN = 1 << 20 };
    static char text[LEN];
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct sf_shape_hit hits[2];
        size_t len = strlen(parts[i]);
        for (size_t at = 0; at < LEN; at++)
            text[at] = parts[i][at % len];
        (void)sf_secret_shape_find((sf_str){text, LEN}, sf_secret_shape_scan((sf_str){text, LEN}),
                                   &names, hits, 2);
    }
}

TEST(secret_shape, counts_what_does_not_fit)
{
    struct sf_shape_hit hits[2];
    sf_str text = SF_STR("token=1 token=2 token=3");
    assert_int_equal(sf_secret_shape_find(text, sf_secret_shape_scan(text), &names, hits, 2), 3);
}

/* Every secret at every distance from the start, so that it meets each edge of the wide look. */
TEST(secret_shape, overlooks_nothing_wherever_it_stands)
{
    static const char *const secrets[] = {
        "4111111111111111",
        "4111 1111 1111 1111",
        "378282246310005",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln",
        "Bearer abc123.def-456",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_abcdefghijklmnopqrstuvwxyz",
        "glpat-abcdefghijklmnopqrst",
        "glsa_abcdefghijklmnopqrstuvwxyz012345_6789abcd",
        "lin_api_abcdefghijklmnopqrstuvwxyz0123456789",
        "xoxb-123456789012-abcdef",
        "xapp-123456789012-abcdef",
        "sk_live_abcdefghijklmnop1234",
        "sk_test_abcdefghijklmnop1234",
        "sk-abcdefghijklmnopqrstuvwx",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
        "hf_abcdefghijklmnopqrstuvwxyz0123456789",
        "shpat_abcdefghijklmnopqrstuvwxyz012345",
        "pypi-abcdefghijklmnopqrstuvwxyz0123456789",
        "dop_v1_abcdefghijklmnopqrstuvwxyz0123456789",
        "-----BEGIN PRIVATE KEY-----",
        "x://u:hunter2@h",
        "token=hunter2",
        "token%3Dhunter2",
        "token%3dhunter2",
        "-Dtoken=hunter2",
        "rk_test_abcdefghijklmnop1234",
        "shpss_abcdefghijklmnopqrstuvwxyz012345",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "hvs.CAESIabcdefghijklmnopqrst",
        "SG.abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz",
        "dapi0123456789abcdef0123456789abcdef",
        "shppa_abcdefghijklmnopqrstuvwxyz012345",
        "doo_v1_abcdefghijklmnopqrstuvwxyz0123456789",
        "dor_v1_abcdefghijklmnopqrstuvwxyz0123456789",
        "nvapi-abcdefghijklmnopqrstuvwx",
        "gsk_abcdefghijklmnopqrstuvwxyz0123456789",
        "sq0csp-abcdefghijklmnopqrstuvwx",
        "pscale_pw_abcdefghijklmnopqrstuvwx",
        "GOCSPX-abcdefghijklmnopqrstuvwx",
        "PMAK-abcdefghijklmnopqrstuvwx",
        "NRAK-ABCDEFGHIJKLMNOPQRSTUVWXYZ0",
        "whsec_abcdefghijklmnopqrstuvwx",
        "glc_abcdefghijklmnopqrstuvwxyz0123456789",
        "glptt-abcdefghijklmnopqrstuvwx",
        "ya29.a0abcdefghijklmnopqrstuvwx",
        "eyJrIjoiaHVudGVyMlNFQ1JFVCIsIm4iOiJ4IiwiaWQiOjF9",
        "<token>hunter2</token>",
        "<token><![CDATA[hunter2]]></token>",
        "name=token value=hunter2",
        "token:\thunter2",
        "AGE-SECRET-KEY-1ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEFGHIJKLM",
        "services/T0000ABCD/B0000ABCD/abcdefghijklmnop",
        "webhooks/123456789012345678/abcdefghijklmnop",
        " mysql -phunter2 ",
        " --password hunter2 ",
        "IDENTIFIED BY 'hunter2' ",
        "PASSWORD 'hunter2' ",
        "PASSWORD('hunter2') ",
        "s://hooks.slack.com/triggers/T0000ABCD/123456789012/abcdefghijklmnop",
        "s://hooks.slack.com/workflows/T0000ABCD/A0000ABCD/123456789/abcdefghijklmnop",
    };
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        for (size_t before = 0; before < 40; before++) {
            for (size_t after = 0; after < 20; after++) {
                char text[160] = {0};
                struct sf_shape_hit hits[8];
                size_t len = strlen(secrets[i]);
                sf_str all = {text, before + len + after};
                memset(text, '/', all.len); /* separates, begins nothing */
                memcpy(text + before, secrets[i], len);
                if (sf_secret_shape_find(all, sf_secret_shape_scan(all), &names, hits, 8) == 0)
                    fail_msg("%s overlooked at %zu of %zu", secrets[i], before, all.len);
            }
        }
    }
}
