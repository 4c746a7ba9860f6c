// Names for clang's thread-safety analysis (-Wthread-safety); empty under other compilers. Every
// mutex-guarded member carries WQ_GUARDED_BY, every function that expects a held lock WQ_REQUIRES.
#pragma once

#if defined(__clang__)
#define WQ_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define WQ_THREAD_ATTRIBUTE(x)
#endif

#define WQ_CAPABILITY(x) WQ_THREAD_ATTRIBUTE(capability(x))
#define WQ_SCOPED_CAPABILITY WQ_THREAD_ATTRIBUTE(scoped_lockable)
#define WQ_GUARDED_BY(x) WQ_THREAD_ATTRIBUTE(guarded_by(x))
#define WQ_PT_GUARDED_BY(x) WQ_THREAD_ATTRIBUTE(pt_guarded_by(x))
#define WQ_ACQUIRED_BEFORE(...) WQ_THREAD_ATTRIBUTE(acquired_before(__VA_ARGS__))
#define WQ_ACQUIRED_AFTER(...) WQ_THREAD_ATTRIBUTE(acquired_after(__VA_ARGS__))
#define WQ_REQUIRES(...) WQ_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define WQ_EXCLUDES(...) WQ_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define WQ_ACQUIRE(...) WQ_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define WQ_RELEASE(...) WQ_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define WQ_TRY_ACQUIRE(...) WQ_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define WQ_ASSERT_CAPABILITY(x) WQ_THREAD_ATTRIBUTE(assert_capability(x))
#define WQ_RETURN_CAPABILITY(x) WQ_THREAD_ATTRIBUTE(lock_returned(x))
#define WQ_NO_THREAD_SAFETY_ANALYSIS WQ_THREAD_ATTRIBUTE(no_thread_safety_analysis)
