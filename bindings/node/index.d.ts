// Types of the package wq. Names follow one rule: a field `lease_ms` of a struct of wq.h is
// `leaseMs`, and has the meaning and the default that the header gives it. Durations are numbers of
// milliseconds, points in time milliseconds since 1970 (or Dates where they are given); 0 is none.
// Ids, generations, LSNs and versions are BigInt. Bytes are Buffers; strings given are UTF-8.
// Every method returns a promise and never throws at once. Errors reject it with a WqError, wrong
// types with a TypeError. Nothing blocks the event loop.
/// <reference types="node" />

/** How a call went when it did not fail. */
export type Outcome =
  'ok' | 'empty' | 'timeout' | 'stale' | 'duplicate' | 'disabled' | 'paused' | 'cancelled' |
  'conflict';
export type Durability = 'memory' | 'process' | 'power';
export type JobState = 'ready' | 'delayed' | 'leased' | 'running' | 'dead';
export type QueueStatus = 'active' | 'paused' | 'disabled';
export type BackoffKind = 'fixed' | 'exponential' | 'list';
export type DeadReason =
  'failed' | 'lease_expired' | 'timeout' | 'retry_until' | 'max_exceptions' | 'cancelled' |
  'expired' | 'unknown_type' | 'unreadable';
/** What becomes of a job whose group is full when a lease comes to it. */
export type Overlap = 'park' | 'release' | 'skip';
/** What holds a job or queue back. */
export type Why =
  'delayed' | 'paused' | 'disabled' | 'slots' | 'behind' | 'no_consumer' | 'held' | 'late' |
  'dead' | 'stopped' | 'empty' | 'group' | 'rate' | 'cooling';
export type EventKind =
  'queued' | 'promoted' | 'leased' | 'confirmed' | 'acked' | 'nacked' | 'released' | 'expired' |
  'dead' | 'replayed' | 'cancelled' | 'cleared' | 'queue_declared' | 'queue_changed' |
  'queue_deleted' | 'checkpoint' | 'job_expired' | 'dropped' | 'flow_finished' | 'key_cools' |
  'skipped';
/** 'ok', or why a payload or result is empty though there is one. */
export type PayloadCode = 'ok' | 'WQ_E_NO_KEY' | 'WQ_E_CORRUPT' | 'WQ_E_NO_MEMORY';
export type KeyKind = 'unique' | 'debounce' | 'idempotency';
export type Bytes = string | NodeJS.ArrayBufferView | ArrayBuffer;
export type Int = number | bigint;
/** A point in time in milliseconds since 1970, or a Date. */
export type Time = number | bigint | Date;

/** A code of wq.h, below 0. Programs decide by `code`, never by the message. */
export declare class WqError extends Error {
  /** The name in wq.h, as 'WQ_E_NOT_FOUND'. */
  readonly code: string;
  /** Its value, as -20. */
  readonly number: number;
  /** The same call may succeed later, with no change by the caller. */
  readonly retryable: boolean;
  /** The store may have been changed all the same. */
  readonly maybeCommitted: boolean;
  /** The store is of no more use and must be closed and opened again. */
  readonly fatal: boolean;
  readonly osErrno: number;
  /** Byte offset in the file that the message names, else 0. */
  readonly offset: bigint;
}

/** Name of each code: { WQ_OK: 0, WQ_STALE: 3, WQ_E_NOT_FOUND: -20, ... } */
export declare const codes: Readonly<Record<string, number>>;
/** Version of the library, "0.1.0". */
export declare const version: string;
/** How the library was built, for bug reports. */
export declare const buildInfo: string;
/** Version of the format on disk that the library writes. */
export declare const formatVersion: number;

/** How a changing call waits: until its record has reached this level. */
export interface CallOptions { durability?: Durability }
export interface SignalOptions { signal?: AbortSignal }

/** A key that payloads are sealed with (AES-256-GCM): your number for it, 1 and up, which is stored
 * with each payload, and 32 random bytes, which are never stored. */
export interface EncryptionKey { id: number; bytes: Bytes }
/** A key that the store was given, or that something in it is sealed with. */
export interface KeyUse { id: number; payloads: number; known: boolean; current: boolean }

export interface StoreOptions {
  /** WQ_E_NOT_FOUND if there is no store at the path. */
  noCreate?: boolean;
  /** Leases of the time before are taken back at once. */
  expireLeases?: boolean;
  /** No background threads: tick() drives everything. */
  noThreads?: boolean;
  ioBackend?: 'auto' | 'uring' | 'threads';
  spareSegments?: number;
  memoryBudgetBytes?: Int;
  payloadBytesMax?: Int;
  segmentBytes?: Int;
  checkpointLogBytes?: Int;
  diskReserveBytes?: Int;
  memoryWindowMs?: Int;
  /** Events kept for events() and pollEvents(); 0: none. */
  eventsMax?: number;
  quotaBytes?: Int;
  /** All keys that something may be sealed with. */
  keys?: EncryptionKey[];
  /** Id of the one that seals what is new; 0, the default: none does. */
  currentKey?: number;
  /** What a newer header has. */
  [field: string]: unknown;
}

export interface Backoff {
  backoffKind?: BackoffKind;
  backoffBaseMs?: Int;
  backoffMaxMs?: Int;
  backoffListMs?: Int[];
  backoffJitterPermille?: number;
}

export interface QueueConfig extends Backoff {
  maxRunning?: number;
  maxRetries?: number;
  leaseMs?: Int;
  durability?: Durability;
  jobTtlMs?: Int;
  maxDepth?: Int;
  maxBytes?: Int;
  fullPolicy?: 'refuse' | 'drop_oldest';
  deadMaxCount?: Int;
  deadMaxAgeMs?: Int;
  keepDoneAgeMs?: Int;
  keepDoneCount?: number;
  groupLimit?: number;
  rateCount?: number;
  rateBurst?: number;
  rateWindowMs?: Int;
  /** Payloads of new jobs are stored sealed. */
  encrypt?: boolean;
  /** Payloads of new jobs from this size on are stored compressed; 0, the default: none. */
  compressMinBytes?: number;
  /** The rate of the jobs of each rateKey alone. */
  keyRateCount?: number;
  keyRateBurst?: number;
  keyRateWindowMs?: Int;
  /** Exceptions within the window that shut a rateKey for throttleCoolMs; 0: never. */
  throttleCount?: number;
  throttleWindowMs?: Int;
  throttleCoolMs?: Int;
  /** In configure(): change only if the version is still this one. */
  version?: bigint;
  [field: string]: unknown;
}

export type QueueConfigRead = Required<Omit<QueueConfig, 'backoffKind'>> & {
  backoffKind: BackoffKind | ''; status: QueueStatus; consumersPaused: boolean;
};

export type Headers = Record<string, Bytes> | Iterable<[string | Uint8Array, Bytes]>;

export interface JobOptions extends Backoff {
  headers?: Headers;
  delayMs?: Int;
  runAtMs?: Time;
  /** 0 goes first, 100 is the default. */
  priority?: number;
  maxAttempts?: number;
  expiresAtMs?: Time;
  retryUntilMs?: Time;
  timeoutMs?: Int;
  maxExceptions?: number;
  failOnTimeout?: boolean;
  uniqueKey?: Bytes;
  uniqueTtlMs?: Int;
  uniqueUntil?: 'started' | 'done' | 'gone';
  debounceKey?: Bytes;
  debounceMs?: Int;
  debounceMaxMs?: Int;
  idempotencyKey?: Bytes;
  idempotencyMs?: Int;
  flow?: bigint;
  group?: Bytes;
  groupLimit?: number;
  overlap?: Overlap;
  /** Goes with overlap: 'release'. */
  overlapMs?: Int;
  /** The jobs of one priority are leased one of each tenant in turn. */
  tenant?: Bytes;
  /** keyRate... and throttle... of the queue count by it; not together with a group. */
  rateKey?: Bytes;
  /** How much of the rate of its key it uses up; 0: 1. */
  rateCost?: number;
  /** Whether its payload is stored sealed; left out: as the queue is configured. */
  encrypt?: boolean;
  /** Answer what an enqueue would answer now, and write nothing. */
  dryRun?: boolean;
  /** Jobs that follow, each enqueued by the ack of the one before. */
  chain?: NextJob[];
  [field: string]: unknown;
}
export interface JobSpec extends JobOptions { payload?: Bytes }
/** A job of a chain or of the end of a flow; `queue` is a name or a Queue. */
export interface NextJob extends JobSpec { queue?: string | Queue }

export interface Enqueued {
  outcome: Outcome;
  /** The job that stands for this enqueue: the new one, or the holder of the key. */
  id: bigint;
  /** LSN of the record that holds it; 0n unless 'ok'. */
  lsn: bigint;
  /** With 'duplicate': the job that holds the key. */
  holder?: bigint;
}
export interface EnqueuedMany {
  outcome: Outcome;
  accepted: number;
  lsn: bigint;
  jobs: (Omit<Enqueued, 'outcome'> & { outcome: Outcome | string })[];
}

/** The right to settle a job; every Job has it. */
export interface Token { id: bigint; generation: bigint }

export interface LeaseOptions extends CallOptions, SignalOptions {
  /** Default 1. */
  maxJobs?: number;
  /** How long to wait for the first job: 0, the default, not at all; -1 or Infinity for ever. */
  waitMs?: Int;
  /** 0: timeoutMs of the job, or else leaseMs of its queue. */
  leaseMs?: Int;
}
export interface ConsumeOptions extends CallOptions, SignalOptions {
  /** How many are leased at a time; default 1. */
  maxJobs?: number;
  leaseMs?: Int;
}
export type Jobs = Job[] & { readonly outcome: Outcome };

export interface NackOptions extends CallOptions {
  delayMs?: Int;
  /** Whatever was thrown: of an Error its message, of bytes these; kept up to 4 KiB. */
  error?: unknown;
  priority?: number;
  front?: boolean;
  noException?: boolean;
  reason?: DeadReason;
}
export interface ReleaseOptions extends CallOptions { delayMs?: Int; front?: boolean }

export type Settle = ({ job: Token } | Token) & (
  { kind: 'ack'; result?: Bytes } |
  { kind: 'nack' } & Omit<NackOptions, 'durability'> |
  { kind: 'fail'; error?: unknown; reason?: DeadReason } |
  { kind: 'release'; delayMs?: Int; front?: boolean });
/** `outcomes` has one for each item; one that is not there is 'WQ_E_NOT_FOUND'. */
export interface Settled { outcome: Outcome | string; outcomes: (Outcome | string)[] }

/** A job as it was when it was leased or read. Its bytes are its own. */
export declare class Job implements Token {
  private constructor();
  readonly queue: Queue;
  readonly queueName: string;
  readonly id: bigint;
  readonly generation: bigint;
  readonly state: JobState;
  readonly payload: Buffer;
  readonly priority: number;
  /** This one included. */
  readonly attempts: number;
  readonly exceptions: number;
  readonly maxAttempts: number;
  readonly replays: number;
  readonly enqueuedMs: number;
  readonly readyMs: number;
  readonly leasedMs: number;
  readonly deadlineMs: number;
  readonly leaseRemainingMs: number;
  readonly deadMs: number;
  readonly deadReason: DeadReason | '';
  readonly lastError: Buffer;
  readonly timeoutMs: number;
  readonly expiresAtMs: number;
  readonly retryUntilMs: number;
  readonly maxExceptions: number;
  readonly failOnTimeout: boolean;
  /** The last note of a worker; see setProgress. */
  readonly progress: Buffer;
  readonly firstDeadMs: number;
  readonly flow: bigint;
  readonly chainCount: number;
  readonly flowCancelled: boolean;
  readonly group: Buffer;
  /** Ready, but its group is full, or its rate key is used up or cools down. */
  readonly parked: boolean;
  readonly tenant: Buffer;
  readonly rateKey: Buffer;
  readonly rateCost: number;
  /** Its payload is stored encrypted, with the key of this id; 0: it is not. */
  readonly sealed: boolean;
  readonly keyId: number;
  /** Why `payload` is empty though it has one; never of a job that was leased. */
  readonly payloadCode: PayloadCode;
  /** A name that is no UTF-8 has its odd bytes as lone surrogates: 0xff is U+DCFF. */
  readonly headers: [string, Buffer][];
  /** The value of the first header of this name. */
  header(name: string): Buffer | undefined;
  /** The payload as UTF-8. */
  text(): string;
  /** The payload as JSON. */
  json<T = unknown>(): T;
  /** Done. 'stale': the lease is not this one any more, and nothing changed; so with the others. */
  ack(result?: Bytes | null, options?: CallOptions): Promise<Outcome>;
  /** The attempt failed: try again after the backoff, or die. */
  nack(options?: NackOptions): Promise<Outcome>;
  /** Give it back, uncounted. */
  release(options?: ReleaseOptions): Promise<Outcome>;
  /** Dead, whatever attempts are left. */
  fail(error?: unknown, options?: CallOptions): Promise<Outcome>;
  /** The lease ends leaseMs from now; 0: the lease time of the queue. */
  extend(leaseMs?: Int, options?: CallOptions): Promise<Outcome>;
  /** leased -> running: no deadline any more, or one runMs from now. */
  confirm(options?: CallOptions & { runMs?: Int }): Promise<Outcome>;
  setProgress(note: Bytes, options?: CallOptions): Promise<Outcome>;
  explain(): Promise<JobExplanation>;
  toObject(): Record<string, unknown>;
}

export interface JobExplanation {
  state: JobState; causes: Why[]; deadReason: DeadReason | ''; untilMs: number; ahead: number;
  aheadExact: boolean; queueStatus: QueueStatus; slotsTaken: number; slotsMax: number;
  consumersWaiting: number; holderId: bigint; holderGeneration: bigint; holderAgeMs: number;
  text: string;
}
export interface QueueExplanation {
  status: QueueStatus; causes: Why[]; leasable: number; oldestReadyAgeMs: number;
  slotsTaken: number; slotsMax: number; consumersWaiting: number; holderId: bigint;
  holderGeneration: bigint; holderAgeMs: number; enqueueRate1m: number; enqueueRate5m: number;
  leaseRate1m: number; leaseRate5m: number; ackRate1m: number; ackRate5m: number; parked: number;
  rateWaitMs: number; text: string;
}
export interface QueueStats {
  status: QueueStatus; ready: number; delayed: number; leased: number; running: number;
  dead: number; oldestReadyAgeMs: number; enqueuedTotal: number; leasedTotal: number;
  ackedTotal: number; nackedTotal: number; failedTotal: number; releasedTotal: number;
  expiredTotal: number; deadTotal: number; replayedTotal: number; cancelledTotal: number;
  clearedTotal: number; jobsExpiredTotal: number; droppedTotal: number; deadDroppedTotal: number;
  waitingBytes: number; jobBytes: number; chainCutTotal: number; parked: number;
  rateWaitMs: number; skippedTotal: number;
}
export interface FailedAttempt {
  kind: 'nacked' | 'dead' | 'expired'; atMs: number; jobId: bigint; generation: bigint;
  attempt: number; text: string;
}

export interface DeadQuery {
  cursor?: bigint; limit?: number; reason?: DeadReason; fromMs?: Time; untilMs?: Time;
  errorPart?: Bytes; oldestFirst?: boolean;
}
export interface DeadFilter extends CallOptions, SignalOptions {
  reason?: DeadReason; fromMs?: Time; untilMs?: Time; errorPart?: Bytes;
  /** These entries; those that are no more are passed over. */
  entries?: Token[];
  limit?: Int;
  /** With no other condition: really all of them. */
  all?: boolean;
  dryRun?: boolean;
}
export interface DeadReport {
  outcome: Outcome; changed: number; examined: number; elapsedMs: number;
}
/** The dead letters of a queue. */
export interface Dead {
  list(query?: DeadQuery): Promise<{ outcome: Outcome; jobs: Job[]; cursor: bigint }>;
  entries(query?: DeadQuery): AsyncGenerator<Job>;
  get(entry: Token): Promise<Job | undefined>;
  replay(entry: Token, options?: CallOptions): Promise<Outcome>;
  remove(entry: Token, options?: CallOptions): Promise<Outcome>;
  replayMany(filter: DeadFilter): Promise<DeadReport>;
  removeMany(filter: DeadFilter): Promise<DeadReport>;
  purge(options?: CallOptions): Promise<number>;
}
export interface Keys {
  holder(kind: KeyKind, key: Bytes): Promise<bigint>;
  cancel(kind: 'unique' | 'debounce', key: Bytes, options?: CallOptions):
    Promise<{ outcome: Outcome; id: bigint }>;
  release(job: Token, options?: CallOptions): Promise<Outcome>;
}
export interface DoneJob {
  id: bigint; generation: bigint; flow: bigint; priority: number; attempts: number;
  exceptions: number; replays: number; enqueuedMs: number; leasedMs: number; doneMs: number;
  result: Buffer;
  /** Why `result` is empty though there is one. */
  resultCode: PayloadCode;
  /** The key that it is sealed with; 0: it is not. */
  keyId: number;
}
/** The acked jobs of a queue that keeps them. */
export interface History {
  get(id: Int): Promise<DoneJob>;
  list(query?: { cursor?: bigint; limit?: number }): Promise<{ jobs: DoneJob[]; cursor: bigint }>;
  entries(query?: { limit?: number }): AsyncGenerator<DoneJob>;
}

/** A handle on one queue; made by Store.queue. */
export declare class Queue {
  private constructor();
  readonly store: Store;
  readonly name: string;
  readonly dead: Dead;
  readonly keys: Keys;
  readonly history: History;
  configure(config: QueueConfig, options?: CallOptions): Promise<Outcome>;
  config(): Promise<QueueConfigRead>;
  pause(options?: CallOptions): Promise<Outcome>;
  resume(options?: CallOptions): Promise<Outcome>;
  disable(options?: CallOptions): Promise<Outcome>;
  enable(options?: CallOptions): Promise<Outcome>;
  /** Delete the queue with all its jobs. */
  delete(options?: CallOptions): Promise<Outcome>;
  /** Remove all jobs in these states (default: ready and delayed); how many there were. */
  clear(options?: CallOptions & { states?: JobState[] }): Promise<number>;
  stats(): Promise<QueueStats>;
  explain(): Promise<QueueExplanation>;
  /** The last failed attempts, newest first. */
  errors(): Promise<FailedAttempt[]>;
  /** Close this handle; the queue itself is untouched. */
  close(): Promise<void>;
  enqueue(payload: Bytes, options?: JobOptions & CallOptions): Promise<Enqueued>;
  /** All or none; `partial`: those up to the first refusal. An error has `accepted`, `jobs`. */
  enqueueMany(jobs: JobSpec[], options?: CallOptions & { partial?: boolean }):
    Promise<EnqueuedMany>;
  get(id: Int): Promise<Job>;
  cancel(id: Int, options?: CallOptions): Promise<Outcome>;
  reprioritise(id: Int, priority: number, options?: CallOptions): Promise<Outcome>;
  explainJob(id: Int): Promise<JobExplanation>;
  lease(options?: LeaseOptions): Promise<Jobs>;
  /** Jobs as they come; ends with the signal, or when the store or queue is closed. */
  jobs(options?: ConsumeOptions): AsyncGenerator<Job>;
  ack(job: Token, result?: Bytes | null, options?: CallOptions): Promise<Outcome>;
  nack(job: Token, options?: NackOptions): Promise<Outcome>;
  release(job: Token, options?: ReleaseOptions): Promise<Outcome>;
  fail(job: Token, error?: unknown, options?: CallOptions): Promise<Outcome>;
  confirm(job: Token, options?: CallOptions & { runMs?: Int }): Promise<Outcome>;
  extend(job: Token, leaseMs?: Int, options?: CallOptions): Promise<Outcome>;
  extendMany(jobs: Token[], leaseMs?: Int, options?: CallOptions): Promise<Settled>;
  setProgress(job: Token, note: Bytes, options?: CallOptions): Promise<Outcome>;
  settleMany(items: Settle[], options?: CallOptions): Promise<Settled>;
}

export interface KvRow { key: Buffer; value: Buffer; version: bigint; expiresMs: number }
export interface KvOptions extends CallOptions {
  ttlMs?: Int; ifAbsent?: boolean; ifVersion?: bigint; ifValue?: Bytes;
}
/** Small values under keys, in the same log as the jobs. */
export interface Kv {
  get(key: Bytes): Promise<KvRow | undefined>;
  put(key: Bytes, value: Bytes, options?: KvOptions):
    Promise<{ outcome: Outcome; version: bigint }>;
  add(key: Bytes, delta: Int, options?: KvOptions): Promise<{ outcome: Outcome; sum: bigint }>;
  erase(key: Bytes, options?: KvOptions): Promise<Outcome>;
  list(query?: { prefix?: Bytes; after?: Bytes; limit?: number }):
    Promise<{ outcome: Outcome; rows: KvRow[]; more: boolean }>;
  entries(query?: { prefix?: Bytes; limit?: number }): AsyncGenerator<KvRow>;
}
export interface Locks {
  take(key: Bytes, owner: Bytes, ttlMs: Int, options?: CallOptions): Promise<Outcome>;
  extend(key: Bytes, owner: Bytes, ttlMs: Int, options?: CallOptions): Promise<Outcome>;
  release(key: Bytes, owner: Bytes, options?: CallOptions): Promise<Outcome>;
}
export interface FlowStatus {
  flow: bigint; total: number; pending: number; done: number; failed: number; cancelled: number;
  followUpId: bigint; createdMs: number; finishedMs: number;
  flags: ('sealed' | 'cancelled' | 'finished')[];
}
export interface Flows {
  create(options?: CallOptions & { allowFailures?: boolean; onComplete?: NextJob;
    onFailure?: NextJob }): Promise<{ outcome: Outcome; flow: bigint }>;
  seal(flow: bigint, options?: CallOptions): Promise<Outcome>;
  cancel(flow: bigint, options?: CallOptions): Promise<Outcome>;
  status(flow: bigint): Promise<FlowStatus>;
  list(query?: { cursor?: bigint; limit?: number }):
    Promise<{ flows: FlowStatus[]; cursor: bigint }>;
}
export interface Cron {
  name: string; queueName: string; expression: string; zone: string; paused: boolean;
  nextDueMs: number; lastSlotMs: number; createdMs: number; fired: number; missed: number;
  catchUp: number; priority: number; maxAttempts: number; backoffKind: BackoffKind | '';
  backoffBaseMs: number; backoffMaxMs: number; backoffListMs: number[];
  backoffJitterPermille: number; payload: Buffer; headers: [string, Buffer][]; problem: string;
  sealed: boolean; keyId: number; payloadCode: PayloadCode;
}
export interface Crons {
  put(name: string, queue: Queue, expression: string,
    options?: JobSpec & CallOptions & { zone?: string; catchUp?: number }): Promise<Outcome>;
  remove(name: string, options?: CallOptions): Promise<Outcome>;
  pause(name: string, options?: CallOptions): Promise<Outcome>;
  resume(name: string, options?: CallOptions): Promise<Outcome>;
  get(name: string): Promise<Cron>;
  list(query?: { queue?: Queue; after?: string; limit?: number }): Promise<Cron[]>;
}

export type Operation =
  { kind: 'enqueue'; queue: Queue } & JobSpec |
  Settle & { queue?: Queue } |
  { kind: 'kvPut'; key: Bytes; value: Bytes } & Omit<KvOptions, 'durability'> |
  { kind: 'kvAdd'; key: Bytes; delta: Int } & Omit<KvOptions, 'durability'> |
  { kind: 'kvErase' | 'kvCheck'; key: Bytes } & Omit<KvOptions, 'durability'>;
export interface Transacted {
  outcome: Outcome;
  lsn: bigint;
  /** Index of the operation that was refused. */
  failed: number | undefined;
  /** `id` of an enqueue, `sum` of a kvAdd. */
  results: { outcome: Outcome; id?: bigint; sum?: bigint }[];
}

export interface StoreStats {
  status: 'open' | 'draining' | 'poisoned'; ioBackend: 'uring' | 'threads'; queues: number;
  ready: number; delayed: number; leased: number; running: number; dead: number;
  lastLsn: bigint; processLsn: bigint; durableLsn: bigint; appliedLsn: bigint;
  residentJobs: number; residentBytes: number; memoryBudgetBytes: number; logRecords: number;
  logBytes: number; logWrittenBytes: number; logLiveBytes: number; logSegments: number;
  logSegmentsSpare: number; flushes: number; flushUsTotal: number; flushUsMax: number;
  checkpoints: number; checkpointUsLast: number; checkpointUsMax: number; waiting: number;
  jobBytes: number; quotaBytes: number;
}
export interface Recovery {
  clean: boolean; appliedLsn: bigint; lastLsn: bigint; recordsReplayed: number;
  truncatedBytes: number; leasesKept: number; leasesExpired: number; tempFilesRemoved: number;
  replayMs: number; truncatedWhere: string;
}
export interface VerifyReport {
  jobs: number; entries: number; problems: number; elapsedMs: number; firstProblem: string;
}
export interface BackupReport {
  outcome: Outcome; lsn: bigint; checkpointLsn: bigint; files: number; bytes: number;
  createdMs: number; elapsedMs: number;
}
export interface StoreEvent {
  kind: EventKind; sequence: number; lsn: bigint; atMs: number; timeMs: number; jobId: bigint;
  generation: bigint; count: number; attempt: number; deadReason: DeadReason | '';
  queueName: string;
}
export interface EventCursor { epoch?: bigint; sequence?: Int; fromNow?: boolean }

/** An open store: a directory that this process, and in it this thread, has to itself. */
export declare class Store {
  private constructor();
  static open(path: string, options?: StoreOptions): Promise<Store>;
  readonly path: string;
  readonly kv: Kv;
  readonly locks: Locks;
  readonly flows: Flows;
  readonly cron: Crons;
  /** Whether close() was called. */
  readonly closed: boolean;
  /** Does what was asked for before, ends waits with WQ_E_CLOSED, flushes. Twice is fine. */
  close(): Promise<void>;
  /** No new leases; waits for the open ones (default: for ever); flushes; makes a checkpoint. */
  shutdown(timeoutMs?: Int): Promise<Outcome>;
  sync(): Promise<Outcome>;
  checkpoint(): Promise<Outcome>;
  /** With noThreads: a piece of maintenance; how long nothing will be due, -1: nothing is. */
  tick(): Promise<number>;
  waitDurable(lsn: Int, options?: CallOptions & { timeoutMs?: Int }): Promise<Outcome>;
  stats(): Promise<StoreStats>;
  recovery(): Promise<Recovery>;
  /** The encryption keys that the store has and needs, by id. Reads all that is stored. */
  encryptionKeys(): Promise<KeyUse[]>;
  queues(): Promise<string[]>;
  /** All figures in the text format of Prometheus. */
  metrics(): Promise<string>;
  verify(): Promise<VerifyReport>;
  backup(directory: string, options?: SignalOptions): Promise<BackupReport>;
  /** A handle on a queue, declared with this configuration if it is not there. */
  queue(name: string | Uint8Array, config?: QueueConfig & { create?: boolean }): Promise<Queue>;
  lease(queues: Queue[], options?: LeaseOptions): Promise<Jobs>;
  jobs(queues: Queue[], options?: ConsumeOptions): AsyncGenerator<Job>;
  /** All operations in one change, or none. An error has `failed`. */
  transact(operations: Operation[], options?: CallOptions): Promise<Transacted>;
  pollEvents(cursor?: EventCursor, options?: SignalOptions & { max?: number; waitMs?: Int }):
    Promise<{ outcome: Outcome; events: StoreEvent[]; dropped: number; cursor: EventCursor }>;
  /** Changes as they happen; needs eventsMax. */
  events(options?: SignalOptions & { fromNow?: boolean }): AsyncGenerator<StoreEvent>;
}

export interface Store { [Symbol.asyncDispose](): Promise<void> }
export interface Queue { [Symbol.asyncDispose](): Promise<void> }

/** The same as Store.open. */
export declare function open(path: string, options?: StoreOptions): Promise<Store>;
/** Check the backup in a directory. */
export declare function verifyBackup(directory: string, options?: SignalOptions):
  Promise<BackupReport>;
/** Make the store `path` from the backup in a directory. */
export declare function restore(directory: string, path: string, options?: SignalOptions):
  Promise<BackupReport>;
/** When an expression is due; WQ_E_INVALID tells what is wrong with it. */
export declare function cronNext(expression: string,
  options?: { zone?: string; from?: Time; count?: number }): Promise<Date[]>;
