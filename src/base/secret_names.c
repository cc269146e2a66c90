#include "base/secret_names.h"

#include "base/invariant.h"

const char *const sf_secret_names[SF_SECRET_NAMES] = {
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "credential",
    "token",
    "authorization",
    "cookie",
    "api key",
    "access key",
    "private key",
    "secret key",
    "signing key",
    "encryption key",
    "account key",
    "shared key",
    "session key",
    "auth key",
    "auth token",
    "access token",
    "refresh token",
    "session token",
    "id token",
    "api token",
    "bearer token",
    "client secret",
    "connection string",
    "card number",
    "credit card",
    "jwt",
    "bearer",
    "ssn",
    "cvv",
    "cvc",
    "amz signature",
    "goog signature",
    "pgpassword",
    "db pass",
    "user pass",
    "smtp pass",
    "become pass",
    "root pass",
    "admin pass",
    "store pass",
    "key pass",
    "jsessionid",
    "phpsessid",
};

void sf_secret_names_init(struct sf_secret_name_list *l)
{
    for (size_t i = 0; i < SF_SECRET_NAMES; i++)
        SF_ASSERT(sf_secret_words_init(&l->words[i], sf_str_from(sf_secret_names[i])));
}

enum sf_word_found sf_secret_names_find(const struct sf_secret_name_list *l, sf_str name)
{
    enum sf_word_found best = SF_WORD_NONE;
    for (size_t i = 0; i < SF_SECRET_NAMES && best != SF_WORD_ONE; i++) {
        enum sf_word_found found = sf_secret_words_find(&l->words[i], name);
        best = found == SF_WORD_NONE ? best : found;
    }
    return best;
}
