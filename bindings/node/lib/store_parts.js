'use strict';
// store_parts.js: what hangs on a store: key-value rows, locks, flows, schedules.
const { request, ops, call, promised } = require('./request');
const {
  structReader, flagNames, fieldWriters, flagWriter, enumName, layouts, constants, get64, offsetOf,
  set64, u32,
} = require('./layout');
const encode = require('./encode');
const { nameText } = require('./names');

const readRow = structReader('wq_kv_row');
const readFlow = structReader('wq_flow_status');
const readCron = structReader('wq_cron');
const PAGE = 100;

/** Small values under keys, in the same log as the jobs. Keys and values are bytes. */
class Kv {
  #store;

  constructor(store) { this.#store = store; }

  /** The row { key, value, version, expiresMs }, or undefined. */
  get(key) {
    return promised(() => {
      request.begin(ops.kv_get).bytes(0, key, 'key');
      return this.#store.send((reply) => (reply.code === 0 ? readRow(reply, reply.base + 16)
        : undefined));
    });
  }

  /** Write a row, { ttlMs, ifAbsent, ifVersion, ifValue }: { outcome, version }. */
  put(key, value, options = {}) {
    return promised(() => {
      request.begin(ops.kv_put, options.durability).bytes(0, key, 'key').bytes(2, value, 'value');
      request.arg(4, encode.writeKvOptions(request, options));
      return this.#store.send((reply) => ({ outcome: reply.outcome, version: reply.big(0) }));
    });
  }

  /** Add to a counter, a whole number of 64 bits: { outcome, sum }, sum a BigInt. */
  add(key, delta, options = {}) {
    return promised(() => {
      request.begin(ops.kv_add, options.durability).bytes(0, key, 'key').i64(2, delta, 'delta');
      request.arg(4, encode.writeKvOptions(request, options));
      return this.#store.send((reply) => ({ outcome: reply.outcome,
        sum: BigInt.asIntN(64, reply.big(0)) }));
    });
  }

  /** Remove a row: 'ok', 'empty' if there is none, 'conflict' if the condition does not hold. */
  erase(key, options = {}) {
    return promised(() => {
      request.begin(ops.kv_erase, options.durability).bytes(0, key, 'key');
      request.arg(4, encode.writeKvOptions(request, options));
      return this.#store.send();
    });
  }

  /** One page in the order of keys, { prefix, after, limit }: { outcome, rows, more }. */
  list(query = {}) {
    return promised(() => {
      request.begin(ops.kv_list);
      request.arg(0, encode.writeKvQuery(request, query));
      return this.#store.send((reply) => {
        const rows = [];
        for (let i = 0; reply.code === 0 && i < reply.u64(8); i++) {
          rows.push(readRow(reply, reply.base + 16 + i * layouts.wq_kv_row.size));
        }
        return { outcome: reply.outcome, rows, more: reply.u64(0) === 1 };
      });
    });
  }

  /** All rows with this prefix, page by page. */
  async* entries({ prefix = '', limit = PAGE } = {}) {
    let after = '';
    for (let more = true; more;) {
      const page = await this.list({ prefix, limit, after });
      yield* page.rows;
      more = page.more;
      if (more) after = page.rows[page.rows.length - 1].key;
    }
  }
}

/** Locks: rows with an owner and an end. Default durability: process. */
class Locks {
  #store;

  constructor(store) { this.#store = store; }

  #call(op, key, owner, ttlMs, options = {}) {
    return promised(() => {
      request.begin(ops[op], options.durability).bytes(0, key, 'key').bytes(2, owner, 'owner');
      return request.i64(4, ttlMs, 'ttlMs') && this.#store.send();
    });
  }

  /** Take it for ttlMs (0: until it is released): 'ok', or 'conflict' if another owner has it. */
  take(key, owner, ttlMs, options) { return this.#call('lock_take', key, owner, ttlMs, options); }

  /** Keep it for ttlMs from now on: 'ok', or 'stale' if this owner does not have it. */
  extend(key, owner, ttlMs, options) {
    return this.#call('lock_extend', key, owner, ttlMs, options);
  }

  /** Give it up: 'ok', or 'stale'. */
  release(key, owner, options) { return this.#call('lock_release', key, owner, 0, options); }
}

function decodeFlow(reply, at) {
  const { flags, ...status } = readFlow(reply, at);
  return { ...status, flags: flagNames('flowFlags', flags) };
}

/** Flows: jobs that are counted together, and a job at their end. A flow is a BigInt. */
class Flows {
  #store;

  constructor(store) { this.#store = store; }

  /** { allowFailures, onComplete, onFailure }, jobs { queue, payload, ... }: { outcome, flow }. */
  create({ allowFailures, onComplete, onFailure, durability } = {}) {
    return promised(() => {
      request.begin(ops.flow_create, durability);
      const at = request.structs('wq_flow_options');
      flagWriter('wq_flow_options', constants.WQ_FLOW_ALLOW_FAILURES)(request, at, allowFailures);
      for (const [field, job] of [['on_complete', onComplete], ['on_failure', onFailure]]) {
        if (job === undefined) continue;
        const next = request.structs('wq_next_job');
        encode.writeNextJob(request, next, job, field);
        set64(request.view, at + offsetOf('wq_flow_options', field), next);
      }
      request.arg(0, at);
      return this.#store.send((reply) => ({ outcome: reply.outcome, flow: reply.big(0) }));
    });
  }

  #call(op, flow, options = {}, decode) {
    return promised(() => {
      request.begin(ops[op], options.durability).u64(0, flow, 'flow');
      return this.#store.send(decode);
    });
  }

  /** No more jobs come from outside: it ends when nothing is pending. */
  seal(flow, options) { return this.#call('flow_seal', flow, options); }

  /** Cancel it: members that did not start end. 'conflict': it is finished. */
  cancel(flow, options) { return this.#call('flow_cancel', flow, options); }

  /** Its counts; `flags` is a list of 'sealed', 'cancelled', 'finished'. */
  status(flow) {
    return this.#call('flow_status', flow, {}, (reply) => decodeFlow(reply, reply.base));
  }

  /** One page, newest first: { flows, cursor }; 0n is the end. */
  list({ cursor = 0n, limit = PAGE } = {}) {
    return promised(() => {
      request.begin(ops.flow_list).u64(0, cursor, 'cursor').u64(1, limit, 'limit');
      return this.#store.send((reply) => {
        const flows = [];
        for (let i = 0; i < reply.u64(8); i++) {
          flows.push(decodeFlow(reply, reply.base + 16 + i * layouts.wq_flow_status.size));
        }
        return { flows, cursor: reply.big(0) };
      });
    });
  }
}

const cronWriters = fieldWriters('wq_cron_spec');
const CRON_BYTES = layouts.wq_cron.size;

function decodeCron(reply, at) {
  // Packing is told by an export only.
  const { flags, headersCount, backoffCount, packing, plainBytes, ...cron } = readCron(reply, at);
  const listAt = get64(reply.view, at + offsetOf('wq_cron', 'backoff_list_ms'));
  const headersAt = get64(reply.view, at + offsetOf('wq_cron', 'headers'));
  cron.paused = Boolean(flags & constants.WQ_CRON_PAUSED);
  cron.sealed = Boolean(flags & constants.WQ_JOB_ENCRYPT);
  cron.backoffKind = cron.backoffKind || enumName('backoffKind', 0);
  cron.backoffListMs = [];
  for (let i = 0; i < backoffCount; i++) cron.backoffListMs.push(reply.u64(listAt + i * 8));
  cron.headers = [];
  const text = (one) => reply.bytes(reply.u64(one), reply.u64(one + 8));
  for (let i = 0; i < headersCount; i++) {
    const one = headersAt + i * layouts.wq_header.size;
    cron.headers.push([nameText(text(one)), text(one + 16)]);
  }
  for (const name of ['zone', 'expression', 'problem']) cron[name] = cron[name].toString();
  return cron;
}

function decodeCrons(reply) {
  const crons = [];
  for (let i = 0; i < reply.u64(0); i++) {
    crons.push(decodeCron(reply, reply.base + 8 + i * CRON_BYTES));
  }
  return crons;
}

const cronKeys = new Set(['zone', 'catchUp', 'durability']);

/** Schedules: jobs that the clock enqueues. Names are of the whole store. */
class Crons {
  #store;

  constructor(store) { this.#store = store; }

  /** Make or replace a schedule: put('report', queue, '0 3 * * *', { payload, zone, catchUp }). */
  put(name, queue, expression, options = {}) {
    return promised(() => {
      request.begin(ops.cron_put, options.durability).bytes(0, name, 'name');
      const at = request.structs('wq_cron_spec');
      cronWriters.expression(request, at, expression);
      if (options.zone !== undefined) cronWriters.zone(request, at, options.zone);
      if (options.catchUp !== undefined) {
        cronWriters.catchUp(request, at, options.catchUp);
        flagWriter('wq_cron_spec', constants.WQ_CRON_CATCH_UP)(request, at, true);
      }
      const job = request.structs('wq_job_spec');
      encode.writeSpec(request, job, options, cronKeys);
      set64(request.view, at + offsetOf('wq_cron_spec', 'job'), job);
      request.arg(2, at);
      return queue.send();
    });
  }

  #call(op, name, options = {}, decode) {
    return promised(() => {
      request.begin(ops[op], options.durability).bytes(0, name, 'name');
      return this.#store.send(decode);
    });
  }

  remove(name, options) { return this.#call('cron_remove', name, options); }
  pause(name, options) { return this.#call('cron_pause', name, options); }
  resume(name, options) { return this.#call('cron_resume', name, options); }
  get(name) { return this.#call('cron_get', name, {}, (reply) => decodeCrons(reply)[0]); }

  /** Up to `limit` schedules behind the name `after`; of one queue if it is given. */
  list({ queue, after = '', limit = PAGE } = {}) {
    return promised(() => {
      request.begin(ops.cron_list).bytes(0, after, 'after').u64(2, limit, 'limit');
      return queue ? queue.send(decodeCrons) : this.#store.send(decodeCrons);
    });
  }
}

/** When an expression is due, as Dates: cronNext('0 3 * * *', { zone, from, count }). */
function cronNext(expression, { zone = '', from = Date.now(), count = 1 } = {}) {
  return promised(() => {
    request.begin(ops.cron_next).bytes(0, expression, 'expression').bytes(2, zone, 'zone');
    request.i64(4, from, 'from').arg(5, u32(count, 'count'));
    return call(undefined, undefined, (reply) => {
      const times = [];
      for (let i = 0; i < reply.u64(0); i++) {
        times.push(new Date(Number(reply.view.getBigInt64(reply.base + 8 + i * 8, true))));
      }
      return times;
    });
  });
}

module.exports = { Kv, Locks, Flows, Crons, cronNext };
