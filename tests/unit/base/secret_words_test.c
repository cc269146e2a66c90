#include "test.h"

#include "base/err.h"
#include "base/secret_words.h"

static enum sf_word_found find(const char *word, const char *text)
{
    struct sf_word w;
    assert_true(sf_secret_words_init(&w, sf_str_from(word)));
    return sf_secret_words_find(&w, sf_str_from(text));
}

static bool find_substring(const char *word, const char *text)
{
    struct sf_word w;
    assert_true(sf_secret_words_init(&w, sf_str_from(word)));
    return sf_secret_words_find_substring(&w, sf_str_from(text));
}

TEST(secret_words, finds_a_word_part_however_it_is_joined)
{
    static const char *const with[] = {"token",       "auth_token",     "AuthToken",  "authToken",
                                       "AUTH_TOKEN",  "auth.token",     "x-token-id", "HTTPToken",
                                       "OAuth2Token", "token2go_token", "a/token"};
    static const char *const without[] = {"tokenize", "tokenizer", "detoken",  "Tokenizer",
                                          "to_ken",   "",          "betoken_x"};
    for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++) {
        if (find("token", with[i]) != SF_WORD_ONE)
            fail_msg("not found in %s", with[i]);
    }
    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        if (find("token", without[i]) != SF_WORD_NONE)
            fail_msg("found in %s", without[i]);
    }
}

TEST(secret_words, tells_plurals_apart)
{
    assert_int_equal(find("token", "authTokens"), SF_WORD_PLURAL);
    assert_int_equal(find("token", "gen_ai.usage.input_tokens"), SF_WORD_PLURAL);
    assert_int_equal(find("token", "TOKENS"), SF_WORD_PLURAL);
    assert_int_equal(find("api key", "API_KEYs"), SF_WORD_PLURAL);
}

TEST(secret_words, finds_words_of_several_parts)
{
    assert_int_equal(find("api key", "x-api-key"), SF_WORD_ONE);
    assert_int_equal(find("api key", "apiKey"), SF_WORD_ONE);
    assert_int_equal(find("api key", "my.apikey"), SF_WORD_ONE);
    assert_int_equal(find("api_key", "ApiKey"), SF_WORD_ONE);
    assert_int_equal(find("api key", "api.route.key"), SF_WORD_NONE);
    assert_int_equal(find("api key", "key api"), SF_WORD_NONE);
}

TEST(secret_words, finds_substrings_bluntly)
{
    assert_true(find_substring("token", "detokenize"));
    assert_true(find_substring("token", "TOKENIZE"));
    assert_true(find_substring("api key", "myapi_keys"));
    assert_true(find_substring("api key", "MYAPIKEY"));
    assert_false(find_substring("token", "tok_en"));
    assert_false(find_substring("token", "tok"));
}

TEST(secret_words, refuses_what_is_no_word)
{
    struct sf_word w;
    assert_false(sf_secret_words_init(&w, SF_STR("")));
    assert_false(sf_secret_words_init(&w, SF_STR("--- ...")));
    assert_false(sf_secret_words_init(&w, SF_STR("a b c d e f g h i")));
    assert_false(sf_secret_words_init(
        &w, SF_STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                   "a")));
}
