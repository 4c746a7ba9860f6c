'use strict';
// queue.js: one queue of an open store. Each method is one call of wq.h, where it is described in
// full; all return promises.
const { request, ops, call, promised } = require('./request');
const { invalid, codeText, codes } = require('./errors');
const {
  structReader, enumName, toNumber, layouts, constants, u32,
} = require('./layout');
const encode = require('./encode');
const { readBatch, jobsWithOutcome } = require('./job');
const { Dead, Keys, History } = require('./queue_parts');
const { errorText } = require('./text');

const readConfig = structReader('wq_queue_config');
const readStats = structReader('wq_queue_stats');
const readExplanation = structReader('wq_queue_explanation');
const readJobExplanation = structReader('wq_job_explanation');
const readError = structReader('wq_queue_error');
const readEnqueued = structReader('wq_enqueued');
const EXPLANATION_BYTES = layouts.wq_queue_explanation.size;
const JOB_EXPLANATION_BYTES = layouts.wq_job_explanation.size;
const LIST_AT = layouts.wq_queue_config.fields.backoff_list_ms.offset;
const TEXT_AT = layouts.wq_queue_error.fields.text.offset;
const FOREVER_MS = -1;

const firstU64 = (reply) => reply.u64(0);

function decodeConfig(reply) {
  const { fields, flags, backoffCount, ...config } = readConfig(reply, reply.base);
  config.backoffListMs = [];
  for (let i = 0; i < backoffCount; i++) config.backoffListMs.push(reply.u64(LIST_AT + i * 8));
  config.consumersPaused = Boolean(config.consumersPaused);
  config.encrypt = Boolean(config.encrypt);
  return config;
}

function enqueuedAt(reply, at) {
  const { code, jobId, lsn } = readEnqueued(reply, at);
  const result = { outcome: codeText(code), id: jobId, lsn };
  if (code === codes.WQ_DUPLICATE) result.holder = jobId;
  return result;
}

function decodeEnqueued(reply) {
  const result = enqueuedAt(reply, reply.base);
  result.outcome = reply.outcome;
  return result;
}

function decodeEnqueuedMany(reply, error) {
  const result = { outcome: reply.outcome, accepted: 0, lsn: reply.lsn, jobs: [] };
  const { size } = layouts.wq_enqueued;
  if (reply.length >= 8) {
    result.accepted = reply.u64(0);
    for (let at = 8; at < reply.length; at += size) {
      result.jobs.push(enqueuedAt(reply, reply.base + at));
    }
  }
  if (error) throw Object.assign(error, { accepted: result.accepted, jobs: result.jobs });
  return result;
}

// An error that only tells of items (one of them is not there) has the outcomes of all.
function decodeCodes(reply, error) {
  if (error && reply.length === 0) throw error;
  const outcomes = [];
  const count = reply.length ? reply.u64(0) : 0;
  for (let i = 0; i < count; i++) outcomes.push(codeText(reply.i32(8 + i * 4)));
  return { outcome: reply.outcome, outcomes };
}

/** A handle on one queue. Made by Store.queue. */
class Queue {
  #handle;

  constructor(store, name, handle) {
    /** The Store. */
    Object.defineProperty(this, 'store', { value: store });
    /** The name of the queue. */
    this.name = name;
    this.#handle = handle;
    this.dead = new Dead(this);
    this.keys = new Keys(this);
    this.history = new History(this);
  }

  /** The native handle; for the files of this package. */
  static handleOf(queue) {
    if (!(queue instanceof Queue)) throw new TypeError('a Queue is wanted');
    return queue.#handle;
  }

  /** Send what was written into the request. */
  send(decode, signal, takesErrors) {
    return call(this.store.native, this.#handle, decode, signal, takesErrors);
  }

  #simple(op, options = {}, decode) {
    return promised(() => {
      request.begin(ops[op], options.durability);
      return this.send(decode);
    });
  }

  /** Change the fields that are given, all together. With `version` only if it is still that. */
  configure(config, options = {}) {
    return promised(() => {
      request.begin(ops.configure, options.durability);
      request.arg(0, encode.writeConfig(request, config, new Set()));
      return this.send();
    });
  }

  config() { return this.#simple('get_config', {}, decodeConfig); }
  pause(options) { return this.#simple('pause', options); }
  resume(options) { return this.#simple('resume', options); }
  disable(options) { return this.#simple('disable', options); }
  enable(options) { return this.#simple('enable', options); }
  delete(options) { return this.#simple('queue_delete', options); }
  stats() { return this.#simple('queue_stats', {}, (r) => readStats(r, r.base)); }

  /** Remove all jobs in one of the states (default: ready and delayed): how many there were. */
  clear(options = {}) {
    return promised(() => {
      let mask = 0;
      for (const state of options.states || []) {
        const number = toNumber.state.get(state);
        if (!number) throw invalid(`states: '${state}' is no state`);
        mask |= 1 << number;
      }
      request.begin(ops.clear, options.durability).arg(0, mask);
      return this.send(firstU64);
    });
  }

  /** What holds the queue back: the fields of wq_queue_explanation, and `text` for people. */
  explain() {
    return this.#simple('queue_explain', {}, (reply) => {
      const text = EXPLANATION_BYTES + (8 - EXPLANATION_BYTES % 8) % 8;
      const length = reply.u64(text);
      return { ...readExplanation(reply, reply.base),
        text: reply.bytes(text + 8, length).toString() };
    });
  }

  /** The last failed attempts, newest first. */
  errors() {
    return this.#simple('queue_errors', {}, (reply) => {
      const list = [];
      for (let i = 0; i < reply.u64(0); i++) {
        const at = reply.base + 8 + i * layouts.wq_queue_error.size;
        const { textLen, ...error } = readError(reply, at);
        // It may have a NUL in it.
        const text = reply.bytes(at - reply.base + TEXT_AT, textLen).toString();
        list.push({ ...error, text, kind: enumName('eventKind', error.kind) });
      }
      return list;
    });
  }

  /** Close this handle. Waits on it end with WQ_E_CLOSED; the queue itself is untouched. */
  close() {
    if (this.store.closed) return Promise.resolve();
    return promised(() => {
      request.begin(ops.queue_close);
      return this.send(() => undefined, undefined, true); // it fails only if it is closed
    });
  }

  // ---- produce ----

  /** Enqueue one job: { outcome, id, lsn }, and `holder` if the outcome is 'duplicate'. */
  enqueue(payload, options = {}) {
    return promised(() => {
      request.begin(ops.enqueue, options.durability);
      const at = request.structs('wq_job_spec');
      request.arg(0, at);
      if (payload === undefined || 'payload' in options) {
        throw new TypeError('payload: it is the first argument');
      }
      encode.writeSpec(request, at, { payload });
      encode.writeSpec(request, at, options);
      return this.send(decodeEnqueued, options.signal);
    });
  }

  /** Enqueue jobs, { payload, ...options } each, in one change: { outcome, accepted, jobs }. */
  enqueueMany(jobs, options = {}) {
    return promised(() => {
      if (!Array.isArray(jobs)) throw new TypeError('jobs: an array is wanted');
      request.begin(ops.enqueue_many, options.durability);
      const { size } = layouts.wq_job_spec;
      const at = request.structs('wq_job_spec', jobs.length);
      for (let i = 0; i < jobs.length; i++) encode.writeSpec(request, at + i * size, jobs[i]);
      request.arg(0, at).arg(1, jobs.length);
      request.arg(2, options.partial ? constants.WQ_ENQUEUE_PARTIAL : 0);
      return this.send(decodeEnqueuedMany, undefined, true);
    });
  }

  // ---- single jobs ----

  #byId(op, id, options = {}, decode) {
    return promised(() => {
      request.begin(ops[op], options.durability).u64(0, id, 'id');
      return this.send(decode);
    });
  }

  /** Read one job, in whatever state. WQ_E_NOT_FOUND if there is none. */
  get(id) { return this.#byId('job_get', id, {}, (reply) => readBatch(reply, this)[0]); }

  /** Remove a job that is not dead; a worker that has it learns it by 'stale'. */
  cancel(id, options) { return this.#byId('job_cancel', id, options); }

  /** Where a job is and why it does not run: wq_job_explanation, and `text` for people. */
  explainJob(id) {
    return this.#byId('job_explain', id, {}, (reply) => {
      const length = reply.u64(JOB_EXPLANATION_BYTES);
      const explanation = readJobExplanation(reply, reply.base);
      return { ...explanation, aheadExact: Boolean(explanation.aheadExact),
        text: reply.bytes(JOB_EXPLANATION_BYTES + 8, length).toString() };
    });
  }

  /** Give a ready or delayed job another priority. */
  reprioritise(id, priority, options = {}) {
    return promised(() => {
      request.begin(ops.reprioritise, options.durability).u64(0, id, 'id');
      request.arg(1, u32(priority, 'priority'));
      return this.send();
    });
  }

  // ---- consume ----

  /** Lease up to maxJobs jobs, waiting up to waitMs for the first: an array with `outcome`. */
  lease(options) { return this.store.lease([this], options); }

  /**
   * All jobs of the queue as they come, each leased; settle them yourself. Ends when the signal is
   * aborted, or the store or queue is closed or shut down. What was leased and not yet handed out
   * is released when the loop ends.
   */
  jobs(options) { return this.store.jobs([this], options); }

  #byToken(op, job, options, write) {
    return promised(() => {
      const { id, generation } = job;
      request.begin(ops[op], (options || {}).durability);
      request.u64(0, id, 'id').u64(1, generation, 'generation');
      if (write) write();
      return this.send();
    });
  }

  /** Settle: the job is done and goes. `result` is kept in the history, if the queue has one. */
  ack(job, result, options) {
    return this.#byToken('ack', job, options, () => {
      if (result !== undefined && result !== null) request.bytes(2, result, 'result').arg(4, 1);
    });
  }

  /**
   * Settle: the attempt failed. { delayMs, error, priority, front, noException, reason }; `error` is
   * whatever may be thrown.
   */
  nack(job, options = {}) {
    return this.#byToken('nack', job, options, () => {
      request.arg(2, encode.writeNackOptions(request, options));
    });
  }

  /** Settle: give the job back, uncounted. { delayMs, front } */
  release(job, options = {}) {
    return this.#byToken('release', job, options, () => {
      request.i64(2, options.delayMs === undefined ? 0 : options.delayMs, 'delayMs');
      request.arg(3, options.front ? constants.WQ_RELEASE_FRONT : 0);
    });
  }

  /** Settle: the job failed for good and is dead. Takes whatever may be thrown as the error. */
  fail(job, error = '', options = {}) {
    return this.#byToken('fail', job, options, () => {
      request.bytes(2, errorText(error), 'error');
    });
  }

  /** leased -> running: no lease deadline any more, or one runMs from now. */
  confirm(job, options = {}) {
    return this.#byToken('confirm', job, options, () => {
      request.i64(2, options.runMs === undefined ? 0 : options.runMs, 'runMs');
    });
  }

  /** Leave a note with a job that is held. Default durability: process. */
  setProgress(job, note, options) {
    return this.#byToken('progress', job, options, () => request.bytes(2, note, 'note'));
  }

  /** Set the deadline of the lease to leaseMs from now; 0: the lease time of the queue. */
  async extend(job, leaseMs = 0, options = {}) {
    return promised(() => {
      this.#writeExtend([job], leaseMs, options);
      return this.send();
    });
  }

  /** The same of many: { outcome, outcomes }, where an outcome may be 'WQ_E_NOT_FOUND'. */
  extendMany(jobs, leaseMs = 0, options = {}) {
    return promised(() => {
      this.#writeExtend(jobs, leaseMs, options);
      return this.send(decodeCodes, undefined, true);
    });
  }

  #writeExtend(jobs, leaseMs, options) {
    request.begin(ops.extend, options.durability);
    request.arg(0, encode.writeTokens(request, jobs, 'jobs')).arg(1, jobs.length);
    request.i64(2, leaseMs, 'leaseMs');
  }

  /** Settle many in one change, { kind: 'ack', job, ... } each: { outcome, outcomes }. */
  settleMany(items, options = {}) {
    return promised(() => {
      if (!Array.isArray(items)) throw new TypeError('items: an array is wanted');
      request.begin(ops.settle_many, options.durability);
      const { size } = layouts.wq_settle_item;
      const at = request.structs('wq_settle_item', items.length);
      for (let i = 0; i < items.length; i++) {
        encode.writeSettleItem(request, at + i * size, items[i]);
      }
      request.arg(0, at).arg(1, items.length);
      return this.send(decodeCodes, undefined, true);
    });
  }
}

module.exports = { Queue, jobsWithOutcome, FOREVER_MS };
