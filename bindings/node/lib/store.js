'use strict';
// store.js: an open store. One process has one at a time; a worker thread that needs it opens a
// directory of its own, or sends messages. Each method is one call of wq.h.
const { request, ops, call, promised, calls } = require('./request');
const { structReader, enumNumber, enumName, i64, layouts, constants } = require('./layout');
const { WqError, codes } = require('./errors');
const encode = require('./encode');
const { Queue, jobsWithOutcome, FOREVER_MS } = require('./queue');
const { Kv, Locks, Flows, Crons } = require('./store_parts');
const { transact } = require('./transact');

const readers = {
  stats: structReader('wq_store_stats'),
  recovery: structReader('wq_recovery'),
  verify: structReader('wq_verify_report'),
  backup: structReader('wq_backup_report'),
  event: structReader('wq_store_event'),
  cursor: structReader('wq_event_cursor'),
  keyUse: structReader('wq_key_use'),
};
const EVENT_BYTES = layouts.wq_store_event.size;
const CURSOR = layouts.wq_event_cursor.fields;
const EVENTS_AT_ONCE = 256;
const closedErrors = new Set([codes.WQ_E_CLOSED, codes.WQ_E_NOT_FOUND]);

const decodeText = (reply) => reply.bytes(8, reply.u64(0)).toString();

function decodeNames(reply) {
  const names = [];
  let at = 8;
  for (let i = 0; i < reply.u64(0); i++) {
    const length = reply.u64(at);
    names.push(reply.bytes(at + 8, length).toString());
    at += 8 + Math.ceil(length / 8) * 8;
  }
  return names;
}

function decodeBackup(reply) {
  return { outcome: reply.outcome, ...readers.backup(reply, reply.base) };
}

function decodeEvents(reply) {
  const events = [];
  const count = reply.u64(8);
  for (let i = 0; i < count; i++) {
    const { queueNameLen, ...event } = readers.event(reply, reply.base + 16 + i * EVENT_BYTES);
    events.push({ ...event, kind: enumName('eventKind', event.kind) });
  }
  const { epoch, sequence, dropped } = readers.cursor(reply, reply.base + 16 +
    count * EVENT_BYTES);
  return { outcome: reply.outcome, events, dropped, cursor: { epoch, sequence } };
}

/** An open store. Made by Store.open. */
class Store {
  #closing = null;

  constructor(native, path) {
    /** The native handle; for the files of this package. */
    Object.defineProperty(this, 'native', { value: native });
    this.path = path;
    this.kv = new Kv(this);
    this.locks = new Locks(this);
    this.flows = new Flows(this);
    this.cron = new Crons(this);
  }

  /** Open the store in a directory, making it if it is not there. */
  static open(path, options = {}) {
    return promised(() => {
      request.begin(ops.store_open).path(0, path, 'path');
      try {
        request.arg(2, encode.writeStoreOptions(request, options));
        const native = calls.newStore();
        return call(native, undefined, () => new Store(native, path));
      } finally {
        request.buffer.fill(0, 0, request.end); // keys may be in it; it has been copied
      }
    });
  }

  /** Whether close() was called. */
  get closed() { return this.#closing !== null; }

  /**
   * Close the store. What was asked for before is done first, waits end with WQ_E_CLOSED.
   * What could not be flushed is lost without a word: sync() before tells. Twice is fine.
   */
  close() {
    if (!this.#closing) {
      request.begin(ops.store_close);
      this.#closing = call(this.native, undefined, () => undefined);
    }
    return this.#closing;
  }

  /** Send what was written into the request. */
  send(decode, signal, takesErrors) {
    return call(this.native, undefined, decode, signal, takesErrors);
  }

  #simple(op, decode) {
    return promised(() => {
      request.begin(ops[op]);
      return this.send(decode);
    });
  }

  /** No new leases; wait up to timeoutMs for the open ones; flush; checkpoint: 'ok', 'timeout'. */
  shutdown(timeoutMs = FOREVER_MS) {
    return promised(() => {
      request.begin(ops.shutdown).i64(0, timeoutMs, 'timeoutMs');
      return this.send();
    });
  }

  sync() { return this.#simple('sync'); }
  checkpoint() { return this.#simple('checkpoint'); }
  stats() { return this.#simple('store_stats', (r) => readers.stats(r, r.base)); }
  queues() { return this.#simple('queues', decodeNames); }
  metrics() { return this.#simple('metrics', decodeText); }
  verify() { return this.#simple('verify', (r) => readers.verify(r, r.base)); }

  /** The encryption keys that the store has and needs: { id, payloads, known, current } each. */
  encryptionKeys() {
    return this.#simple('store_keys', (reply) => {
      const uses = [];
      for (let i = 0; i < reply.u64(0); i++) {
        const { flags, ...use } = readers.keyUse(reply, reply.base + 8 +
          i * layouts.wq_key_use.size);
        uses.push({ ...use, known: Boolean(flags & constants.WQ_KEY_KNOWN),
          current: Boolean(flags & constants.WQ_KEY_CURRENT) });
      }
      return uses;
    });
  }

  recovery() {
    return this.#simple('recovery', (reply) => {
      const recovery = readers.recovery(reply, reply.base);
      return { ...recovery, clean: Boolean(recovery.clean) };
    });
  }

  /** With { noThreads: true }: a piece of maintenance; how long nothing will be due, in ms. */
  tick() { return this.#simple('tick', (reply) => Number(BigInt.asIntN(64, reply.big(0)))); }

  /** Wait until the change with this LSN has reached a level: 'ok', or 'timeout'. */
  waitDurable(lsn, { durability = 'power', timeoutMs = FOREVER_MS } = {}) {
    return promised(() => {
      const timeout = i64(timeoutMs, 'timeoutMs');
      request.begin(ops.wait_durable).u64(0, lsn, 'lsn');
      request.arg(1, enumNumber('durability', durability, 'durability'));
      request.arg(2, timeout).arg(5, timeout === 0 ? 0 : 1);
      return this.send();
    });
  }

  /** Copy the open store into a directory. */
  backup(directory, { signal } = {}) {
    return promised(() => {
      request.begin(ops.backup).path(0, directory, 'directory');
      return this.send(decodeBackup, signal);
    });
  }

  /** A handle on a queue, which is declared with this configuration if it is not there. */
  queue(name, config = {}) {
    return promised(() => {
      const { create = true, ...rest } = config;
      request.begin(ops.queue_open).bytes(0, name, 'name');
      request.arg(2, encode.writeConfig(request, rest, new Set()));
      request.arg(3, create ? 0 : constants.WQ_QUEUE_NO_CREATE);
      const handle = calls.newQueue(this.native);
      const text = typeof name === 'string' ? name : Buffer.from(name).toString();
      return call(this.native, handle, () => new Queue(this, text, handle));
    });
  }

  /**
   * Take up to maxJobs jobs from the queues, in this order: an array with an `outcome`. It waits
   * up to waitMs for the first job (-1: for ever); a wait has a thread of its own, and ends when
   * the signal is aborted.
   */
  lease(queues, options = {}) {
    return promised(() => {
      if (!Array.isArray(queues)) throw new TypeError('queues: an array is wanted');
      const waits = i64(options.waitMs === undefined ? 0 : options.waitMs, 'waitMs') !== 0;
      const taken = [...queues];
      const handles = taken.map(Queue.handleOf);
      request.begin(ops.lease, options.durability);
      request.arg(0, encode.writeLeaseOptions(request, options)).arg(5, waits ? 1 : 0);
      return call(this.native, handles, (reply) => jobsWithOutcome(reply, taken), options.signal);
    });
  }

  /** As Queue.jobs, of several queues. `maxJobs` of them are leased at a time. */
  async* jobs(queues, { maxJobs = 1, leaseMs, durability, signal } = {}) {
    while (!(signal && signal.aborted)) {
      let batch;
      try {
        batch = await this.lease(queues, { maxJobs, waitMs: FOREVER_MS, leaseMs, durability,
          signal });
      } catch (error) {
        const ended = (error instanceof WqError && closedErrors.has(error.number)) ||
          (signal && signal.aborted);
        if (ended) return;
        throw error;
      }
      let next = 0;
      try {
        while (next < batch.length && !(signal && signal.aborted)) yield batch[next++];
      } finally {
        // The last that was handed out is the caller's; the others were not begun.
        await giveBack(batch.slice(next));
      }
    }
  }

  /** All of the operations in one change, or none; see transact.js. */
  transact(operations, options = {}) {
    return transact(this, operations, options, Queue.handleOf);
  }

  /** Events behind the cursor: { outcome, events, dropped, cursor }. Needs eventsMax at open. */
  pollEvents(cursor = {}, { max = EVENTS_AT_ONCE, waitMs = 0, signal } = {}) {
    return promised(() => {
      const wait = i64(waitMs, 'waitMs');
      request.begin(ops.events_poll);
      const at = request.structs('wq_event_cursor');
      const { epoch = 0n, sequence = 0, fromNow = false } = cursor;
      request.view.setUint32(at + CURSOR.flags.offset,
        fromNow ? constants.WQ_EVENTS_FROM_NOW : 0, true);
      request.view.setBigUint64(at + CURSOR.epoch.offset, BigInt(epoch), true);
      request.view.setBigUint64(at + CURSOR.sequence.offset, BigInt(sequence), true);
      request.arg(0, at).u64(1, max, 'max').arg(2, wait).arg(5, wait === 0 ? 0 : 1);
      return this.send(decodeEvents, signal);
    });
  }

  /** All changes as they happen, { fromNow, signal }. Ends with the signal or the store. */
  async* events({ fromNow = false, signal } = {}) {
    let cursor = { fromNow };
    for (;;) {
      let page;
      try {
        page = await this.pollEvents(cursor, { waitMs: FOREVER_MS, signal });
      } catch (error) {
        if (error.number === codes.WQ_E_CLOSED || (signal && signal.aborted)) return;
        throw error;
      }
      cursor = page.cursor;
      yield* page.events;
      if (signal && signal.aborted) return;
    }
  }
}

if (Symbol.asyncDispose) {
  Store.prototype[Symbol.asyncDispose] = function dispose() { return this.close(); };
  Queue.prototype[Symbol.asyncDispose] = function dispose() { return this.close(); };
}

/** Release jobs that were leased and not begun; a store that is closed keeps their leases. */
async function giveBack(jobs) {
  for (const job of jobs.reverse()) {
    try {
      await job.release({ front: true });
    } catch (error) {
      if (!(error instanceof WqError)) throw error;
    }
  }
}

/** Check the backup in a directory. */
function verifyBackup(directory, { signal } = {}) {
  return promised(() => {
    request.begin(ops.backup_verify).path(0, directory, 'directory');
    return call(undefined, undefined, decodeBackup, signal);
  });
}

/** Make the store `path` from the backup in a directory. */
function restore(directory, path, { signal } = {}) {
  return promised(() => {
    request.begin(ops.backup_restore).path(0, directory, 'directory').path(2, path, 'path');
    return call(undefined, undefined, decodeBackup, signal);
  });
}

module.exports = { Store, verifyBackup, restore };
