'use strict';
// queue_parts.js: what hangs on a queue: its dead letters, its keys, its history.
const { request, ops, promised } = require('./request');
const { structReader, enumNumber, layouts } = require('./layout');
const encode = require('./encode');
const { readBatch } = require('./job');

const readReport = structReader('wq_dead_report');
const readDone = structReader('wq_done_job');
const PAGE = 100;

/** The dead letters of a queue. An entry is a job with the generation that it died with. */
class Dead {
  #queue;

  constructor(queue) { this.#queue = queue; }

  /** One page: { outcome, jobs, cursor }; hand the cursor back for the next, 0n is the end. */
  list(query = {}) {
    return promised(() => {
      request.begin(ops.dead_list);
      request.arg(0, encode.writeDeadQuery(request, query));
      return this.#queue.send((reply) => {
        if (reply.code !== 0) return { outcome: reply.outcome, jobs: [], cursor: 0n };
        return { outcome: reply.outcome, jobs: readBatch(reply, this.#queue),
          cursor: reply.big(reply.length - 8) };
      });
    });
  }

  /** All dead letters that the query wants, page by page. */
  async* entries(query = {}) {
    let { cursor = 0n } = query;
    do {
      const page = await this.list({ ...query, cursor });
      yield* page.jobs;
      cursor = page.cursor;
    } while (cursor !== 0n);
  }

  #entry(op, entry, options = {}, decode) {
    return promised(() => {
      request.begin(ops[op], options.durability);
      request.u64(0, entry.id, 'id').u64(1, entry.generation, 'generation');
      return this.#queue.send(decode);
    });
  }

  /** One dead letter as a Job; undefined if that entry is no more. */
  get(entry) {
    return this.#entry('dead_get', entry, {}, (reply) => readBatch(reply, this.#queue)[0]);
  }

  /** Make it ready again with attempts from 0. 'stale': that entry is no more. */
  replay(entry, options) { return this.#entry('dead_replay', entry, options); }

  /** Remove it for ever. */
  remove(entry, options) { return this.#entry('dead_remove', entry, options); }

  #many(op, filter) {
    return promised(() => {
      request.begin(ops[op], filter.durability);
      request.arg(0, encode.writeDeadFilter(request, filter));
      return this.#queue.send((reply, error) => {
        const report = { outcome: reply.outcome, ...readReport(reply, reply.base) };
        if (error) throw Object.assign(error, { report });
        return report;
      }, filter.signal, true);
    });
  }

  /**
   * Replay all that the filter wants (reason, fromMs, untilMs, errorPart, entries or all: true):
   * { outcome, changed, examined, elapsedMs }. An error has these in `report`.
   */
  replayMany(filter) { return this.#many('dead_replay_many', filter); }

  /** Remove all that the filter wants. */
  removeMany(filter) { return this.#many('dead_remove_many', filter); }

  /** Remove all of them: how many there were. */
  purge(options = {}) {
    return promised(() => {
      request.begin(ops.dead_purge, options.durability);
      return this.#queue.send((reply) => reply.u64(0));
    });
  }
}

/** The keys of a queue. A kind is 'unique', 'debounce' or 'idempotency'. */
class Keys {
  #queue;

  constructor(queue) { this.#queue = queue; }

  #call(op, kind, key, options = {}, decode) {
    return promised(() => {
      request.begin(ops[op], options.durability);
      request.arg(0, enumNumber('keyKind', kind, 'kind')).bytes(1, key, 'key');
      return this.#queue.send(decode);
    });
  }

  /** The id of the job that holds the key. WQ_E_NOT_FOUND if nobody does. */
  holder(kind, key) {
    return this.#call('key_holder', kind, key, {}, (reply) => reply.big(0));
  }

  /** Cancel the job that holds the key: { outcome, id }. */
  cancel(kind, key, options) {
    return this.#call('key_cancel', kind, key, options,
      (reply) => ({ outcome: reply.outcome, id: reply.big(0) }));
  }

  /** Give up the unique key of a leased job before its scope ends. */
  release(job, options = {}) {
    return promised(() => {
      request.begin(ops.key_release, options.durability);
      request.u64(0, job.id, 'id').u64(1, job.generation, 'generation');
      return this.#queue.send();
    });
  }
}

/** The acked jobs of a queue that keeps them (keepDoneCount, keepDoneAgeMs). */
class History {
  #queue;

  constructor(queue) { this.#queue = queue; }

  /** One acked job, with its `result`. WQ_E_NOT_FOUND if it is not kept. */
  get(id) {
    return promised(() => {
      request.begin(ops.history_get).u64(0, id, 'id');
      return this.#queue.send((reply) => readDone(reply, reply.base));
    });
  }

  /** One page, newest first: { jobs, cursor }; 0n is the end. */
  list({ cursor = 0n, limit = PAGE } = {}) {
    return promised(() => {
      request.begin(ops.history_list).u64(0, cursor, 'cursor').u64(1, limit, 'limit');
      return this.#queue.send((reply) => {
        const jobs = [];
        for (let i = 0; i < reply.u64(8); i++) {
          jobs.push(readDone(reply, reply.base + 16 + i * layouts.wq_done_job.size));
        }
        return { jobs, cursor: reply.big(0) };
      });
    });
  }

  /** All of them, page by page. */
  async* entries({ limit = PAGE } = {}) {
    let cursor = 0n;
    do {
      const page = await this.list({ cursor, limit });
      yield* page.jobs;
      cursor = page.cursor;
    } while (cursor !== 0n);
  }
}

module.exports = { Dead, Keys, History };
