'use strict';
// The example of README.md and the programs of examples/ run as they are.
const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { directory, wq } = require('./helper');

const root = path.dirname(__dirname);

/** A directory in which require('wq') and import 'wq' find this package. */
function project(t) {
  const dir = directory(t);
  fs.mkdirSync(path.join(dir, 'node_modules'));
  fs.symlinkSync(root, path.join(dir, 'node_modules/wq'));
  return dir;
}

function run(file, args, { input = '', during = () => {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--preserve-symlinks', '--preserve-symlinks-main', file,
      ...args], { cwd: path.dirname(file), stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    let errors = '';
    child.stdout.on('data', (data) => { output += data; during(child, output); });
    child.stderr.on('data', (data) => { errors += data; });
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, output, errors }));
    child.stdin.end(input);
  });
}

const blocks = [...fs.readFileSync(path.join(root, 'README.md'), 'utf8')
  .matchAll(/^```(js|mjs)\n([^]*?)^```$/gm)];

test('the example of the README runs', async (t) => {
  const example = blocks.find(([, kind]) => kind === 'mjs');
  const dir = project(t);
  const file = path.join(dir, 'example.mjs');
  fs.writeFileSync(file, example[2]);
  const result = await run(file, []);
  assert.deepStrictEqual([result.code, result.output, result.errors], [0, 'hello world\n', '']);
  assert.ok(example[2].trim().split('\n').length <= 20);
});

test('the producer and the worker of examples/', async (t) => {
  const dir = project(t);
  for (const name of ['producer.js', 'worker.js']) {
    fs.copyFileSync(path.join(root, 'examples', name), path.join(dir, name));
  }
  const store = path.join(dir, 'store');
  const lines = Array.from({ length: 50 }, (_, i) => `line ${i}`);
  const made = await run(path.join(dir, 'producer.js'), [store, 'q'],
    { input: `${lines.join('\n')}\n` });
  assert.deepStrictEqual([made.code, made.errors], [0, '']);
  assert.strictEqual(made.output.trim().split('\n').length, 50);
  const drained = await run(path.join(dir, 'worker.js'), [store, 'q', '--drain']);
  assert.deepStrictEqual([drained.code, drained.errors], [0, '']);
  assert.deepStrictEqual(drained.output.trim().split('\n').sort(),
    lines.map((line) => `${line} (attempt 1 of 4)`).sort());
  // The worker that waits ends in order by a signal; what fails stays, for another attempt.
  await run(path.join(dir, 'producer.js'), [store, 'q'], { input: 'fail\nlast\n' });
  const stopped = await run(path.join(dir, 'worker.js'), [store, 'q'],
    { during: (child, output) => { if (output.includes('last')) child.kill('SIGTERM'); } });
  assert.deepStrictEqual([stopped.code, stopped.signal, stopped.errors], [0, null, '']);
  const after = await wq.open(store);
  const stats = await (await after.queue('q')).stats();
  assert.deepStrictEqual([stats.ackedTotal, stats.delayed, stats.nackedTotal], [51, 1, 1]);
  await after.close();
});

test('the types name what there is', () => {
  const types = fs.readFileSync(path.join(root, 'index.d.ts'), 'utf8');
  for (const name of Object.keys(wq)) {
    assert.match(types, new RegExp(`export (declare )?(class|const|function) ${name}\\b`), name);
  }
  const bodyOf = (name) =>
    new RegExp(`^export declare class ${name}\\b[^]*?^}`, 'm').exec(types)[0];
  for (const name of ['Store', 'Queue', 'Job']) {
    const internal = new Set(['constructor', 'send']);
    const body = bodyOf(name);
    const members = Object.getOwnPropertyNames(wq[name].prototype)
      .filter((member) => !internal.has(member));
    for (const member of members) {
      // A field of wq_job that a newer header has is there and has no type yet.
      const { value } = Object.getOwnPropertyDescriptor(wq[name].prototype, member);
      if (name === 'Job' && typeof value !== 'function') continue;
      assert.match(body, new RegExp(`\\b${member}[<(?:]`), `${name}.${member}`);
    }
    const declared = [...body.matchAll(/^ {2}(?:readonly )?(\w+)(?=[<(])/gm)].map((m) => m[1]);
    for (const member of declared) assert.ok(members.includes(member), `${name}.${member}`);
  }
});
