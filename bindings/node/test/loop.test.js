'use strict';
// The event loop is never blocked: it goes on to turn while calls wait. Counted, not timed.
const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const crypto = require('node:crypto');
const { getEventListeners } = require('node:events');
const { promisify } = require('node:util');
const { wq, openStore, immediate, threads, until } = require('./helper');

const MANY = 10000;

test('timers and immediates run while a lease waits', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  let answered = false;
  const lease = queue.lease({ waitMs: -1 }).then((jobs) => { answered = true; return jobs; });
  let timers = 0;
  const timer = setInterval(() => { timers++; }, 1);
  for (let turns = 0; turns < 1000 || timers < 3; turns++) await immediate();
  clearInterval(timer);
  assert.strictEqual(answered, false);
  assert.strictEqual((await queue.explain()).consumersWaiting, 1);
  await queue.enqueue('x');
  assert.strictEqual((await lease)[0].text(), 'x');
});

test('64 leases that wait take no thread of the pool of libuv', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const before = threads();
  const leases = Array.from({ length: 64 }, () => queue.lease({ waitMs: -1 }));
  await until(async () => (await queue.explain()).consumersWaiting === 64, '64 wait');
  assert.ok(threads() >= before + 60, 'each has a thread to itself');
  // All four threads of libuv are asked for at once, and answer.
  const pbkdf2 = promisify(crypto.pbkdf2);
  await Promise.all([...Array(8)].flatMap(() => [pbkdf2('a', 'b', 1000, 16, 'sha256'),
    fs.promises.readFile(__filename)]));
  await queue.enqueueMany(Array.from({ length: 64 }, (_, i) => ({ payload: String(i) })));
  const jobs = (await Promise.all(leases)).flat();
  assert.strictEqual(new Set(jobs.map((job) => job.text())).size, 64);
  await until(() => threads() <= before + 8, 'their threads go');
});

test('the loop turns while 10,000 durable enqueues are pending; all are answered', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  let answered = 0;
  const pending = [];
  for (let i = 0; i < MANY; i++) {
    pending.push(queue.enqueue(`job ${i}`, { durability: 'power' }).then((out) => {
      answered++;
      return out;
    }));
  }
  assert.strictEqual(answered, 0);
  let turns = 0;
  let turnsBetween = 0;
  while (answered < MANY) {
    await immediate();
    turns++;
    if (answered > 0 && answered < MANY) turnsBetween++;
  }
  t.diagnostic(`${turns} turns, ${turnsBetween} of them between the first and the last answer`);
  // Answers come 512 at most in one turn.
  assert.ok(turnsBetween >= 10, `${turnsBetween} turns`);
  const results = await Promise.all(pending);
  const ids = results.map(({ id }) => id);
  assert.ok(ids.every((id, i) => i === 0 || id > ids[i - 1]), 'in the order of the calls');
  const stats = await queue.stats();
  assert.strictEqual(stats.ready, MANY);
  assert.ok((await store.stats()).durableLsn >= results[MANY - 1].lsn);
  // And the same with settles.
  const jobs = await queue.lease({ maxJobs: MANY });
  assert.strictEqual(jobs.length, MANY);
  const outcomes = await Promise.all(jobs.map((job) => job.ack()));
  assert.ok(outcomes.every((outcome) => outcome === 'ok'));
});

test('thousands of pending calls need no thread each', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  await queue.enqueue('warm');
  await queue.stats();
  const before = threads();
  let most = 0;
  const pending = Array.from({ length: 2000 }, () => queue.enqueue('x'));
  pending.push(...Array.from({ length: 2000 }, () => queue.stats()));
  let done = false;
  const all = Promise.all(pending).then(() => { done = true; });
  while (!done) {
    most = Math.max(most, threads());
    await immediate();
  }
  await all;
  assert.ok(most <= before + 16, `${before} threads before, ${most} meanwhile`);
});

test('an abort ends a wait; a lease that has its jobs keeps them', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const controller = new AbortController();
  const waits = [queue.lease({ waitMs: -1, signal: controller.signal }),
    queue.lease({ waitMs: 3600000, signal: controller.signal })];
  await until(async () => (await queue.explain()).consumersWaiting === 2, 'two wait');
  const reason = new Error('enough');
  controller.abort(reason);
  await Promise.all(waits.map((wait) => assert.rejects(wait, (error) => error === reason)));
  await assert.rejects(queue.lease({ signal: AbortSignal.abort() }), { name: 'AbortError' });
  // Any number of waits with one signal; none of them keeps it when it is over.
  const shared = new AbortController();
  const warnings = [];
  const note = (warning) => warnings.push(warning);
  process.on('warning', note);
  const crowd = Array.from({ length: 50 },
    () => assert.rejects(queue.lease({ waitMs: -1, signal: shared.signal }),
      { name: 'AbortError' }));
  await immediate();
  shared.abort();
  await Promise.all(crowd);
  assert.deepStrictEqual([warnings, getEventListeners(shared.signal, 'abort')], [[], []]);
  process.off('warning', note);
  // Aborted behind the answer: nothing is lost.
  await queue.enqueue('kept');
  const late = new AbortController();
  const [job] = await queue.lease({ waitMs: -1, signal: late.signal });
  assert.deepStrictEqual(getEventListeners(late.signal, 'abort'), []);
  late.abort();
  assert.strictEqual(await job.ack(), 'ok');
  // In the middle of it, many times: a job is answered, or it is still there.
  let got = 0;
  for (let i = 0; i < 50; i++) {
    const racing = new AbortController();
    const wait = queue.lease({ waitMs: -1, signal: racing.signal })
      .then((jobs) => jobs.length, () => 0);
    const put = queue.enqueue('race', { durability: 'memory' });
    if (i % 2) await immediate();
    racing.abort();
    await put;
    got += await wait;
  }
  const { ready, leased } = await queue.stats();
  assert.strictEqual(ready + leased, 50);
  assert.strictEqual(leased, got);
});

test('signals of the process are handled while a lease waits', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const controller = new AbortController();
  const wait = queue.lease({ waitMs: -1, signal: controller.signal });
  let signals = 0;
  const count = () => { signals++; };
  process.on('SIGUSR2', count);
  t.after(() => process.off('SIGUSR2', count));
  for (let i = 1; i <= 20; i++) {
    process.kill(process.pid, 'SIGUSR2');
    await until(() => signals >= i, 'the handler ran');
  }
  controller.abort();
  await assert.rejects(wait, { name: 'AbortError' });
  assert.strictEqual(typeof wq.version, 'string');
});
