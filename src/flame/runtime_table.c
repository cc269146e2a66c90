/* runtime_table.c - names of code that belongs to language runtimes.
 *
 * Every line has an example frame, which a test looks up. Add lines freely. Libraries, the C
 * library and the kernel are not listed, because programs call them deliberately. */
#include "flame/runtime_frame.h"

enum {
    GO = 1 << SF_FRAME_GO,
    JVM = 1 << SF_FRAME_JVM | 1 << SF_FRAME_NATIVE,
    PYTHON = 1 << SF_FRAME_PYTHON | 1 << SF_FRAME_NATIVE,
    V8 = 1 << SF_FRAME_V8 | 1 << SF_FRAME_NATIVE,
    RUBY = 1 << SF_FRAME_RUBY | 1 << SF_FRAME_NATIVE,
    DOTNET = 1 << SF_FRAME_DOTNET | 1 << SF_FRAME_NATIVE,
    BEAM = 1 << SF_FRAME_BEAM | 1 << SF_FRAME_NATIVE
};

#define FRAME(kinds, text, example)                          \
    {                                                        \
        kinds, text, false, false, SF_RUNTIME_FRAME, example \
    }
#define NAMED(kinds, text)                               \
    {                                                    \
        kinds, text, true, false, SF_RUNTIME_FRAME, text \
    }
#define BELOW(kinds, text, example)                          \
    {                                                        \
        kinds, text, false, false, SF_RUNTIME_BELOW, example \
    }

#define MEMBER(kinds, text, example)                        \
    {                                                       \
        kinds, text, false, true, SF_RUNTIME_BELOW, example \
    }

const struct sf_runtime_rule sf_runtime_rules[] = {
    /* ---- Go: the collector, the allocator, maps, channels, preemption ---- */
    BELOW(GO, "runtime.gcBgMarkWorker", "runtime.gcBgMarkWorker.func2"),
    BELOW(GO, "runtime.bgsweep", "runtime.bgsweep"),
    BELOW(GO, "runtime.bgscavenge", "runtime.bgscavenge"),
    BELOW(GO, "runtime.sysmon", "runtime.sysmon"),
    FRAME(GO, "runtime.", "runtime.mallocgc"),
    FRAME(GO, "runtime/internal/", "runtime/internal/atomic.(*Uint32).Load"),
    FRAME(GO, "internal/runtime/", "internal/runtime/maps.(*Map).getWithKey"),
    NAMED(GO, "aeshashbody"),
    NAMED(GO, "memeqbody"),
    NAMED(GO, "cmpbody"),
    NAMED(GO, "indexbytebody"),
    NAMED(GO, "countbody"),
    NAMED(GO, "gogo"),
    NAMED(GO, "gcWriteBarrier"),

    /* ---- Java: collectors, compilers, safepoints; async-profiler's brackets ---- */
    MEMBER(JVM, "G1", "G1ParTask::work"),
    MEMBER(JVM, "GCTaskThread", "GCTaskThread::run"),
    BELOW(JVM, "GangWorker::", "GangWorker::loop"),
    BELOW(JVM, "WorkerThread::run", "WorkerThread::run"),
    MEMBER(JVM, "PSPromotionManager", "PSPromotionManager::copy_to_survivor_space"),
    MEMBER(JVM, "ParallelScavengeHeap", "ParallelScavengeHeap::mem_allocate"),
    MEMBER(JVM, "ZMark", "ZMark::mark_and_follow"),
    MEMBER(JVM, "ZRelocate", "ZRelocate::work"),
    MEMBER(JVM, "ShenandoahConcurrent", "ShenandoahConcurrentGC::collect"),
    BELOW(JVM, "VMThread::", "VMThread::run"),
    MEMBER(JVM, "VM_", "VM_GenCollectForAllocation::doit"),
    BELOW(JVM, "CompileBroker::", "CompileBroker::compiler_thread_loop"),
    BELOW(JVM, "C1 CompilerThread", "C1 CompilerThread0"),
    BELOW(JVM, "C2Compiler::", "C2Compiler::compile_method"),
    BELOW(JVM, "SafepointSynchronize::", "SafepointSynchronize::begin"),
    BELOW(JVM, "SafepointMechanism::", "SafepointMechanism::process"),
    BELOW(JVM, "SafepointBlob", "SafepointBlob"),
    FRAME(JVM, "OptoRuntime::", "OptoRuntime::new_instance_C"),
    FRAME(JVM, "SharedRuntime::", "SharedRuntime::resolve_helper"),
    FRAME(JVM, "InterpreterRuntime::", "InterpreterRuntime::_new"),
    FRAME(JVM, "Runtime1::", "Runtime1::new_instance"),
    FRAME(JVM, "MemAllocator::", "MemAllocator::allocate"),
    FRAME(JVM, "CollectedHeap::", "CollectedHeap::obj_allocate"),
    FRAME(JVM, "InstanceKlass::allocate", "InstanceKlass::allocate_instance"),
    FRAME(JVM, "TypeArrayKlass::allocate", "TypeArrayKlass::allocate_common"),
    FRAME(JVM, "ObjArrayKlass::allocate", "ObjArrayKlass::allocate"),
    FRAME(JVM, "JavaCalls::", "JavaCalls::call_helper"),
    FRAME(JVM, "JavaThread::", "JavaThread::thread_main_inner"),
    NAMED(JVM, "Interpreter"),
    NAMED(JVM, "call_stub"),
    NAMED(JVM, "itable stub"),
    NAMED(JVM, "vtable stub"),
    NAMED(JVM, "[unknown_Java]"),
    NAMED(JVM, "[no_Java_frame]"),
    NAMED(JVM, "[GC_active]"),
    NAMED(JVM, "[deoptimization]"),
    NAMED(JVM, "[not_walkable_Java]"),
    NAMED(JVM, "[not_walkable_not_Java]"),
    NAMED(JVM, "[safepoint]"),
    NAMED(JVM, "[break_interpreted]"),

    /* ---- Python: the interpreter's loop and how it calls ---- */
    FRAME(PYTHON, "_PyEval_", "_PyEval_EvalFrameDefault"),
    FRAME(PYTHON, "PyEval_", "PyEval_EvalCode"),
    FRAME(PYTHON, "_PyFunction_", "_PyFunction_Vectorcall"),
    FRAME(PYTHON, "_PyObject_", "_PyObject_MakeTpCall"),
    FRAME(PYTHON, "PyObject_", "PyObject_Call"),
    FRAME(PYTHON, "_PyVectorcall_", "_PyVectorcall_Call"),
    FRAME(PYTHON, "method_vectorcall", "method_vectorcall_NOARGS"),
    FRAME(PYTHON, "cfunction_", "cfunction_vectorcall_O"),
    FRAME(PYTHON, "_Py_Dealloc", "_Py_Dealloc"),
    FRAME(PYTHON, "Py_RunMain", "Py_RunMain"),
    FRAME(PYTHON, "Py_BytesMain", "Py_BytesMain"),
    FRAME(PYTHON, "run_mod", "run_mod"),
    BELOW(PYTHON, "gc_collect_", "gc_collect_main"),
    BELOW(PYTHON, "_PyGC_", "_PyGC_Collect"),
    NAMED(PYTHON, "<gc>"),

    /* ---- Node.js ---- */
    NAMED(V8, "(garbage collector)"),
    NAMED(V8, "(program)"),
    NAMED(V8, "(idle)"),
    NAMED(V8, "(root)"),
    FRAME(V8, "Builtins_", "Builtins_InterpreterEntryTrampoline"),
    FRAME(V8, "v8::internal::", "v8::internal::Runtime_CompileLazy"),

    /* ---- Ruby ---- */
    NAMED(RUBY, "(garbage collection)"),
    NAMED(RUBY, "(marking)"),
    NAMED(RUBY, "(sweeping)"),
    FRAME(RUBY, "vm_exec", "vm_exec_core"),
    FRAME(RUBY, "rb_vm_exec", "rb_vm_exec"),
    FRAME(RUBY, "vm_call_", "vm_call_iseq_setup"),
    FRAME(RUBY, "vm_sendish", "vm_sendish"),
    BELOW(RUBY, "gc_marks", "gc_marks_rest"),
    BELOW(RUBY, "gc_sweep", "gc_sweep_step"),

    /* ---- .NET ---- */
    BELOW(DOTNET, "WKS::gc_heap::", "WKS::gc_heap::mark_object_simple"),
    BELOW(DOTNET, "SVR::gc_heap::", "SVR::gc_heap::plan_phase"),
    FRAME(DOTNET, "JIT_New", "JIT_NewArr1"),
    FRAME(DOTNET, "JIT_WriteBarrier", "JIT_WriteBarrier"),
    FRAME(DOTNET, "System.Runtime.CompilerServices.CastHelpers",
          "System.Runtime.CompilerServices.CastHelpers.ChkCastAny"),

    /* ---- Erlang ---- */
    NAMED(BEAM, "process_main"),
    NAMED(BEAM, "beam_jit_main"),
    BELOW(BEAM, "erts_garbage_collect", "erts_garbage_collect_nobump"),
};

const uint32_t sf_runtime_n_rules = sizeof(sf_runtime_rules) / sizeof(sf_runtime_rules[0]);
