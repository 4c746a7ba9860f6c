'use strict';
// helper.js: what the tests share.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const v8 = require('node:v8');
const vm = require('node:vm');
const { spawn } = require('node:child_process');
const wq = require('..');

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc');
const long = process.env.WQ_TEST_LONG === '1';

/** A directory that is gone after the test. */
function directory(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wq-node-'));
  t.after(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A store that is closed after the test, and its directory. */
async function openStore(t, options = {}) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'wq-node-'));
  const store = await wq.open(path.join(dir, 'store'), { segmentBytes: 1 << 20, ...options });
  t.after(async () => {
    await store.close();
    fs.rmSync(dir, { recursive: true, force: true });
  });
  return store;
}

const immediate = () => new Promise(setImmediate);

/** Let the event loop turn until the condition holds. */
async function until(condition, what, turns = 200000) {
  for (let i = 0; i < turns; i++) {
    if (await condition()) return;
    await immediate();
  }
  throw new Error(`it never came to be: ${what}`);
}

const openFiles = () => fs.readdirSync('/proc/self/fd').length;
const threads = () => fs.readdirSync('/proc/self/task').length;

/** Numbers that a seed gives; it is printed. */
function random(t, seed = Number(process.env.WQ_TEST_SEED) || Date.now() % 1000000) {
  t.diagnostic(`seed ${seed}`);
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * below);
  };
}

function shuffle(list, next) {
  for (let i = list.length - 1; i > 0; i--) {
    const j = next(i + 1);
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

/** Run Node on a program text: { code, signal, output }. `during` gets the child. */
function runNode(text, args = [], during = () => {}) {
  return new Promise((resolve, reject) => {
    const preamble = `const wq = require(${JSON.stringify(path.dirname(__dirname))});\n`;
    const child = spawn(process.execPath, ['-e', preamble + text, ...args],
      { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => { output += data; during(child, output); });
    child.stderr.on('data', (data) => { output += data; });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, output }));
  });
}

module.exports = {
  wq, gc, long, directory, openStore, immediate, until, openFiles, threads, random, shuffle,
  runNode,
};
