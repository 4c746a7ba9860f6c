'use strict';
// The pipe below the surface: requests of random bytes are errors at worst, and so are handles of
// the wrong kind. With an addon built by build.js --debug the sanitizer looks on.
const test = require('node:test');
const assert = require('node:assert');
const { long, openStore, random } = require('./helper');
const { addon } = require('../lib/native');
const { request, ops, call, calls } = require('../lib/request');
const { Queue } = require('../lib/queue');

const ROUNDS = long ? 100000 : 3000;
const WORDS_MAX = 190;
// They end the store or the queue, wait for what nobody does, or go to paths.
const SKIPPED = new Set(['store_open', 'store_close', 'queue_close', 'queue_delete', 'disable',
  'shutdown', 'wait_durable', 'backup', 'backup_verify', 'backup_restore']);

function writeRandom(next, op) {
  request.begin(ops[op]);
  const at = request.room(64 + 8 * next(WORDS_MAX));
  for (let word = at; word < request.end; word += 8) {
    const values = [0n, 0n, BigInt(next(2000)), BigInt(next(2000)), BigInt(at + 8 * next(20)),
      BigInt.asUintN(64, BigInt(next(2 ** 31)) * 4294967299n)];
    request.view.setBigUint64(word, values[next(values.length)], true);
  }
  for (let i = 0; i < 5; i++) {
    request.arg(i, [0, at, next(40), next(2 ** 31), at + next(500)][next(5)]);
  }
  // Argument 5 tells a lease and events that they wait.
  if (op !== 'lease' && op !== 'events_poll') request.arg(5, next(50));
}

test(`${ROUNDS} requests of random bytes do no harm`, async (t) => {
  const next = random(t);
  const store = await openStore(t);
  const queue = await store.queue('q');
  const handle = Queue.handleOf(queue);
  const names = Object.keys(ops).filter((name) => !SKIPPED.has(name));
  const counts = {};
  const count = (name) => { counts[name] = (counts[name] || 0) + 1; };
  for (let i = 0; i < ROUNDS; i++) {
    const op = names[next(names.length)];
    writeRandom(next, op);
    const queues = next(4) ? handle : [handle, handle].slice(0, next(3));
    const done = call(store.native, queues, (reply, error) => count(error ? error.code
      : reply.outcome), undefined, true);
    if (i % 50 === 0) await done;
    else done.catch((error) => count(error.name));
  }
  const { status } = await store.stats();
  assert.strictEqual(status, 'open');
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.ok > 0 && counts.WQ_E_INVALID > 0);
  assert.strictEqual((await store.verify()).problems, 0);
});

test('handles and arguments of the wrong kind are TypeErrors', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const handle = Queue.handleOf(queue);
  const { native } = store;
  const { buffer } = request;
  const wrong = [[], [1, 2, 3, 4, 5], [native], [queue, handle, buffer, 64, 0],
    [undefined, native, buffer, 64, 0], [handle, undefined, buffer, 64, 0],
    [native, [native], buffer, 64, 0], [native, handle, buffer, 9, 0],
    [native, handle, buffer, 2 ** 31, 0], [native, handle, buffer, 64, -1],
    [native, handle, 'text', 64, 0], [{}, undefined, buffer, 64, 0]];
  for (const args of wrong) assert.throws(() => calls.submit(...args), TypeError);
  request.begin(4000000);
  assert.throws(() => calls.submit(native, handle, buffer, 64, 0), TypeError);
  for (const run of [() => calls.newQueue(), () => calls.newQueue(handle), () => calls.cancel(),
    () => calls.cancel('x'), () => addon.start(), () => addon.errorInfo('x')]) {
    assert.throws(run, TypeError, String(run));
  }
  calls.cancel(4000000); // nobody's slot
  const other = await openStore(t);
  await assert.rejects(other.lease([queue]), TypeError, 'a queue of another store');
});
