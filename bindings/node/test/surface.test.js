'use strict';
// What is this package's own on top of the calls, which the conformance scripts go through one by
// one: iterators, jobs, arguments in the forms of JavaScript, module forms.
const test = require('node:test');
const assert = require('node:assert');
const path = require('node:path');
const { inspect } = require('node:util');
const { wq, directory, openStore, until } = require('./helper');

test('ESM and CommonJS have the same names', async () => {
  const esm = await import('../index.mjs');
  const names = Object.keys(esm).filter((name) => name !== 'default').sort();
  assert.deepStrictEqual(names, Object.keys(wq).sort());
  for (const name of names) assert.strictEqual(esm[name], wq[name]);
  assert.match(wq.version, /^\d+\.\d+\.\d+$/);
});

test('for await over jobs, until the signal', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  await queue.enqueueMany(Array.from({ length: 25 },
    (_, i) => ({ payload: JSON.stringify({ i }) })));
  const controller = new AbortController();
  const seen = [];
  for await (const job of queue.jobs({ maxJobs: 10, signal: controller.signal })) {
    seen.push(job.json().i);
    await job.ack();
    if (seen.length === 25) controller.abort();
  }
  assert.deepStrictEqual(seen, Array.from({ length: 25 }, (_, i) => i));
});

test('a loop that is left gives back what it did not hand out, uncounted, in order', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  await queue.enqueueMany(Array.from({ length: 10 }, (_, i) => ({ payload: String(i) })));
  for await (const job of queue.jobs({ maxJobs: 10 })) {
    await job.ack();
    if (job.text() === '3') break;
  }
  assert.strictEqual((await queue.stats()).ready, 6);
  const jobs = await queue.lease({ maxJobs: 10 });
  assert.deepStrictEqual(jobs.map((job) => [job.text(), job.attempts]),
    ['4', '5', '6', '7', '8', '9'].map((text) => [text, 1]));
});

test('loops end when the store is shut down or closed', async (t) => {
  const store = await openStore(t, { eventsMax: 64 });
  const queue = await store.queue('q');
  const kinds = [];
  const loops = [
    (async () => { for await (const job of queue.jobs()) await job.ack(); })(),
    (async () => { for await (const event of store.events()) kinds.push(event.kind); })(),
  ];
  await queue.enqueue('x');
  await until(() => kinds.includes('acked'), 'the job is done');
  assert.deepStrictEqual(kinds, ['queue_declared', 'queued', 'leased', 'acked']);
  assert.strictEqual(await store.shutdown(1000), 'ok');
  await loops[0];
  await store.close();
  await loops[1];
});

test('several queues in one lease: the job knows its queue', async (t) => {
  const store = await openStore(t);
  const [a, b] = [await store.queue('a'), await store.queue('b')];
  await b.enqueue('from b');
  await a.enqueue('from a');
  const jobs = await store.lease([a, b], { maxJobs: 5 });
  assert.deepStrictEqual(jobs.map((job) => [job.queue, job.queueName, job.text()]),
    [[a, 'a', 'from a'], [b, 'b', 'from b']]);
  for (const job of jobs) assert.strictEqual(await job.ack(), 'ok');
});

test('an empty, a paused and a disabled queue are told apart', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  assert.strictEqual((await queue.lease()).outcome, 'empty');
  await queue.pause();
  assert.strictEqual((await queue.lease()).outcome, 'paused');
  await queue.disable();
  const gone = await queue.lease({ waitMs: 1 });
  assert.deepStrictEqual([gone.outcome, gone.length], ['disabled', 0]);
  assert.strictEqual((await queue.enqueue('x')).outcome, 'disabled');
});

test('times: Dates, BigInts, Infinity', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const at = new Date(Date.now() + 3600000);
  const { id } = await queue.enqueue('x', { runAtMs: at });
  assert.strictEqual((await queue.get(id)).readyMs, at.getTime());
  await queue.enqueue('y', { delayMs: 0n, expiresAtMs: BigInt(at.getTime()) });
  const [job] = await queue.lease({ waitMs: Infinity });
  assert.strictEqual(job.expiresAtMs, at.getTime());
  assert.strictEqual(typeof job.id, 'bigint');
});

test('a Date is no length of time, and only a wait is for ever', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  await queue.enqueue('x');
  const [job] = await queue.lease();
  const lengths = [
    (value) => queue.enqueue('y', { delayMs: value }),
    (value) => queue.enqueue('y', { timeoutMs: value }),
    (value) => queue.enqueue('y', { backoffListMs: [value] }),
    (value) => queue.configure({ leaseMs: value }), (value) => job.nack({ delayMs: value }),
    (value) => job.release({ delayMs: value }), (value) => job.extend(value),
    (value) => job.confirm({ runMs: value }), (value) => store.kv.put('k', 'v', { ttlMs: value }),
    (value) => store.kv.add('sum', value), (value) => store.locks.take('l', 'o', value),
  ];
  const waits = [(value) => queue.lease({ waitMs: value }),
    (value) => store.waitDurable(1n, { timeoutMs: value })];
  for (const call of [...lengths, ...waits]) {
    await assert.rejects(call(new Date()),
      (error) => error instanceof TypeError && /runAtMs/.test(error.message), String(call));
  }
  const points = ['runAtMs', 'expiresAtMs', 'retryUntilMs']
    .map((point) => (value) => queue.enqueue('y', { [point]: value }));
  for (const call of [...lengths, ...points]) {
    await assert.rejects(call(Infinity), { code: 'WQ_E_INVALID' }, String(call));
  }
  assert.strictEqual((await queue.stats()).enqueuedTotal, 1);
  assert.strictEqual(await store.kv.get('sum'), undefined);
  assert.strictEqual(await job.ack(), 'ok');
});

test('headers as object, Map and pairs; names in order', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  await queue.enqueue('1', { headers: { a: '1', b: Buffer.from('2') } });
  await queue.enqueue('2', { headers: new Map([['c', '3']]) });
  await queue.enqueue('3', { headers: [['d', '4'], ['d', '5']] });
  const jobs = await queue.lease({ maxJobs: 3 });
  assert.deepStrictEqual(jobs.map((job) => job.headers.map(([n, v]) => `${n}=${v}`).join()),
    ['a=1,b=2', 'c=3', 'd=4,d=5']);
  assert.strictEqual(String(jobs[2].header('d')), '4');
  assert.strictEqual(jobs[2].header('x'), undefined);
  assert.match(inspect(jobs[0]), /queueName: 'q'/);
});

test('a configuration that was read can be handed back, unless it has changed', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q',
    { maxRetries: 7, backoffKind: 'list', backoffListMs: [1, 5] });
  const config = await queue.config();
  assert.deepStrictEqual([config.maxRetries, config.backoffListMs], [7, [1, 5]]);
  assert.strictEqual(await queue.configure({ ...config, leaseMs: 5000 }), 'ok');
  assert.strictEqual(await queue.configure({ ...config, leaseMs: 6000 }), 'conflict');
  const now = await queue.config();
  assert.deepStrictEqual([now.leaseMs, now.maxRetries, now.backoffListMs], [5000, 7, [1, 5]]);
});

test('keys, flows, chains, dead letters, history, rows by their iterators', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q', { keepDoneCount: 100, maxRetries: 0 });
  const first = await queue.enqueue('u', { uniqueKey: 'k', chain: [{ payload: 'next' }] });
  const second = await queue.enqueue('u', { uniqueKey: 'k' });
  assert.deepStrictEqual([second.outcome, second.holder], ['duplicate', first.id]);
  assert.strictEqual(await queue.keys.holder('unique', 'k'), first.id);
  const { flow } = await store.flows.create({ onComplete: { queue, payload: 'end' } });
  await queue.enqueueMany([{ payload: 'm1', flow }, { payload: 'm2', flow }]);
  await store.flows.seal(flow);
  const order = [];
  for await (const job of queue.jobs()) {
    order.push(job.text());
    await (job.text() === 'm2' ? job.ack('result') : job.ack());
    if (order.length === 5) break;
  }
  assert.deepStrictEqual(order, ['u', 'm1', 'm2', 'next', 'end']);
  assert.deepStrictEqual((await store.flows.status(flow)).flags, ['sealed', 'finished']);
  const results = [];
  for await (const done of queue.history.entries({ limit: 2 })) results.push(String(done.result));
  assert.deepStrictEqual(results, ['', '', 'result', '', '']);
  await queue.enqueueMany(Array.from({ length: 5 }, (_, i) => ({ payload: `d${i}` })));
  for (const job of await queue.lease({ maxJobs: 5 })) await job.fail(new Error('no good'));
  const dead = [];
  for await (const job of queue.dead.entries({ limit: 2, oldestFirst: true })) dead.push(job);
  assert.deepStrictEqual(dead.map((job) => job.text()), ['d0', 'd1', 'd2', 'd3', 'd4']);
  assert.strictEqual(String(dead[0].lastError), 'no good');
  assert.strictEqual(await queue.dead.replay(dead[0]), 'ok');
  assert.strictEqual(await queue.dead.replay(dead[0]), 'stale');
  assert.strictEqual(await queue.dead.get(dead[0]), undefined);
  const report = await queue.dead.replayMany({ errorPart: 'good', limit: 2 });
  assert.deepStrictEqual([report.outcome, report.changed], ['ok', 2]);
  await assert.rejects(queue.dead.removeMany({ all: true, signal: AbortSignal.abort('stop') }),
    (reason) => reason === 'stop');
  for (let i = 0; i < 5; i++) await store.kv.put(`row:${i}`, String(i));
  const keys = [];
  for await (const row of store.kv.entries({ prefix: 'row:', limit: 2 })) {
    keys.push(String(row.key));
  }
  assert.deepStrictEqual(keys, ['row:0', 'row:1', 'row:2', 'row:3', 'row:4']);
});

test('a transaction is all or nothing', async (t) => {
  const store = await openStore(t);
  const [q, out] = [await store.queue('q'), await store.queue('out')];
  await q.enqueue('in');
  const [job] = await q.lease();
  const done = await store.transact([
    { kind: 'ack', job }, { kind: 'enqueue', queue: out, payload: 'out', headers: { h: 'v' } },
    { kind: 'kvAdd', key: 'n', delta: 2 }, { kind: 'kvPut', key: 'k', value: 'v', ifAbsent: true },
  ]);
  assert.deepStrictEqual([done.outcome, done.results[2].sum], ['ok', 2n]);
  assert.strictEqual((await out.get(done.results[1].id)).text(), 'out');
  const refused = await store.transact([{ kind: 'kvPut', key: 'k2', value: 'v' },
    { kind: 'kvCheck', key: 'k', ifAbsent: true }]);
  assert.deepStrictEqual([refused.outcome, refused.failed], ['conflict', 1]);
  assert.strictEqual(await store.kv.get('k2'), undefined);
  await assert.rejects(store.transact([{ kind: 'kvErase', key: 'zz' },
    { kind: 'enqueue', queue: out, payload: 'x', delayMs: -1 }]),
  { code: 'WQ_E_INVALID', failed: 1 });
});

test('durability is waited for, and can be asked', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const { lsn } = await queue.enqueue('x', { durability: 'memory' });
  assert.strictEqual(await store.waitDurable(lsn, { durability: 'power' }), 'ok');
  assert.ok((await store.stats()).durableLsn >= lsn);
  assert.match(await store.metrics(), /^# /m);
  assert.match((await queue.explain()).text, /queue 'q'/);
});

test('backup, check, restore; a store without threads is driven by tick', async (t) => {
  const dir = directory(t);
  const store = await openStore(t);
  const queue = await store.queue('q');
  await queue.enqueue('kept');
  const backup = await store.backup(path.join(dir, 'copy'));
  assert.deepStrictEqual([backup.outcome, backup.files > 0], ['ok', true]);
  assert.strictEqual((await wq.verifyBackup(path.join(dir, 'copy'))).outcome, 'ok');
  await wq.restore(path.join(dir, 'copy'), path.join(dir, 'restored'));
  const other = await wq.open(path.join(dir, 'restored'), { noThreads: true });
  const restored = await other.queue('q', { create: false });
  await restored.enqueue('more');
  assert.strictEqual(typeof await other.tick(), 'number');
  assert.deepStrictEqual((await restored.lease({ maxJobs: 5 })).map((job) => job.text()),
    ['kept', 'more']);
  await other.close();
});

test('schedules', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  await store.cron.put('nightly', queue, '0 3 * * *', { zone: 'Europe/Berlin', payload: 'run',
    headers: { a: 'b' }, backoffKind: 'list', backoffListMs: [10, 20] });
  const cron = await store.cron.get('nightly');
  assert.deepStrictEqual([cron.queueName, cron.zone, String(cron.payload), cron.backoffListMs,
    cron.headers.map(String)], ['q', 'Europe/Berlin', 'run', [10, 20], ['a,b']]);
  assert.strictEqual((await store.cron.list({ queue })).length, 1);
  const times = await wq.cronNext('*/5 * * * *', { from: new Date(0), count: 2 });
  assert.deepStrictEqual(times.map(Number), [300000, 600000]);
});
