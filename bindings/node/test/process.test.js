'use strict';
// Processes and threads: the end of a process or a worker while calls are pending, and workers with
// a store each.
const test = require('node:test');
const assert = require('node:assert');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { wq, directory, runNode, until } = require('./helper');

const PENDING = `
  (async () => {
    const store = await wq.open(process.argv[1]);
    const queue = await store.queue('q');
    const idle = await store.queue('idle');
    const { calls, request } = require(process.argv[2]);
    process.on('exit', () => {
      try {
        calls.submit(store.native, undefined, request.buffer, 64, 0);
      } catch (error) {
        console.log(error.message);
      }
    });
    for (let i = 0; i < 1000; i++) queue.enqueue('x').catch(() => {});
    idle.lease({ waitMs: -1 }).catch(() => {});
    store.verify().catch(() => {});
    END
  })();`;

async function readyIn(dir) {
  const store = await wq.open(dir);
  const { ready } = await (await store.queue('q')).stats();
  await store.close();
  return ready;
}

const ends = {
  'process.exit': ['process.exit(0);', 0],
  'an uncaught exception': ['setImmediate(() => { throw new Error("on purpose"); });', 1],
  'process.exit in a callback': ['queue.stats().then(() => process.exit(7));', 7],
};
for (const [name, [end, code]] of Object.entries(ends)) {
  test(`${name} with pending calls does not crash, and loses nothing`, async (t) => {
    const dir = path.join(directory(t), 'store');
    const result = await runNode(PENDING.replace('END', end),
      [dir, path.join(__dirname, '../lib/request.js')]);
    assert.deepStrictEqual([result.code, result.signal], [code, null], result.output);
    // All was closed before the libraries below were taken down.
    assert.match(result.output, /the environment has ended/);
    assert.strictEqual(await readyIn(dir), 1000);
  });
}

test('a process ends by itself when nothing is pending, with the store open', async (t) => {
  const dir = path.join(directory(t), 'store');
  const result = await runNode(`wq.open(process.argv[1]).then(async (store) => {
    const queue = await store.queue('q');
    await queue.enqueue('x');
    console.log('done');
  });`, [dir]);
  assert.deepStrictEqual([result.code, result.signal], [0, null], result.output);
  assert.strictEqual(result.output, 'done\n');
  assert.strictEqual(await readyIn(dir), 1);
});

test('SIGKILL in the middle: what was answered is there', async (t) => {
  const dir = path.join(directory(t), 'store');
  let seen = 0;
  const result = await runNode(`wq.open(process.argv[1]).then(async (store) => {
    const queue = await store.queue('q');
    for (let i = 1; ; i++) {
      await queue.enqueue('x');
      console.log(i);
    }
  });`, [dir], (child, output) => {
    seen = Number(output.slice(0, output.lastIndexOf('\n')).split('\n').pop());
    if (seen >= 20) child.kill('SIGKILL');
  });
  assert.strictEqual(result.signal, 'SIGKILL');
  const ready = await readyIn(dir);
  assert.ok(ready >= 20 && ready >= seen, `${ready} of ${seen}`);
});

const WORKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const wq = require(workerData.module);
  (async () => {
    const store = await wq.open(workerData.dir);
    const queue = await store.queue('q');
    for (let i = 0; i < 200; i++) queue.enqueue(String(i), { durability: 'process' });
    const jobs = [];
    while (jobs.length < 200) jobs.push(...await queue.lease({ maxJobs: 50, waitMs: -1 }));
    const { outcome } = await queue.settleMany(jobs.map((job) => ({ kind: 'ack', job })));
    queue.enqueue('left').catch(() => {});
    if (workerData.end === 'close') await store.close();
    parentPort.postMessage(outcome);
    if (workerData.end === 'terminate') queue.lease({ waitMs: -1 }), queue.lease({ waitMs: -1 });
    if (workerData.end === 'exit') { queue.lease({ waitMs: -1 }); process.exit(0); }
  })();`;

test('workers have a store each, and their end closes what is open', async (t) => {
  const kinds = ['close', 'leave', 'exit', 'terminate'];
  const module = path.dirname(__dirname);
  await Promise.all(kinds.map(async (end) => {
    const dir = path.join(directory(t), 'store');
    const worker = new Worker(WORKER, { eval: true, workerData: { module, dir, end } });
    const exited = new Promise((resolve) => { worker.on('exit', resolve); });
    const outcome = await new Promise((resolve, reject) => {
      worker.on('message', resolve);
      worker.on('error', reject);
    });
    assert.strictEqual(outcome, 'ok', end);
    if (end === 'terminate') await worker.terminate();
    const code = await exited;
    assert.strictEqual(code, end === 'terminate' ? 1 : 0, end);
    const store = await wq.open(dir); // its lock is free
    const stats = await (await store.queue('q')).stats();
    assert.strictEqual(stats.ackedTotal, 200);
    // The lease of an ended worker may have taken the last job.
    if (stats.ready + stats.leased !== 1) assert.fail(JSON.stringify(stats));
    await store.close();
  }));
});

test('a store that a worker has open is locked for others of the process', async (t) => {
  const dir = path.join(directory(t), 'store');
  const store = await wq.open(dir);
  const worker = new Worker(`
    const { parentPort, workerData } = require('node:worker_threads');
    const wq = require(workerData.module);
    wq.open(workerData.dir).catch((error) => parentPort.postMessage(error.code));`,
  { eval: true, workerData: { module: path.dirname(__dirname), dir } });
  let code;
  worker.on('message', (message) => { code = message; });
  await until(() => code, 'the worker answered');
  assert.strictEqual(code, 'WQ_E_LOCKED');
  await worker.terminate();
  await store.close();
});
