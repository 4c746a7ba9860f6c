'use strict';
// script.js: the language of tests/conformance/*.ops: lines, values, and the form of results.

const TIMES = new Set(['run_at_ms', 'expires_at_ms', 'retry_until_ms', 'from_ms', 'until_ms']);

/** "text" with escapes, as bytes; `at` is behind the first quote. Returns [bytes, end]. */
function readQuoted(line, at) {
  const bytes = [];
  while (line[at] !== '"') {
    if (at >= line.length) throw new Error(`no closing quote: ${line}`);
    if (line[at] === '\\' && line[at + 1] === 'x') {
      bytes.push(parseInt(line.slice(at + 2, at + 4), 16));
      at += 4;
    } else {
      if (line[at] === '\\') at++;
      bytes.push(line.charCodeAt(at++));
    }
  }
  return [Buffer.from(bytes), at + 1];
}

function repeat(bytes, count) {
  const out = Buffer.alloc(bytes.length * count);
  if (out.length) out.fill(bytes);
  return out;
}

/** One line as { op, args }; the args are strings or Buffers, `header` is a list. */
function parseLine(line) {
  const [word] = line.split(/ +/, 1);
  const args = { header: [] };
  let at = word.length;
  for (;;) {
    while (line[at] === ' ') at++;
    if (at >= line.length) return { op: word, args };
    const equals = line.indexOf('=', at);
    const key = line.slice(at, equals);
    at = equals + 1;
    let value;
    if (line[at] === '"') {
      [value, at] = readQuoted(line, at + 1);
      const times = /^\*(\d+)/.exec(line.slice(at));
      if (times) {
        value = repeat(value, Number(times[1]));
        at += times[0].length;
      }
    } else {
      value = /^[^ ]*/.exec(line.slice(at))[0];
      at += value.length;
    }
    if (key === 'header') args.header.push(value);
    else args[key] = value;
  }
}

/** A number of any size; +N and -N of a time count from now. */
function toNumber(key, word) {
  if (TIMES.has(key) && /^[+-]/.test(word)) return Date.now() + Number(word);
  const number = Number(word);
  return Number.isSafeInteger(number) ? number : BigInt(word);
}

function fnv1a(bytes) {
  let hash = 2166136261;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

function quoted(value) {
  const bytes = Buffer.from(value);
  if (bytes.length > 64) return `bytes(${bytes.length},${fnv1a(bytes)})`;
  let text = '';
  for (const byte of bytes) {
    const char = String.fromCharCode(byte);
    if (byte < 0x20 || byte > 0x7e) text += `\\x${byte.toString(16).padStart(2, '0')}`;
    else text += char === '"' || char === '\\' ? `\\${char}` : char;
  }
  return `"${text}"`;
}

const queueName = (name) => (/^[a-z0-9_]+$/.test(name) ? name : quoted(name));
const word = (outcome) => (outcome.startsWith('WQ_E_') ? `error ${outcome}` : outcome);
const camel = (key) => key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

/** ' key=value' of each that is not 0 or empty. */
function starred(object, keys) {
  let text = '';
  for (const key of keys) {
    const value = object[camel(key)];
    if (value === true) text += ` ${key}=1`;
    else if (value) text += ` ${key}=${value}`;
  }
  return text;
}

module.exports = { parseLine, toNumber, quoted, queueName, word, camel, starred };
