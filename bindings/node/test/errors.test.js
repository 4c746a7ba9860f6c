'use strict';
// Codes: every one of the header is an outcome or an error here; errors tell what they are.
const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { wq, directory, openStore } = require('./helper');
const { addon, check } = require('../lib/native');
const { codeText, outcomes, WqError } = require('../lib/errors');
const { camel } = require('../lib/layout');

test('every code of the header has a name, and every error its properties', () => {
  const { constants, errorInfo } = addon;
  const named = Object.entries(constants).filter(([name]) => name.startsWith('WQ_E_'));
  assert.ok(named.length >= 16, `${named.length} codes`);
  for (const [name, number] of named) {
    assert.strictEqual(wq.codes[name], number);
    assert.strictEqual(codeText(number), name);
    const error = new WqError(number, 'what happened');
    assert.ok(error instanceof Error);
    assert.deepStrictEqual([error.code, error.number, error.message, error.name],
      [name, number, 'what happened', 'WqError']);
    const [short, text, flags] = errorInfo(number);
    assert.strictEqual(`WQ_E_${short}`, name);
    assert.strictEqual(new WqError(number).message, text);
    assert.strictEqual(error.retryable, Boolean(flags & constants.WQ_ERROR_RETRYABLE), name);
    assert.strictEqual(error.maybeCommitted, Boolean(flags & constants.WQ_ERROR_MAYBE_COMMITTED));
    assert.strictEqual(error.fatal, Boolean(flags & constants.WQ_ERROR_FATAL), name);
  }
  assert.ok(new WqError(wq.codes.WQ_E_NO_SPACE).retryable);
  assert.ok(new WqError(wq.codes.WQ_E_IO).maybeCommitted);
  assert.ok(new WqError(wq.codes.WQ_E_POISONED).fatal);
});

test('outcomes are words, in the order of their numbers', () => {
  assert.deepStrictEqual(outcomes.slice(0, 9), ['ok', 'empty', 'timeout', 'stale', 'duplicate',
    'disabled', 'paused', 'cancelled', 'conflict']);
  assert.strictEqual(wq.codes.WQ_STALE, 3);
});

test('the constants of the addon are those of the header', (t) => {
  const header = path.join(__dirname, '../../../include/wq.h');
  if (!fs.existsSync(header)) return t.skip('not in the repository');
  const text = fs.readFileSync(header, 'utf8');
  const errors = [...text.matchAll(/^#define (WQ_E_\w+) \((-\d+)\)/gm)];
  assert.ok(errors.length >= 16);
  for (const [, name, value] of errors) assert.strictEqual(addon.constants[name], Number(value));
  const structs = [...text.matchAll(/^typedef struct (wq_\w+) \{/gm)].map((match) => match[1]);
  for (const name of structs) assert.ok(addon.layouts[name], name);
  const generated = path.join(__dirname, '../lib/constants.js');
  if (!fs.existsSync(generated)) return undefined;
  const api = require(generated);
  // Fields are only ever appended, so what both know is at the same place.
  for (const [struct, { offsets }] of Object.entries(api.structs)) {
    for (const [name, field] of Object.entries(addon.layouts[struct]?.fields || {})) {
      const key = camel(name);
      if (key in offsets) assert.strictEqual(field.offset, offsets[key], `${struct}.${name}`);
    }
  }
  for (const [name, value] of Object.entries(api.constants)) {
    if (`WQ_${name}` in addon.constants) {
      assert.strictEqual(addon.constants[`WQ_${name}`], value, name);
    }
  }
  for (const [number, { name }] of api.codes) {
    assert.strictEqual(codeText(number), number < 0 ? `WQ_E_${name}` : name.toLowerCase());
  }
  return undefined;
});

test('an addon that does not fit is refused, and the mismatch is named', () => {
  const fits = { ...addon };
  check(fits);
  const without = (struct, field) => {
    const { [field]: gone, ...fields } = addon.layouts[struct].fields;
    const layouts = { ...addon.layouts, [struct]: { ...addon.layouts[struct], fields } };
    return { ...fits, layouts };
  };
  assert.throws(() => check({ ...fits, protocol: 99 }), /protocol 99/);
  assert.throws(() => check({ ...fits, libraryVersion: 0x10000 }), /libwq\.so is version 1\.0\.0/);
  assert.throws(() => check({ ...fits, libraryVersion: 0 }), /version 0\.0\.0/);
  assert.throws(() => check(without('wq_job', 'group')), /wq_job \(\d+ bytes\) has no field group/);
});

test('errors of calls have code, message and more', async (t) => {
  const store = await openStore(t);
  await assert.rejects(store.queue('mail', { create: false }), (error) => {
    assert.ok(error instanceof wq.WqError);
    assert.strictEqual(error.code, 'WQ_E_NOT_FOUND');
    assert.strictEqual(error.retryable, false);
    assert.match(error.message, /mail/);
    return true;
  });
  await assert.rejects(wq.open(store.path), { code: 'WQ_E_LOCKED', retryable: true });
  const dir = directory(t);
  await assert.rejects(wq.open(`${dir}/no/such/place`), { code: 'WQ_E_NOT_FOUND' });
  fs.writeFileSync(`${dir}/file`, 'x');
  await assert.rejects(wq.open(`${dir}/file`), (error) => error.osErrno > 0);
});

test('wrong arguments reject, with a TypeError or INVALID, and never throw at once', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const wrong = [
    () => wq.open(5), () => wq.open(), () => wq.open('x\0y'), () => store.queue(7),
    () => store.queue('q', { nonsense: 1 }), () => queue.enqueue(), () => queue.enqueue({}),
    () => queue.enqueue('x', { delayMs: 'soon' }), () => queue.enqueue('x', { delayMs: NaN }),
    () => queue.enqueue('x', { delayMs: 1.5 }), () => queue.enqueue('x', { priority: -1 }),
    () => queue.enqueue('x', { priority: 256 }), () => queue.enqueue('x', { delayMs: -1 }),
    () => queue.enqueue('x', { headers: 5 }), () => queue.enqueue('x', { headers: ['a'] }),
    () => queue.enqueue('x', { uniqueUntil: 'never' }), () => queue.enqueue('x', { typo: 1 }),
    () => queue.enqueue('x', { durability: 'forever' }), () => queue.enqueue('x', { chain: {} }),
    () => queue.enqueueMany('x'), () => queue.enqueueMany([null]), () => queue.enqueueMany([]),
    () => queue.get('1'), () => queue.get(-1), () => queue.get(1n << 64n), () => queue.ack(),
    () => queue.ack({ id: 1n }), () => queue.settleMany([{ kind: 'eat' }]),
    () => queue.settleMany([{ kind: 'toString', id: 1n, generation: 1n }]),
    () => queue.lease({ waitMs: -2 }), () => queue.lease({ waitMs: -(2n ** 63n) }),
    () => queue.lease({ maxJobs: 10001 }), () => queue.lease({ signal: {} }),
    () => store.lease(['q']), () => store.lease([]), () => store.lease([queue, queue]),
    () => store.lease(Array(300).fill(queue)), () => queue.extend({ id: 1n, generation: 1n }, -5),
    () => queue.clear({ states: ['gone'] }), () => queue.configure({ leaseMs: 0 }),
    () => queue.dead.replayMany({}), () => queue.dead.replayMany({ all: true, entries: 5 }),
    () => queue.dead.list({ limit: 1001 }), () => queue.history.list({ limit: 5000 }),
    () => store.kv.put('', 'x'), () => store.kv.put('k', 5), () => store.kv.add('k', 1.5),
    () => store.kv.list({ limit: 2000 }), () => store.locks.take('k', 'o', -1),
    () => store.flows.seal('x'), () => store.flows.create({ onComplete: 5 }),
    () => store.cron.put('n', queue, 'nonsense'), () => wq.cronNext('* * * * *', { count: 0 }),
    () => wq.cronNext('* * * * *', { count: 1e9 }), () => store.transact([{ kind: 'dance' }]),
    () => store.transact([]), () => store.transact([{ kind: 'enqueue', queue: 'q' }]),
    () => store.waitDurable(1n << 60n), () => store.pollEvents(), () => store.backup(''),
    () => queue.enqueueMany(Array(10001).fill({ payload: '' })),
    () => queue.settleMany(Array(10001).fill({ kind: 'ack', id: 1n, generation: 1n })),
    () => queue.extendMany(Array(10001).fill({ id: 1n, generation: 1n })),
  ];
  for (const run of wrong) {
    const promise = run();
    assert.ok(promise instanceof Promise, String(run));
    await assert.rejects(promise, (error) => error instanceof TypeError || (error instanceof
      wq.WqError && /^WQ_E_(INVALID|TOO_LARGE|UNSUPPORTED|NOT_FOUND)$/.test(error.code)),
    String(run));
  }
  const stats = await queue.stats();
  assert.strictEqual(stats.enqueuedTotal, 0, 'nothing changed');
});

class Untold extends Error {
  get message() { throw new Error('no'); }
}

test('whatever is thrown settles the job, and is kept as text', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q', { maxRetries: 0 });
  const thrown = [
    ['text', 'text'], [new Error('a'), 'a'], [new TypeError(''), 'TypeError'], [null, 'null'],
    [42, '42'], [7n, '7'], [false, 'false'], [Symbol('x'), 'Symbol(x)'],
    [{ code: 5 }, '{ code: 5 }'], [{ message: 'like one' }, 'like one'], [[1, 2], '[ 1, 2 ]'],
    [Object.assign(new Error('x'), { message: 5 }), 'Error: 5'],
    [vm.runInNewContext('new Error("elsewhere")'), 'elsewhere'],
    [Buffer.from([0xff]), '\ufffd'], [new Uint8Array([65]).buffer, 'A'],
    ['half \ud83d', 'half \ufffd'], [new Error('half \ud83d'), 'half \ufffd'],
    [new Untold(), 'an error that can not be told (object)'],
    [new Proxy({}, { get() { throw new Error('no'); } }), 'an error that can not be told (object)'],
    [new Error('long'.repeat(100000)), 'long'.repeat(20)],
  ];
  for (const [error, text] of thrown) {
    for (const settle of [(job) => job.nack({ error }), (job) => job.fail(error),
      (job) => queue.settleMany([{ kind: 'nack', job, error }])]) {
      await queue.enqueue('x');
      const [job] = await queue.lease();
      await settle(job);
      const [letter] = (await queue.dead.list()).jobs;
      assert.strictEqual(letter.id, job.id, text);
      assert.strictEqual(letter.lastError.toString().slice(0, 80), text);
    }
  }
});
