#!/usr/bin/env node
'use strict';
// worker.js STORE QUEUE: works on the jobs of a queue, here by printing them, until it gets SIGINT
// or SIGTERM; with --drain it ends when the queue is empty. What fails is tried again after a
// while, and is a dead letter at last. While a job is worked on, its lease is kept.
const wq = require('wq');

const LEASE_MS = 30000;
const DELAY_MS_MAX = 3600000; // what doubles for ever is refused in the end

async function handle(job) {
  if (job.text() === 'fail') throw new Error('told to fail');
  console.log(`${job.text()} (attempt ${job.attempts} of ${job.maxAttempts})`);
}

async function work(job) {
  const heartbeat = setInterval(() => job.extend(LEASE_MS).catch(() => {}), LEASE_MS / 3);
  try {
    await handle(job);
    // 'stale': somebody else has the job by now, and this result does not count.
    if (await job.ack() === 'stale') console.error(`job ${job.id}: the lease was lost`);
  } catch (error) {
    await job.nack({ error, delayMs: Math.min(1000 * 2 ** job.attempts, DELAY_MS_MAX) });
  } finally {
    clearInterval(heartbeat);
  }
}

async function main([path, name, mode]) {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());
  const store = await wq.open(path);
  const queue = await store.queue(name);
  if (mode === '--drain') {
    for (;;) {
      const jobs = await queue.lease({ maxJobs: 10, leaseMs: LEASE_MS });
      if (!jobs.length) break;
      await Promise.all(jobs.map(work));
    }
  } else {
    for await (const job of queue.jobs({ leaseMs: LEASE_MS, signal: stop.signal })) await work(job);
  }
  await store.shutdown(10000);
  await store.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`${error.code || error.name}: ${error.message}`);
  process.exitCode = 1;
});
