#!/usr/bin/env node
'use strict';
// bench.js [JOBS [DIRECTORY]]: the whole life of jobs (enqueue, lease, ack) in batches of 100 with
// 16 of them under way, at memory and power level, and the cost of a call with next to no work.
// One line of JSON; it fails if what was delivered is not what was enqueued.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const wq = require('..');

const BATCH = 100;
const UNDER_WAY = 16;
const PAYLOAD = Buffer.alloc(100, 'p');
const CALLS = 20000;
const CALLS_UNDER_WAY = 100;

/** Run `count` steps, `width` of them at a time. */
async function pipelined(count, width, step) {
  let next = 0;
  await Promise.all(Array.from({ length: width }, async () => {
    while (next < count) await step(next++);
  }));
}

const perSecond = (count, start) => Math.round(count / ((performance.now() - start) / 1000));

async function life(store, durability, jobs) {
  const queue = await store.queue(`life-${durability}`);
  const batches = Math.ceil(jobs / BATCH);
  const specs = Array.from({ length: BATCH }, () => ({ payload: PAYLOAD }));
  const start = performance.now();
  let enqueued = 0;
  await pipelined(batches, UNDER_WAY, async () => {
    const { accepted } = await queue.enqueueMany(specs, { durability });
    enqueued += accepted;
  });
  const enqueueRate = perSecond(enqueued, start);
  const middle = performance.now();
  let delivered = 0;
  let acked = 0;
  let bytes = 0;
  await Promise.all(Array.from({ length: UNDER_WAY }, async () => {
    for (;;) {
      const leased = await queue.lease({ maxJobs: BATCH, durability: 'memory' });
      if (!leased.length) return;
      delivered += leased.length;
      for (const job of leased) bytes += job.payload.length;
      const items = leased.map((job) => ({ kind: 'ack', job }));
      const { outcomes } = await queue.settleMany(items, { durability });
      acked += outcomes.filter((outcome) => outcome === 'ok').length;
    }
  }));
  if (delivered !== enqueued || acked !== enqueued || bytes !== enqueued * PAYLOAD.length) {
    throw new Error(`${enqueued} enqueued, ${delivered} delivered, ${acked} acked`);
  }
  return { enqueued, delivered, acked, enqueuePerSecond: enqueueRate,
    consumePerSecond: perSecond(delivered, middle), lifePerSecond: perSecond(enqueued, start) };
}

async function main([jobs = '100000', directory = os.tmpdir()]) {
  const dir = fs.mkdtempSync(path.join(directory, 'wq-bench-'));
  const store = await wq.open(path.join(dir, 'store'));
  try {
    const result = { language: 'node', node: process.version, wq: wq.version, batch: BATCH,
      underWay: UNDER_WAY };
    await life(store, 'memory', 20000); // warm
    result.memory = await life(store, 'memory', Number(jobs));
    result.power = await life(store, 'power', Number(jobs));
    const queue = await store.queue('calls');
    const start = performance.now();
    await pipelined(CALLS, CALLS_UNDER_WAY, () => queue.resume()); // of an active queue
    result.nsPerCall = Math.round((performance.now() - start) * 1e6 / CALLS);
    console.log(JSON.stringify(result));
  } finally {
    await store.close();
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
