#!/usr/bin/env node
'use strict';
// producer.js STORE QUEUE: each line of the standard input becomes a job. A line is acknowledged,
// by its id on the standard output, when it is on the device; many are under way at a time.
const readline = require('node:readline');
const wq = require('wq');

const UNDER_WAY_MAX = 1000;

async function main([path, name]) {
  const store = await wq.open(path);
  const queue = await store.queue(name);
  const underWay = new Set();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const call = queue.enqueue(line, { headers: { source: 'stdin' } })
      .then(({ id }) => console.log(`${id}`))
      .finally(() => underWay.delete(call));
    underWay.add(call);
    if (underWay.size >= UNDER_WAY_MAX) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  await store.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`${error.code || error.name}: ${error.message}`);
  process.exitCode = 1;
});
