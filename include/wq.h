/* wq.h: the C interface of wq, a disk-backed queue engine that runs inside your process. There is
   no server. A directory is a store, a store holds queues, a queue holds jobs. This header is the
   whole interface and its manual. C99 and later, C++11 and later; 64-bit Linux.

   CONTENTS

   In this comment: 1. a complete program, 2. ten conventions, 3. words, 4. limits, 5. caveats.
   Then, each under a heading of its name, in the order in which one needs them:

     codes                    what calls return
     handles and bytes        what they are given and give
     calls                    errors, durability of one call, versions
     store                    open, close, flush, figures, check
     queue                    declare, configure, pause, disable, clear, delete, count
     produce                  enqueue one job or many
     consume                  lease, then ack, nack, fail, release; extend, confirm
     cancel                   end a wait from another thread
     single jobs              read, cancel, reprioritise, leave a note
     dead letters             list, replay, remove what failed for good
     completion queue         have thousands of changes under way in one thread
     unique keys              one job of a key; debounce; a repeated request
     groups, rates, tenants   what may begin, and whose turn it is
     chains and flows         jobs that follow jobs; jobs that are counted together
     schedules                jobs by the clock
     history                  acked jobs and their results
     key-value rows           small values of yours in the same log
     locks                    one owner at a time
     transactions             several changes as one
     encryption               sealed and compressed payloads
     observe                  why a job does not run, errors, events, metrics
     backup                   copy a store that is in use, and restore it
     moving a store           export and import
     repair and the log       what can be read of a damaged store; the log as it is

   A newcomer reads this comment, and of the parts below up to "consume".

   1. A COMPLETE PROGRAM (cc example.c -lwq && ./a.out /tmp/store)

   ---8<--- example.c
#include <stdio.h>
#include <wq.h>

int main(int argc, char **argv) {
  wq_error err = WQ_ERROR_INIT;
  wq_store *store = NULL;
  wq_queue *mail = NULL;
  wq_batch *batch = NULL;
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  wq_job job = WQ_JOB_INIT;
  size_t i;

  if (argc != 2 || wq_store_open(argv[1], NULL, &store, &err) != WQ_OK) goto done;
  if (wq_queue_open(store, "mail", 4, NULL, 0, &mail, &err) != WQ_OK) goto done;
  spec.payload.data = "hello";
  spec.payload.len = 5;
  if (wq_enqueue(mail, &spec, NULL, NULL, &err) != WQ_OK) goto done;  // OK: it is on the device
  take.max_jobs = 10;
  take.wait_ms = 1000;
  if (wq_lease(store, &mail, 1, &take, NULL, NULL, &batch, &err) != WQ_OK) goto done;
  for (i = 0; i < wq_batch_count(batch); i++) {
    if (wq_batch_job(batch, i, &job) != WQ_OK) goto done;
    printf("%.*s\n", (int)job.payload.len, (const char *)job.payload.data);
    if (wq_ack(mail, job.id, job.generation, NULL, &err) != WQ_OK) goto done;
  }
done:
  if (err.code != WQ_OK) fprintf(stderr, "%s: %s\n", wq_error_name(err.code), err.message);
  wq_batch_free(&batch);
  wq_queue_close(&mail);
  wq_store_close(&store);
  return argc == 2 && err.code == WQ_OK ? 0 : 1;
}
   ---8<--- end

   2. TEN CONVENTIONS

    1. Results. A call that can fail returns int32_t: WQ_OK (0); below zero an error (WQ_E_...), and
       then nothing changed unless wq_error_maybe_committed(code) says otherwise; above zero an
       expected other outcome (WQ_EMPTY, WQ_STALE, ...), which is no error. Values never change.
    2. Errors. The last parameter `err` may be NULL. Else it must be initialised (WQ_ERROR_INIT),
       and each call overwrites it: `code` is what the call returned, `message` one line for a
       person (empty for WQ_OK). Programs decide by the code, never by the text.
    3. Structs. Each public struct except wq_bytes, wq_header, wq_token and wq_key starts with
       `struct_size`. Initialise with WQ_X_INIT, or with wq_struct_init(p, sizeof *p) from
       another language. All zero after struct_size means "all defaults". Fields are only ever
       appended: a shorter struct is read as if the missing fields were zero; a longer one is
       accepted while its unknown tail is zero, else WQ_E_UNSUPPORTED; one shorter than in its first
       release is WQ_E_INVALID. `reserved_n` must be zero. Unknown bits in a `flags` or `fields`
       mask are WQ_E_UNSUPPORTED. In an output struct the library fills at most `struct_size` bytes
       and zeroes an unknown tail. Arrays of structs pass the size of one element; in an output
       array the library sets struct_size itself.
    4. Handles. The types under "handles and bytes" are opaque. Each has one closing call, which
       takes the address of your pointer, sets it to NULL, cannot fail, and does nothing when the
       pointer is NULL already. Handles may be closed in any order: what a child needs of its parent
       lives until the child is closed, and what was read outlives the store. A NULL handle is
       WQ_E_INVALID. Use of a handle whose store (or queue handle) was closed is WQ_E_CLOSED.
    5. Bytes in. Pointer and length, read during the call only, never kept. (NULL, 0) is empty. Any
       byte is legal in payloads, header values, keys and error texts. Names are UTF-8 and a length.
    6. Bytes out. Views into the handle that they were got from (a batch, a list, a page, a text),
       valid until that is freed. You never free() them.
    7. Time. Durations are int64_t milliseconds: 0 does not wait, -1 waits for ever. Points in time
       are int64_t milliseconds since 1970 UTC; 0 means none. Names end in _ms.
    8. Durability. A change is described by one log record with a log sequence number (LSN). The
       call returns when that record has reached the level asked for:
         WQ_POWER    the device has it: survives power loss. Default of all but those of WQ_PROCESS.
         WQ_PROCESS  the kernel has it: survives kill -9, not power loss. Default of lease, extend,
                     progress notes and the calls on locks.
         WQ_MEMORY   applied; written within wq_store_options.memory_window_ms.
       A `wq_call` argument chooses the level for one call; NULL takes the default. Records become
       durable in LSN order, so one durable LSN covers all before it.
    9. Threads. Each function says `Thread:` any (from any number of threads at once) or one at a
       time (callers must not overlap on the same object). `Blocks:` says what it may wait for;
       every call may also wait shortly for a lock.
   10. Stability. `Since:` is the first version with the function; `Stability: stable` means that it
       will not change or vanish within a major version.

   3. WORDS

   store       a directory with everything in it; opened by one process at a time
   queue       a named line of jobs with its own configuration
   job         payload bytes and options; has a 64-bit id that grows and is never reused in a store;
               after a crash ids and generations go on about a million further up
   lease       the right to work on a job until a deadline
   generation  64-bit number of a lease; grows over the life of the store, never reused. (id,
               generation) is the token that confirm, extend and every settle carry
   attempt     one lease of a job that was not released
   settle      end a lease: ack (done), nack (try again), fail (dead), release (give back uncounted)
   exception   a nack that counts as one
   confirm     leased -> running: it was delivered, and the work goes on with no lease deadline
   ready, delayed, leased, running, dead   the states of a job
   promote     delayed -> ready when its time has come
   reclaim     take a lease back after its deadline: retry or dead
   dead letter a job that failed for good; kept until replayed, removed or purged. An entry is one
               death of a job: its id and last generation
   replay      dead -> ready with attempts 0
   kv row      a small value of yours under a key, changed in the same log as the jobs
   chain       jobs that are enqueued one after another, each in the record of the ack before it
   flow        a batch of jobs that are counted together (wq_batch is what a lease gives); its end
               enqueues a job
   group       jobs of a queue with the same group key; a limit of them runs at once
   rate key    jobs of a queue with the same rate key share a rate
   parked      ready, but no slot of the group is free, or the rate key is used up or cools down
   tenant      jobs of a queue with the same tenant key; tenants are served by turns
   schedule    enqueues a job at each of its due times; one of these is a slot
   LSN         log sequence number: 1, 2, 3, ... one per change of the store
   checkpoint  the background move of settled state out of the log

   4. LIMITS (outside: WQ_E_INVALID or WQ_E_TOO_LARGE naming the field, before anything changes)

     store path           1..4,095 bytes
     names                of queues and schedules: 1..255 bytes, UTF-8, no control characters (below
                          0x20, 0x7f)
     payload              0..16 MiB; wq_store_options.payload_bytes_max raises that to 256 MiB
     headers              64 KiB over all names and values, at most 1,024; a name is 1..255 bytes
     keys                 of every kind: 1..512 bytes, any
     times                delays, leases, timeouts, times to live, overlap, dead letters: up to 100
                          years; a lease, a timeout, an overlap and the window of a key 1 ms or
                          more. Points in time: up to 100 years from now; a run-at in the past is
                          ready at once; expires-at is behind the delay or run-at of the job
     priority             0..255; 0 goes first, 100 is the default
     max_retries          0..1,000,000 (0: one attempt and then dead)
     backoff              lists of 1..32 entries; jitter 0..1000 per mille
     rates, throttles     1..1,000,000 jobs, a burst of 1..that; 1..100 exceptions; windows and
                          cool-downs 1 ms .. 366 days; rate_cost 1..1,000,000
     group limit          1..1,000,000
     texts                error: any length, kept up to 4 KiB, cut at a character edge; progress
                          note: 4 KiB; result of an ack: 1 MiB
     chain                100 jobs, 16 MiB of payloads and headers together
     on_complete, on_failure of a flow   60 KiB of payload and headers each
     schedules            10,000 in a store; payload up to 1 MiB
     kv row               a value of 0..1 MiB
     one call             1..10,000 jobs (enqueue_many, lease, extend, settle_many), operations of a
                          transaction, entries of a wq_dead_filter; 1..1,000 in a page of a list;
                          1..256 queues in a lease, none twice; brings payloads, headers, values,
                          results and error texts of up to 512 MiB together

   5. CAVEATS

   Delivery is at least once. A job runs again when its lease expires before it is settled, when the
   process or machine dies in between, or when a settle at a weaker level than WQ_POWER is lost with
   the machine. Make handlers idempotent. What wq guarantees is that one generation at most can
   settle: a late worker gets WQ_STALE and changes nothing.
   Threads: store, queue, completion queue and cancel handles may be shared by all threads. What was
   read (a batch, a list, a page, a text) and a wq_call belong to one thread at a time.
   Callbacks run on the calling thread, with no lock held. They return 0 to go on, anything else to
   stop, and do not throw. What they are given is valid until they return.
   Closing: wq_store_close wakes callers blocked in the store (they get WQ_E_CLOSED) and waits until
   they have left. Do not close from inside a callback.
   Fork: a child process must not use handles opened before the fork; each call answers WQ_E_FORKED,
   closing only forgets the handle. Once a process has opened a store, children that it forks can
   not open any (WQ_E_FORKED), also after it was closed: fork first and open in the child, or exec.
   Such a child ends with exec or _exit, not with exit.
   Exit: a process that exits, or returns from main, without wq_store_close is like one that is
   killed: what was durable stays so. It may have threads inside; those that go on while it exits
   can be told WQ_E_CLOSED.
   Double open: one handle per directory, in one process of one machine. A second open answers
   WQ_E_LOCKED with the owner's process id in the message, and writes nothing.
   Network file systems (NFS, SMB, FUSE over a network) do not give the locking and flush guarantees
   that wq needs. Do not put a store there.
   Disks that acknowledge a flush they did not do can lose what WQ_POWER promised.
   Batches copy their jobs: holding one for long costs memory only. Leases do not wait for it: a job
   whose lease expires while you hold its batch is handed to somebody else.
   Signals: no function may be called in a signal handler. */
#ifndef WQ_H_
#define WQ_H_

#include <stddef.h>
#include <stdint.h>

#define WQ_VERSION_MAJOR 0
#define WQ_VERSION_MINOR 1
#define WQ_VERSION_PATCH 0
/* What wq_store_open compares: the major and minor version of this header. */
#define WQ_ABI_VERSION ((uint32_t)WQ_VERSION_MAJOR << 16 | (uint32_t)WQ_VERSION_MINOR)

#if defined(__GNUC__)
#define WQ_API __attribute__((visibility("default")))
#else
#define WQ_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ======================================================================================== codes */

/* Outcomes: the call did what it says, and this is how it went. */
#define WQ_OK 0
#define WQ_EMPTY 1     /* nothing there, also after the wait */
#define WQ_TIMEOUT 2   /* the time ran out before the wait was over; the wait can be repeated */
#define WQ_STALE 3     /* the lease or entry is held by this generation no more; nothing changed */
#define WQ_DUPLICATE 4 /* the unique key is held by another job */
#define WQ_DISABLED 5  /* the queue is disabled */
#define WQ_PAUSED 6    /* the queue is paused */
#define WQ_CANCELLED 7 /* the wait was cancelled, or the flow of the job was; nothing happened */
#define WQ_CONFLICT 8  /* the object changed since it was read, or is in another state */

/* Usage: the call itself is wrong. Repeating it is pointless. */
#define WQ_E_INVALID (-1)     /* an argument or field is invalid; the message names it */
#define WQ_E_TOO_LARGE (-2)   /* over a size limit; the message names it */
#define WQ_E_UNSUPPORTED (-3) /* not known to this library or platform */
#define WQ_E_VERSION (-4)     /* header and library, or store and library, do not match */

/* State: the thing named is not there, or not in the right state. */
#define WQ_E_NOT_FOUND (-20)
#define WQ_E_CLOSED (-21)    /* the handle or its store is closed or shutting down */
#define WQ_E_FORKED (-22)    /* opened before a fork, in another process; see Fork */
#define WQ_E_LOCKED (-23)    /* the store is open elsewhere; the message has the process id */
#define WQ_E_READ_ONLY (-24) /* reserved: no call opens a store for reading only yet */
#define WQ_E_NO_KEY (-25)    /* no key of the store opens or seals the payload; see ENCRYPTION */

/* Limits: may go away by itself or by an operator's hand. */
#define WQ_E_NO_SPACE (-40) /* the disk is nearly full; leases and settles go on while they can */
#define WQ_E_FULL (-41)     /* the queue or store is at its limit */
#define WQ_E_NO_MEMORY (-42)

/* Storage. */
#define WQ_E_IO (-60)       /* the operating system reported an I/O error; see os_errno */
#define WQ_E_CORRUPT (-61)  /* stored data is damaged; message and offset say where */
#define WQ_E_POISONED (-62) /* an earlier storage failure stopped this store; close and reopen */

#define WQ_E_INTERNAL (-80) /* an internal check failed: a bug in wq; the store is stopped */

/* ============================================================================ handles and bytes */

typedef struct wq_store wq_store;   /* an open store */
typedef struct wq_queue wq_queue;   /* one queue of an open store */
typedef struct wq_batch wq_batch;   /* copies of jobs: leased ones, or ones that were read */
typedef struct wq_list wq_list;     /* a list of names */
typedef struct wq_text wq_text;     /* a text that was made for you */
typedef struct wq_cq wq_cq;         /* completion queue: tells when changes became durable */
typedef struct wq_cancel wq_cancel; /* ends waits from another thread */
typedef struct wq_kv_page wq_kv_page; /* copies of kv rows */

/* Bytes: in, borrowed for the call; out, a view into a handle. */
typedef struct wq_bytes {
  const void *data;
  size_t len;
} wq_bytes;

typedef struct wq_header {
  wq_bytes name;
  wq_bytes value;
} wq_header;

/* The right to settle a job. */
typedef struct wq_token {
  uint64_t id;
  uint64_t generation;
} wq_token;

/* A key that payloads are sealed with. */
typedef struct wq_key {
  uint32_t id; /* 1 and up: your number for it, stored with each job */
  uint32_t reserved_0;
  wq_bytes bytes; /* 32 random ones */
} wq_key;

/* Initialise any sized struct: `size` zero bytes, and struct_size = size. For languages that cannot
 * use the WQ_X_INIT macros: wq_struct_init(&spec, sizeof spec).
 * NULL, or a size below 8, is ignored.
 * Returns: nothing.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_struct_init(void *p, size_t size);

/* ======================================================================================== calls */

/* wq_error.flags: the predicates of the code, for languages that read the struct only. */
#define WQ_ERROR_RETRYABLE 1u
#define WQ_ERROR_MAYBE_COMMITTED 2u
#define WQ_ERROR_FATAL 4u

/* What went wrong. Filled by every call that is given one. */
typedef struct wq_error {
  uint32_t struct_size;
  int32_t code;      /* what the call returned */
  int32_t os_errno;  /* 0 if the operating system had no part in it */
  uint32_t flags;    /* WQ_ERROR_... */
  uint64_t offset;   /* byte offset in the file that the message names, else 0 */
  char message[232]; /* one line, UTF-8, always ends with NUL; long paths lose their middle */
} wq_error;
#define WQ_ERROR_INIT {sizeof(wq_error), 0, 0, 0, 0, ""}

/* Durability levels (convention 8). 0 takes the default. */
#define WQ_MEMORY 1u
#define WQ_PROCESS 2u
#define WQ_POWER 3u

/* How one changing call waits for its durability. NULL takes the defaults. Belongs to one call at a
 * time. With `cq` the call returns at once with its result (ids and so on), and one event with
 * `user_data` arrives in the completion queue when the level is reached or has become unreachable.
 * There is an event if and only if `lsn` is not 0 when the call returns. */
typedef struct wq_call {
  uint32_t struct_size;
  uint32_t durability; /* 0: the default; WQ_MEMORY, WQ_PROCESS, WQ_POWER */
  wq_cq *cq;           /* NULL: wait in the call; must belong to the same store */
  uint64_t user_data;
  uint64_t lsn; /* out: LSN of the record of this call; 0 if it wrote nothing */
} wq_call;
#define WQ_CALL_INIT {sizeof(wq_call), 0, NULL, 0, 0}

/* One line of English about a code.
 * A code that the library does not know gives a generic text.
 * Returns: a constant string, never NULL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: the library; never free it.
 * Since: 0.1.   Stability: stable. */
WQ_API const char *wq_strerror(int32_t code);

/* Name of a code as in this header, without the prefix: "OK", "STALE", "NO_SPACE".
 * Returns: a constant string, never NULL; "UNKNOWN" for a code that is not in the table.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: the library; never free it.
 * Since: 0.1.   Stability: stable. */
WQ_API const char *wq_error_name(int32_t code);

/* Whether the same call may succeed later, with no change by the caller.
 * True for EMPTY, TIMEOUT, DUPLICATE, DISABLED, PAUSED, LOCKED, NO_SPACE, FULL, NO_MEMORY.
 * Returns: 1 or 0.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_error_is_retryable(int32_t code);

/* Whether a call that ended with this code may have changed the store all the same.
 * True for IO, POISONED, INTERNAL and CLOSED: the wait for durability was cut short.
 * After reopening look before you repeat: wq_job_get, wq_queue_get_stats.
 * Returns: 1 or 0.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_error_maybe_committed(int32_t code);

/* Whether the open store is of no more use for changes and must be closed and reopened.
 * True for POISONED and INTERNAL.
 * Returns: 1 or 0.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_error_is_fatal(int32_t code);

/* Version of the library as major << 16 | minor << 8 | patch.
 * Differs from the header's macros when program and library were built apart.
 * Returns: the number.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API uint32_t wq_version(void);

/* Version of the library as text, "0.1.0".
 * Returns: a constant string, never NULL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: the library; never free it.
 * Since: 0.1.   Stability: stable. */
WQ_API const char *wq_version_string(void);

/* Version of the format on disk that the library writes (docs/FORMAT.md). A store of a newer format
 * is WQ_E_VERSION.
 * Returns: the number.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API uint32_t wq_format_version(void);

/* One line on how the library was built: version, commit, compiler, versions of its libraries.
 * For people and bug reports; the form may change.
 * Returns: a constant string, never NULL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: the library; never free it.
 * Since: 0.1.   Stability: stable. */
WQ_API const char *wq_build_info(void);

/* ======================================================================================== store */

/* wq_store_options.flags */
#define WQ_OPEN_NO_CREATE 1u     /* WQ_E_NOT_FOUND if there is no store at the path */
#define WQ_OPEN_EXPIRE_LEASES 2u /* leases of the time before are taken back at once */
#define WQ_OPEN_NO_THREADS 4u    /* no background threads: wq_store_tick drives everything */

/* wq_store_options.io_backend and wq_store_stats.io_backend */
#define WQ_IO_AUTO 0u
#define WQ_IO_URING 1u
#define WQ_IO_THREADS 2u

typedef struct wq_store_options {
  uint32_t struct_size;
  uint32_t flags;                /* WQ_OPEN_... */
  uint32_t io_backend;           /* WQ_IO_...; 0: io_uring if the kernel lets us, else threads */
  uint32_t spare_segments;       /* zero-filled log segments kept ready; 0: 2; up to 64 */
  uint64_t memory_budget_bytes;  /* bound of jobs held in memory; 0: 64 MiB; from 1 MiB */
  uint64_t payload_bytes_max;    /* 0: 16 MiB; up to 256 MiB */
  uint64_t segment_bytes;        /* of the log; 16 KiB .. 1 GiB, a multiple of 4096; 0: 32 MiB, or a
                                    sixteenth of the file system */
  uint64_t checkpoint_log_bytes; /* log bytes that start a checkpoint; 0: 128 MiB, or a quarter of
                                    the file system */
  uint64_t disk_reserve_bytes;   /* with less free, enqueue answers WQ_E_NO_SPACE; up to half of it
                                    may be spare segments; 0: 64 MiB, or an eighth of the file
                                    system */
  int64_t memory_window_ms;      /* bound of the loss window of WQ_MEMORY; 0: 50; up to an hour */
  uint32_t events_max;           /* events kept for wq_events_poll, 64 bytes each; 0: none; up to
                                    2^24; rounded up to a power of two */
  uint32_t reserved_0;
  uint64_t quota_bytes;          /* bound of wq_store_stats.job_bytes; with more, enqueue answers
                                    WQ_E_FULL, all else goes on; 0: none. Not stored */
  const wq_key *keys;            /* all that jobs may be sealed with; copied, wiped at the end */
  size_t keys_count;             /* up to 1,000 */
  uint32_t current_key;          /* id of the one that seals new payloads; 0: none does */
  uint32_t reserved_1;
} wq_store_options;
#define WQ_STORE_OPTIONS_INIT \
  {sizeof(wq_store_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0}

/* Open the store in directory `path`, creating it if it is not there. Use the macro wq_store_open,
 * which passes the version of this header; bindings pass the WQ_ABI_VERSION they were made from.
 * Recovers from whatever happened before; wq_store_get_recovery tells what was found.
 * A damaged log or checkpoint is refused, with file and offset; only an unfinished tail is cut.
 * A refused open writes nothing.
 * Returns: WQ_OK with *store set; else *store is NULL: WQ_E_INVALID (path, option),
 *          WQ_E_UNSUPPORTED (option, flag, kernel), WQ_E_VERSION (header newer than the library, or
 *          format newer than the library), WQ_E_NOT_FOUND (no store there and WQ_OPEN_NO_CREATE, or
 *          no parent directory), WQ_E_LOCKED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: OK means that everything recovered is on the device.
 * Thread: any.   Blocks: yes, for recovery.   Owns: the caller closes *store with wq_store_close.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_open_abi(const char *path, const wq_store_options *options,
                                 uint32_t abi_version, wq_store **store, wq_error *err);
#define wq_store_open(path, options, store, err) \
  wq_store_open_abi((path), (options), WQ_ABI_VERSION, (store), (err))

/* Close the store and set *store to NULL.
 * Callers blocked in the store return WQ_E_CLOSED, then everything is flushed and the lock on the
 * directory is given up. Leases stay as they are and go on after the next open.
 * Handles of the store that are still open answer WQ_E_CLOSED; close them too, before or after.
 * What was not yet durable and cannot be flushed is lost without a word: call wq_store_shutdown or
 * wq_store_sync before if you want to know.
 * Returns: nothing.
 * Durability: flushes to WQ_POWER, if the disk lets it.
 * Thread: any; not from a callback.   Blocks: yes, for the last flush.   Owns: frees *store.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_store_close(wq_store **store);

/* Stop in an orderly way: no new leases, wait for the open ones, flush, checkpoint.
 * From the call on wq_lease answers WQ_E_CLOSED, also to those who wait in it; enqueue and settle
 * go on, so that running handlers can end. It cannot be undone; wq_store_close follows.
 * Waits at most timeout_ms (0: not at all, -1: for ever) until no job is leased or running, and
 * then flushes and checkpoints in any case, so that the next open has nothing to replay.
 * Returns: WQ_OK; WQ_TIMEOUT (jobs are still leased or running; the rest was done); WQ_E_INVALID,
 *          WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: OK and TIMEOUT mean that everything before the call is on the device.
 * Thread: any.   Blocks: yes, up to timeout_ms, then for flush and checkpoint.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_shutdown(wq_store *store, int64_t timeout_ms, wq_error *err);

/* Flush everything that was changed before the call, at whatever level, to WQ_POWER.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: OK means that every change before the call survives power loss.
 * Thread: any.   Blocks: for one or two flushes.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_sync(wq_store *store, wq_error *err);

/* Wait until the change with this LSN (wq_call.lsn, wq_enqueued.lsn) has reached a level.
 * `lsn` 0 is there already; one that was not yet given out is WQ_E_INVALID. `durability` is
 * WQ_PROCESS or WQ_POWER. timeout_ms: 0 asks only, -1 waits for ever.
 * Returns: WQ_OK; WQ_TIMEOUT; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_IO, WQ_E_POISONED,
 *          WQ_E_INTERNAL.
 * Durability: OK means that this change and all before it survive what the level says.
 * Thread: any.   Blocks: up to timeout_ms.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_wait_durable(wq_store *store, uint64_t lsn, uint32_t durability,
                                     int64_t timeout_ms, wq_error *err);

/* Make a checkpoint now: everything changed before the call goes to the settled state on disk, and
 * the log behind it is recycled.
 * Never needed for safety; it shortens the next open.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_NO_SPACE, WQ_E_IO,
 *          WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: OK means that every change before the call survives power loss.
 * Thread: any; other calls go on meanwhile.   Blocks: for the checkpoint.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_checkpoint(wq_store *store, wq_error *err);

/* Do a bounded piece of maintenance: reclaim expired leases, promote due jobs, flush, checkpoint.
 * Needed with WQ_OPEN_NO_THREADS; without it the store does all that by itself, and the answer is
 * WQ_E_UNSUPPORTED.
 * *next_due_ms (may be NULL) tells how long nothing will be due: 0 means call again at once, -1
 * that nothing is planned. A change by another call can make something due earlier.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY,
 *          WQ_E_NO_SPACE, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: none promised; what it flushes is told by wq_store_get_stats.
 * Thread: any.   Blocks: for disk I/O only.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_tick(wq_store *store, int64_t *next_due_ms, wq_error *err);

/* What opening found and did. Nothing is repaired silently. */
typedef struct wq_recovery {
  uint32_t struct_size;
  uint32_t clean;              /* 1: nothing to replay and nothing cut */
  uint64_t applied_lsn;        /* LSN of the checkpoint that recovery started from */
  uint64_t last_lsn;           /* newest LSN found */
  uint64_t records_replayed;
  uint64_t truncated_bytes;    /* unfinished tail of the log that was cut off */
  uint64_t leases_kept;        /* leases that go on with their old deadline */
  uint64_t leases_expired;     /* leases taken back because of WQ_OPEN_EXPIRE_LEASES */
  uint64_t temp_files_removed; /* left over by a crash */
  int64_t replay_ms;
  char truncated_where[200];   /* file, offset and reason; empty if nothing was cut */
} wq_recovery;
#define WQ_RECOVERY_INIT {sizeof(wq_recovery), 0, 0, 0, 0, 0, 0, 0, 0, 0, ""}

/* What opening this store found and did.
 * Does not change while the store is open.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_get_recovery(wq_store *store, wq_recovery *recovery, wq_error *err);

/* wq_store_stats.status */
#define WQ_STORE_OPEN 1u
#define WQ_STORE_DRAINING 2u /* wq_store_shutdown was called */
#define WQ_STORE_POISONED 3u

/* Totals count since open unless they say otherwise. */
typedef struct wq_store_stats {
  uint32_t struct_size;
  uint32_t status;     /* WQ_STORE_... */
  uint32_t io_backend; /* the one that runs: WQ_IO_URING or WQ_IO_THREADS */
  uint32_t queues;
  uint64_t ready, delayed, leased, running, dead; /* jobs, over all queues */
  uint64_t last_lsn;       /* newest change */
  uint64_t process_lsn;    /* all up to here survive kill -9 */
  uint64_t durable_lsn;    /* all up to here survive power loss */
  uint64_t applied_lsn;    /* all up to here are in the checkpoint */
  uint64_t resident_jobs;  /* jobs held in memory */
  uint64_t resident_bytes; /* and what they take, against the budget */
  uint64_t memory_budget_bytes;
  uint64_t log_records, log_bytes; /* appended */
  uint64_t log_written_bytes;      /* handed to the device, padding included */
  uint64_t log_live_bytes;         /* in the log now, not covered by the checkpoint */
  uint64_t log_segments, log_segments_spare;
  uint64_t flushes;                /* groups that ended with a device barrier */
  uint64_t flush_us_total, flush_us_max;
  uint64_t checkpoints, checkpoint_us_last, checkpoint_us_max;
  uint64_t waiting;                /* threads that wait in wq_lease */
  uint64_t job_bytes;              /* of all jobs in any state: payload, headers, options */
  uint64_t quota_bytes;            /* as in wq_store_options */
} wq_store_stats;
#define WQ_STORE_STATS_INIT                                                                       \
  {sizeof(wq_store_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
   0, 0, 0, 0, 0, 0}

/* Read the figures of the store.
 * All figures of one call belong to one moment, except those of the log.
 * Works on a poisoned store.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_get_stats(wq_store *store, wq_store_stats *stats, wq_error *err);

/* What a full check found. */
typedef struct wq_verify_report {
  uint32_t struct_size;
  uint32_t reserved_0;
  uint64_t jobs;           /* jobs read */
  uint64_t entries;        /* index entries read */
  uint64_t problems;       /* 0: each job in one state, each entry has its job, counts agree */
  int64_t elapsed_ms;
  char first_problem[216]; /* empty if there is none */
} wq_verify_report;
#define WQ_VERIFY_REPORT_INIT {sizeof(wq_verify_report), 0, 0, 0, 0, 0, ""}

/* Check the whole open store: each job is in one state, each index entry has its job and each job
 * its entries, all counts equal what is there, all checksums are right.
 * Makes a checkpoint first, so that all is read from where the next open reads it. Repairs nothing.
 * Other calls on the store wait meanwhile.
 * Returns: WQ_OK; WQ_E_CORRUPT (report->problems is not 0; the message is the first);
 *          WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: as long as it takes to read all.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_verify(wq_store *store, wq_verify_report *report, wq_error *err);

/* List the names of all queues, in byte order, as of one moment.
 * Returns: WQ_OK with *list set (it may be of length 0); else *list is NULL: WQ_E_INVALID,
 *          WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_INTERNAL.
 * Durability: none.
 * Thread: any.   Blocks: no.   Owns: the caller frees *list with wq_list_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_queues(wq_store *store, wq_list **list, wq_error *err);

/* Number of names in a list. NULL has none.
 * Returns: the number.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API size_t wq_list_count(const wq_list *list);

/* The name with index `i`, counted from 0.
 * Returns: WQ_OK with *name set; WQ_E_INVALID (NULL, index) with *name empty.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: the list owns the bytes.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_list_name(const wq_list *list, size_t i, wq_bytes *name);

/* Free a list and set *list to NULL.
 * Returns: nothing.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: frees *list.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_list_free(wq_list **list);

/* ======================================================================================== queue */

/* Flags of wq_queue_open. */
#define WQ_QUEUE_NO_CREATE 1u

/* Queue status. */
#define WQ_STATUS_ACTIVE 0u
#define WQ_STATUS_PAUSED 1u   /* no lease; enqueue goes on */
#define WQ_STATUS_DISABLED 2u /* no lease and no enqueue; delayed jobs stay */

/* Delay before the n-th retry (n = 1, 2, ...). 0 in a job: the queue's policy; in a queue: none */
#define WQ_BACKOFF_FIXED 1u       /* backoff_base_ms */
#define WQ_BACKOFF_EXPONENTIAL 2u /* backoff_base_ms * 2^(n - 1), at most backoff_max_ms */
#define WQ_BACKOFF_LIST 3u        /* backoff_list_ms[n - 1]; the last entry repeats */
#define WQ_BACKOFF_LIST_MAX 32
/* Jitter: by chance up to backoff_jitter_permille thousandths of each delay are left off, so that
 * jobs which failed together do not come back together. 0: none; 1000: any part of the delay. */

/* What an enqueue does when a queue is at its max_depth or max_bytes. */
#define WQ_FULL_REFUSE 0u      /* WQ_E_FULL */
#define WQ_FULL_DROP_OLDEST 1u /* ready jobs go for it in the same change, the least urgent first
                                  and of those the oldest. Delayed, leased and running ones never
                                  go: if the ready ones are not enough, WQ_E_FULL */

/* wq_queue_config.fields */
#define WQ_CONFIG_MAX_RUNNING 1u
#define WQ_CONFIG_MAX_RETRIES 2u
#define WQ_CONFIG_LEASE_MS 4u
#define WQ_CONFIG_DURABILITY 8u
#define WQ_CONFIG_BACKOFF 16u /* all backoff_ fields together */
#define WQ_CONFIG_VERSION 32u /* change only if the version is still `version` */
#define WQ_CONFIG_JOB_TTL 128u
#define WQ_CONFIG_MAX_DEPTH 0x10000u
#define WQ_CONFIG_MAX_BYTES 0x20000u
#define WQ_CONFIG_FULL_POLICY 0x40000u
#define WQ_CONFIG_DEAD_MAX_COUNT 0x80000u
#define WQ_CONFIG_DEAD_MAX_AGE 0x100000u
#define WQ_CONFIG_KEEP_DONE 2048u /* keep_done_count and keep_done_age_ms together */
#define WQ_CONFIG_RATE (1u << 24) /* all rate_ fields together */
#define WQ_CONFIG_GROUP_LIMIT (1u << 25)
#define WQ_CONFIG_ENCRYPT (1u << 26)
#define WQ_CONFIG_COMPRESS (1u << 27)
#define WQ_CONFIG_KEY_RATE (1u << 28) /* all three of key_rate_... */
#define WQ_CONFIG_THROTTLE (1u << 29) /* all three of throttle_... */

/* Configuration of a queue. For configure and open: only what `fields` names counts.
 * wq_queue_get_config fills everything and sets all bits of `fields`, WQ_CONFIG_VERSION included:
 * change a field, hand the struct back, and the change is refused if somebody else was faster. */
typedef struct wq_queue_config {
  uint32_t struct_size;
  uint32_t fields;         /* WQ_CONFIG_... */
  uint32_t max_running;    /* bound of leased + running jobs; 0: none. Never cuts running ones */
  uint32_t max_retries;    /* attempts after the first; default 3 */
  int64_t lease_ms;        /* default 60,000 */
  uint32_t durability;     /* default of enqueue and settle calls; default WQ_POWER */
  uint32_t status;         /* out only: WQ_STATUS_... */
  uint32_t backoff_kind;   /* WQ_BACKOFF_...; default 0: retries are ready at once */
  uint32_t backoff_count;  /* entries used in backoff_list_ms */
  int64_t backoff_base_ms;
  int64_t backoff_max_ms;
  uint64_t version;        /* grows with each change */
  int64_t backoff_list_ms[WQ_BACKOFF_LIST_MAX];
  uint32_t backoff_jitter_permille;
  uint32_t reserved_0;
  int64_t job_ttl_ms;      /* a job that did not start so long after it was enqueued ends, as by its
                              expires_at_ms; 0: never. Holds for jobs that are there, too */
  uint64_t max_depth;      /* bound of ready + delayed jobs for enqueue and replay; 0: none. A
                              settle, an expiry or a promotion may bring a queue over it */
  uint64_t max_bytes;      /* the same of their bytes, as wq_store_stats.job_bytes counts them */
  uint32_t full_policy;    /* WQ_FULL_... */
  uint32_t consumers_paused; /* out only: 1: paused, also behind WQ_STATUS_DISABLED: then enabling
                                leads to WQ_STATUS_PAUSED */
  uint64_t dead_max_count; /* of dead letters: with more, the oldest are dropped soon; 0: none */
  int64_t dead_max_age_ms; /* dead letters are dropped this long after they died; 0: never */
  int64_t keep_done_age_ms; /* history: how long acked jobs are kept; 0: no bound */
  uint32_t keep_done_count; /* and how many, the newest; 0: no bound. Both 0, the default: none */
  uint32_t group_limit;    /* jobs of one group that run at once; default 1. See GROUPS */
  uint32_t rate_count;     /* jobs that may begin within rate_window_ms; 0: no limit. See RATES */
  uint32_t rate_burst;     /* of them, how many at once after an idle time; 0: 1 */
  int64_t rate_window_ms;  /* 1 ms .. 366 days; 0 without a limit */
  uint32_t encrypt;        /* 1: payloads of new jobs are sealed; 0, the default: they are not */
  uint32_t compress_min_bytes; /* payloads of new jobs from this size on are compressed, if that
                                  makes them smaller; 0, the default: none. Up to 256 MiB */
  uint32_t key_rate_count;   /* of the jobs of each rate key, as rate_count; see RATE KEYS */
  uint32_t key_rate_burst;
  int64_t key_rate_window_ms;
  uint32_t throttle_count;    /* exceptions that shut a rate key; 0: none. See THROTTLE */
  uint32_t reserved_1;
  int64_t throttle_window_ms; /* within which; 0 without a count */
  int64_t throttle_cool_ms;   /* how long it is shut; 0: as the window */
} wq_queue_config;
#define WQ_QUEUE_CONFIG_INIT                                                                    \
  {sizeof(wq_queue_config), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Get a handle on a queue, declaring the queue if it is not there.
 * `config` (NULL: all defaults) sets the fields that it names in a queue that is declared by this
 * call; a queue that is there already keeps its configuration, and the answer is WQ_OK.
 * With WQ_QUEUE_NO_CREATE in `flags` nothing is declared. Handles are cheap; several on one queue
 * are fine.
 * Returns: WQ_OK with *queue set; else *queue is NULL: WQ_E_INVALID (name, field), WQ_E_UNSUPPORTED
 *          (flag), WQ_E_NOT_FOUND (WQ_QUEUE_NO_CREATE), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: OK means that the declaration survives power loss.
 * Thread: any.   Blocks: for one flush if it declares.   Owns: the caller closes *queue.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_open(wq_store *store, const void *name, size_t name_len,
                             const wq_queue_config *config, uint32_t flags, wq_queue **queue,
                             wq_error *err);

/* Close a queue handle and set *queue to NULL. The queue itself is untouched.
 * A thread that waits in wq_lease on this handle returns WQ_E_CLOSED.
 * Returns: nothing.
 * Durability: none.   Thread: any.   Blocks: until blocked leases have left.   Owns: frees *queue.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_queue_close(wq_queue **queue);

/* Change the fields that config->fields names, all together; the rest stays.
 * Holds for what happens from now on; leases that run keep their deadlines, a lower max_running
 * cuts nobody. Waiting consumers see it at once.
 * With WQ_CONFIG_VERSION: only if the version is still config->version. The status is changed by
 * pause, resume, disable and enable, not here.
 * Returns: WQ_OK (also when no field differs; then call->lsn is 0); WQ_CONFLICT (other version);
 *          WQ_E_INVALID (field; nothing changed), WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted),
 *          WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED,
 *          WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_configure(wq_queue *queue, const wq_queue_config *config, wq_call *call,
                                  wq_error *err);

/* Read the configuration, with status and version, as of one moment.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_get_config(wq_queue *queue, wq_queue_config *config, wq_error *err);

/* Stop handing out jobs of this queue: active -> paused. Enqueue, settles, expiry and promotion go
 * on. Pausing a paused queue is WQ_OK and changes nothing.
 * The status has two sides: pause and resume are about consumers, disable and enable about
 * producers, and neither undoes the other. A disabled queue hands out nothing either way and stays
 * disabled; paused as well, it is paused once it is enabled (wq_queue_config.consumers_paused).
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_pause(wq_queue *queue, wq_call *call, wq_error *err);

/* Hand out jobs again: paused -> active. Waiting consumers wake up.
 * Resuming an active queue is WQ_OK and changes nothing; of a disabled one it ends a pause that
 * lies behind, and it stays disabled.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_resume(wq_queue *queue, wq_call *call, wq_error *err);

/* Refuse new jobs and hand out none: any status -> disabled. Settles, expiry and promotion go on,
 * and dead letters may be replayed: they wait.
 * Disabling a disabled queue is WQ_OK and changes nothing.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_disable(wq_queue *queue, wq_call *call, wq_error *err);

/* Take jobs again: disabled -> active, or paused if it was paused before or meanwhile. Waiting
 * consumers wake up. Enabling a queue that is not disabled is WQ_OK and changes nothing.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_enable(wq_queue *queue, wq_call *call, wq_error *err);

/* Job states, and the bit of a state in the masks of wq_queue_clear. */
#define WQ_STATE_READY 1u
#define WQ_STATE_DELAYED 2u
#define WQ_STATE_LEASED 3u
#define WQ_STATE_RUNNING 4u
#define WQ_STATE_DEAD 5u
#define WQ_STATE_BIT(state) (1u << (state))

/* Remove all jobs of the queue that are in one of the states of `states`, in one change.
 * `states` is an OR of WQ_STATE_BIT(WQ_STATE_...); 0 means ready and delayed.
 * Leased and running jobs lose their lease: a later settle answers WQ_STALE. The cost does not grow
 * with the number of jobs. *removed (may be NULL) is how many there were.
 * Returns: WQ_OK (also if there was none; then call->lsn is 0); WQ_E_INVALID (unknown bit),
 *          WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_clear(wq_queue *queue, uint32_t states, uint64_t *removed, wq_call *call,
                              wq_error *err);

/* Delete the queue with all its jobs, dead letters, configuration and totals, in one change.
 * Every handle on it answers WQ_E_NOT_FOUND from then on and remains to be closed. The name may be
 * declared again and starts clean; job ids and generations are not used again.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (deleted already), WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.
 * Owns: the handle stays the caller's to close.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_delete(wq_queue *queue, wq_call *call, wq_error *err);

/* Counts of now, and totals over the life of the queue (kept over reopen). */
typedef struct wq_queue_stats {
  uint32_t struct_size;
  uint32_t status;             /* WQ_STATUS_... */
  /* A job whose expires_at_ms or job_ttl_ms has passed counts until it is gone: see expires_at_ms
     for when that is. */
  uint64_t ready, delayed, leased, running, dead;
  int64_t oldest_ready_age_ms; /* how long the head has been ready; 0 if none is */
  uint64_t enqueued_total;
  uint64_t leased_total;
  uint64_t acked_total;
  uint64_t nacked_total;
  uint64_t failed_total;
  uint64_t released_total;
  uint64_t expired_total;      /* leases reclaimed */
  uint64_t dead_total;         /* jobs that went to the dead letters, for whatever reason */
  uint64_t replayed_total;
  uint64_t cancelled_total;
  uint64_t cleared_total;      /* jobs removed by clear, dead_remove and dead_purge */
  uint64_t jobs_expired_total; /* jobs that ended because they did not start in time */
  uint64_t dropped_total;      /* ready jobs that went for newer ones: WQ_FULL_DROP_OLDEST */
  uint64_t dead_dropped_total; /* dead letters over dead_max_count or dead_max_age_ms */
  uint64_t waiting_bytes;      /* of ready and delayed jobs, against max_bytes */
  uint64_t job_bytes;          /* of all jobs in any state */
  uint64_t chain_cut_total;    /* jobs of chains that never came to be; see CHAINS */
  uint64_t parked;             /* of `ready`: jobs that wait for their group or rate key */
  int64_t rate_wait_ms;        /* until the rate lets the next job begin; 0: it does now. If all
                                  ready jobs are parked: until the first of their rate keys does, if
                                  that is later */
  uint64_t skipped_total;      /* jobs that ended because their group was full: WQ_OVERLAP_SKIP */
} wq_queue_stats;
#define WQ_QUEUE_STATS_INIT                                                                     \
  {sizeof(wq_queue_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
   0, 0, 0, 0}

/* Read counts and totals of the queue, as of one moment. They are exact.
 * Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: rarely, for one disk read.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_get_stats(wq_queue *queue, wq_queue_stats *stats, wq_error *err);

/* ====================================================================================== produce */

/* wq_job_spec.flags */
#define WQ_JOB_PRIORITY 1u /* the field `priority` counts; without it the priority is 100 */
/* A lease of the job that runs out is its last: it dies of WQ_DEAD_TIMEOUT, whatever attempts are
 * left. Also when WQ_OPEN_EXPIRE_LEASES takes it back. */
#define WQ_JOB_FAIL_ON_TIMEOUT 2u
#define WQ_JOB_DRY_RUN 0x10000u /* a test push: answer what an enqueue of this job would answer now,
                                   and write nothing; ids and LSN are 0. In wq_enqueue_many all
                                   specs have it or none */
/* Whether the payload is sealed; with neither as the queue is configured. See ENCRYPTION. */
#define WQ_JOB_ENCRYPT (1u << 26)
#define WQ_JOB_PLAIN (1u << 27)

/* wq_job_spec.unique_until: which moment in the life of a job frees its unique key */
#define WQ_UNIQUE_STARTED 1u /* its first lease: one job of the key waits, others may be at work */
#define WQ_UNIQUE_DONE 2u    /* its end or its death; a replay takes the key again */
#define WQ_UNIQUE_GONE 3u    /* its end: a dead one still holds the key */
/* wq_job_record.key_rule: one of the three, or: the key is a debounce key */
#define WQ_KEY_RULE_DEBOUNCE 4u

/* wq_job_spec.overlap: a job of a group that is full when a lease comes to it. */
#define WQ_OVERLAP_PARK 0u    /* waits for a slot, the default */
#define WQ_OVERLAP_RELEASE 1u /* is delayed by overlap_ms */
#define WQ_OVERLAP_SKIP 2u    /* ends without having run */

struct wq_next_job;

/* A job to enqueue. */
typedef struct wq_job_spec {
  uint32_t struct_size;
  uint32_t flags;         /* WQ_JOB_... */
  wq_bytes payload;
  const wq_header *headers;
  size_t headers_count;
  int64_t delay_ms;       /* ready after this time; 0: at once */
  int64_t run_at_ms;      /* ready at this time, in the past: at once; 0: none; not together with
                             delay_ms */
  uint32_t priority;      /* counts with WQ_JOB_PRIORITY */
  uint32_t max_attempts;  /* 0: 1 + max_retries of the queue */
  uint32_t backoff_kind;  /* WQ_BACKOFF_...; 0: the queue's */
  uint32_t backoff_count;
  int64_t backoff_base_ms;
  int64_t backoff_max_ms;
  const int64_t *backoff_list_ms;
  int64_t expires_at_ms;  /* a job that was not leased by then is never leased: it ends, counted in
                             jobs_expired_total. Released ones did not start; retried and replayed
                             ones did. 0: never. A job that nobody asks for is gone a second later,
                             unless it is delayed (then when it is due) or only on the disk (then
                             in some ten seconds; in minutes if the queue has millions of jobs) */
  int64_t retry_until_ms; /* an attempt that is lost at or after this time is the last; 0: no such
                             time. It does not add attempts */
  int64_t timeout_ms;     /* told to the worker; also the length of the job's leases where a call
                             names none, before lease_ms of the queue; 0: none */
  uint32_t max_exceptions; /* with so many nacks that count the job is dead; 0: no limit */
  uint32_t backoff_jitter_permille;
  /* Keys: see UNIQUE KEYS. Empty: none. Not together: unique_key and debounce_key. */
  wq_bytes unique_key;
  int64_t unique_ttl_ms;   /* the key is held no longer than this; 0: no limit */
  uint32_t unique_until;   /* WQ_UNIQUE_...; 0: WQ_UNIQUE_DONE */
  uint32_t reserved_0;
  wq_bytes debounce_key;   /* goes with debounce_ms; not together with delay_ms or run_at_ms */
  int64_t debounce_ms;     /* the job is due this long after the last one of its key */
  int64_t debounce_max_ms; /* but no later than this after the first one; 0: no limit */
  wq_bytes idempotency_key;
  int64_t idempotency_ms;  /* how long a second job of the key is the first one */
  uint64_t flow;           /* the flow that it joins; 0: none */
  const struct wq_next_job *chain; /* jobs that follow, each enqueued by the ack before it */
  size_t chain_count;      /* up to 100, 16 MiB of payloads and headers together */
  size_t chain_size;       /* sizeof chain[0]; 0 without a chain */
  wq_bytes group;         /* key of its group, any bytes; empty: none. See GROUPS */
  uint32_t group_limit;   /* 0: the queue's */
  uint32_t overlap;       /* WQ_OVERLAP_...; goes with a group. See OVERLAP GUARD */
  int64_t overlap_ms;     /* goes with WQ_OVERLAP_RELEASE */
  wq_bytes tenant;        /* any bytes; empty: none. See TENANTS */
  wq_bytes rate_key;  /* any bytes; empty: none; not together with a group. See RATE KEYS */
  uint32_t rate_cost; /* 0: 1 */
  uint32_t reserved_2;
} wq_job_spec;
#define WQ_JOB_SPEC_INIT                                                                    \
  {sizeof(wq_job_spec), 0, {NULL, 0}, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, \
   {NULL, 0}, 0, 0, 0, {NULL, 0}, 0, 0, {NULL, 0}, 0, 0, NULL, 0, 0, {NULL, 0}, 0, 0, 0,    \
   {NULL, 0}, {NULL, 0}, 0, 0}

/* A job that does not exist yet: one of a chain, or what the end of a flow enqueues. The delay of
 * its spec counts from the moment that sets it off. It has no chain, no flow and no key of its own
 * (WQ_E_UNSUPPORTED for a key). */
typedef struct wq_next_job {
  uint32_t struct_size;
  uint32_t reserved_0;
  wq_bytes queue_name;     /* must exist; empty in a chain: the queue of the job before */
  const wq_job_spec *spec;
} wq_next_job;
#define WQ_NEXT_JOB_INIT {sizeof(wq_next_job), 0, {NULL, 0}, NULL}

/* What became of one job of an enqueue. */
typedef struct wq_enqueued {
  uint32_t struct_size;
  int32_t code;    /* WQ_OK, or why not */
  uint64_t job_id; /* WQ_DUPLICATE: the job that holds the key; else 0 unless WQ_OK */
  uint64_t lsn;    /* LSN of the record that holds it; 0 unless WQ_OK */
} wq_enqueued;
#define WQ_ENQUEUED_INIT {sizeof(wq_enqueued), 0, 0, 0}

/* Enqueue one job. It is ready at once, or delayed until its time.
 * Payload and headers are copied; any byte is legal and comes back as given.
 * `out` (may be NULL) gets the job's id. With keys it may meet a job that holds one: WQ_DUPLICATE,
 * `out` gets that job's id, and nothing changed. It is told when the record of that job has reached
 * the durability asked for, also with `call->cq`: no event follows.
 * When memory is full of unfinished work it waits for the checkpoint that makes room. WQ_E_FULL:
 * the queue is at its max_depth or max_bytes, or the store at its quota; a job that alone is over
 * max_bytes is WQ_E_TOO_LARGE.
 * Returns: WQ_OK; WQ_DISABLED (queue disabled); WQ_DUPLICATE; WQ_CONFLICT (the flow that it would
 *          join is finished or cancelled); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED (all
 *          three name the field), WQ_E_NOT_FOUND (queue deleted, no such flow, no queue of that
 *          name for a job of the chain), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_FULL,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL,
 *          WQ_E_NO_KEY (ENCRYPTION).
 * Durability: by `call`; default that of the queue.   Thread: any.   Blocks: for durability and
 *             room.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_enqueue(wq_queue *queue, const wq_job_spec *spec, wq_call *call, wq_enqueued *out,
                          wq_error *err);

/* Flags of wq_enqueue_many. */
#define WQ_ENQUEUE_PARTIAL 1u /* take the jobs up to the first refusal; without it all or none */

/* Enqueue `n` jobs in one change, in the order given; spec_size is sizeof specs[0].
 * Without WQ_ENQUEUE_PARTIAL all or none: one job that is refused refuses them all, and its code is
 * returned. With it the jobs before the first refused one are taken, and the code of that one is
 * returned. *accepted (may be NULL) is how many were taken.
 * `out` (may be NULL) is an array of n, out_size is sizeof out[0]: taken jobs have WQ_OK and an id,
 * all others the code that is returned. Payloads and headers of one call, those of its chains too,
 * have at most 512 MiB together.
 * A job that meets the holder of a key (maybe an earlier job of this call) is no refusal: it alone
 * has WQ_DUPLICATE and the holder's id in `out`, and *accepted does not count it.
 * Returns: WQ_OK (no refusal, at least one taken); WQ_DUPLICATE (all n, nothing changed, no event);
 *          WQ_DISABLED; WQ_CONFLICT (flow); WQ_E_INVALID (also n = 0), WQ_E_TOO_LARGE (also n),
 *          WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted, flow, chain), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_FULL, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
 *          WQ_E_INTERNAL, WQ_E_NO_KEY (ENCRYPTION).
 * Durability: by `call`; default that of the queue. Holds for the taken ones also when a refusal is
 *             returned.
 * Thread: any.   Blocks: for durability and room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_enqueue_many(wq_queue *queue, const wq_job_spec *specs, size_t n,
                               size_t spec_size, uint32_t flags, wq_call *call, wq_enqueued *out,
                               size_t out_size, size_t *accepted, wq_error *err);

/* ====================================================================================== consume */

/* A job as it is told. The bytes are views into the batch it came from. */
typedef struct wq_job {
  uint32_t struct_size;
  uint32_t state;             /* WQ_STATE_... */
  uint64_t id;
  uint64_t generation;        /* of its last lease or replay; 0 if there was none */
  uint32_t queue_index;       /* from wq_lease: index in the array of queues; else 0 */
  uint32_t priority;
  uint32_t attempts;          /* this one included */
  uint32_t exceptions;        /* nacks that counted */
  uint32_t max_attempts;
  uint32_t replays;           /* times it came back from the dead letters */
  int64_t enqueued_ms;        /* when it was enqueued */
  int64_t ready_ms;           /* ready: since when; delayed: when it will be; else 0 */
  int64_t leased_ms;          /* when its last lease began; 0: never */
  int64_t deadline_ms;        /* when its lease may be reclaimed; 0: none */
  int64_t lease_remaining_ms; /* until deadline_ms at the time of the call; 0: none or past */
  int64_t dead_ms;            /* when it died; 0: not dead */
  uint32_t dead_reason;       /* WQ_DEAD_...; 0: not dead */
  uint32_t headers_count;
  wq_bytes payload;
  wq_bytes queue_name;
  wq_bytes last_error;
  int64_t timeout_ms;         /* as it was enqueued, likewise the next four; 0: none */
  int64_t expires_at_ms;
  int64_t retry_until_ms;
  uint32_t max_exceptions;
  uint32_t flags;             /* WQ_JOB_FAIL_ON_TIMEOUT, WQ_JOB_ENCRYPT if it is sealed */
  wq_bytes progress;          /* the last note of a worker; see wq_job_progress */
  int64_t first_dead_ms;      /* when it died for the first time; kept over replays; 0: never */
  uint64_t flow;              /* the flow that it is a member of; 0: none */
  uint32_t chain_count;       /* jobs that follow it, one after another */
  uint32_t flow_cancelled;    /* 1: its flow was cancelled, it should stop */
  wq_bytes group;             /* key of its group; empty: none */
  uint32_t parked;            /* 1: ready, but no slot of its group is free for it, or its
                                 rate key is used up or cools down */
  uint32_t reserved_0;
  int32_t payload_code;       /* WQ_OK; else why `payload` is empty: WQ_E_NO_KEY, WQ_E_CORRUPT,
                                 WQ_E_NO_MEMORY. Never of a job that was leased */
  uint32_t key_id;            /* that its payload is sealed with; 0: it is not sealed */
  wq_bytes tenant;            /* empty: none */
  wq_bytes rate_key; /* empty: none */
  uint32_t rate_cost;
  uint32_t reserved_1;
} wq_job;
#define WQ_JOB_INIT                                                                              \
  {sizeof(wq_job), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0},      \
   {NULL, 0}, 0, 0, 0, 0, 0, {NULL, 0}, 0, 0, 0, 0, {NULL, 0}, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, \
   0, 0}

typedef struct wq_lease_options {
  uint32_t struct_size;
  uint32_t max_jobs;  /* 0: 1 */
  int64_t wait_ms;    /* how long to wait for the first job; 0: not at all, -1: for ever */
  int64_t lease_ms;   /* 0: timeout_ms of the job, or else lease_ms of its queue */
  uint32_t flags;     /* none yet: 0 */
  uint32_t reserved_0;
} wq_lease_options;
#define WQ_LEASE_OPTIONS_INIT {sizeof(wq_lease_options), 0, 0, 0, 0, 0}

/* Take up to max_jobs ready jobs from the given queues, and lease each.
 * The queues are asked in the order given: a later one only gives what the earlier ones left.
 * Within a queue the order is priority, then the moment the job became ready. A job is in one valid
 * lease at most. Each lease counts an attempt and has a new generation.
 * Takes what is at hand without waiting for max_jobs; waits up to wait_ms for the first one. A
 * batch of fewer jobs does not mean that no more are ready, since part of a long queue is only on
 * disk: WQ_EMPTY does. Paused and disabled queues, and those at max_running, count as empty.
 * `cancel` (may be NULL) ends the wait. `options` NULL: one job, no wait.
 * Returns: WQ_OK with 1..max_jobs jobs in *batch; else *batch is NULL: WQ_EMPTY (after the wait);
 *          WQ_PAUSED, WQ_DISABLED (likewise, and every queue is); WQ_CANCELLED; WQ_E_INVALID (also
 *          queues of another store), WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (a queue is
 *          deleted), WQ_E_CLOSED (closed or shutting down), WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY
 *          (ENCRYPTION).
 * Durability: by `call`; default WQ_PROCESS, so that attempts are counted when a worker kills its
 *             process.
 * Thread: any.   Blocks: up to wait_ms, and for durability.
 * Owns: the caller frees *batch with wq_batch_free. Freeing it does not settle anything.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_lease(wq_store *store, wq_queue *const *queues, size_t n_queues,
                        const wq_lease_options *options, wq_cancel *cancel, wq_call *call,
                        wq_batch **batch, wq_error *err);

/* Number of jobs in a batch. NULL has none.
 * Returns: the number.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API size_t wq_batch_count(const wq_batch *batch);

/* Describe the job with index `i`, counted from 0, as it was when the batch was made.
 * The bytes in it are valid until wq_batch_free. `job` must be initialised (struct_size).
 * Returns: WQ_OK; WQ_E_INVALID (NULL, index, struct_size).
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: the batch owns the bytes.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_batch_job(const wq_batch *batch, size_t i, wq_job *job);

/* Header `h` of the job with index `i`, both counted from 0, in the order they were given.
 * Returns: WQ_OK with *header set; WQ_E_INVALID (NULL, index) with *header empty.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: the batch owns the bytes.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_batch_header(const wq_batch *batch, size_t i, size_t h, wq_header *header);

/* Free a batch and set *batch to NULL. Leases are not touched.
 * Returns: nothing.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: frees *batch.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_batch_free(wq_batch **batch);

/* Settle: the job is done and goes.
 * Returns: WQ_OK; WQ_STALE (the lease was settled, reclaimed, cancelled or cleared; nothing
 *          changed); WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no such id, another queue's
 *          job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY,
 *          WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default that of the queue. Lost with the machine at a weaker level than
 *             WQ_POWER, the job runs again.
 * Thread: any.   Blocks: for durability.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_ack(wq_queue *queue, uint64_t id, uint64_t generation, wq_call *call,
                      wq_error *err);

/* wq_nack_options.flags, and the flags of a WQ_SETTLE_NACK item */
#define WQ_NACK_FRONT 1u        /* without a delay: to the head of its priority, not the tail */
#define WQ_NACK_NO_EXCEPTION 2u /* do not count it in `exceptions` */
#define WQ_NACK_PRIORITY 4u     /* `priority` becomes the job's priority */
#define WQ_NACK_DELAY 8u        /* `delay_ms` counts; without it the backoff policy decides */

typedef struct wq_nack_options {
  uint32_t struct_size;
  uint32_t flags;     /* WQ_NACK_... */
  int64_t delay_ms;   /* counts with WQ_NACK_DELAY */
  uint32_t priority;  /* counts with WQ_NACK_PRIORITY */
  uint32_t reserved_0;
  wq_bytes error;     /* kept with the job; empty keeps the text of the attempt before */
  uint32_t reason;    /* why the job is dead if no attempt is left: WQ_DEAD_FAILED, TIMEOUT,
                         CANCELLED, EXPIRED or UNKNOWN_TYPE; 0: FAILED */
  uint32_t reserved_1;
} wq_nack_options;
#define WQ_NACK_OPTIONS_INIT {sizeof(wq_nack_options), 0, 0, 0, 0, {NULL, 0}, 0, 0}

/* Settle: the attempt failed. With attempts left the job is ready again at the tail of its
 * priority, after the delay of its backoff policy; without, it is dead with reason WQ_DEAD_FAILED.
 * `options` NULL: by policy, counted as an exception, no error text. A new priority holds from then
 * on, also after reopen.
 * Returns: WQ_OK; WQ_STALE (nothing changed); WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no
 *          such id, another queue's job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default that of the queue.   Thread: any.   Blocks: for durability.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_nack(wq_queue *queue, uint64_t id, uint64_t generation,
                       const wq_nack_options *options, wq_call *call, wq_error *err);

/* Settle: the job failed for good and is dead with reason WQ_DEAD_FAILED, whatever attempts are
 * left. The error text is any bytes; it is cut to the limit and kept.
 * Returns: WQ_OK; WQ_STALE (nothing changed); WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no
 *          such id, another queue's job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default that of the queue.   Thread: any.   Blocks: for durability.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_fail(wq_queue *queue, uint64_t id, uint64_t generation, const void *error,
                       size_t error_len, wq_call *call, wq_error *err);

/* Flags of wq_release and of a WQ_SETTLE_RELEASE item. */
#define WQ_RELEASE_FRONT 1u /* as WQ_NACK_FRONT */

/* Settle: give the job back before it was begun (shutdown, rate limit). The attempt is not counted.
 * It is ready again after delay_ms, at the tail of its priority; with WQ_RELEASE_FRONT in `flags`
 * and a delay of 0 at the head.
 * Returns: WQ_OK; WQ_STALE (nothing changed); WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no
 *          such id, another queue's job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default that of the queue.   Thread: any.   Blocks: for durability.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_release(wq_queue *queue, uint64_t id, uint64_t generation, int64_t delay_ms,
                          uint32_t flags, wq_call *call, wq_error *err);

/* Set the deadlines of `n` leased or running jobs to lease_ms from now, in one change. With a
 * lease_ms of 0 each gets the timeout_ms of its job, or else lease_ms of its queue, and jobs with
 * the same one are a change.
 * A lease past its deadline that was not reclaimed yet is extended like any other. A running job
 * without a deadline stays without one.
 * codes (may be NULL) is an array of n: WQ_OK, WQ_STALE, WQ_CANCELLED (its flow was cancelled, it
 * should stop; the lease stays as it is) or WQ_E_NOT_FOUND for each token. One that is refused does
 * not stop the others.
 * Returns: WQ_OK (all extended); else the code of the first token that was not, the others being
 *          extended: WQ_STALE, WQ_CANCELLED, WQ_E_NOT_FOUND (no such id, another queue's job); or
 *          with nothing changed: WQ_E_NOT_FOUND (queue deleted), WQ_E_INVALID (also n = 0),
 *          WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_PROCESS.
 * Thread: any.   Blocks: for durability.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_extend(wq_queue *queue, const wq_token *tokens, size_t n, int64_t lease_ms,
                         int32_t *codes, wq_call *call, wq_error *err);

/* Say that a leased job has been delivered and is being worked on: leased -> running.
 * A running job has no lease deadline; with run_ms > 0 it has one, that far from now. It keeps its
 * place in max_running. Confirming a running job again sets its deadline anew.
 * Returns: WQ_OK; WQ_STALE; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no such id, another
 *          queue's job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY,
 *          WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_confirm(wq_queue *queue, uint64_t id, uint64_t generation, int64_t run_ms,
                          wq_call *call, wq_error *err);

/* wq_settle_item.kind */
#define WQ_SETTLE_ACK 1u
#define WQ_SETTLE_NACK 2u
#define WQ_SETTLE_FAIL 3u
#define WQ_SETTLE_RELEASE 4u

/* One of several settles. Fields that do not belong to its kind must be zero. */
typedef struct wq_settle_item {
  uint32_t struct_size;
  uint32_t kind;      /* WQ_SETTLE_... */
  uint64_t id;
  uint64_t generation;
  int64_t delay_ms;   /* nack with WQ_NACK_DELAY, release */
  uint32_t flags;     /* WQ_NACK_... or WQ_RELEASE_... by kind */
  uint32_t priority;  /* nack with WQ_NACK_PRIORITY */
  wq_bytes error;     /* nack, fail */
  uint32_t reason;    /* nack, fail: as in wq_nack_options */
  uint32_t reserved_0;
  wq_bytes result;    /* ack: kept in the history, if the queue has one; up to 1 MiB */
} wq_settle_item;
#define WQ_SETTLE_ITEM_INIT {sizeof(wq_settle_item), 0, 0, 0, 0, 0, 0, {NULL, 0}, 0, 0, {NULL, 0}}

/* Settle `n` jobs of this queue in one change; item_size is sizeof items[0].
 * Results and error texts of one call have at most 512 MiB together (WQ_E_TOO_LARGE).
 * codes (may be NULL) is an array of n: WQ_OK, WQ_STALE or WQ_E_NOT_FOUND for each item. One that
 * is refused does not stop the others. An invalid item refuses the whole call.
 * Returns: WQ_OK (all settled); else the code of the first item that was not, the others being
 *          settled: WQ_STALE, WQ_E_NOT_FOUND (no such id, another queue's job); or with nothing
 *          changed: WQ_E_NOT_FOUND (queue deleted), WQ_E_INVALID (also n = 0), WQ_E_TOO_LARGE,
 *          WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY (a result).
 * Durability: by `call`; default that of the queue.
 * Thread: any.   Blocks: for durability.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_settle_many(wq_queue *queue, const wq_settle_item *items, size_t n,
                              size_t item_size, int32_t *codes, wq_call *call, wq_error *err);

/* ======================================================================================= cancel */

/* Make a cancel token. One token may serve any number of calls, of any store, at the same time.
 * Returns: WQ_OK with *cancel set; else *cancel is NULL: WQ_E_INVALID, WQ_E_NO_MEMORY,
 *          WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: the caller frees it with wq_cancel_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cancel_new(wq_cancel **cancel, wq_error *err);

/* Fire the token: calls that wait with it return WQ_CANCELLED, and so does each later one before it
 * does anything. Takes locks: a signal handler leaves it to a thread (self-pipe, signalfd). A call
 * that has its jobs already returns them. It stays fired. Firing NULL or twice does nothing more.
 * Returns: nothing.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_cancel_fire(wq_cancel *cancel);

/* Free a token and set *cancel to NULL. Does not fire it.
 * Returns: nothing.
 * Durability: none.   Thread: any.   Blocks: until the calls that use it have returned.
 * Owns: frees *cancel.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_cancel_free(wq_cancel **cancel);

/* ================================================================================== single jobs */

/* Read one job of this queue, in whatever state, as a batch of one.
 * Returns: WQ_OK with *batch set; else *batch is NULL: WQ_E_NOT_FOUND (no such job in this queue:
 *          ended, removed, another queue's, or queue deleted), WQ_E_INVALID, WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for a disk read if the job is not in memory.
 * Owns: the caller frees *batch with wq_batch_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_job_get(wq_queue *queue, uint64_t id, wq_batch **batch, wq_error *err);

/* Remove a job of this queue that is ready, delayed, leased or running.
 * A leased or running one loses its lease and frees its place in max_running: the worker learns it
 * from its next call, where extend, confirm, progress and every settle answer WQ_STALE (and
 * wq_job_get WQ_E_NOT_FOUND, while after a lease that ran out it still finds the job). Dead letters
 * are left to wq_dead_remove.
 * Returns: WQ_OK; WQ_CONFLICT (the job is dead); WQ_E_NOT_FOUND (no such job in this queue: ended,
 *          removed, another queue's, or queue deleted); WQ_E_INVALID, WQ_E_UNSUPPORTED,
 *          WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
 *          WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for a disk read if the job is not in memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_job_cancel(wq_queue *queue, uint64_t id, wq_call *call, wq_error *err);

/* Give a ready or delayed job another priority, 0..255. A ready one goes to the tail of the new
 * priority, as if it became ready now; one that has that priority already keeps its place.
 * Returns: WQ_OK (also if nothing changed; then call->lsn is 0); WQ_CONFLICT (leased, running or
 *          dead; a nack with WQ_NACK_PRIORITY changes a held one); WQ_E_NOT_FOUND (no such job in
 *          this queue: ended, removed, another queue's, or queue deleted); WQ_E_INVALID (priority),
 *          WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for a disk read if the job is not in memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_job_reprioritise(wq_queue *queue, uint64_t id, uint32_t priority, wq_call *call,
                                   wq_error *err);

/* Leave a note with a job that is held: how far it is, or where the next attempt should go on. Any
 * bytes, up to 4 KiB. It replaces the note before; an empty one takes it away. Read as `progress`
 * of wq_job, it stays with the job over retries, death and replay until it is replaced.
 * Returns: WQ_OK; WQ_STALE; WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no such
 *          id, another queue's job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_PROCESS.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_job_progress(wq_queue *queue, uint64_t id, uint64_t generation, const void *note,
                               size_t note_len, wq_call *call, wq_error *err);

/* ================================================================================= dead letters */

/* Why a job is dead. */
#define WQ_DEAD_FAILED 1u        /* wq_fail, or nacked with no retry left */
#define WQ_DEAD_LEASE_EXPIRED 2u /* its last attempt was lost: the lease was not settled in time */
#define WQ_DEAD_TIMEOUT 3u        /* a lease ran out, and the job has WQ_JOB_FAIL_ON_TIMEOUT */
#define WQ_DEAD_RETRY_UNTIL 4u    /* an attempt was lost at or after its retry_until_ms */
#define WQ_DEAD_MAX_EXCEPTIONS 5u /* nacked for the max_exceptions-th time */
#define WQ_DEAD_CANCELLED 6u    /* 6 to 8 are said by workers only, who can say 1 and 3 as well */
#define WQ_DEAD_EXPIRED 7u      /* see `reason` of wq_nack_options and wq_settle_item */
#define WQ_DEAD_UNKNOWN_TYPE 8u /* the worker does not know what to do with such a job */
#define WQ_DEAD_UNREADABLE 9u   /* its payload did not open when it was leased; see ENCRYPTION */

/* wq_dead_query.flags */
#define WQ_DEAD_OLDEST_FIRST 1u

/* Which dead letters to list. */
typedef struct wq_dead_query {
  uint32_t struct_size;
  uint32_t flags;   /* WQ_DEAD_OLDEST_FIRST; without it newest first */
  uint64_t cursor;  /* 0: from the start; else what the call before gave */
  uint32_t limit;   /* 0: 100 */
  uint32_t reason;  /* WQ_DEAD_...; 0: any */
  int64_t from_ms;  /* died at or after; 0: no bound */
  int64_t until_ms; /* died before; 0: no bound */
  wq_bytes error_part; /* the last error has these bytes in it; empty: any */
} wq_dead_query;
#define WQ_DEAD_QUERY_INIT {sizeof(wq_dead_query), 0, 0, 0, 0, 0, 0, {NULL, 0}}

/* List dead letters of the queue, newest or oldest first, page by page.
 * `query` NULL: the newest 100. *next_cursor (may be NULL) continues the listing; it is 0 when
 * there is no more. Entries that come or go between two pages do not disturb the others.
 * Returns: WQ_OK with *batch set; else *batch is NULL: WQ_EMPTY (no more, *next_cursor 0);
 *          WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for disk reads.
 * Owns: the caller frees *batch with wq_batch_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_dead_list(wq_queue *queue, const wq_dead_query *query, wq_batch **batch,
                            uint64_t *next_cursor, wq_error *err);

/* Read one dead letter as a batch of one. Its entry id is the job's id and its last generation.
 * Returns: WQ_OK with *batch set; else *batch is NULL: WQ_STALE (that entry is no more: the job was
 *          replayed, and is alive or died again); WQ_E_NOT_FOUND (no such job in this queue),
 *          WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
 *          WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for a disk read if the job is not in memory.
 * Owns: the caller frees *batch with wq_batch_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_dead_get(wq_queue *queue, uint64_t id, uint64_t generation, wq_batch **batch,
                           wq_error *err);

/* Make a dead job ready again, at the tail, with attempts, exceptions and backoff from zero and a
 * generation of its own. Payload, time of enqueue, last error, number of replays and the time of
 * its first death stay with it. A unique key that its death freed (WQ_UNIQUE_DONE) is taken again.
 * Of several replays of one entry exactly one wins; the others answer WQ_STALE. The status of the
 * queue does not matter, but its max_depth and max_bytes do, whatever its policy: WQ_E_FULL.
 * Returns: WQ_OK; WQ_STALE (that entry is no more); WQ_DUPLICATE (another job holds its key; the
 *          message names it, the dead letter stays); WQ_CONFLICT (its flow was cancelled and is not
 *          finished; it stays); WQ_E_FULL; WQ_E_NOT_FOUND (no such job in this queue),
 *          WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for a disk read if the job is not in memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_dead_replay(wq_queue *queue, uint64_t id, uint64_t generation, wq_call *call,
                              wq_error *err);

/* Remove one dead letter for ever.
 * Returns: WQ_OK; WQ_STALE (that entry is no more); WQ_E_NOT_FOUND (no such job in this queue),
 *          WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY,
 *          WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for a disk read if the job is not in memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_dead_remove(wq_queue *queue, uint64_t id, uint64_t generation, wq_call *call,
                              wq_error *err);

/* Remove all dead letters of the queue for ever, in one change.
 * The same as wq_queue_clear with WQ_STATE_BIT(WQ_STATE_DEAD). *removed (may be NULL): how many.
 * Returns: WQ_OK (also if there was none; then call->lsn is 0); WQ_E_INVALID, WQ_E_UNSUPPORTED,
 *          WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY,
 *          WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.   Owns:
 *             nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_dead_purge(wq_queue *queue, uint64_t *removed, wq_call *call, wq_error *err);

/* wq_dead_filter.flags */
#define WQ_DEAD_ALL 1u     /* with no other condition: really all dead letters of the queue */
#define WQ_DEAD_DRY_RUN 2u /* only count; not whether others hold unique keys of theirs, and of
                              `entries` only which are there */

/* Called before each step of a bulk change: how many were changed and how many were looked at so
 * far. It may use the store. */
typedef int32_t (*wq_dead_progress)(uint64_t changed, uint64_t examined, void *ctx);

/* Which dead letters a bulk change is about. Conditions are mandatory: at least one of reason,
 * from_ms, until_ms and error_part, which must all hold; or entries, and then none of these; or
 * WQ_DEAD_ALL. */
typedef struct wq_dead_filter {
  uint32_t struct_size;
  uint32_t flags;       /* WQ_DEAD_ALL, WQ_DEAD_DRY_RUN */
  uint32_t reason;      /* WQ_DEAD_...; 0: any */
  uint32_t reserved_0;
  int64_t from_ms;      /* died at or after; 0: no bound */
  int64_t until_ms;     /* died before; 0: no bound */
  wq_bytes error_part;  /* the last error has these bytes in it; empty: any */
  const wq_token *entries; /* these entry ids; those that are stale are passed over */
  size_t entries_count;
  uint64_t limit;       /* at most this many, the oldest first; 0: no limit */
  wq_cancel *cancel;    /* NULL: none; firing it stops the work */
  wq_dead_progress progress; /* NULL: none */
  void *progress_ctx;   /* given to `progress` */
} wq_dead_filter;
#define WQ_DEAD_FILTER_INIT \
  {sizeof(wq_dead_filter), 0, 0, 0, 0, 0, {NULL, 0}, NULL, 0, 0, NULL, NULL, NULL}

/* What a bulk change did, filled whatever the call returns. */
typedef struct wq_dead_report {
  uint32_t struct_size;
  uint32_t reserved_0;
  uint64_t changed;  /* replayed or removed; with WQ_DEAD_DRY_RUN: would be */
  uint64_t examined; /* looked at */
  int64_t elapsed_ms;
} wq_dead_report;
#define WQ_DEAD_REPORT_INIT {sizeof(wq_dead_report), 0, 0, 0, 0}

/* Replay all dead letters that the filter wants, the oldest first, each as wq_dead_replay does;
 * those that it would refuse, but for a full queue, are passed over.
 * Works in steps of some hundred, others go on meanwhile; a letter that dies after the call began
 * is not taken, also not a second time. Stopped by the token, the callback, a full queue or a
 * failure, what is replayed by then stays so and is told in `report` (may be NULL).
 * One flush at the end makes all of it durable; call->lsn is the last of its records.
 * Returns: WQ_OK (also if none was found; then call->lsn is 0); WQ_CANCELLED (stopped by the token
 *          or the callback); WQ_E_FULL (the queue has no room for the next; it drops no job for a
 *          replay); WQ_E_INVALID (also a filter without a condition), WQ_E_TOO_LARGE,
 *          WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for disk reads and durability.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_dead_replay_many(wq_queue *queue, const wq_dead_filter *filter, wq_call *call,
                                   wq_dead_report *report, wq_error *err);

/* Remove all dead letters that the filter wants for ever, the oldest first; else as
 * wq_dead_replay_many, but needs no room.
 * Returns: as wq_dead_replay_many, without WQ_E_FULL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for disk reads and durability.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_dead_remove_many(wq_queue *queue, const wq_dead_filter *filter, wq_call *call,
                                   wq_dead_report *report, wq_error *err);

/* ============================================================================= completion queue */

/* Open a completion queue. Calls with wq_call.cq do not wait for durability; their arrival is
 * polled here, so that one thread can have thousands of changes under way.
 * Returns: WQ_OK with *cq set; else *cq is NULL: WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_MEMORY, WQ_E_IO (no file descriptor left), WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: the caller closes *cq with wq_cq_close.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cq_open(wq_store *store, wq_cq **cq, wq_error *err);

/* Close a completion queue and set *cq to NULL. Events not polled are dropped; the changes they
 * tell of go their way. A thread in wq_cq_poll returns WQ_E_CLOSED.
 * Returns: nothing.
 * Durability: none.   Thread: any.   Blocks: until pollers have left.   Owns: frees *cq.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_cq_close(wq_cq **cq);

/* Arrival of the durability that a call with wq_call.cq asked for. */
typedef struct wq_event {
  uint32_t struct_size;
  int32_t code; /* WQ_OK: reached; else the error that stopped the store (maybe committed) */
  uint64_t user_data;
  uint64_t lsn;
} wq_event;
#define WQ_EVENT_INIT {sizeof(wq_event), 0, 0, 0}

/* Take up to `n` events; event_size is sizeof events[0]. Waits up to timeout_ms for the first.
 * Each change gives exactly one event. Events of changes that were made one after another at the
 * same level come in that order. When the store fails or closes, changes that are not durable by
 * then give their events with the error. *count is how many were taken.
 * With WQ_OPEN_NO_THREADS a poll that has to wait does the flushing itself.
 * Returns: WQ_OK with *count > 0; else *count is 0: WQ_EMPTY (after the wait); WQ_E_INVALID,
 *          WQ_E_CLOSED (closed, and no event left), WQ_E_FORKED, WQ_E_INTERNAL.
 * Durability: an event with WQ_OK means that its change has reached the level its call asked for.
 * Thread: any.   Blocks: up to timeout_ms.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cq_poll(wq_cq *cq, wq_event *events, size_t n, size_t event_size,
                          int64_t timeout_ms, size_t *count, wq_error *err);

/* A file descriptor that is readable while events wait, for poll, epoll and event loops.
 * wq_cq_poll makes it unreadable when it takes the last event. Do not read, write or close it; it
 * ends with wq_cq_close.
 * Returns: the descriptor, 0 or more; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: the completion queue owns it.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cq_eventfd(wq_cq *cq);

/* ================================================================================== unique keys */

/* Keys are bytes, of one queue. A job may have a unique or a debounce key, and an idempotency key.
 *
 * Unique key: one job of the queue holds it at a time. An enqueue that meets the holder answers
 * WQ_DUPLICATE with its id. What frees the key, in the same change: the holder's end (acked,
 * cancelled, removed, cleared, its queue deleted) in every scope; besides its first lease
 * (WQ_UNIQUE_STARTED), its death (WQ_UNIQUE_STARTED, WQ_UNIQUE_DONE), unique_ttl_ms,
 * wq_key_release. Nack, release and lost leases leave it, so a retry meets nobody. A job whose key
 * went to another one leaves that alone.
 * Debounce key: of jobs that come one after another, each within debounce_ms of the last, only the
 * last one runs. A later job takes the place of the one that waits, which is gone for good (it
 * counts as cancelled), and puts the time off to debounce_ms from then, up to debounce_max_ms after
 * the first of them: what the first one said counts. One that was leased, or whose maximum wait is
 * over, is left alone; the next job begins anew.
 * Idempotency key: for idempotency_ms the answer to a further enqueue is WQ_DUPLICATE with the
 * first job's id, whatever became of that job, also after a clear. For producers that repeat a
 * request of which they do not know whether it got through. It is asked before the others.
 * Export and import carry keys with their jobs; the window of a job that has ended stays behind. */

/* Kinds of keys, for wq_key_holder and wq_key_cancel. */
#define WQ_KEY_UNIQUE 1u
#define WQ_KEY_DEBOUNCE 2u
#define WQ_KEY_IDEMPOTENCY 3u

/* Which job holds this key; for an idempotency key: which job a further enqueue would answer with.
 * Returns: WQ_OK with *job_id set; else *job_id is 0: WQ_E_NOT_FOUND (nobody, or queue deleted);
 *          WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for disk reads if it is not in memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_key_holder(wq_queue *queue, uint32_t kind, const void *key, size_t key_len,
                             uint64_t *job_id, wq_error *err);

/* Cancel the job that holds this unique or debounce key, as wq_job_cancel does. *job_id (may be
 * NULL) is that job.
 * Returns: WQ_OK; else *job_id is 0: WQ_CONFLICT (it is dead: replay or remove it); WQ_E_NOT_FOUND
 *          (nobody holds it, or queue deleted); WQ_E_INVALID (also WQ_KEY_IDEMPOTENCY),
 *          WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for disk reads if it is not in memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_key_cancel(wq_queue *queue, uint32_t kind, const void *key, size_t key_len,
                             wq_call *call, uint64_t *job_id, wq_error *err);

/* Give up the unique key of a job before its scope ends; by the holder of its lease only.
 * WQ_OK as well if it holds none (any more); then call->lsn is 0.
 * Returns: WQ_OK; WQ_STALE (the lease is held by this generation no more); WQ_E_NOT_FOUND (no such
 *          id, another queue's, or queue deleted); WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.   Thread: any.   Blocks: for durability.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_key_release(wq_queue *queue, uint64_t id, uint64_t generation, wq_call *call,
                              wq_error *err);

/* ======================================================================= groups, rates, tenants */

/* RATES. A queue may limit how many of its jobs begin: wq_queue_config.rate_count of them within
 * any rate_window_ms, evenly spread (100 in a minute: one in 600 ms). A lease uses one up, and
 * hands out no more than are left: WQ_EMPTY, or a wait that ends exactly when the next job may
 * begin. With a rate_burst of b up to b jobs may begin at once after an idle time, so that there
 * may be b - 1 more in the window that follows. Waiting costs no attempt; a release does not give
 * its share back, also not that of a job which wq_lease itself has put back, or failed, because it
 * had no memory or no key for its payload. The limit is stored with the queue: closing, crashing
 * and setting the clock back give nobody more. A change by wq_queue_configure holds at once.
 *
 * GROUPS. Of the jobs of a queue that name the same group key no more than a limit are leased or
 * running at once: one, unless wq_queue_config.group_limit or wq_job_spec.group_limit says
 * otherwise (if jobs of a group name different limits, that of the one that became ready last
 * counts). The others are parked: they count as ready, keep their place in the order of the queue,
 * cost a lease nothing however many they are, and hold up nobody else. The slot is free again by
 * the same change that ends the lease, whatever ends it: ack, nack, fail, release, expiry, cancel
 * or clear. A lowered limit cuts nothing that runs. One lease call may give fewer jobs than there
 * are, if the next one in order is only on the disk, or has an overlap guard and its group is full.
 * Each group with jobs that wait or run takes about 600 bytes of memory and its key; groups without
 * cost nothing.
 *
 * OVERLAP GUARD. A job of a group need not wait for a slot: with WQ_OVERLAP_RELEASE it is delayed
 * by overlap_ms, with WQ_OVERLAP_SKIP it ends, if the group is full when a lease comes to it. No
 * attempt is counted; it counts in released_total or skipped_total, and events tell of it. Until a
 * lease comes to it such a job is an ordinary ready one. A lease of many jobs that has some already
 * ends before it, and the next lease comes to it first. The slot is that of a lease: it is never
 * held by a job that is no longer leased or running, whatever became of its worker.
 *
 * TENANTS. The jobs of one priority are leased one of each tenant in turn, those of a tenant in the
 * order of the queue: one with a million jobs holds up the others by one job each. Jobs without a
 * tenant are one tenant more. There is nothing to configure. A group stays in the order of the
 * queue, whoever its jobs are of: it takes the turn of the tenant of its first job, and none while
 * it is full. Whose turn it is is stored, so that each tenant gets its share also if every process
 * takes one job. WQ_FULL_DROP_OLDEST drops the jobs of the tenant that has the most (or at least
 * half as many as that). Each tenant with ready jobs takes memory as a group does. Queues without
 * tenants pay nothing.
 *
 * RATE KEYS. wq_queue_config.key_rate_... is such a rate for the jobs of each rate key alone (one
 * of a customer, of a host that is called): a job that names a wq_job_spec.rate_key uses up
 * rate_cost of it when it is leased. Jobs of a key that is used up are parked as those of a full
 * group are, others go on, and who waits is woken when the next one may begin. The jobs of a key
 * keep their order: a dear one is not overtaken by cheap ones of its key and priority or a less
 * urgent one. A job that costs more than the burst waits until the burst is unused, and the key is
 * shut until all of its cost is paid; a cost over key_rate_count counts as that. What is used up is
 * stored like the rate of a queue, and moves with the store. A queue without key_rate_count holds
 * no key back. A job has a group or a rate key, not both (WQ_E_UNSUPPORTED). A key takes memory
 * like a group until it is unused.
 *
 * THROTTLE ON EXCEPTIONS. wq_queue_config.throttle_... is a circuit breaker for each rate key, with
 * or without a key_rate: after throttle_count exceptions of its jobs within any throttle_window_ms
 * the key cools down. For throttle_cool_ms no job of it begins; they are parked as above, which
 * costs no attempt, and who waits is woken at the end. Then the count begins anew. An exception is
 * what wq_job.exceptions counts: a nack without WQ_NACK_NO_EXCEPTION. A wq_fail (the job is at
 * fault), a release and a lease that ran out are none. An ack sets the count back. What comes from
 * jobs that began before a cool-down neither ends nor extends it. Counts and cool-downs are stored
 * like the rate; after a clock that was set back a cool-down is counted from then, so that it is
 * never longer than throttle_cool_ms. A change by wq_queue_configure holds at once; a
 * throttle_count of 0 ends all cool-downs. WQ_EVENT_KEY_COOLS and wq_job_explain tell of it. */

/* ============================================================================= chains and flows */

/* CHAINS. A chain is given with its first job (wq_job_spec.chain). The ack of each job enqueues the
 * next in the same record, with all the rest: after a crash both have happened or none has. A dead
 * job keeps its chain, and a replay goes on with it. Any other end cuts the chain, also that of a
 * dead letter; so does a queue that was deleted by then. What was cut counts in chain_cut_total of
 * the queue, but for what wq_queue_clear and wq_dead_purge cut, which look at no job, and
 * wq_queue_delete, with which the totals go. A job of a chain has the headers tags, traceparent,
 * tracestate and baggage of the one before it, unless it has one of that name itself. Jobs that
 * chains and flows set off are never refused: a disabled queue takes them, and so does a full one
 * (max_depth, max_bytes, quota_bytes), and they count there as all others do.
 *
 * A flow is a batch: jobs that are counted together (wq_job_spec.flow), and a job that is enqueued
 * in the record that settles the last of them, exactly once. Jobs join while the flow is neither
 * finished nor cancelled; WQ_CONFLICT says that it is. It is finished when it is sealed and
 * nothing is pending: so a member that runs may still add others. The jobs of a chain are members
 * from the start; those that never come to be count as cancelled. A dead member has failed;
 * replayed before the flow is finished it is pending again, afterwards it changes nothing of the
 * flow. In between, while a flow that was cancelled waits for members that run, its dead ones are
 * not replayed (WQ_CONFLICT): none of them would be tried again, and the letter would be lost.
 * What a clear or a delete of a queue takes away counts as cancelled before that call returns. A
 * job with a key may be a member and may have a chain; one that meets the holder of its key joins
 * nothing. All new jobs of a call join before it does anything else: a debounced one that takes
 * the place of the last pending member keeps the flow open. */

/* wq_flow_options.flags */
#define WQ_FLOW_ALLOW_FAILURES 1u /* on_complete also if members failed or were cancelled */

typedef struct wq_flow_options {
  uint32_t struct_size;
  uint32_t flags;                 /* WQ_FLOW_ALLOW_FAILURES */
  const wq_next_job *on_complete; /* NULL: none; payload and headers up to 60 KiB */
  const wq_next_job *on_failure;  /* the same */
} wq_flow_options;
#define WQ_FLOW_OPTIONS_INIT {sizeof(wq_flow_options), 0, NULL, NULL}

/* Create a flow. *flow is its id, which no job and no other flow of the store ever has.
 * At its end `on_complete` is enqueued, or `on_failure` if a member failed or was cancelled and
 * failures are not allowed, or if the flow was cancelled. The job has the id of the flow in its
 * header wq-batch. If its queue was deleted by then, none is enqueued. `options` NULL: neither.
 * Returns: WQ_OK; WQ_CONFLICT (an unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE,
 *          WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no such queue), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL,
 *          WQ_E_NO_KEY (ENCRYPTION).
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_flow_create(wq_store *store, const wq_flow_options *options, uint64_t *flow,
                              wq_call *call, wq_error *err);

/* Say that no more jobs come from outside: the flow is finished as soon as nothing is pending, at
 * once if nothing is. A second time changes nothing.
 * Returns: WQ_OK; WQ_E_NOT_FOUND (no such flow), WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
 *          WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for a disk read.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_flow_seal(wq_store *store, uint64_t flow, wq_call *call, wq_error *err);

/* Cancel a flow. Members that did not start end as cancelled before this returns; after a crash in
 * between the rest follows at the next checkpoint. Those that run go on until they are settled:
 * they learn it by wq_job.flow_cancelled and from wq_extend, which answers WQ_CANCELLED and leaves
 * their lease as it is. Whatever becomes of them, they are not tried again and their chains end.
 * Returns: WQ_OK (also if it was cancelled before); WQ_CONFLICT (it is finished); WQ_E_NOT_FOUND
 *          (no such flow), WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for disk reads.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_flow_cancel(wq_store *store, uint64_t flow, wq_call *call, wq_error *err);

/* wq_flow_status.flags */
#define WQ_FLOW_SEALED 1u
#define WQ_FLOW_CANCELLED 2u
#define WQ_FLOW_FINISHED 4u

/* total = pending + done + failed + cancelled, at any time. */
typedef struct wq_flow_status {
  uint32_t struct_size;
  uint32_t flags;        /* WQ_FLOW_... */
  uint64_t flow;
  uint64_t total;        /* members; the jobs of their chains are some from the start */
  uint64_t pending;
  uint64_t done;         /* acked */
  uint64_t failed;       /* dead */
  uint64_t cancelled;    /* ended otherwise, or never came to be */
  uint64_t follow_up_id; /* job that its end has enqueued; 0: none */
  int64_t created_ms;
  int64_t finished_ms;   /* 0: not yet */
} wq_flow_status;
#define WQ_FLOW_STATUS_INIT {sizeof(wq_flow_status), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Read the counts of a flow. It can be read until seven days after its end.
 * Returns: WQ_OK; WQ_E_NOT_FOUND (no such flow), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for a disk read.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_flow_get_status(wq_store *store, uint64_t flow, wq_flow_status *status,
                                  wq_error *err);

/* List flows, newest first, page by page: up to n into `statuses`, status_size is
 * sizeof statuses[0]. *cursor is 0 for the first page; it is moved on, and 0 when there is no more.
 * *count is how many were told, which may be none though there are more.
 * Returns: WQ_OK; WQ_E_INVALID (also n over 1,000), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY,
 *          WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for disk reads.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_flow_list(wq_store *store, uint64_t *cursor, wq_flow_status *statuses, size_t n,
                            size_t status_size, size_t *count, wq_error *err);

/* ==================================================================================== schedules */

/* wq_cron_spec.flags */
#define WQ_CRON_CATCH_UP 1u /* `catch_up` counts; without it the newest missed slot runs */

/* When a schedule runs, and what. */
typedef struct wq_cron_spec {
  uint32_t struct_size;
  uint32_t flags;         /* WQ_CRON_CATCH_UP */
  wq_bytes expression;    /* see wq_cron_put */
  wq_bytes zone;          /* of the tz database, like Europe/Berlin; empty: UTC */
  const wq_job_spec *job; /* without delay_ms and run_at_ms; NULL: a job with no payload */
  uint32_t catch_up;      /* counts with WQ_CRON_CATCH_UP: missed slots that run later, 0..1,000 */
  uint32_t reserved_0;
} wq_cron_spec;
#define WQ_CRON_SPEC_INIT {sizeof(wq_cron_spec), 0, {NULL, 0}, {NULL, 0}, NULL, 0, 0}

/* Make a schedule, or replace the one of that name: from now on the clock enqueues its job into
 * this queue. Names are of the whole store: 1..255 bytes, UTF-8, no control characters.
 * What is there already as given is left alone, and nothing is written (call->lsn is 0): put all
 * your schedules at every start. A new expression or zone moves the next slot; a new job, queue or
 * catch-up does not. A paused one stays paused. At most 10,000 in a store; payload up to 1 MiB.
 *
 *   second   0-59 (only with six fields)   * , - /       minute   0-59   * , - /
 *   hour     0-23   * , - /                              month    1-12 or JAN-DEC   * , - /
 *   day of month   1-31   * , - /   alone: L (last day), L-3 (three before it), 15W (weekday
 *                                   nearest to the 15th, in the same month), LW (last weekday)
 *   day of week    0-7 or SUN-SAT (0 and 7 are Sunday)   * , - /   5L (last Friday), 1#2 (second
 *                                   Monday)
 *   @yearly @monthly @weekly @daily @hourly             @every 90s, @every 1h30m (1s and more)
 *
 * If both day fields are other than *, a day that either of them names counts. a/n goes from a to
 * the end of its field. @every counts from 1970 UTC. Where the zone's clock jumps ahead, what it
 * jumps over runs once, at the end of the jump; a time that comes twice runs the first time. An
 * expression of every hour goes by the time that passes instead: each time of both hours.
 *
 * A slot (schedule and due time) runs once or never: its job and the next slot are one record, also
 * over a crash or a clock that is set back: behind a slot that ran while the clock was ahead the
 * schedule goes on when that time has really come (wq_cron.problem says so); removed and put again
 * it begins anew. A slot that could not run in time, because the store was closed or the clock was
 * set ahead, was missed if it is over 10 s late; then the newest `catch_up` of the missed ones run
 * at once (0: none). A disabled queue misses its slots, a paused one takes the jobs, a full one
 * takes them once it has room (wq_cron.problem says so meanwhile). Deleting a queue removes its
 * schedules. A zone that the system does not have any more stops its own schedule: wq_cron.problem
 * says so, and the slots are caught up with when a process opens the store that has it. Each job
 * carries the headers wq-schedule (the name) and wq-slot-ms (the due time in decimal), behind those
 * of `spec`.
 * Returns: WQ_OK; WQ_E_INVALID (the message names the field of the expression), WQ_E_TOO_LARGE,
 *          WQ_E_UNSUPPORTED, WQ_E_FULL (10,000 schedules), WQ_E_NOT_FOUND (queue deleted),
 *          WQ_CONFLICT (an unfinished import), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL,
 *          WQ_E_NO_KEY (ENCRYPTION).
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, for a disk read of the zone or of the old schedule.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cron_put(wq_queue *queue, const void *name, size_t name_len,
                           const wq_cron_spec *spec, wq_call *call, wq_error *err);

/* Remove a schedule. Jobs that it enqueued stay.
 * Returns: WQ_OK; WQ_E_NOT_FOUND, WQ_CONFLICT (an unfinished import), WQ_E_INVALID, WQ_E_TOO_LARGE,
 *          WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cron_remove(wq_store *store, const void *name, size_t name_len, wq_call *call,
                              wq_error *err);

/* Stop a schedule until wq_cron_resume. It misses nothing: it goes on with the first slot after it
 * was resumed. Already so is WQ_OK and writes nothing.
 * Returns: WQ_OK; as wq_cron_remove, WQ_E_CORRUPT.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability and a disk read.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cron_pause(wq_store *store, const void *name, size_t name_len, wq_call *call,
                             wq_error *err);

/* Let a paused schedule go on.
 * Returns: WQ_OK; as wq_cron_remove, WQ_E_CORRUPT; WQ_E_INVALID (its zone is not there any more).
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability and a disk read.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cron_resume(wq_store *store, const void *name, size_t name_len, wq_call *call,
                              wq_error *err);

/* wq_cron.flags */
#define WQ_CRON_PAUSED 1u

/* A schedule, as the store has it. In an import `queue_name` and `problem` do not count. */
typedef struct wq_cron {
  uint32_t struct_size;
  uint32_t flags;         /* WQ_CRON_PAUSED; WQ_JOB_ENCRYPT if its payload is sealed */
  wq_bytes name;
  wq_bytes queue_name;
  wq_bytes expression;
  wq_bytes zone;          /* empty: UTC */
  int64_t next_due_ms;    /* the next slot; 0: never again before the year 10000 */
  int64_t last_slot_ms;   /* the newest slot that ran or was missed; 0: none yet */
  int64_t created_ms;
  uint64_t fired;         /* jobs that it enqueued */
  uint64_t missed;        /* slots that no job was enqueued for; of one gap at most about 2,000 */
  uint32_t catch_up;
  uint32_t priority;
  uint32_t max_attempts;  /* 0: 1 + max_retries of the queue */
  uint32_t backoff_kind;  /* WQ_BACKOFF_...; 0: the queue's */
  int64_t backoff_base_ms;
  int64_t backoff_max_ms;
  const int64_t *backoff_list_ms;
  uint32_t backoff_count;
  uint32_t backoff_jitter_permille;
  wq_bytes payload;
  const wq_header *headers;
  size_t headers_count;
  wq_bytes problem;       /* why its last slots could not be told, or that the clock was set back
                             behind the last one; empty: none */
  int32_t payload_code;   /* as in wq_job */
  uint32_t key_id;        /* that its payload is sealed with; 0: it is not sealed */
  uint32_t packing;       /* of an export; as in wq_job_record */
  uint32_t plain_bytes;
} wq_cron;
#define WQ_CRON_INIT                                                                             \
  {sizeof(wq_cron), 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
   0, NULL, 0, 0, {NULL, 0}, NULL, 0, {NULL, 0}, 0, 0, 0, 0}

typedef struct wq_crons wq_crons; /* a list of schedules, closed by wq_crons_free */

/* Read one schedule, as a list of one.
 * Returns: WQ_OK with *crons set; else *crons is NULL: WQ_E_NOT_FOUND, WQ_E_INVALID,
 *          WQ_E_TOO_LARGE, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
 *          WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for a disk read.
 * Owns: the caller frees *crons with wq_crons_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cron_get(wq_store *store, const void *name, size_t name_len, wq_crons **crons,
                           wq_error *err);

/* List schedules in the byte order of their names: up to `limit` (1..1,000) behind `after`; those
 * of one queue if `queue` is not NULL. A list shorter than `limit` is the last one.
 * Returns: WQ_OK with *crons set (it may be of length 0); else *crons is NULL: WQ_E_NOT_FOUND
 *          (queue deleted), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for disk reads.
 * Owns: the caller frees *crons with wq_crons_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cron_list(wq_store *store, wq_queue *queue, const void *after, size_t after_len,
                            size_t limit, wq_crons **crons, wq_error *err);

/* Number of schedules in a list. NULL has none.
 * Returns: the number.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API size_t wq_crons_count(const wq_crons *crons);

/* The schedule with index `i`, counted from 0.
 * Returns: WQ_OK with *cron filled; WQ_E_INVALID (NULL, index, struct_size).
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: the list owns the bytes.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_crons_at(const wq_crons *crons, size_t i, wq_cron *cron);

/* Free a list and set *crons to NULL.
 * Returns: nothing.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: frees *crons.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_crons_free(wq_crons **crons);

/* When an expression is due: the first `n` (1..10,000) times after `from_ms`, with no store.
 * *count is less than n if it is due no more often before the year 10000.
 * Returns: WQ_OK with *count times in `times`; else *count is 0: WQ_E_INVALID (the message names
 *          the field), WQ_E_NO_MEMORY, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for a disk read of the zone.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_cron_next(const void *expression, size_t expression_len, const void *zone,
                            size_t zone_len, int64_t from_ms, int64_t *times, size_t n,
                            size_t *count, wq_error *err);

/* ====================================================================================== history */

/* A job that was acked, as the history of its queue has it. */
typedef struct wq_done_job {
  uint32_t struct_size;
  uint32_t priority;
  uint64_t id;
  uint64_t generation;  /* of the lease that was acked */
  uint64_t flow;
  uint32_t attempts;
  uint32_t exceptions;
  uint32_t replays;
  uint32_t reserved_0;
  int64_t enqueued_ms;
  int64_t leased_ms;
  int64_t done_ms;
  wq_bytes result;      /* a view into the list */
  int32_t result_code;  /* WQ_OK; else why `result` is empty, as wq_job.payload_code */
  uint32_t key_id;      /* that its result is sealed with; 0: it is not sealed */
} wq_done_job;
#define WQ_DONE_JOB_INIT {sizeof(wq_done_job), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, 0, 0}

/* Settle a job as done, with a result that is kept in the history of the queue. A queue that keeps
 * no history (wq_queue_config.keep_done_count, keep_done_age_ms) drops it.
 * Returns: as wq_ack, and WQ_E_TOO_LARGE (over 1 MiB),
 *          WQ_E_NO_KEY (a result that can not be sealed).
 * Durability: by `call`; default that of the queue.
 * Thread: any.   Blocks: for durability.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_ack_result(wq_queue *queue, uint64_t id, uint64_t generation, const void *result,
                             size_t result_len, wq_call *call, wq_error *err);

/* Read one acked job of this queue. *result is a copy of the view in *job: free it with
 * wq_list_free.
 * Returns: WQ_OK; else *result is NULL: WQ_E_NOT_FOUND (not acked, not kept (any more), or queue
 *          deleted), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for disk reads.
 * Owns: the caller frees *result with wq_list_free; job->result is a view into it.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_history_get(wq_queue *queue, uint64_t id, wq_done_job *job, wq_list **result,
                              wq_error *err);

/* List the acked jobs of this queue, newest first, page by page: up to n into `jobs`, job_size is
 * sizeof jobs[0]. *cursor is 0 for the first page; it is moved on, and 0 when there is no more.
 * *count is how many were told, which may be none though there are more.
 * Returns: WQ_OK; else *results is NULL: WQ_E_INVALID (also n over 1,000), WQ_E_NOT_FOUND (queue
 *          deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
 *          WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for disk reads.
 * Owns: the caller frees *results with wq_list_free; each job's result is a view into it.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_history_list(wq_queue *queue, uint64_t *cursor, wq_done_job *jobs, size_t n,
                               size_t job_size, size_t *count, wq_list **results, wq_error *err);

/* =============================================================================== key-value rows */

/* Small values of yours under keys, in the same log as the jobs: with the same durability, in the
 * same backups and exports, and changed together with jobs by wq_transact. Rows with a time to live
 * are gone at once when it is over, and leave the disk later. Any number of rows; those that were
 * not touched for long are only on the disk. Keys are yours to arrange: "cache:...", "lock:...". */

/* wq_kv_options.flags: change the row only if one of these holds; 0: in any case. */
#define WQ_KV_IF_ABSENT 1u  /* there is no such row */
#define WQ_KV_IF_VERSION 2u /* it has this `version` */
#define WQ_KV_IF_VALUE 4u   /* it has this `value` */

/* Conditions and life of a kv row. NULL where one is taken: no condition, for ever. */
typedef struct wq_kv_options {
  uint32_t struct_size;
  uint32_t flags;   /* WQ_KV_IF_... */
  int64_t ttl_ms;   /* put, and add where there is no row yet: gone after this time; 0: never */
  uint64_t version; /* with WQ_KV_IF_VERSION */
  wq_bytes value;   /* with WQ_KV_IF_VALUE: what must be there now */
} wq_kv_options;
#define WQ_KV_OPTIONS_INIT {sizeof(wq_kv_options), 0, 0, 0, {NULL, 0}}

typedef struct wq_kv_query {
  uint32_t struct_size;
  uint32_t limit;  /* 0: 100; up to 1,000 */
  wq_bytes prefix; /* only keys that begin with it */
  wq_bytes after;  /* only keys behind this one: the last of the page before; empty: all */
} wq_kv_query;
#define WQ_KV_QUERY_INIT {sizeof(wq_kv_query), 0, {NULL, 0}, {NULL, 0}}

/* A kv row as it is told. The bytes are views into the page it came from. */
typedef struct wq_kv_row {
  uint32_t struct_size;
  uint32_t reserved_0;
  uint64_t version;   /* LSN of its last change: another one means that it was changed */
  int64_t expires_ms; /* when it will be gone; 0: never */
  wq_bytes key;
  wq_bytes value;
} wq_kv_row;
#define WQ_KV_ROW_INIT {sizeof(wq_kv_row), 0, 0, 0, {NULL, 0}, {NULL, 0}}

/* Read one row, as a page of one.
 * Returns: WQ_OK with *page set; else *page is NULL: WQ_EMPTY (no such row); WQ_CONFLICT (an
 *          unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE (key), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for a disk read if the row is not in memory.
 * Owns: the caller frees *page with wq_kv_page_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_kv_get(wq_store *store, const void *key, size_t key_len, wq_kv_page **page,
                         wq_error *err);

/* Write a row: new, or in place of the one that is there, with the time to live of this call.
 * WQ_KV_IF_ABSENT adds; WQ_KV_IF_VERSION, with what a read told, is compare-and-swap.
 * *version (may be NULL): that of the new row.
 * Returns: WQ_OK; WQ_CONFLICT (the condition does not hold, or an unfinished import), with nothing
 *          changed; WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, for memory, and for a disk read if the row is not in
 *         memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_kv_put(wq_store *store, const void *key, size_t key_len, const void *value,
                         size_t value_len, const wq_kv_options *options, wq_call *call,
                         uint64_t *version, wq_error *err);

/* Add `delta` to a counter: a row whose value is a whole number of 64 bits in decimal. A row that
 * is not there counts as 0, and gets options->ttl_ms; one that is there keeps its end.
 * *sum (may be NULL): the new value. A fixed window of a rate: add 1 with ttl_ms of the window.
 * Returns: WQ_OK; WQ_CONFLICT (no number, the sum does not fit, a condition that does not hold, or
 *          an unfinished import), with nothing changed; WQ_E_INVALID, WQ_E_TOO_LARGE,
 *          WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: as wq_kv_put.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_kv_add(wq_store *store, const void *key, size_t key_len, int64_t delta,
                         const wq_kv_options *options, wq_call *call, int64_t *sum, wq_error *err);

/* Remove a row, if the condition of `options` holds. Goes on when the disk is full.
 * Returns: WQ_OK; WQ_EMPTY (no such row); WQ_CONFLICT (the condition does not hold, or an
 *          unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
 *          WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_POWER.
 * Thread: any.   Blocks: for durability, and for a disk read if the row is not in memory.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_kv_erase(wq_store *store, const void *key, size_t key_len,
                           const wq_kv_options *options, wq_call *call, wq_error *err);

/* List rows in the order of the bytes of their keys, page by page. `query` NULL: the first 100.
 * *more (may be NULL): 1 if there are more behind the page; go on with query->after = its last key.
 * Rows that come or go between two pages do not disturb the others.
 * Returns: WQ_OK with *page set; else *page is NULL: WQ_EMPTY (no such row); WQ_CONFLICT (an
 *          unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for disk reads.
 * Owns: the caller frees *page with wq_kv_page_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_kv_list(wq_store *store, const wq_kv_query *query, wq_kv_page **page,
                          int32_t *more, wq_error *err);

/* Number of rows in a page. NULL has none.
 * Returns: the number.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API size_t wq_kv_page_count(const wq_kv_page *page);

/* The row with index `i`, counted from 0.
 * Returns: WQ_OK with *row filled; WQ_E_INVALID (NULL, index, struct_size).
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: the page owns the bytes.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_kv_page_row(const wq_kv_page *page, size_t i, wq_kv_row *row);

/* Free a page and set *page to NULL.
 * Returns: nothing.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: frees *page.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_kv_page_free(wq_kv_page **page);

/* ======================================================================================== locks */

/* A lock is a kv row: `key` with the owner as its value, gone when its time is over. So wq_kv_get
 * tells who holds it, wq_kv_erase breaks it, and WQ_TXN_KV_CHECK with WQ_KV_IF_VALUE lets a
 * transaction happen only while the owner has it. An owner is any token that nobody else uses. */

/* Take the lock for ttl_ms (0: until it is released). The owner that has it already gets it again,
 * for this time from now on; so the call can be repeated when its answer was lost.
 * Returns: WQ_OK; WQ_CONFLICT (another owner has it, or an unfinished import); WQ_E_INVALID,
 *          WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_PROCESS.
 * Thread: any.   Blocks: as wq_kv_put.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_lock_take(wq_store *store, const void *key, size_t key_len, const void *owner,
                            size_t owner_len, int64_t ttl_ms, wq_call *call, wq_error *err);

/* Keep the lock for ttl_ms from now on (0: until it is released).
 * Returns: WQ_OK; WQ_STALE (the owner does not have it: released, run out, or another's);
 *          WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_PROCESS.
 * Thread: any.   Blocks: as wq_kv_put.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_lock_extend(wq_store *store, const void *key, size_t key_len, const void *owner,
                              size_t owner_len, int64_t ttl_ms, wq_call *call, wq_error *err);

/* Give the lock up.
 * Returns: WQ_OK; WQ_STALE (the owner does not have it; nothing changed); WQ_E_INVALID,
 *          WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: by `call`; default WQ_PROCESS.
 * Thread: any.   Blocks: as wq_kv_erase.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_lock_release(wq_store *store, const void *key, size_t key_len, const void *owner,
                               size_t owner_len, wq_call *call, wq_error *err);

/* ================================================================================= transactions */

/* wq_txn_op.kind */
#define WQ_TXN_ENQUEUE 1u  /* queue, spec */
#define WQ_TXN_SETTLE 2u   /* queue, settle */
#define WQ_TXN_KV_PUT 3u   /* key, value, options */
#define WQ_TXN_KV_ADD 4u   /* key, delta, options */
#define WQ_TXN_KV_ERASE 5u /* key, options; a row that is not there is no obstacle */
#define WQ_TXN_KV_CHECK 6u /* key, options with a condition; changes nothing */

/* One operation of a transaction. Fields that do not belong to its kind must be zero. */
typedef struct wq_txn_op {
  uint32_t struct_size;
  uint32_t kind;                /* WQ_TXN_... */
  wq_queue *queue;              /* enqueue, settle: of the same store */
  const wq_job_spec *spec;      /* enqueue */
  const wq_settle_item *settle; /* settle */
  wq_bytes key;
  wq_bytes value;               /* put */
  int64_t delta;                /* add */
  const wq_kv_options *options; /* put, add, erase, check */
} wq_txn_op;
#define WQ_TXN_OP_INIT \
  {sizeof(wq_txn_op), 0, NULL, NULL, NULL, {NULL, 0}, {NULL, 0}, 0, NULL}

/* What became of one operation of a transaction. */
typedef struct wq_txn_result {
  uint32_t struct_size;
  int32_t code;    /* what the call returned: all were done, or none */
  uint64_t job_id; /* enqueue: of the new job; WQ_DUPLICATE: of the holder of its key */
  int64_t sum;     /* add: the new value */
} wq_txn_result;
#define WQ_TXN_RESULT_INIT {sizeof(wq_txn_result), 0, 0, 0}

/* Do `n` operations in one change: enqueue, settle and write kv rows, on any queues of the store;
 * op_size is sizeof ops[0]. All of them or, if one is refused, none: "ack this, enqueue these,
 * remember that". There is no state in between, for nobody, and none after a crash.
 * Every operation is judged by the state before the first: none sees what another one does. A key
 * may be named by one operation only, and a job be settled by one. New jobs get their ids in the
 * order of the operations. A full queue is WQ_E_FULL, also if it drops its oldest.
 * A unique or idempotency key that is held refuses all with WQ_DUPLICATE; the holder is told in
 * results[*failed].job_id. A new job meets those of the operations before it, and not one that an
 * operation before it acks: "ack this, enqueue the next one of its key". A debounced job takes the
 * place of the one before it.
 * results (may be NULL) is an array of n with result_size bytes each. *failed (may be NULL): index
 * of the operation that was refused, which the message names as well; n if it was none of them.
 * Returns: WQ_OK (all done; call->lsn is 0 if all were checks); or with nothing changed, by the
 *          operation *failed: WQ_STALE (settle), WQ_DUPLICATE (enqueue), WQ_CONFLICT (condition of
 *          a row, no counter, flow that has ended), WQ_DISABLED, WQ_E_FULL (enqueue),
 *          WQ_E_NOT_FOUND (queue, job or flow), WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED,
 *          WQ_E_CLOSED;
 *          by the call: WQ_CONFLICT (an unfinished import),
 *          WQ_E_INVALID (n = 0), WQ_E_FORKED, WQ_E_NO_SPACE (only if it enqueues, puts or adds),
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL,
 *          WQ_E_NO_KEY (enqueue, result).
 * Durability: by `call`; default the strongest of its operations (queue of an enqueue or settle;
 *             WQ_POWER for a row).
 * Thread: any.   Blocks: for durability, for memory, and for disk reads of rows.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_transact(wq_store *store, const wq_txn_op *ops, size_t n, size_t op_size,
                           wq_call *call, wq_txn_result *results, size_t result_size,
                           size_t *failed, wq_error *err);

/* =================================================================================== encryption */

/* ENCRYPTION. The payload of a job is sealed (AES-256-GCM) before it is stored if its queue is
 * configured so (`encrypt`), or its spec says so (WQ_JOB_ENCRYPT; WQ_JOB_PLAIN says no). It is in
 * no file of the store then, nor in a backup; whoever reads it gets it as it was given.
 *   - Sealed are payloads: of jobs, of the jobs of a chain, of on_complete and on_failure, and of
 *     schedules; the queue in which the job runs says whether, at the time of the call that gives
 *     it. And results that a history keeps, if their job is sealed or their queue encrypts.
 *   - Not sealed is all else: names, headers, tags, the keys of jobs, error texts, notes, kv keys
 *     and values, times and counts. The length of a payload shows.
 *   - An export is in the clear: that is what it is for. Give it no keys, and payloads stay sealed.
 * What was stored before a queue encrypts stays as it was.
 *
 * Keys are given when the store is opened (wq_store_options.keys) and are never stored or told. Do
 * not make them of passwords. `current_key` seals; all of them open. To rotate, open with a new key
 * as the current one and keep the old ones until wq_store_get_keys counts nothing of theirs; take
 * a new one before a key has sealed 2^32 payloads. Opening a store asks for no key, nor do backup,
 * restore, verify and repair.
 *
 * A sealed payload or result belongs to its queue and job: copied over that of another one, or
 * altered, it does not open. What has no id yet when it is sealed (the jobs of a chain, what ends a
 * flow, what a schedule runs) belongs to its queue alone: there it opens as that of any job.
 *
 * If a key is not there, or is another one, that concerns what it has sealed alone:
 *   - wq_lease fails the job, as dead with reason WQ_DEAD_UNREADABLE and the cause as its error
 *     text, whatever attempts are left, and goes on to the next. With its key it comes back by
 *     wq_dead_replay, or wq_dead_replay_many with that reason.
 *   - wq_job_get and wq_dead_list tell it without a payload, and why in payload_code; so do
 *     wq_cron_get and wq_cron_list, and wq_history_get and wq_history_list with result_code.
 *   - A schedule goes on: its jobs carry the payload as it is, and open where the key is.
 *   - wq_store_export gives the payload as it is stored; see wq_job_record. The jobs of a chain it
 *     always gives so: their keys are needed wherever they are imported.
 * A store without any keys leases nothing from a queue that encrypts: WQ_E_NO_KEY, and the jobs
 * stay as they are. Without a current key, a call that gives what is to be sealed answers
 * WQ_E_NO_KEY and changes nothing, the ack of a job with a result too: one without goes through.
 *
 * COMPRESSION. Payloads from compress_min_bytes on are compressed (zstd, before they are sealed) if
 * that makes them smaller; results are not. Do not compress sealed payloads in which a secret
 * stands beside what others may choose: the length tells of the one through the other.
 *
 * Limits, quota and statistics count what is stored: compressed, and with 88 bytes for the seal. */

/* One key that the store was given, or that something in it is sealed with. */
typedef struct wq_key_use {
  uint32_t struct_size;
  uint32_t id;
  uint64_t payloads; /* and results that it has sealed; some may be gone since just now */
  uint32_t flags;    /* WQ_KEY_... */
  uint32_t reserved_0;
} wq_key_use;
#define WQ_KEY_USE_INIT {sizeof(wq_key_use), 0, 0, 0, 0}
#define WQ_KEY_KNOWN 1u   /* the store was opened with it */
#define WQ_KEY_CURRENT 2u /* new payloads are sealed with it */

/* Tell which keys the store has and needs, by id. Reads all that is stored, after a checkpoint.
 * *count is how many there are; the first `n` of them are written to `uses`, which may be NULL for
 * none. use_size is sizeof uses[0].
 * Returns: WQ_OK, WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_CORRUPT, WQ_E_IO, WQ_E_NO_SPACE,
 *          WQ_E_POISONED, WQ_E_NO_MEMORY, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for the checkpoint and the reading.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_get_keys(wq_store *store, wq_key_use *uses, size_t n, size_t use_size,
                                 size_t *count, wq_error *err);

/* ====================================================================================== observe */

/* What holds a job or a queue back. New causes get new bits: what is not known counts as one. */
#define WQ_WHY_DELAYED 1u       /* its time has not come */
#define WQ_WHY_PAUSED 2u        /* the queue is paused */
#define WQ_WHY_DISABLED 4u      /* the queue is disabled */
#define WQ_WHY_SLOTS 8u         /* max_running jobs are leased or running */
#define WQ_WHY_BEHIND 16u       /* other ready jobs go first */
#define WQ_WHY_NO_CONSUMER 32u  /* no call waits for a job of the queue just now */
#define WQ_WHY_HELD 64u         /* a worker has it */
#define WQ_WHY_LATE 128u        /* and is past the deadline: it is taken back any moment */
#define WQ_WHY_DEAD 256u        /* it is a dead letter */
#define WQ_WHY_STOPPED 512u     /* the store is shutting down, or stopped by a failure */
#define WQ_WHY_EMPTY 1024u      /* queue: no job is ready */
#define WQ_WHY_GROUP (1u << 24) /* job: parked, its group is full; queue: all ready ones are */
#define WQ_WHY_RATE (1u << 25)  /* the rate of the queue, or of its rate key, lets no job begin; \
                                   job: until `until_ms` */
#define WQ_WHY_COOLING (1u << 26) /* its rate key cools down after exceptions, until `until_ms` */

/* Where a job is and why it does not run, as of one moment. */
typedef struct wq_job_explanation {
  uint32_t struct_size;
  uint32_t state;             /* WQ_STATE_... */
  uint32_t causes;            /* WQ_WHY_...; 0: the next wq_lease takes it */
  uint32_t dead_reason;       /* WQ_DEAD_...; 0: not dead */
  int64_t until_ms;           /* delayed: when it is ready; held: its deadline; WQ_WHY_RATE,
                                 WQ_WHY_COOLING: when a job may begin; 0: none */
  uint64_t ahead;             /* ready: jobs of the queue that go before it */
  uint32_t ahead_exact;       /* 1: exactly so many; 0: at most */
  uint32_t queue_status;      /* WQ_STATUS_... */
  uint64_t slots_taken;       /* leased and running jobs of the queue */
  uint64_t slots_max;         /* max_running; 0: no bound */
  uint64_t consumers_waiting; /* calls of wq_lease that wait for a job of the queue */
  uint64_t holder_id;         /* the job that is leased or running longest; 0: none is */
  uint64_t holder_generation;
  int64_t holder_age_ms;
} wq_job_explanation;
#define WQ_JOB_EXPLANATION_INIT \
  {sizeof(wq_job_explanation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Tell where a job of this queue is, and why it does not run.
 * `text` (may be NULL) gets the same as lines for a person, its last error among them; their
 * wording may change, programs go by `causes`.
 * Returns: WQ_OK; else *text is NULL: WQ_E_NOT_FOUND (no such job in this queue: ended, removed,
 *          another queue's, or queue deleted), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: for a disk read if the job is not in memory.
 * Owns: the caller frees *text with wq_text_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_job_explain(wq_queue *queue, uint64_t id, wq_job_explanation *explanation,
                              wq_text **text, wq_error *err);

/* What holds a queue back, as of one moment. Rates are jobs per second, means of about the last 1
 * and 5 minutes since open. */
typedef struct wq_queue_explanation {
  uint32_t struct_size;
  uint32_t status;             /* WQ_STATUS_... */
  uint32_t causes;             /* WQ_WHY_... */
  uint32_t reserved_0;
  uint64_t leasable;           /* jobs that could be leased now */
  int64_t oldest_ready_age_ms; /* 0: none is ready */
  uint64_t slots_taken;        /* leased and running jobs */
  uint64_t slots_max;          /* max_running; 0: no bound */
  uint64_t consumers_waiting;  /* calls of wq_lease that wait for a job of the queue */
  uint64_t holder_id;          /* the job that is leased or running longest; 0: none is */
  uint64_t holder_generation;
  int64_t holder_age_ms;
  double enqueue_rate_1m, enqueue_rate_5m;
  double lease_rate_1m, lease_rate_5m;
  double ack_rate_1m, ack_rate_5m;
  uint64_t parked;             /* ready jobs that wait for their group or rate key */
  int64_t rate_wait_ms;        /* until the rate lets the next job begin; 0: it does now */
} wq_queue_explanation;
#define WQ_QUEUE_EXPLANATION_INIT \
  {sizeof(wq_queue_explanation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Tell what this queue would hand out now, and what holds it back.
 * `text` (may be NULL) gets the same as lines for a person.
 * Returns: WQ_OK; else *text is NULL: WQ_E_NOT_FOUND (queue deleted), WQ_E_INVALID, WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: rarely, for one disk read.
 * Owns: the caller frees *text with wq_text_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_explain(wq_queue *queue, wq_queue_explanation *explanation, wq_text **text,
                                wq_error *err);

/* A failed attempt. */
typedef struct wq_queue_error {
  uint32_t struct_size;
  uint32_t kind;     /* WQ_EVENT_NACKED, WQ_EVENT_DEAD (wq_fail), WQ_EVENT_EXPIRED */
  int64_t at_ms;
  uint64_t job_id;
  uint64_t generation;
  uint32_t attempt;
  uint32_t text_len; /* 0: no text was given */
  char text[256];    /* one line of UTF-8, cut to 240 bytes, ends with NUL */
} wq_queue_error;
#define WQ_QUEUE_ERROR_INIT {sizeof(wq_queue_error), 0, 0, 0, 0, 0, 0, ""}

/* The last failed attempts of the queue, newest first: nacks (those that count as an exception, or
 * have a text), fails, and leases that expired. error_size is sizeof errors[0]. *count is how many
 * were told, `n` at most. 10 of a queue are kept, in memory, since open; of all queues together the
 * newest 4,096.
 * Returns: WQ_OK with *count > 0; else *count is 0: WQ_EMPTY (none); WQ_E_INVALID,
 *          WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY,
 *          WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: no.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_queue_get_errors(wq_queue *queue, wq_queue_error *errors, size_t n,
                                   size_t error_size, size_t *count, wq_error *err);

/* wq_store_event.kind: what happened. In brackets what the fields say beside job and queue. */
#define WQ_EVENT_QUEUED 1u         /* enqueued [time_ms: when it becomes ready, 0: it is] */
#define WQ_EVENT_PROMOTED 2u       /* delayed -> ready */
#define WQ_EVENT_LEASED 3u         /* [time_ms: the deadline] */
#define WQ_EVENT_CONFIRMED 4u      /* leased -> running [time_ms: the deadline, 0: none] */
#define WQ_EVENT_ACKED 5u          /* succeeded, and gone */
#define WQ_EVENT_NACKED 6u         /* [time_ms: when it is ready again, 0: it is, or it died] */
#define WQ_EVENT_RELEASED 7u       /* given back uncounted, or WQ_OVERLAP_RELEASE [the same] */
#define WQ_EVENT_EXPIRED 8u        /* its lease was taken back [the same] */
#define WQ_EVENT_DEAD 9u           /* became a dead letter [dead_reason] */
#define WQ_EVENT_REPLAYED 10u      /* dead -> ready */
#define WQ_EVENT_CANCELLED 11u     /* cancelled, and gone */
#define WQ_EVENT_CLEARED 12u       /* removed [job_id 0: `count` jobs of the queue at once] */
#define WQ_EVENT_QUEUE_DECLARED 13u
#define WQ_EVENT_QUEUE_CHANGED 14u /* configuration or status */
#define WQ_EVENT_QUEUE_DELETED 15u /* with `count` jobs */
#define WQ_EVENT_CHECKPOINT 16u    /* all changes up to `lsn` are settled on disk */
#define WQ_EVENT_JOB_EXPIRED 17u   /* did not start in time, and gone */
#define WQ_EVENT_DROPPED 18u       /* went for a newer one, or a dead letter over the caps; gone */
#define WQ_EVENT_FLOW_FINISHED 19u /* job_id: the flow; `count`: its members */
#define WQ_EVENT_KEY_COOLS 20u     /* the rate key of the job, by its exception [time_ms: until] */
#define WQ_EVENT_SKIPPED 21u       /* its group was full, and gone: WQ_OVERLAP_SKIP */

/* wq_event_cursor.flags */
#define WQ_EVENTS_FROM_NOW 1u /* with epoch 0: skip what has happened so far */

/* Where a reader of events stands. Begin with WQ_EVENT_CURSOR_INIT and hand it back each time. */
typedef struct wq_event_cursor {
  uint32_t struct_size;
  uint32_t flags;    /* WQ_EVENTS_... */
  uint64_t epoch;    /* the opening of the store that `sequence` counts in; 0: begin */
  uint64_t sequence; /* of the last event that was read */
  uint64_t dropped;  /* out: events that this call did not find any more, before its first one */
} wq_event_cursor;
#define WQ_EVENT_CURSOR_INIT {sizeof(wq_event_cursor), 0, 0, 0, 0}

/* One change. Not to be mixed up with wq_event, which tells that a call became durable. */
typedef struct wq_store_event {
  uint32_t struct_size;
  uint32_t kind;           /* WQ_EVENT_... */
  uint64_t sequence;       /* 1, 2, 3, ... since the store was opened */
  uint64_t lsn;            /* of the change; those of one call have the same */
  int64_t at_ms;           /* when it happened */
  int64_t time_ms;         /* see the kinds */
  uint64_t job_id;         /* 0: about no single job */
  uint64_t generation;     /* of its last lease; 0: never leased */
  uint64_t count;          /* jobs that it is about */
  uint32_t attempt;        /* attempts counted so far */
  uint32_t dead_reason;    /* WQ_DEAD_...; 0: not dead */
  uint32_t queue_name_len; /* 0: about no queue */
  uint32_t reserved_0;
  char queue_name[256];    /* ends with NUL */
} wq_store_event;
#define WQ_STORE_EVENT_INIT {sizeof(wq_store_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ""}

/* Take up to `n` events behind the cursor, in the order of their changes (of the log);
 * event_size is sizeof events[0]. Waits up to wait_ms for the first. *count is how many were taken.
 * The store must have been opened with events_max. That many are kept, in memory; who reads too
 * slowly is told in cursor->dropped how many it has missed. An event is there as soon as its change
 * is: whether that survives a power cut, wq_store_wait_durable with its `lsn` tells.
 * Each opening of a store begins with no event and an epoch of its own. A cursor of an earlier one
 * is answered with WQ_STALE once, and then stands at the start of this one: what happened in
 * between is not known, so look at the queues again. Changes that an open replays are no events.
 * `cancel` (may be NULL) ends the wait.
 * Returns: WQ_OK with *count > 0; else *count is 0: WQ_EMPTY (after the wait), WQ_STALE,
 *          WQ_CANCELLED; WQ_E_INVALID, WQ_E_UNSUPPORTED (also: no events_max), WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_INTERNAL.
 * Durability: none.   Thread: any; a cursor one at a time.   Blocks: up to wait_ms.
 * Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_events_poll(wq_store *store, wq_event_cursor *cursor, wq_store_event *events,
                              size_t n, size_t event_size, int64_t wait_ms, wq_cancel *cancel,
                              size_t *count, wq_error *err);

/* All figures of the store and its queues, in the text format of Prometheus (0.0.4).
 * docs/METRICS.md explains each. The only label is the name of the queue, escaped; ids, keys and
 * texts of jobs never come in. Each queue is shown as of a moment of its own.
 * Works on a poisoned store.
 * Returns: WQ_OK with *text set; else *text is NULL: WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: rarely, for one disk read per queue.
 * Owns: the caller frees *text with wq_text_free.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_metrics(wq_store *store, wq_text **text, wq_error *err);

/* The bytes of a text, UTF-8; no NUL follows. NULL has none.
 * Returns: a view into it, valid until it is freed.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: the text owns the bytes.
 * Since: 0.1.   Stability: stable. */
WQ_API wq_bytes wq_text_bytes(const wq_text *text);

/* Free a text and set *text to NULL.
 * Returns: nothing.
 * Durability: none.   Thread: one at a time.   Blocks: no.   Owns: frees *text.
 * Since: 0.1.   Stability: stable. */
WQ_API void wq_text_free(wq_text **text);

/* ======================================================================================= backup */

/* Called now and then with the bytes done and to do. */
typedef int32_t (*wq_progress)(uint64_t done_bytes, uint64_t total_bytes, void *ctx);

typedef struct wq_backup_options {
  uint32_t struct_size;
  uint32_t flags;       /* none yet: 0 */
  wq_cancel *cancel;    /* NULL: none; firing it stops the work */
  wq_progress progress; /* NULL: none */
  void *progress_ctx;   /* given to `progress` */
} wq_backup_options;
#define WQ_BACKUP_OPTIONS_INIT {sizeof(wq_backup_options), 0, NULL, NULL, NULL}

typedef struct wq_backup_report {
  uint32_t struct_size;
  uint32_t reserved_0;
  uint64_t lsn;            /* the backup has every change up to here, and none behind */
  uint64_t checkpoint_lsn; /* up to here in tables, from there on as log to be replayed */
  uint64_t files;
  uint64_t bytes;
  int64_t created_ms;      /* when the backup was made */
  int64_t elapsed_ms;      /* how long this call took */
} wq_backup_report;
#define WQ_BACKUP_REPORT_INIT {sizeof(wq_backup_report), 0, 0, 0, 0, 0, 0, 0}

/* Copy the open store into `directory`, which is made, or is there and empty. Producers and workers
 * go on meanwhile. The backup is the store as of one moment after the call began: report->lsn.
 * What was acknowledged at WQ_POWER before the call is in it, also all else that was applied
 * before. A backup that is not finished has no manifest and is refused by all that read it; after a
 * failure the directory is as it was, or the message says what was left.
 * Whatever goes wrong, the store is not harmed. It keeps replaced tables until the end, and needs
 * room for them. One backup at a time runs, others wait. `report` may be NULL.
 * Returns: WQ_OK; WQ_CANCELLED (options->cancel, or options->progress said so); WQ_E_INVALID (path,
 *          directory not empty), WQ_E_TOO_LARGE (path), WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no parent
 *          directory), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE (no room for it beside
 *          disk_reserve_bytes), WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
 *          WQ_E_INTERNAL.
 * Durability: OK means that the whole backup is on its device.
 * Thread: any.   Blocks: as long as it takes to copy.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_backup(wq_store *store, const char *directory,
                               const wq_backup_options *options, wq_backup_report *report,
                               wq_error *err);

/* Check the backup in `directory`: it is complete, each byte is as it was written, and the log in
 * it has every record up to report->lsn.
 * Reads only. `report` may be NULL.
 * Returns: WQ_OK; WQ_CANCELLED; WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no
 *          backup there), WQ_E_VERSION (of a newer library), WQ_E_CORRUPT (damaged or unfinished;
 *          the message names the file), WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_INTERNAL.
 * Durability: none.   Thread: any.   Blocks: as long as it takes to read all.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_backup_verify(const char *directory, const wq_backup_options *options,
                                wq_backup_report *report, wq_error *err);

/* Make the store `path` from the backup in `directory`. The path must not be there, or be an empty
 * directory. First the whole backup is checked; then the store is built in PATH.restoring and gets
 * its name when it is complete and on the device. A failure leaves no store; what a killed restore
 * left in PATH.restoring is removed by the next one. What else stands there is kept, and the call
 * refused with WQ_E_INVALID.
 * The store is as of report->lsn. Leases of then go on with their old deadlines. Tokens handed out
 * later than the backup are refused there. Job ids behind the backup may be given out a second
 * time. The backup stays as it is. `report` may be NULL.
 * Returns: WQ_OK; WQ_CANCELLED; WQ_E_INVALID (path, or path in use), WQ_E_TOO_LARGE,
 *          WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no backup there, no parent directory), WQ_E_VERSION,
 *          WQ_E_CORRUPT (the backup is damaged or unfinished; nothing was made), WQ_E_LOCKED
 *          (another restore is at it), WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_INTERNAL.
 * Durability: OK means that the whole store is on the device.
 * Thread: any.   Blocks: as long as it takes to copy.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_backup_restore(const char *directory, const char *path,
                                 const wq_backup_options *options, wq_backup_report *report,
                                 wq_error *err);

/* =============================================================================== moving a store */

/* A store on the way from one place to another: what its ids must go on behind. */
typedef struct wq_store_record {
  uint32_t struct_size;
  uint32_t reserved_0;
  uint64_t lsn;             /* export: of the moment that it shows; import: 0 */
  uint64_t next_job_id;     /* above all ids that were handed out; up to 2^62 */
  uint64_t next_generation; /* above all generations; up to 2^62 */
  uint64_t queues;          /* export: how many follow; import: not read */
  uint64_t jobs;
  uint64_t kv_rows;
  uint64_t flows;
  uint64_t rows;            /* keys, done jobs and rate keys together */
} wq_store_record;
#define WQ_STORE_RECORD_INIT {sizeof(wq_store_record), 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* A queue on the way. `config` and `stats` count as a whole, whatever config->fields says; of the
 * stats only the totals are imported. */
typedef struct wq_queue_record {
  uint32_t struct_size;
  uint32_t reserved_0;
  wq_bytes name;
  int64_t created_ms;
  const wq_queue_config *config;
  const wq_queue_stats *stats; /* import: NULL is all zero */
  const wq_cron *schedules;    /* an array, one behind the other */
  size_t schedules_count;
  int64_t rate_used_ns; /* how far the rate is used up, as a point in time in ns; 0: not at all */
} wq_queue_record;
#define WQ_QUEUE_RECORD_INIT {sizeof(wq_queue_record), 0, {NULL, 0}, 0, NULL, NULL, NULL, 0, 0}

/* A job on the way, with all that the store knows of it. */
typedef struct wq_job_record {
  uint32_t struct_size;
  uint32_t state;         /* WQ_STATE_...; an import makes leased and running jobs ready */
  uint64_t id;
  uint64_t generation;    /* of its last lease; 0: never leased */
  uint32_t priority;
  uint32_t attempts;
  uint32_t exceptions;
  uint32_t failures;      /* step of the backoff policy */
  uint32_t max_attempts;  /* its own; 0: the queue's */
  uint32_t replays;
  int64_t enqueued_ms;
  int64_t since_ms;       /* when it entered its state */
  int64_t due_ms;         /* delayed: when it becomes ready */
  int64_t leased_ms;      /* when its last lease began; 0: never */
  uint32_t dead_reason;   /* WQ_DEAD_...; 0: not dead */
  uint32_t backoff_kind;  /* its own; 0: the queue's */
  int64_t backoff_base_ms;
  int64_t backoff_max_ms;
  const int64_t *backoff_list_ms;
  uint32_t backoff_count;
  uint32_t reserved_0;
  const wq_header *headers;
  size_t headers_count;
  wq_bytes payload;
  wq_bytes last_error;    /* up to 4 KiB */
  wq_bytes queue_name;    /* export only */
  int64_t expires_at_ms;  /* these as in wq_job_spec */
  int64_t retry_until_ms;
  int64_t timeout_ms;
  uint32_t max_exceptions;
  uint32_t flags;         /* WQ_JOB_FAIL_ON_TIMEOUT; WQ_JOB_ENCRYPT: it was sealed, an import
                             seals it */
  uint32_t backoff_jitter_permille;
  uint32_t reserved_1;
  wq_bytes progress;
  wq_bytes key;           /* its unique or debounce key */
  uint32_t key_rule;      /* WQ_UNIQUE_... or WQ_KEY_RULE_DEBOUNCE; 0: it has no key */
  uint32_t reserved_2;
  int64_t key_ms;         /* its unique_ttl_ms or debounce_max_ms */
  int64_t key_until_ms;   /* it holds its key until then, INT64_MAX: with no end; 0: it does not */
  wq_bytes idempotency_key;
  int64_t idempotency_ms;
  int64_t first_dead_ms;  /* when it died for the first time; 0: never, or since_ms if it is dead */
  uint64_t flow;          /* 0: none. Counts if the flow came in before */
  wq_bytes chain;         /* opaque; what follows the job, as docs/FORMAT.md has it */
  wq_bytes group;         /* key of its group; empty: none */
  uint32_t group_limit;   /* its own; 0: the queue's */
  uint32_t overlap;       /* as in wq_job_spec, likewise overlap_ms and tenant */
  uint32_t packing;       /* not 0: `payload` is as the store has it, since no key of the store
                             opened it. An import takes it so, and any store with the key opens it
                             as that of the same job id in a queue of the same name */
  uint32_t plain_bytes;   /* with packing: size of the payload as it was given */
  int64_t overlap_ms;
  wq_bytes tenant;
  wq_bytes rate_key;  /* empty: none */
  uint32_t rate_cost; /* 0: 1 */
  uint32_t reserved_4;
} wq_job_record;
#define WQ_JOB_RECORD_INIT                                                                        \
  {sizeof(wq_job_record), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, \
   {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0,        \
   {NULL, 0}, 0, 0, 0, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, 0, 0}

/* A kv row on the way. Its version stays behind: it gets a new one. */
typedef struct wq_kv_record {
  uint32_t struct_size;
  uint32_t reserved_0;
  int64_t expires_ms; /* 0: never */
  wq_bytes key;
  wq_bytes value;
} wq_kv_record;
#define WQ_KV_RECORD_INIT {sizeof(wq_kv_record), 0, 0, {NULL, 0}, {NULL, 0}}

/* A flow on the way. */
typedef struct wq_flow_record {
  uint32_t struct_size;
  uint32_t options;             /* WQ_FLOW_ALLOW_FAILURES */
  const wq_flow_status *status; /* what is pending is what its jobs bring along: an import counts
                                   as cancelled what has not come in by its end */
  wq_bytes on_complete;         /* opaque, like wq_job_record.chain; empty: none */
  wq_bytes on_failure;
} wq_flow_record;
#define WQ_FLOW_RECORD_INIT {sizeof(wq_flow_record), 0, NULL, {NULL, 0}, {NULL, 0}}

/* An idempotency key on the way: until then a second request of it is the first one, also if the
 * job of that has ended. */
typedef struct wq_key_record {
  uint32_t struct_size;
  uint32_t reserved_0;
  wq_bytes key;
  uint64_t job_id;  /* of the first request */
  int64_t until_ms; /* end of the window */
} wq_key_record;
#define WQ_KEY_RECORD_INIT {sizeof(wq_key_record), 0, {NULL, 0}, 0, 0}

/* A rate key on the way: one that is used up, cools down, or counts exceptions. */
typedef struct wq_rate_key_record {
  uint32_t struct_size;
  uint32_t exceptions_count;
  wq_bytes key;
  int64_t used_ns;       /* how far it is used up, as a point in time in ns; 0: not at all */
  int64_t cool_until_ms; /* 0: it does not cool down */
  const int64_t *exceptions_ms; /* the exceptions that count, oldest first; up to 100 */
} wq_rate_key_record;
#define WQ_RATE_KEY_RECORD_INIT {sizeof(wq_rate_key_record), 0, {NULL, 0}, 0, 0, NULL}

/* One item of an export: exactly one of the pointers is set. An item in which none is set that you
 * know is of a newer library. */
typedef struct wq_export_item {
  uint32_t struct_size;
  uint32_t reserved_0;
  const wq_store_record *store;
  const wq_queue_record *queue;
  const wq_job_record *job;
  const wq_kv_record *kv;
  const wq_flow_record *flow;
  const wq_key_record *key;
  const wq_done_job *done; /* of the history, `result` as it is stored: sealed if key_id is not 0 */
  const wq_rate_key_record *rate_key;
  wq_bytes queue_name;     /* of a key, a done job, a rate key */
} wq_export_item;
#define WQ_EXPORT_ITEM_INIT \
  {sizeof(wq_export_item), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, {NULL, 0}}

/* Called for each item of an export. */
typedef int32_t (*wq_export_visit)(const wq_export_item *item, void *ctx);

/* Tell the whole store, or one queue of it (name_len not 0), as of one moment: first the store,
 * then its queues, then the kv rows by key and the flows (both of a whole store only), then of each
 * queue its idempotency keys, its history (oldest first) and its rate keys, then the jobs. The
 * leased, running, ready and dead jobs of each queue come in their order, those with a lease in
 * front of the ready ones of their priority; the delayed jobs of all queues come last, by due time.
 * Makes a checkpoint first. Other calls go on meanwhile; the disk space of what they remove comes
 * back when the export has ended.
 * Returns: WQ_OK; WQ_CANCELLED (visit returned other than 0); WQ_CONFLICT (an unfinished import);
 *          WQ_E_INVALID, WQ_E_NOT_FOUND (no such queue), WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_MEMORY, WQ_E_NO_SPACE, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: OK means that what was told is on the device.
 * Thread: callback; `visit` runs on the calling thread and may call anything but close the store.
 * Blocks: for disk reads and for `visit`.   Owns: the records are valid during the callback only.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_export(wq_store *store, const void *name, size_t name_len,
                               wq_export_visit visit, void *ctx, wq_error *err);

/* Begin an import into a store that never had a queue.
 * Until wq_import_end every call on a queue answers WQ_CONFLICT, also after a crash and a reopen:
 * a store that is only half there is of no use, remove it and import again.
 * Returns: WQ_OK; WQ_CONFLICT (it has or had queues, or an import has begun); WQ_E_INVALID,
 *          WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: OK means that it survives power loss.
 * Thread: any.   Blocks: for one flush.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_begin(wq_store *store, const wq_store_record *record, wq_error *err);

/* Bring a queue in with its schedules, all or none. (If memory runs out while those before one that
 * is refused are taken away again, the store stops: WQ_E_POISONED.)
 * The handle serves wq_import_jobs at once and all else after wq_import_end.
 * Returns: WQ_OK with *queue set; else *queue is NULL: WQ_CONFLICT (no import has begun, or the
 *          name is there); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
 *          WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL,
 *          WQ_E_NO_KEY (a schedule).
 * Durability: that of wq_import_end.
 * Thread: any.   Blocks: for disk I/O only.   Owns: the caller closes *queue.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_queue(wq_store *store, const wq_queue_record *record, wq_queue **queue,
                               wq_error *err);

/* Bring `n` flows in, in one change; record_size is sizeof flows[0]. All or none. They come in
 * before the jobs that belong to them. A flow that is sealed, and none of whose jobs is pending
 * when the import ends, is finished by that and enqueues what follows.
 * Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a flow that is there, or is
 *          not below next_job_id), WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: that of wq_import_end.
 * Thread: any.   Blocks: for disk I/O, and for room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_flows(wq_store *store, const wq_flow_record *flows, size_t n,
                               size_t record_size, wq_error *err);

/* Bring `n` idempotency keys in, in one change; record_size is sizeof keys[0]. All or none. Those
 * whose time has come are left out. They come in before the jobs of their queue: a job that has
 * such a key and comes in without it gets one from its own times.
 * Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a key that is there),
 *          WQ_E_TOO_LARGE, WQ_E_NOT_FOUND, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: that of wq_import_end.
 * Thread: any.   Blocks: for disk I/O, and for room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_keys(wq_queue *queue, const wq_key_record *keys, size_t n,
                              size_t record_size, wq_error *err);

/* Bring `n` jobs of the history in, oldest first, in one change; job_size is sizeof jobs[0]. All or
 * none. result_code does not count. What the configuration of the queue does not keep goes again.
 * Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a job that is there),
 *          WQ_E_TOO_LARGE, WQ_E_NOT_FOUND, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: that of wq_import_end.
 * Thread: any.   Blocks: for disk I/O, and for room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_history(wq_queue *queue, const wq_done_job *jobs, size_t n,
                                 size_t job_size, wq_error *err);

/* Bring `n` rate keys in, in one change; record_size is sizeof keys[0]. All or none.
 * Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a key that is given twice),
 *          WQ_E_TOO_LARGE, WQ_E_NOT_FOUND, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: that of wq_import_end.
 * Thread: any.   Blocks: for disk I/O, and for room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_rate_keys(wq_queue *queue, const wq_rate_key_record *keys, size_t n,
                                   size_t record_size, wq_error *err);

/* Bring `n` jobs in behind those that are there, in one change; job_size is sizeof jobs[0]. All or
 * none. They keep their ids, generations, counts and times. Jobs that were leased or running become
 * ready with their attempts: no lease survives a move.
 * Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also an id that is there, or is
 *          not below next_job_id), WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL,
 *          WQ_E_NO_KEY (ENCRYPTION).
 * Durability: that of wq_import_end.
 * Thread: any.   Blocks: for disk I/O, and for room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_jobs(wq_queue *queue, const wq_job_record *jobs, size_t n, size_t job_size,
                              wq_error *err);

/* Bring `n` kv rows in, in one change; row_size is sizeof rows[0]. All or none. A row whose time
 * has come counts as not there.
 * Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a key that is there),
 *          WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: that of wq_import_end.
 * Thread: any.   Blocks: for disk I/O, and for room.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_kv(wq_store *store, const wq_kv_record *rows, size_t n, size_t row_size,
                            wq_error *err);

/* End the import: the store is open for use.
 * Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
 *          WQ_E_NO_SPACE, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
 * Durability: OK means that all of the import survives power loss.
 * Thread: any.   Blocks: for one flush.   Owns: nothing.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_import_end(wq_store *store, wq_error *err);

/* =========================================================================== repair and the log */

/* wq_repair_finding.kind */
#define WQ_REPAIR_NOTE 0u
#define WQ_REPAIR_INTACT 1u    /* a file or a family of rows is whole */
#define WQ_REPAIR_DAMAGED 2u   /* it is not; `what` says where */
#define WQ_REPAIR_MISSING 3u   /* records first_lsn .. last_lsn of the log */
#define WQ_REPAIR_FOUND 4u     /* `count` jobs of `queue` in `state` can be read */
#define WQ_REPAIR_LOST 5u      /* the same: they were there, and nothing of them can be read */
#define WQ_REPAIR_UNCERTAIN 6u /* the same, among those found: they may have gone on or ended */

/* One thing that a look at a damaged store has found. */
typedef struct wq_repair_finding {
  uint32_t struct_size;
  uint32_t kind;   /* WQ_REPAIR_... */
  uint32_t state;  /* WQ_STATE_...; 0: none */
  uint32_t reserved_0;
  uint64_t offset; /* in the file, 0 if there is none to tell */
  uint64_t first_lsn;
  uint64_t last_lsn;
  uint64_t count;
  wq_bytes where;  /* file or family */
  wq_bytes queue;
  wq_bytes what;   /* one line for people */
} wq_repair_finding;
#define WQ_REPAIR_FINDING_INIT \
  {sizeof(wq_repair_finding), 0, 0, 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, {NULL, 0}}

/* Called for each finding. */
typedef int32_t (*wq_repair_visit)(const wq_repair_finding *finding, void *ctx);

typedef struct wq_repair_report {
  uint32_t struct_size;
  uint32_t reserved_0;
  uint64_t damages; /* findings of kind WQ_REPAIR_DAMAGED and WQ_REPAIR_MISSING */
  uint64_t jobs_found, jobs_lost, jobs_uncertain;
  uint64_t records, records_missing; /* of the log */
} wq_repair_report;
#define WQ_REPAIR_REPORT_INIT {sizeof(wq_repair_report), 0, 0, 0, 0, 0, 0, 0}

/* Look at the store in directory `path`, however damaged, and tell what is whole, what is damaged
 * and how many jobs can be read. With a `new_path` all of them are written into a new store there.
 * The damaged store is only read, and locked meanwhile; nothing may be at new_path. Jobs of which
 * the last records are missing are kept as they were before: they may run again.
 * `visit` and `report` may be NULL. A temporary directory of the system is used for links.
 * Returns: WQ_OK; WQ_CANCELLED (visit returned other than 0); WQ_CONFLICT (something is at
 *          new_path); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_NOT_FOUND (nothing at path), WQ_E_LOCKED
 *          (open), WQ_E_VERSION, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
 *          WQ_E_CORRUPT, WQ_E_INTERNAL.
 * Durability: OK means that the new store is on the device.
 * Thread: callback; `visit` runs on the calling thread and may call anything, but not open this
 * store.
 * Blocks: for disk I/O and for `visit`.   Owns: the finding is valid during the callback only.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_store_repair(const char *path, const char *new_path, wq_repair_visit visit,
                               void *ctx, wq_repair_report *report, wq_error *err);

/* One record of the log, for inspection. */
typedef struct wq_log_record {
  uint32_t struct_size;
  uint32_t reserved_0;
  uint64_t lsn;
  uint64_t durable_lsn; /* what was durable when the record was written */
  uint64_t offset;      /* of its frame in the segment */
  uint64_t size_bytes;  /* of its body */
  wq_bytes segment;     /* file name, relative to the store */
  wq_bytes type;        /* kind of command, as in docs/FORMAT.md */
  wq_bytes text;        /* the record as one JSON object, UTF-8 */
} wq_log_record;
#define WQ_LOG_RECORD_INIT {sizeof(wq_log_record), 0, 0, 0, 0, 0, {NULL, 0}, {NULL, 0}, {NULL, 0}}

/* Called for each record. */
typedef int32_t (*wq_log_visit)(const wq_log_record *record, void *ctx);

/* Read the log of the store in directory `path` from its oldest record, and call `visit` for each.
 * Reads only. Holds the lock of the store meanwhile, so the store must not be open.
 * An unfinished tail, which the next open would cut off, ends the scan like the end of the log.
 * Returns: WQ_OK (end of the log); WQ_CANCELLED (visit returned other than 0); WQ_E_INVALID,
 *          WQ_E_TOO_LARGE, WQ_E_NOT_FOUND (no store there), WQ_E_LOCKED (open), WQ_E_VERSION,
 *          WQ_E_CORRUPT (damage that is no unfinished tail; the message says where),
 *          WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_INTERNAL.
 * Durability: none.
 * Thread: callback; `visit` runs on the calling thread and may call anything, but not open this
 * store.
 * Blocks: for disk reads and for `visit`.   Owns: the record is valid during the callback only.
 * Since: 0.1.   Stability: stable. */
WQ_API int32_t wq_log_scan(const char *path, wq_log_visit visit, void *ctx, wq_error *err);

#ifdef __cplusplus
}
#endif
#endif
