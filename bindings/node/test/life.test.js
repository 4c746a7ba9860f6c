'use strict';
// Life of handles: opened and closed many times, in any order, collected or not, used too late.
const test = require('node:test');
const assert = require('node:assert');
const path = require('node:path');
const {
  wq, gc, long, directory, openStore, immediate, until, openFiles, threads, random, shuffle,
} = require('./helper');

const OPENS = long ? 10000 : 200;
const AT_ONCE = 8;
const SMALL = { segmentBytes: 1 << 16, spareSegments: 1 };

async function openAndClose(dir) {
  const store = await wq.open(dir, SMALL);
  const queue = await store.queue('q');
  await queue.enqueue('x', { durability: 'memory' });
  const [job] = await queue.lease({ durability: 'memory' });
  await job.ack(undefined, { durability: 'memory' });
  await store.close();
}

test(`opened and closed ${OPENS} times, memory, files and threads are flat`, async (t) => {
  const dirs = Array.from({ length: AT_ONCE }, () => directory(t));
  let done = 0;
  const some = async (count) => {
    const end = done + count;
    await Promise.all(dirs.map(async (dir) => {
      while (done < end) {
        done++;
        await openAndClose(path.join(dir, 'store'));
      }
    }));
    gc();
    await immediate();
    return { rss: process.memoryUsage().rss, files: openFiles(), threads: threads() };
  };
  const before = await some(Math.floor(OPENS * 0.4));
  const after = await some(Math.ceil(OPENS * 0.6));
  t.diagnostic(JSON.stringify({ before, after }));
  assert.ok(after.files <= before.files + 2, 'files');
  assert.ok(after.threads <= before.threads + 4, 'threads');
  assert.ok(after.rss - before.rss < 48 << 20, `memory: ${(after.rss - before.rss) >> 20} MiB`);
});

test('handles that are dropped are closed by the collector, in any order', async (t) => {
  const next = random(t);
  const files = openFiles();
  const dirs = [];
  for (let round = 0; round < 4; round++) {
    const dir = path.join(directory(t), 'store');
    dirs.push(dir);
    let store = await wq.open(dir, SMALL);
    let queues = await Promise.all(['a', 'b', 'c'].map((name) => store.queue(name)));
    await queues[0].enqueue('x');
    let jobs = await queues[0].lease();
    // A queue that is closed by hand, and a call that is still under way when all is dropped.
    if (round % 2) await queues[1].close();
    queues[2].enqueue('late').catch(() => {});
    const drops = shuffle([() => { store = null; }, () => { queues = null; },
      () => { jobs = null; }], next);
    for (const drop of drops) {
      drop();
      gc();
      await immediate();
    }
    assert.ok(!store && !queues && !jobs);
  }
  await until(() => { gc(); return openFiles() <= files + 2; }, 'all stores are closed', 5000);
  for (const dir of dirs) {
    const store = await wq.open(dir, SMALL);
    const stats = await (await store.queue('c', { create: false })).stats();
    assert.strictEqual(stats.ready, 1, 'what was under way is done');
    await store.close();
  }
});

test('use after close is WQ_E_CLOSED', async (t) => {
  const store = await openStore(t, { eventsMax: 16 });
  const queue = await store.queue('q');
  const other = await store.queue('q');
  await queue.enqueue('x');
  const [job] = await queue.lease();
  const wait = other.lease({ waitMs: -1 });
  const failed = assert.rejects(wait, { code: 'WQ_E_CLOSED' });
  await other.close();
  await failed;
  await other.close();
  await assert.rejects(other.stats(), { code: 'WQ_E_CLOSED' });
  const waits = [queue.lease({ waitMs: -1 }), store.pollEvents({ fromNow: true }, { waitMs: -1 })]
    .map((promise) => assert.rejects(promise, { code: 'WQ_E_CLOSED' }));
  const closing = store.close();
  assert.strictEqual(store.closed, true);
  assert.strictEqual(store.close(), closing);
  await closing;
  await Promise.all(waits);
  const late = [() => queue.enqueue('x'), () => queue.stats(), () => job.ack(), () => store.stats(),
    () => store.sync(), () => queue.lease({ waitMs: 10 }), () => store.queue('r'),
    () => store.kv.get('k'), () => store.transact([{ kind: 'kvCheck', key: 'k' }]),
    () => queue.dead.list(), () => store.backup('/nowhere'), () => store.cron.list({ queue })];
  for (const run of late) await assert.rejects(run(), { code: 'WQ_E_CLOSED' }, String(run));
  await queue.close();
  assert.strictEqual(job.text(), 'x', 'a job is a copy');
});

test('close does what was asked for before it', async (t) => {
  const dir = path.join(directory(t), 'store');
  let store = await wq.open(dir, SMALL);
  let queue = await store.queue('q');
  const pending = Array.from({ length: 500 }, () => queue.enqueue('x'));
  await store.close();
  for (const { outcome } of await Promise.all(pending)) assert.strictEqual(outcome, 'ok');
  store = await wq.open(dir, SMALL);
  queue = await store.queue('q');
  assert.strictEqual((await queue.stats()).ready, 500);
  await store.close();
});

test('memory does not grow with calls', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const payload = Buffer.alloc(1000, 'p');
  const round = async (count) => {
    for (let i = 0; i < count; i++) {
      await queue.enqueueMany(Array.from({ length: 50 }, () => ({ payload })),
        { durability: 'memory' });
      const jobs = await queue.lease({ maxJobs: 50, durability: 'memory' });
      await queue.settleMany(jobs.map((job) => ({ kind: 'ack', job })), { durability: 'memory' });
      await assert.rejects(queue.get(1n << 50n));
      if (i % 10 === 0) gc();
    }
    gc();
    await immediate();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    return heapUsed + external + arrayBuffers;
  };
  const before = await round(60);
  const after = await round(long ? 2000 : 100);
  assert.ok(after - before < 4 << 20, `${(after - before) >> 10} KiB more`);
});

test('Symbol.asyncDispose closes, where the platform has it', async (t) => {
  if (!Symbol.asyncDispose) return t.skip('no Symbol.asyncDispose');
  const store = await openStore(t);
  await store[Symbol.asyncDispose]();
  assert.ok(store.closed);
  return undefined;
});
