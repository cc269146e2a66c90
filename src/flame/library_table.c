/* library_table.c - names of library code.
 *
 * Every line has an example, which a test looks up. Shared objects (.so) and the kernel need a line
 * only for a display name. Add lines freely. */
#include "flame/library_frame.h"

enum {
    NATIVE = 1 << SF_FRAME_NATIVE | 1 << SF_FRAME_RUST,
    GO = 1 << SF_FRAME_GO,
    JVM = 1 << SF_FRAME_JVM,
    PYTHON = 1 << SF_FRAME_PYTHON,
    V8 = 1 << SF_FRAME_V8,
    RUBY = 1 << SF_FRAME_RUBY,
    DOTNET = 1 << SF_FRAME_DOTNET
};

#define MODULE(text, name, example)               \
    {                                             \
        0, SF_LIBRARY_MODULE, text, name, example \
    }
#define SOURCE(kinds, text, name, example)            \
    {                                                 \
        kinds, SF_LIBRARY_SOURCE, text, name, example \
    }
#define STARTS(kinds, text, name, example)              \
    {                                                   \
        kinds, SF_LIBRARY_FUNCTION, text, name, example \
    }
#define NAMED(kinds, text, name)                  \
    {                                             \
        kinds, SF_LIBRARY_NAMED, text, name, text \
    }

const struct sf_library_rule sf_library_rules[] = {
    /* ---- allocators, also those of the C library ---- */
    STARTS(NATIVE, "operator new", "the allocator", "operator new(unsigned long)"),
    STARTS(NATIVE, "operator delete", "the allocator", "operator delete(void*)"),
    STARTS(NATIVE, "_int_", "the allocator", "_int_malloc"),
    STARTS(NATIVE, "malloc_", "the allocator", "malloc_consolidate"),
    NAMED(NATIVE, "malloc", "the allocator"),
    NAMED(NATIVE, "calloc", "the allocator"),
    NAMED(NATIVE, "realloc", "the allocator"),
    NAMED(NATIVE, "free", "the allocator"),
    NAMED(NATIVE, "cfree", "the allocator"),

    /* ---- files that are loaded ---- */
    MODULE("libc.so", "the C library", "/lib/x86_64-linux-gnu/libc.so.6"),
    MODULE("libc-", "the C library", "/lib/libc-2.31.so"),
    MODULE("libpthread", "the C library", "/lib/libpthread-2.31.so"),
    MODULE("libm.so", "the C library", "/lib/x86_64-linux-gnu/libm.so.6"),
    MODULE("ld-linux", "the C library", "/lib64/ld-linux-x86-64.so.2"),
    MODULE("ld-musl", "the C library", "/lib/ld-musl-x86_64.so.1"),
    MODULE("[vdso]", "the kernel", "[vdso]"),
    MODULE("[vsyscall]", "the kernel", "[vsyscall]"),
    MODULE("[kernel", "the kernel", "[kernel.kallsyms]"),
    MODULE("vmlinux", "the kernel", "/boot/vmlinux-6.1"),
    MODULE("libsqlite3", "SQLite", "/lib/x86_64-linux-gnu/libsqlite3.so.0"),
    MODULE("libssl", "OpenSSL", "/usr/lib/libssl.so.3"),
    MODULE("libcrypto", "OpenSSL", "/usr/lib/libcrypto.so.3"),
    MODULE("libz.so", "zlib", "/usr/lib/libz.so.1"),
    MODULE("libzstd", "zstd", "/usr/lib/libzstd.so.1"),
    MODULE("libpcre", "PCRE", "/usr/lib/libpcre2-8.so.0"),
    MODULE("libstdc++", "the C++ library", "/usr/lib/libstdc++.so.6"),
    MODULE("libc++", "the C++ library", "/usr/lib/libc++.so.1"),
    MODULE("libjemalloc", "the allocator", "/usr/lib/libjemalloc.so.2"),
    MODULE("libtcmalloc", "the allocator", "/usr/lib/libtcmalloc.so.4"),
    MODULE("libmimalloc", "the allocator", "/usr/lib/libmimalloc.so.2"),
    MODULE("libpq", "PostgreSQL's client", "/usr/lib/libpq.so.5"),
    MODULE("libmysqlclient", "MySQL's client", "/usr/lib/libmysqlclient.so.21"),
    MODULE("libmariadb", "MariaDB's client", "/usr/lib/libmariadb.so.3"),
    MODULE("libcurl", "curl", "/usr/lib/libcurl.so.4"),
    MODULE("libjvm", "the JVM", "/usr/lib/jvm/lib/server/libjvm.so"),
    MODULE("libpython", "Python", "/usr/lib/libpython3.11.so.1.0"),
    MODULE("libcoreclr", ".NET", "/usr/share/dotnet/libcoreclr.so"),

    /* ---- linked into the program, recognised by name ---- */
    STARTS(NATIVE, "sqlite3", "SQLite", "sqlite3VdbeExec"),
    STARTS(NATIVE, "std::", NULL, "std::collections::hash::map::HashMap<K,V,S>::insert"),
    STARTS(NATIVE, "<std::", NULL, "<std::io::stdio::Stdout as std::io::Write>::write_all"),
    STARTS(NATIVE, "core::", NULL, "core::slice::sort::recurse"),
    STARTS(NATIVE, "<core::", NULL, "<core::str::iter::Chars as core::iter::Iterator>::next"),
    STARTS(NATIVE, "alloc::", NULL, "alloc::vec::Vec<T,A>::push"),
    STARTS(NATIVE, "<alloc::", NULL, "<alloc::string::String as core::fmt::Write>::write_str"),
    STARTS(NATIVE, "__rust_", NULL, "__rust_alloc"),
    STARTS(NATIVE, "__gnu_cxx::", NULL, "__gnu_cxx::__normal_iterator"),
    STARTS(NATIVE, "__libc_", "the C library", "__libc_malloc"),
    STARTS(NATIVE, "pthread_", "the C library", "pthread_mutex_lock"),
    STARTS(NATIVE, "__pthread_", "the C library", "__pthread_mutex_lock_full"),
    STARTS(NATIVE, "__GI_", "the C library", "__GI___libc_read"),
    STARTS(NATIVE, "__memcpy_", "the C library", "__memcpy_avx_unaligned_erms"),
    STARTS(NATIVE, "__memmove_", "the C library", "__memmove_avx_unaligned_erms"),
    STARTS(NATIVE, "__memset_", "the C library", "__memset_avx2_unaligned"),
    STARTS(NATIVE, "__str", "the C library", "__strlen_avx2"),
    NAMED(NATIVE, "memcpy", "the C library"),
    NAMED(NATIVE, "memmove", "the C library"),
    NAMED(NATIVE, "memset", "the C library"),
    NAMED(NATIVE, "memcmp", "the C library"),
    NAMED(NATIVE, "strlen", "the C library"),
    NAMED(NATIVE, "strcmp", "the C library"),
    NAMED(NATIVE, "qsort", "the C library"),
    NAMED(NATIVE, "pread", "the C library"),
    NAMED(NATIVE, "pread64", "the C library"),
    NAMED(NATIVE, "pwrite64", "the C library"),
    NAMED(NATIVE, "epoll_wait", "the C library"),
    NAMED(NATIVE, "fsync", "the C library"),
    NAMED(NATIVE, "fdatasync", "the C library"),
    NAMED(NATIVE, "nanosleep", "the C library"),
    NAMED(NATIVE, "clock_nanosleep", "the C library"),
    NAMED(NATIVE, "clock_gettime", "the C library"),
    NAMED(NATIVE, "clone3", "the C library"),
    NAMED(NATIVE, "__clone3", "the C library"),
    NAMED(NATIVE, "start_thread", "the C library"),
    NAMED(NATIVE, "_start", "the C library"),
    /* After those: the library has functions named pthread_mutex_lock and so on, which call those
     * of the C library; waiting in one of them is not the profiler's. */
    MODULE("libspanflame", "the profiler", "/usr/lib/libspanflame.so.1"),

    /* ---- Go: packages of others by where their source lies, its own by its place too ---- */
    SOURCE(GO, "/pkg/mod/", NULL, "/root/go/pkg/mod/github.com/lib/pq@v1.10.9/conn.go"),
    SOURCE(GO, "/vendor/", NULL, "/src/shop/vendor/github.com/lib/pq/conn.go"),
    SOURCE(GO, "/usr/local/go/src/", NULL, "/usr/local/go/src/encoding/json/decode.go"),
    STARTS(GO, "encoding/", NULL, "encoding/json.(*decodeState).object"),
    STARTS(GO, "net/", NULL, "net/http.(*conn).serve"),
    STARTS(GO, "net.", NULL, "net.(*conn).Read"),
    STARTS(GO, "syscall.", NULL, "syscall.Syscall"),
    STARTS(GO, "internal/", NULL, "internal/poll.(*FD).Read"),
    STARTS(GO, "sync.", NULL, "sync.(*Mutex).Lock"),
    STARTS(GO, "sync/", NULL, "sync/atomic.AddInt64"),
    STARTS(GO, "regexp.", NULL, "regexp.(*Regexp).doExecute"),
    STARTS(GO, "regexp/", NULL, "regexp/syntax.Parse"),
    STARTS(GO, "strings.", NULL, "strings.Index"),
    STARTS(GO, "strconv.", NULL, "strconv.ParseFloat"),
    STARTS(GO, "bytes.", NULL, "bytes.(*Buffer).Write"),
    STARTS(GO, "bufio.", NULL, "bufio.(*Reader).Read"),
    STARTS(GO, "fmt.", NULL, "fmt.Sprintf"),
    STARTS(GO, "sort.", NULL, "sort.quickSort"),
    STARTS(GO, "slices.", NULL, "slices.SortFunc"),
    STARTS(GO, "reflect.", NULL, "reflect.Value.Call"),
    STARTS(GO, "time.", NULL, "time.Now"),
    STARTS(GO, "context.", NULL, "context.WithCancel"),
    STARTS(GO, "crypto/", NULL, "crypto/sha256.block"),
    STARTS(GO, "compress/", NULL, "compress/flate.(*compressor).deflate"),
    STARTS(GO, "database/", NULL, "database/sql.(*DB).QueryContext"),
    STARTS(GO, "log.", NULL, "log.Printf"),
    STARTS(GO, "log/", NULL, "log/slog.(*Logger).log"),
    STARTS(GO, "io.", NULL, "io.ReadAll"),
    STARTS(GO, "os.", NULL, "os.(*File).Read"),
    STARTS(GO, "math.", NULL, "math.Pow"),
    STARTS(GO, "math/", NULL, "math/big.nat.mul"),

    /* ---- Java ---- */
    STARTS(JVM, "java/", "the JDK", "java/util/HashMap.get"),
    STARTS(JVM, "java.", "the JDK", "java.util.HashMap.get"),
    STARTS(JVM, "javax/", "the JDK", "javax/crypto/Cipher.doFinal"),
    STARTS(JVM, "javax.", "the JDK", "javax.crypto.Cipher.doFinal"),
    STARTS(JVM, "jdk/", "the JDK", "jdk/internal/misc/Unsafe.park"),
    STARTS(JVM, "jdk.", "the JDK", "jdk.internal.misc.Unsafe.park"),
    STARTS(JVM, "sun/", "the JDK", "sun/nio/ch/EPoll.wait"),
    STARTS(JVM, "sun.", "the JDK", "sun.nio.ch.EPoll.wait"),
    STARTS(JVM, "com/sun/", "the JDK", "com/sun/crypto/provider/AESCrypt.encryptBlock"),
    STARTS(JVM, "kotlin/", "Kotlin", "kotlin/collections/CollectionsKt.map"),
    STARTS(JVM, "kotlinx/", "Kotlin", "kotlinx/coroutines/DispatchedTask.run"),
    STARTS(JVM, "scala/", "Scala", "scala/collection/immutable/List.map"),
    STARTS(JVM, "org/springframework/", "Spring",
           "org/springframework/web/servlet/FrameworkServlet.service"),
    STARTS(JVM, "org.springframework.", "Spring",
           "org.springframework.web.servlet.FrameworkServlet.service"),
    STARTS(JVM, "org/apache/", NULL, "org/apache/catalina/core/StandardWrapperValve.invoke"),
    STARTS(JVM, "org.apache.", NULL, "org.apache.catalina.core.StandardWrapperValve.invoke"),
    STARTS(JVM, "io/netty/", "Netty", "io/netty/channel/epoll/EpollEventLoop.run"),
    STARTS(JVM, "io.netty.", "Netty", "io.netty.channel.epoll.EpollEventLoop.run"),
    STARTS(JVM, "com/fasterxml/", "Jackson", "com/fasterxml/jackson/core/JsonParser.nextToken"),
    STARTS(JVM, "com.fasterxml.", "Jackson", "com.fasterxml.jackson.core.JsonParser.nextToken"),
    STARTS(JVM, "com/google/gson", "Gson", "com/google/gson/Gson.fromJson"),
    STARTS(JVM, "org/hibernate/", "Hibernate", "org/hibernate/internal/SessionImpl.find"),
    STARTS(JVM, "org/postgresql/", "PostgreSQL's driver",
           "org/postgresql/jdbc/PgStatement.execute"),
    STARTS(JVM, "com/mysql/", "MySQL's driver", "com/mysql/cj/jdbc/StatementImpl.execute"),
    STARTS(JVM, "io/opentelemetry/", "OpenTelemetry", "io/opentelemetry/sdk/trace/SdkSpan.end"),

    /* ---- Python, Node.js, Ruby, .NET: by where the source lies ---- */
    SOURCE(PYTHON, "site-packages/", NULL, "/usr/lib/python3.11/site-packages/flask/app.py"),
    SOURCE(PYTHON, "dist-packages/", NULL, "/usr/lib/python3/dist-packages/yaml/loader.py"),
    SOURCE(PYTHON, "/lib/python3", "Python's library", "/usr/lib/python3.11/json/decoder.py"),
    SOURCE(PYTHON, "<frozen ", "Python's library", "<frozen importlib._bootstrap>"),
    SOURCE(V8, "node_modules/", NULL, "/app/node_modules/express/lib/router.js"),
    SOURCE(V8, "node:", "Node.js", "node:internal/modules/cjs/loader"),
    SOURCE(RUBY, "/gems/", NULL, "/usr/lib/ruby/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb"),
    SOURCE(RUBY, "/lib/ruby/", "Ruby's library", "/usr/lib/ruby/3.1.0/json/common.rb"),
    SOURCE(NATIVE, "/.cargo/registry/", NULL,
           "/root/.cargo/registry/src/index/regex-1.9/src/exec.rs"),
    SOURCE(NATIVE, "/rustc/", NULL,
           "/rustc/90c541806f23a127002de5b4038be731ba1458ca/library/std/src/io.rs"),
    SOURCE(NATIVE, "/usr/include/", NULL, "/usr/include/c++/12/bits/stl_algo.h"),
    STARTS(DOTNET, "System.", ".NET", "System.Text.Json.JsonSerializer.Deserialize"),
    STARTS(DOTNET, "Microsoft.", ".NET", "Microsoft.AspNetCore.Routing.EndpointMiddleware.Invoke"),
};

const uint32_t sf_library_n_rules = sizeof(sf_library_rules) / sizeof(sf_library_rules[0]);
