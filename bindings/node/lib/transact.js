'use strict';
// transact.js: several operations in one change. An operation is an object with a `kind`:
//   { kind: 'enqueue', queue, payload, ... }         as Queue.enqueue
//   { kind: 'ack' | 'nack' | 'fail' | 'release', job, ... }   as Queue.settleMany
//   { kind: 'kvPut', key, value, ttlMs, ifAbsent, ifVersion, ifValue }
//   { kind: 'kvAdd', key, delta, ... }
//   { kind: 'kvErase', key, ... }   { kind: 'kvCheck', key, ... }
const { request, ops, call, promised } = require('./request');
const { codeText, invalid } = require('./errors');
const { offsetOf, set64, i64, layouts, constants } = require('./layout');
const encode = require('./encode');

const C = constants;
const OP_BYTES = layouts.wq_txn_op.size;
const RESULT_BYTES = layouts.wq_txn_result.size;
const RESULT = layouts.wq_txn_result.fields;
const at = (field) => offsetOf('wq_txn_op', field);

const jobKeys = new Set(['kind', 'queue']);
const settleKeys = new Set(['kind', 'job', 'id', 'generation', 'queue']);
const rowKeys = new Set(['kind', 'key', 'value', 'delta']);

/** The handles of the queues of a transaction, each once. */
class Queues {
  constructor(handleOf) {
    this.handleOf = handleOf;
    this.list = [];
    this.index = new Map();
  }

  /** What stands for the queue in an operation: its index + 1. */
  add(queue) {
    let index = this.index.get(queue);
    if (index === undefined) {
      index = this.list.push(this.handleOf(queue));
      this.index.set(queue, index);
    }
    return index;
  }
}

function writeEnqueue(where, op, queues) {
  set64(request.view, where + at('queue'), queues.add(op.queue));
  const spec = request.structs('wq_job_spec');
  encode.writeSpec(request, spec, op, jobKeys);
  set64(request.view, where + at('spec'), spec);
  return C.WQ_TXN_ENQUEUE;
}

function writeSettle(where, op, queues) {
  const queue = op.queue || (op.job && op.job.queue);
  set64(request.view, where + at('queue'), queues.add(queue));
  const item = request.structs('wq_settle_item');
  encode.writeSettleItem(request, item, op, settleKeys);
  set64(request.view, where + at('settle'), item);
  return C.WQ_TXN_SETTLE;
}

const rowWriter = (kind, extra) => (where, op) => {
  request.bytesField(where + at('key'), op.key, 'key');
  if (extra) extra(where, op);
  const options = encode.writeKvOptions(request, op, rowKeys);
  set64(request.view, where + at('options'), options);
  return kind;
};

const writers = {
  enqueue: writeEnqueue,
  ack: writeSettle,
  nack: writeSettle,
  fail: writeSettle,
  release: writeSettle,
  kvPut: rowWriter(C.WQ_TXN_KV_PUT,
    (where, op) => request.bytesField(where + at('value'), op.value, 'value')),
  kvAdd: rowWriter(C.WQ_TXN_KV_ADD,
    (where, op) => set64(request.view, where + at('delta'), i64(op.delta, 'delta'))),
  kvErase: rowWriter(C.WQ_TXN_KV_ERASE),
  kvCheck: rowWriter(C.WQ_TXN_KV_CHECK),
};

function decode(reply, error, kinds) {
  const result = { outcome: reply.outcome, lsn: reply.lsn, failed: undefined, results: [] };
  if (reply.length) {
    const failed = reply.u64(0);
    if (failed < kinds.length) result.failed = failed;
    for (let i = 0; i < kinds.length && reply.length > 8; i++) {
      const start = 8 + i * RESULT_BYTES;
      const one = { outcome: codeText(reply.i32(start + RESULT.code.offset)) };
      if (kinds[i] === 'enqueue') one.id = reply.big(start + RESULT.job_id.offset);
      if (kinds[i] === 'kvAdd') {
        one.sum = BigInt.asIntN(64, reply.big(start + RESULT.sum.offset));
      }
      result.results.push(one);
    }
  }
  if (error) throw Object.assign(error, { failed: result.failed });
  return result;
}

/** All operations or none: { outcome, lsn, failed, results }. An error has `failed`, too. */
function transact(store, operations, options, handleOf) {
  return promised(() => {
    if (!Array.isArray(operations)) throw new TypeError('operations: an array is wanted');
    request.begin(ops.transact, options.durability);
    const first = request.structs('wq_txn_op', operations.length);
    const queues = new Queues(handleOf);
    const kinds = operations.map((op, i) => {
      const write = op && Object.hasOwn(writers, op.kind) ? writers[op.kind] : null;
      if (!write) throw invalid(`kind: '${op && op.kind}' is no kind of operation`);
      const kind = write(first + i * OP_BYTES, op, queues);
      request.view.setUint32(first + i * OP_BYTES + at('kind'), kind, true);
      return op.kind;
    });
    request.arg(0, first).arg(1, operations.length);
    return call(store.native, queues.list, (reply, error) => decode(reply, error, kinds), undefined,
      true);
  });
}

module.exports = { transact };
