'use strict';
// The scripts of tests/conformance: what the runner prints equals the .out files byte for byte.
const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { directory } = require('./helper');

const scripts = process.env.WQ_CONFORMANCE ||
  path.join(__dirname, '../../../tests/conformance');
const names = fs.existsSync(scripts)
  ? fs.readdirSync(scripts).filter((name) => name.endsWith('.ops')) : [];

test('there are scripts', (t) => {
  if (!names.length) t.skip(`no scripts in ${path.basename(scripts)}: not in the repository`);
});

for (const name of names) {
  test(`conformance: ${name}`, (t) => {
    const script = path.join(scripts, name);
    const expected = script.replace(/\.ops$/, '.out');
    const run = spawnSync(process.execPath, [path.join(__dirname, 'conformance/runner.js'),
      directory(t), script], { encoding: 'latin1', maxBuffer: 1 << 28 });
    assert.strictEqual(run.status, 0, run.stderr);
    assert.strictEqual(run.stdout, fs.readFileSync(expected, 'latin1'));
  });
}
