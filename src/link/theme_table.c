/* theme_table.c - the function names by which kinds of work are recognised.
 *
 * The first match is used: the narrower theme comes first (json.Marshal is JSON, not serialisation
 * in general). Texts are whole words or unmistakable parts of them: "log" alone would match login
 * and catalogue. Every line has an example; a test checks all of them. */
#include "link/theme.h"

#define ANY   SF_FIT_ANY
#define START SF_FIT_START
#define WHOLE SF_FIT_WHOLE

const struct sf_theme_rule sf_theme_rules[] = {
    {SF_THEME_REGEX, ANY, "regex", "regex.match(pricePattern)"},
    {SF_THEME_REGEX, START, "regexp.", "regexp.(*Regexp).doExecute"},
    {SF_THEME_REGEX, START, "pcre", "pcre2_match_8"},
    {SF_THEME_REGEX, START, "re2::", "re2::DFA::InlinedSearchLoop"},
    {SF_THEME_REGEX, START, "re_search", "re_search_internal"},
    {SF_THEME_REGEX, START, "std::__detail::_executor", "std::__detail::_Executor<...>::_M_dfs"},
    {SF_THEME_REGEX, START, "java/util/regex", "java/util/regex/Pattern$Loop.match"},
    {SF_THEME_REGEX, START, "sre_", "sre_ucs1_match"},
    {SF_THEME_REGEX, START, "irregexp", "IrregexpInterpreter::Match"},

    {SF_THEME_JSON, ANY, "json", "encoding/json.(*decodeState).object"},
    {SF_THEME_JSON, ANY, "jackson", "com/fasterxml/jackson/core/JsonParser.nextToken"},
    {SF_THEME_JSON, START, "simdjson", "simdjson::dom::parser::parse"},
    {SF_THEME_JSON, START, "com/google/gson", "com/google/gson/Gson.fromJson"},

    {SF_THEME_CRYPTO, START, "crypto/", "crypto/sha256.blockAMD64"},
    {SF_THEME_CRYPTO, START, "sha1_", "sha1_block_data_order"},
    {SF_THEME_CRYPTO, START, "sha256_", "sha256_block_data_order_avx2"},
    {SF_THEME_CRYPTO, START, "sha512_", "sha512_block_data_order"},
    {SF_THEME_CRYPTO, START, "aes_", "aes_gcm_enc_update_vaes_avx512"},
    {SF_THEME_CRYPTO, START, "aesni_", "aesni_cbc_encrypt"},
    {SF_THEME_CRYPTO, START, "evp_", "EVP_DigestUpdate"},
    {SF_THEME_CRYPTO, START, "rsa_", "RSA_private_encrypt"},
    {SF_THEME_CRYPTO, START, "ecdsa_", "ECDSA_do_sign"},
    {SF_THEME_CRYPTO, START, "ssl_do_handshake", "SSL_do_handshake"},
    {SF_THEME_CRYPTO, START, "bn_", "bn_mul_mont"},
    {SF_THEME_CRYPTO, ANY, "bcrypt", "golang.org/x/crypto/bcrypt.GenerateFromPassword"},
    {SF_THEME_CRYPTO, START, "javax/crypto", "javax/crypto/Cipher.doFinal"},
    {SF_THEME_CRYPTO, START, "java/security", "java/security/MessageDigest.digest"},

    {SF_THEME_LOGGING, START, "log.", "log.Printf"},
    {SF_THEME_LOGGING, START, "log/slog", "log/slog.(*Logger).log"},
    {SF_THEME_LOGGING, ANY, "logrus", "github.com/sirupsen/logrus.(*Entry).Log"},
    {SF_THEME_LOGGING, ANY, "/zap.", "go.uber.org/zap.(*Logger).Info"},
    {SF_THEME_LOGGING, ANY, "zerolog", "github.com/rs/zerolog.(*Event).Msg"},
    {SF_THEME_LOGGING, ANY, "log4j", "org/apache/logging/log4j/core/Logger.info"},
    {SF_THEME_LOGGING, ANY, "logback", "ch/qos/logback/classic/Logger.info"},
    {SF_THEME_LOGGING, ANY, "slf4j", "org/slf4j/helpers/MessageFormatter.format"},
    {SF_THEME_LOGGING, START, "java/util/logging", "java/util/logging/Logger.log"},
    {SF_THEME_LOGGING, START, "logging.", "logging.Logger._log"},
    {SF_THEME_LOGGING, ANY, "spdlog", "spdlog::logger::log_it_"},
    {SF_THEME_LOGGING, START, "vsyslog", "__vsyslog_internal"},
    {SF_THEME_LOGGING, START, "__vsyslog", "__vsyslog_internal"},
    {SF_THEME_LOGGING, START, "console.", "console.log"},
    {SF_THEME_LOGGING, ANY, "winston", "winston.Logger.write"},
    {SF_THEME_LOGGING, START, "tracing_subscriber", "tracing_subscriber::fmt::Layer::on_event"},

    {SF_THEME_SERIAL, ANY, "serializ", "java/io/ObjectOutputStream.serialize"},
    {SF_THEME_SERIAL, ANY, "serialis", "formatter::serialise"},
    {SF_THEME_SERIAL, ANY, "marshal", "proto.Marshal"},
    {SF_THEME_SERIAL, ANY, "protobuf", "google::protobuf::MessageLite::ParseFromString"},
    {SF_THEME_SERIAL, START, "serde", "serde::ser::Serializer::collect_seq"},
    {SF_THEME_SERIAL, ANY, "msgpack", "msgpack::v1::packer::pack"},
    {SF_THEME_SERIAL, START, "yaml", "yaml_parser_parse"},
    {SF_THEME_SERIAL, START, "xml", "xmlParseDocument"},
    {SF_THEME_SERIAL, START, "pickle.", "pickle.dumps"},
    {SF_THEME_SERIAL, ANY, "objectoutputstream", "java/io/ObjectOutputStream.writeObject0"},

    {SF_THEME_ALLOCATOR, START, "malloc", "malloc_consolidate"},
    {SF_THEME_ALLOCATOR, START, "calloc", "calloc"},
    {SF_THEME_ALLOCATOR, START, "realloc", "realloc"},
    {SF_THEME_ALLOCATOR, START, "_int_malloc", "_int_malloc"},
    {SF_THEME_ALLOCATOR, START, "_int_free", "_int_free"},
    {SF_THEME_ALLOCATOR, START, "__libc_malloc", "__libc_malloc"},
    {SF_THEME_ALLOCATOR, START, "__libc_free", "__libc_free"},
    {SF_THEME_ALLOCATOR, START, "cfree", "cfree@GLIBC_2.2.5"},
    {SF_THEME_ALLOCATOR, WHOLE, "free", "free"},
    {SF_THEME_ALLOCATOR, START, "posix_memalign", "posix_memalign"},
    {SF_THEME_ALLOCATOR, START, "aligned_alloc", "aligned_alloc"},
    {SF_THEME_ALLOCATOR, START, "operator new", "operator new(unsigned long)"},
    {SF_THEME_ALLOCATOR, START, "operator delete", "operator delete(void*)"},
    {SF_THEME_ALLOCATOR, START, "je_", "je_malloc_default"},
    {SF_THEME_ALLOCATOR, START, "mi_", "mi_malloc_generic"},
    {SF_THEME_ALLOCATOR, START, "tcmalloc", "tcmalloc::CentralFreeList::FetchFromOneSpans"},
    {SF_THEME_ALLOCATOR, START, "runtime.mallocgc", "runtime.mallocgcSmallScanNoHeader"},
    {SF_THEME_ALLOCATOR, START, "runtime.growslice", "runtime.growslice"},
    {SF_THEME_ALLOCATOR, START, "runtime.newobject", "runtime.newobject"},
    {SF_THEME_ALLOCATOR, START, "runtime.makeslice", "runtime.makeslice"},
    {SF_THEME_ALLOCATOR, START, "__rust_alloc", "__rust_alloc"},
    {SF_THEME_ALLOCATOR, START, "__rust_realloc", "__rust_realloc"},
    {SF_THEME_ALLOCATOR, START, "pymem_", "PyMem_Realloc"},
    {SF_THEME_ALLOCATOR, START, "pyobject_malloc", "PyObject_Malloc"},
};

const uint32_t sf_theme_n_rules = sizeof(sf_theme_rules) / sizeof(sf_theme_rules[0]);

const struct sf_parser_rule sf_parser_rules[] = {
    {SF_THEME_JSON, "pars", "jsonParse"},
    {SF_THEME_JSON, "decod", "encoding/json.(*decodeState).object"},
    {SF_THEME_JSON, "unmarshal", "encoding/json.Unmarshal"},
    {SF_THEME_JSON, "loads", "json.loads"},
    {SF_THEME_JSON, "fromjson", "com/google/gson/Gson.fromJson"},
    {SF_THEME_JSON, "readvalue", "com/fasterxml/jackson/databind/ObjectMapper.readValue"},
    {SF_THEME_JSON, "from_str", "serde_json::de::from_str"},
    {SF_THEME_SERIAL, "pars", "yaml_parser_parse"},
    {SF_THEME_SERIAL, "unmarshal", "google.golang.org/protobuf/proto.Unmarshal"},
    {SF_THEME_SERIAL, "deseriali", "java/io/ObjectInputStream.deserialize"},
    {SF_THEME_SERIAL, "loads", "pickle.loads"},
    {SF_THEME_REGEX, "compil", "regexp.Compile"},
};

const uint32_t sf_parser_n_rules = sizeof(sf_parser_rules) / sizeof(sf_parser_rules[0]);
