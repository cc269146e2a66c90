/* leaf_table.c - the function names that tell what a thread is waiting for.
 *
 * The first match is used, so exact names come before prefixes. Every line has an example frame as
 * its profiler writes it; a test checks each of them. */
#include "link/leaf_state.h"

enum {
    NATIVE = 1 << SF_FRAME_NATIVE | 1 << SF_FRAME_KERNEL | 1 << SF_FRAME_RUST,
    GO = 1 << SF_FRAME_GO,
    JVM = 1 << SF_FRAME_JVM | 1 << SF_FRAME_NATIVE,
    PYTHON = 1 << SF_FRAME_PYTHON,
    V8 = 1 << SF_FRAME_V8,
    RUST = 1 << SF_FRAME_RUST | 1 << SF_FRAME_NATIVE,
    RUBY = 1 << SF_FRAME_RUBY,
    DOTNET = 1 << SF_FRAME_DOTNET
};

#define LOCK(kinds, match, text, example)                                   \
    {                                                                       \
        kinds, SF_LEAF_##match, text, SF_STATE_LOCK, SF_LEAF_MEANS, example \
    }
#define NET(kinds, match, text, example)                                   \
    {                                                                      \
        kinds, SF_LEAF_##match, text, SF_STATE_NET, SF_LEAF_MEANS, example \
    }
#define DISK(kinds, match, text, example)                                   \
    {                                                                       \
        kinds, SF_LEAF_##match, text, SF_STATE_DISK, SF_LEAF_MEANS, example \
    }
#define SLEEP(kinds, match, text, example)                                   \
    {                                                                        \
        kinds, SF_LEAF_##match, text, SF_STATE_SLEEP, SF_LEAF_MEANS, example \
    }
#define GC(kinds, match, text, example)                                   \
    {                                                                     \
        kinds, SF_LEAF_##match, text, SF_STATE_GC, SF_LEAF_MEANS, example \
    }
#define QUEUE(kinds, match, text, example)                                       \
    {                                                                            \
        kinds, SF_LEAF_##match, text, SF_STATE_RUN_QUEUE, SF_LEAF_MEANS, example \
    }
#define CARRIES(kinds, match, text, state, example)                              \
    {                                                                            \
        kinds, SF_LEAF_##match, text, SF_STATE_##state, SF_LEAF_CARRIES, example \
    }
#define GLUE(kinds, match, text, example)                                     \
    {                                                                         \
        kinds, SF_LEAF_##match, text, SF_STATE_UNKNOWN, SF_LEAF_GLUE, example \
    }

const struct sf_leaf_rule sf_leaf_rules[] = {
    /* ---- C, C++ and Rust over libc ---- */
    LOCK(NATIVE, IS, "pthread_mutex_lock", "pthread_mutex_lock"),
    LOCK(NATIVE, BEGINS, "__pthread_mutex_", "__pthread_mutex_lock_full"),
    LOCK(NATIVE, BEGINS, "___pthread_mutex_", "___pthread_mutex_lock"),
    LOCK(NATIVE, BEGINS, "__lll_lock_wait", "__lll_lock_wait_private"),
    LOCK(NATIVE, BEGINS, "pthread_rwlock_", "pthread_rwlock_rdlock"),
    LOCK(NATIVE, BEGINS, "__pthread_rwlock_", "__pthread_rwlock_wrlock"),
    LOCK(NATIVE, BEGINS, "___pthread_rwlock_", "___pthread_rwlock_rdlock"),
    LOCK(NATIVE, BEGINS, "pthread_cond_", "pthread_cond_timedwait"),
    LOCK(NATIVE, BEGINS, "__pthread_cond_", "__pthread_cond_wait"),
    LOCK(NATIVE, BEGINS, "___pthread_cond_", "___pthread_cond_clockwait64"),
    LOCK(NATIVE, BEGINS, "pthread_barrier_wait", "pthread_barrier_wait"),
    LOCK(NATIVE, BEGINS, "pthread_join", "pthread_join"),
    LOCK(NATIVE, BEGINS, "__pthread_clockjoin", "__pthread_clockjoin_ex"),
    LOCK(NATIVE, BEGINS, "sem_wait", "sem_wait"),
    LOCK(NATIVE, BEGINS, "sem_timedwait", "sem_timedwait"),
    LOCK(NATIVE, BEGINS, "__new_sem_wait", "__new_sem_wait_slow64"),
    LOCK(NATIVE, BEGINS, "std::mutex::lock", "std::mutex::lock()"),
    LOCK(NATIVE, BEGINS, "std::condition_variable::wait",
         "std::condition_variable::wait(std::unique_lock<std::mutex>&)"),
    LOCK(RUST, BEGINS, "std::sync::mutex::Mutex", "std::sync::mutex::Mutex<T>::lock"),
    LOCK(RUST, HAS, "sys::sync::mutex", "std::sys::sync::mutex::futex::Mutex::lock_contended"),
    LOCK(RUST, HAS, "sync::condvar", "std::sys::sync::condvar::futex::Condvar::wait_optional"),
    LOCK(RUST, HAS, "sync::rwlock", "std::sys::sync::rwlock::futex::RwLock::read_contended"),
    LOCK(RUST, BEGINS, "parking_lot", "parking_lot::raw_mutex::RawMutex::lock_slow"),
    LOCK(RUST, BEGINS, "std::thread::park", "std::thread::park"),
    SLEEP(RUST, BEGINS, "std::thread::sleep", "std::thread::sleep"),
    NET(RUST, BEGINS, "mio::poll", "mio::poll::Poll::poll"),
    CARRIES(NATIVE, BEGINS, "futex", LOCK, "futex_wait_queue"),
    CARRIES(NATIVE, BEGINS, "__futex_", LOCK, "__futex_abstimed_wait_common64"),
    CARRIES(NATIVE, BEGINS, "do_futex", LOCK, "do_futex"),
    CARRIES(NATIVE, IS, "__x64_sys_futex", LOCK, "__x64_sys_futex"),
    SLEEP(NATIVE, IS, "nanosleep", "nanosleep"),
    SLEEP(NATIVE, BEGINS, "__nanosleep", "__nanosleep"),
    SLEEP(NATIVE, HAS, "clock_nanosleep", "__GI___clock_nanosleep"),
    SLEEP(NATIVE, IS, "usleep", "usleep"),
    SLEEP(NATIVE, IS, "sleep", "sleep"),
    SLEEP(NATIVE, BEGINS, "hrtimer_nanosleep", "hrtimer_nanosleep"),
    SLEEP(NATIVE, BEGINS, "do_nanosleep", "do_nanosleep"),
    NET(NATIVE, BEGINS, "epoll_", "epoll_wait"),
    NET(NATIVE, BEGINS, "__epoll_wait", "__epoll_wait_nocancel"),
    NET(NATIVE, BEGINS, "do_epoll_wait", "do_epoll_wait"),
    NET(NATIVE, BEGINS, "ep_poll", "ep_poll"),
    NET(NATIVE, IS, "poll", "poll"),
    NET(NATIVE, BEGINS, "__poll", "__poll"),
    NET(NATIVE, IS, "ppoll", "ppoll"),
    NET(NATIVE, BEGINS, "do_poll", "do_poll"),
    NET(NATIVE, IS, "select", "select"),
    NET(NATIVE, BEGINS, "__select", "__select"),
    NET(NATIVE, IS, "recv", "recv"),
    NET(NATIVE, BEGINS, "__libc_recv", "__libc_recvfrom"),
    NET(NATIVE, BEGINS, "recvmsg", "recvmsg"),
    NET(NATIVE, BEGINS, "recvfrom", "recvfrom"),
    NET(NATIVE, IS, "send", "send"),
    NET(NATIVE, BEGINS, "__libc_send", "__libc_sendmsg"),
    NET(NATIVE, BEGINS, "sendmsg", "sendmsg"),
    NET(NATIVE, BEGINS, "sendto", "sendto"),
    NET(NATIVE, IS, "connect", "connect"),
    NET(NATIVE, BEGINS, "__libc_connect", "__libc_connect"),
    NET(NATIVE, IS, "accept", "accept"),
    NET(NATIVE, BEGINS, "accept4", "accept4"),
    NET(NATIVE, BEGINS, "__libc_accept", "__libc_accept"),
    NET(NATIVE, BEGINS, "inet_csk_accept", "inet_csk_accept"),
    NET(NATIVE, BEGINS, "tcp_", "tcp_recvmsg_locked"),
    NET(NATIVE, BEGINS, "unix_stream_", "unix_stream_read_generic"),
    NET(NATIVE, BEGINS, "sock_", "sock_read_iter"),
    NET(NATIVE, BEGINS, "sk_wait_data", "sk_wait_data"),
    NET(NATIVE, BEGINS, "getaddrinfo", "getaddrinfo"),
    NET(NATIVE, BEGINS, "SSL_read", "SSL_read_ex"),
    DISK(NATIVE, IS, "fsync", "fsync"),
    DISK(NATIVE, IS, "fdatasync", "fdatasync"),
    DISK(NATIVE, BEGINS, "__fdatasync", "__fdatasync"),
    DISK(NATIVE, BEGINS, "sync_file_range", "sync_file_range"),
    DISK(NATIVE, IS, "msync", "msync"),
    DISK(NATIVE, BEGINS, "pread", "pread64"),
    DISK(NATIVE, BEGINS, "__libc_pread", "__libc_pread64"),
    DISK(NATIVE, BEGINS, "pwrite", "pwrite64"),
    DISK(NATIVE, BEGINS, "__libc_pwrite", "__libc_pwrite64"),
    DISK(NATIVE, BEGINS, "ext4_", "ext4_sync_file"),
    DISK(NATIVE, BEGINS, "xfs_", "xfs_file_fsync"),
    DISK(NATIVE, BEGINS, "btrfs_", "btrfs_sync_file"),
    DISK(NATIVE, BEGINS, "jbd2_", "jbd2_log_wait_commit"),
    DISK(NATIVE, BEGINS, "filemap_", "filemap_read"),
    DISK(NATIVE, BEGINS, "folio_wait_bit", "folio_wait_bit_common"),
    DISK(NATIVE, BEGINS, "io_schedule", "io_schedule"),
    DISK(NATIVE, BEGINS, "blk_", "blk_mq_submit_bio"),
    DISK(NATIVE, IS, "unixRead", "unixRead"), /* SQLite */
    DISK(NATIVE, IS, "unixSync", "unixSync"),
    CARRIES(NATIVE, IS, "read", IO, "read"),
    CARRIES(NATIVE, BEGINS, "__libc_read", IO, "__libc_read"),
    CARRIES(NATIVE, BEGINS, "__GI___libc_read", IO, "__GI___libc_read"),
    CARRIES(NATIVE, BEGINS, "ksys_read", IO, "ksys_read"),
    CARRIES(NATIVE, BEGINS, "vfs_read", IO, "vfs_read"),
    CARRIES(NATIVE, BEGINS, "pipe_read", IO, "pipe_read"),
    CARRIES(NATIVE, IS, "write", IO, "write"),
    CARRIES(NATIVE, BEGINS, "__libc_write", IO, "__libc_write"),
    CARRIES(NATIVE, BEGINS, "ksys_write", IO, "ksys_write"),
    CARRIES(NATIVE, BEGINS, "vfs_write", IO, "vfs_write"),
    CARRIES(NATIVE, BEGINS, "pipe_write", IO, "pipe_write"),
    QUEUE(NATIVE, IS, "sched_yield", "sched_yield"),
    QUEUE(NATIVE, BEGINS, "__sched_yield", "__sched_yield"),
    GLUE(NATIVE, BEGINS, "schedule", "schedule_hrtimeout_range"),
    GLUE(NATIVE, BEGINS, "__schedule", "__schedule"),
    GLUE(NATIVE, BEGINS, "finish_task_switch", "finish_task_switch.isra.0"),
    GLUE(NATIVE, BEGINS, "entry_SYSCALL", "entry_SYSCALL_64_after_hwframe"),
    GLUE(NATIVE, BEGINS, "do_syscall_64", "do_syscall_64"),
    GLUE(NATIVE, BEGINS, "x64_sys_call", "x64_sys_call"),
    GLUE(NATIVE, BEGINS, "el0_svc", "el0_svc_common.constprop.0"),
    GLUE(NATIVE, BEGINS, "__internal_syscall_cancel", "__internal_syscall_cancel"),
    GLUE(NATIVE, BEGINS, "__syscall_cancel", "__syscall_cancel_arch"),
    GLUE(NATIVE, IS, "syscall", "syscall"),
    GLUE(NATIVE, BEGINS, "prepare_to_wait", "prepare_to_wait_event"),

    /* ---- Go ---- */
    GC(GO, BEGINS, "runtime.gcBgMarkWorker", "runtime.gcBgMarkWorker.func2"),
    GC(GO, BEGINS, "runtime.gcAssist", "runtime.gcAssistAlloc1"),
    GC(GO, BEGINS, "runtime.gcDrain", "runtime.gcDrainN"),
    GC(GO, BEGINS, "runtime.gcStart", "runtime.gcStart"),
    GC(GO, BEGINS, "runtime.gcMark", "runtime.gcMarkTermination"),
    GC(GO, BEGINS, "runtime.bgsweep", "runtime.bgsweep"),
    GC(GO, BEGINS, "runtime.bgscavenge", "runtime.bgscavenge"),
    GC(GO, BEGINS, "runtime.sweepone", "runtime.sweepone"),
    LOCK(GO, BEGINS, "sync.(*Mutex)", "sync.(*Mutex).Lock"),
    LOCK(GO, BEGINS, "internal/sync.(*Mutex)", "internal/sync.(*Mutex).lockSlow"),
    LOCK(GO, BEGINS, "sync.(*RWMutex)", "sync.(*RWMutex).RLock"),
    LOCK(GO, BEGINS, "sync.(*Cond)", "sync.(*Cond).Wait"),
    LOCK(GO, BEGINS, "sync.(*WaitGroup)", "sync.(*WaitGroup).Wait"),
    LOCK(GO, BEGINS, "sync.runtime_Semacquire", "sync.runtime_SemacquireMutex"),
    LOCK(GO, BEGINS, "internal/sync.runtime_Semacquire", "internal/sync.runtime_SemacquireMutex"),
    LOCK(GO, BEGINS, "runtime.chanrecv", "runtime.chanrecv1"),
    LOCK(GO, BEGINS, "runtime.chansend", "runtime.chansend1"),
    LOCK(GO, BEGINS, "runtime.selectgo", "runtime.selectgo"),
    LOCK(GO, BEGINS, "runtime.semacquire", "runtime.semacquire1"),
    SLEEP(GO, IS, "time.Sleep", "time.Sleep"),
    NET(GO, BEGINS, "internal/poll.(*pollDesc)", "internal/poll.(*pollDesc).waitRead"),
    NET(GO, BEGINS, "internal/poll.runtime_poll", "internal/poll.runtime_pollWait"),
    NET(GO, BEGINS, "runtime.netpoll", "runtime.netpollblock"),
    NET(GO, BEGINS, "net.(*", "net.(*conn).Read"),
    DISK(GO, BEGINS, "os.(*File)", "os.(*File).Sync"),
    CARRIES(GO, BEGINS, "syscall.Syscall", IO, "syscall.Syscall6"),
    CARRIES(GO, BEGINS, "internal/runtime/syscall.", IO, "internal/runtime/syscall.Syscall6"),
    CARRIES(GO, BEGINS, "runtime/internal/syscall.", IO, "runtime/internal/syscall.Syscall6"),
    CARRIES(GO, BEGINS, "runtime.futex", LOCK, "runtime.futex.abi0"),
    CARRIES(GO, BEGINS, "runtime.notesleep", LOCK, "runtime.notesleep"),
    CARRIES(GO, BEGINS, "runtime.notetsleep", LOCK, "runtime.notetsleepg"),
    QUEUE(GO, BEGINS, "runtime.Gosched", "runtime.Gosched"),
    QUEUE(GO, BEGINS, "runtime.osyield", "runtime.osyield"),
    GLUE(GO, BEGINS, "runtime.gopark", "runtime.goparkunlock"),
    GLUE(GO, BEGINS, "runtime.goready", "runtime.goready"),
    GLUE(GO, BEGINS, "runtime.mcall", "runtime.mcall"),
    GLUE(GO, BEGINS, "runtime.asyncPreempt", "runtime.asyncPreempt2"),
    GLUE(GO, BEGINS, "runtime.morestack", "runtime.morestack_noctxt"),

    /* ---- Java, Kotlin, Scala ---- */
    GC(JVM, BEGINS, "G1", "G1ParTask::work"),
    GC(JVM, HAS, "GCTaskThread", "GCTaskThread::run"),
    GC(JVM, BEGINS, "GangWorker::", "GangWorker::loop"),
    GC(JVM, BEGINS, "PSPromotionManager", "PSPromotionManager::copy_to_survivor_space"),
    GC(JVM, BEGINS, "ParallelScavengeHeap", "ParallelScavengeHeap::mem_allocate"),
    GC(JVM, BEGINS, "ZMark", "ZMark::mark_and_follow"),
    GC(JVM, BEGINS, "ShenandoahConcurrent", "ShenandoahConcurrentGC::collect"),
    GC(JVM, BEGINS, "VM_GenCollect", "VM_GenCollectForAllocation::doit"),
    LOCK(JVM, BEGINS, "java/lang/Object.wait", "java/lang/Object.wait0"),
    LOCK(JVM, BEGINS, "java.lang.Object.wait", "java.lang.Object.wait"),
    LOCK(JVM, BEGINS, "ObjectMonitor::", "ObjectMonitor::enter"),
    LOCK(JVM, BEGINS, "java/util/concurrent/locks/",
         "java/util/concurrent/locks/ReentrantLock.lock"),
    LOCK(JVM, BEGINS, "java.util.concurrent.locks.",
         "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire"),
    LOCK(JVM, BEGINS, "java/util/concurrent/", "java/util/concurrent/FutureTask.get"),
    LOCK(JVM, BEGINS, "java.util.concurrent.", "java.util.concurrent.CompletableFuture.get"),
    LOCK(JVM, BEGINS, "java/lang/Thread.join", "java/lang/Thread.join"),
    LOCK(JVM, BEGINS, "java.lang.Thread.join", "java.lang.Thread.join"),
    SLEEP(JVM, BEGINS, "java/lang/Thread.sleep", "java/lang/Thread.sleep0"),
    SLEEP(JVM, BEGINS, "java.lang.Thread.sleep", "java.lang.Thread.sleep"),
    SLEEP(JVM, BEGINS, "JVM_Sleep", "JVM_Sleep"),
    NET(JVM, BEGINS, "sun/nio/ch/EPoll", "sun/nio/ch/EPoll.wait"),
    NET(JVM, BEGINS, "sun.nio.ch.EPoll", "sun.nio.ch.EPoll.wait"),
    NET(JVM, BEGINS, "sun/nio/ch/Net", "sun/nio/ch/Net.poll"),
    NET(JVM, BEGINS, "sun.nio.ch.Net", "sun.nio.ch.Net.poll"),
    NET(JVM, BEGINS, "sun/nio/ch/Socket", "sun/nio/ch/SocketDispatcher.read0"),
    NET(JVM, BEGINS, "sun.nio.ch.Socket", "sun.nio.ch.SocketDispatcher.read0"),
    NET(JVM, BEGINS, "sun/nio/ch/NioSocketImpl", "sun/nio/ch/NioSocketImpl.park"),
    NET(JVM, BEGINS, "sun.nio.ch.NioSocketImpl", "sun.nio.ch.NioSocketImpl.park"),
    NET(JVM, BEGINS, "java/net/", "java/net/SocketInputStream.socketRead0"),
    NET(JVM, BEGINS, "java.net.", "java.net.SocketInputStream.socketRead0"),
    DISK(JVM, BEGINS, "sun/nio/ch/FileDispatcher", "sun/nio/ch/FileDispatcherImpl.force0"),
    DISK(JVM, BEGINS, "sun.nio.ch.FileDispatcher", "sun.nio.ch.FileDispatcherImpl.force0"),
    DISK(JVM, BEGINS, "java/io/FileInputStream", "java/io/FileInputStream.readBytes"),
    DISK(JVM, BEGINS, "java.io.FileInputStream", "java.io.FileInputStream.readBytes"),
    DISK(JVM, BEGINS, "java/io/FileOutputStream", "java/io/FileOutputStream.writeBytes"),
    DISK(JVM, BEGINS, "java.io.FileOutputStream", "java.io.FileOutputStream.writeBytes"),
    DISK(JVM, BEGINS, "java/io/RandomAccessFile", "java/io/RandomAccessFile.readBytes0"),
    DISK(JVM, BEGINS, "java.io.RandomAccessFile", "java.io.RandomAccessFile.readBytes0"),
    CARRIES(JVM, HAS, "Unsafe.park", LOCK, "jdk/internal/misc/Unsafe.park"),
    CARRIES(JVM, HAS, "Unsafe_Park", LOCK, "Unsafe_Park"),
    CARRIES(JVM, BEGINS, "Parker::park", LOCK, "Parker::park"),
    QUEUE(JVM, HAS, "Thread.yield", "java/lang/Thread.yield0"),

    /* ---- Python ---- */
    GC(PYTHON, IS, "gc.collect", "gc.collect"),
    GC(PYTHON, IS, "<gc>", "<gc>"),
    GC(NATIVE, BEGINS, "gc_collect_", "gc_collect_main"),
    LOCK(NATIVE, BEGINS, "PyThread_acquire_lock", "PyThread_acquire_lock_timed"),
    LOCK(NATIVE, IS, "take_gil", "take_gil"),
    LOCK(PYTHON, BEGINS, "threading.", "threading.Condition.wait"),
    LOCK(PYTHON, IS, "acquire", "acquire"),
    LOCK(PYTHON, BEGINS, "queue.", "queue.Queue.get"),
    LOCK(PYTHON, BEGINS, "_wait_for_tstate_lock", "_wait_for_tstate_lock"),
    SLEEP(PYTHON, IS, "time.sleep", "time.sleep"),
    SLEEP(PYTHON, IS, "sleep", "sleep"),
    NET(PYTHON, BEGINS, "socket.", "socket.recv_into"),
    NET(PYTHON, BEGINS, "ssl.", "ssl.SSLSocket.read"),
    NET(PYTHON, BEGINS, "select.", "select.epoll.poll"),
    NET(PYTHON, BEGINS, "selectors.", "selectors.EpollSelector.select"),
    NET(PYTHON, IS, "readinto", "readinto"), /* socket.py's SocketIO */

    /* ---- Node.js ---- */
    GC(V8, IS, "(garbage collector)", "(garbage collector)"),
    GC(NATIVE, BEGINS, "v8::internal::Heap::", "v8::internal::Heap::CollectGarbage"),
    GC(NATIVE, BEGINS, "v8::internal::Scavenger",
       "v8::internal::ScavengerCollector::CollectGarbage"),
    GC(NATIVE, BEGINS, "v8::internal::MarkCompact", "v8::internal::MarkCompactCollector::Prepare"),
    NET(V8, IS, "(idle)", "(idle)"),
    NET(NATIVE, BEGINS, "uv__io_poll", "uv__io_poll"),
    LOCK(V8, BEGINS, "Atomics.wait", "Atomics.wait"),
    DISK(V8, HAS, "readFileSync", "readFileSync"),
    DISK(V8, HAS, "writeFileSync", "writeFileSync"),

    /* ---- Ruby, .NET ---- */
    GC(RUBY, IS, "(garbage collection)", "(garbage collection)"),
    GC(NATIVE, BEGINS, "gc_marks", "gc_marks_rest"),
    LOCK(RUBY, BEGINS, "Thread::Mutex#", "Thread::Mutex#lock"),
    SLEEP(RUBY, IS, "Kernel#sleep", "Kernel#sleep"),
    NET(RUBY, BEGINS, "IO#wait", "IO#wait_readable"),
    LOCK(DOTNET, BEGINS, "System.Threading.Monitor", "System.Threading.Monitor.Enter"),
    SLEEP(DOTNET, BEGINS, "System.Threading.Thread.Sleep", "System.Threading.Thread.Sleep"),
    NET(DOTNET, BEGINS, "System.Net.", "System.Net.Sockets.Socket.Receive"),
};

const uint32_t sf_leaf_n_rules = sizeof(sf_leaf_rules) / sizeof(sf_leaf_rules[0]);
