#!/usr/bin/env node
'use strict';
// bench.js LEVEL BATCH JOBS DIRECTORY: the whole life of jobs (enqueue, lease, ack) through this
// package, to be compared with bench/bindings/life.c by bench/run.sh BUILD_DIR --bindings. LEVEL:
// memory or power. One line of JSON. 16 loops are under way, each with one change or lease at a time;
// leases are at the memory level. Exit 1 if not every job was delivered with its payload and acked
// once.
const wq = require('..');

const LOOPS = 16;
const PAYLOAD = Buffer.alloc(100, 'x');

async function life(queue, durability, batch, jobs) {
  const specs = Array.from({ length: batch }, () => ({ payload: PAYLOAD }));
  let left = jobs;
  let delivered = 0;
  const check = (outcome) => {
    if (outcome !== 'ok') throw new Error(`a change did not do what it should: ${outcome}`);
  };
  const take = async () => {
    const leased = await queue.lease({ maxJobs: batch, durability: 'memory' });
    for (const job of leased) {
      if (!job.payload.equals(PAYLOAD)) throw new Error('a payload is not what it was');
    }
    delivered += leased.length;
    return leased;
  };
  const loop = async () => {
    while (left > 0) {
      left -= batch;
      if (batch === 1) {
        check((await queue.enqueue(PAYLOAD, { durability })).outcome);
        check(await (await take())[0].ack(undefined, { durability }));
      } else {
        check((await queue.enqueueMany(specs, { durability })).outcome);
        check((await queue.settleMany((await take()).map((job) => ({ kind: 'ack', job })),
          { durability })).outcome);
      }
    }
  };
  await Promise.all(Array.from({ length: LOOPS }, loop));
  return delivered;
}

async function main([level, batchText, jobsText, directory]) {
  if (!directory) throw new Error('usage: bench.js memory|power BATCH JOBS DIRECTORY');
  const batch = Number(batchText);
  const jobs = Math.floor(Number(jobsText) / batch) * batch;
  const store = await wq.open(directory);
  const queue = await store.queue('life');
  const start = performance.now();
  const delivered = await life(queue, level, batch, jobs);
  const seconds = (performance.now() - start) / 1000;
  const { ackedTotal: acked } = await queue.stats();
  await store.close();
  console.log(JSON.stringify({ language: 'node', level, batch, jobs, seconds, delivered, acked }));
  if (delivered !== jobs || acked !== jobs) process.exitCode = 1;
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
