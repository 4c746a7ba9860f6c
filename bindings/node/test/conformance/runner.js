#!/usr/bin/env node
'use strict';
// runner.js: runner.js DIRECTORY FILE.ops runs a script of tests/conformance through this binding
// and prints the normalised results. Exit 0: run to its end; 2: it could not be.
const fs = require('node:fs');
const path = require('node:path');
const wq = require('../..');
const { parseLine, word } = require('./script');
const { Names } = require('./names');
const { ops } = require('./ops');

class Runner {
  constructor(directory) {
    this.directory = directory;
    this.names = new Names();
    this.store = null;
    this.calls = new Map(); // of async=NAME
    this.parts = [];
  }

  path(name) { return path.join(this.directory, String(name)); }

  /** The result of one operation as lines. */
  async run(op, args) {
    const parts = this.parts;
    this.parts = [];
    if (!Object.hasOwn(ops, op)) throw new Error(`there is no operation ${op}`);
    return ops[op](this, args, parts);
  }

  async line({ op, args }) {
    if (op === '+') {
      this.parts.push(args);
      return [];
    }
    if (op === 'await') return this.calls.get(args.call);
    const result = this.run(op, args).catch((error) => {
      if (!(error instanceof wq.WqError)) throw error;
      return [word(error.code)];
    });
    if (args.async) {
      this.calls.set(args.async, result);
      return ['begun'];
    }
    return result;
  }
}

async function main([directory, file]) {
  const runner = new Runner(directory);
  const lines = fs.readFileSync(file, 'latin1').split('\n');
  for (let i = 0; i < lines.length; i++) {
    const text = lines[i].trim();
    if (!text || text.startsWith('#')) continue;
    try {
      for (const result of await runner.line(parseLine(text))) process.stdout.write(`${result}\n`);
    } catch (error) {
      throw new Error(`${file}:${i + 1}: ${text}: ${error.stack}`);
    }
  }
  if (runner.store) await runner.store.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exitCode = 2;
});
