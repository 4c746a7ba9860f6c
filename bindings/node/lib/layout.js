'use strict';
// layout.js: images of the structs of wq.h, written and read by the tables of the addon. The one
// rule of names: a field `lease_ms` of the header is `leaseMs` here. Constants are their names
// without prefix in lower case: WQ_STATE_READY is 'ready'. Counts and times are numbers; ids,
// generations, LSNs and versions are BigInt; bytes are Buffers.
const { addon } = require('./native');
const { WqError, codes, codeText, invalid } = require('./errors');
const { constants, layouts } = addon;

const KIND = { U32: 0, I32: 1, U64: 2, I64: 3, F64: 4, BYTES: 5, CHARS: 6, I64S: 7, PTR: 8 };

const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());

// ---- constants ----

const byPrefix = (prefix, pattern = /./) => Object.keys(constants)
  .filter((name) => name.startsWith(prefix) && pattern.test(name.slice(prefix.length)))
  .map((name) => [name.slice(prefix.length).toLowerCase(), constants[name]]);
const named = (prefix, ...names) => names.map((name) => [name, constants[prefix +
  name.toUpperCase()]]);

const ENUMS = {
  state: named('WQ_STATE_', 'ready', 'delayed', 'leased', 'running', 'dead'),
  status: byPrefix('WQ_STATUS_'),
  storeStatus: named('WQ_STORE_', 'open', 'draining', 'poisoned'),
  ioBackend: byPrefix('WQ_IO_'),
  durability: named('WQ_', 'memory', 'process', 'power'),
  fullPolicy: byPrefix('WQ_FULL_'),
  backoffKind: named('WQ_BACKOFF_', 'fixed', 'exponential', 'list'),
  uniqueUntil: byPrefix('WQ_UNIQUE_'),
  keyKind: named('WQ_KEY_', 'unique', 'debounce', 'idempotency'),
  overlap: byPrefix('WQ_OVERLAP_'),
  deadReason: byPrefix('WQ_DEAD_', /^(?!OLDEST_FIRST|ALL$|DRY_RUN)/),
  eventKind: byPrefix('WQ_EVENT_'),
  settleKind: byPrefix('WQ_SETTLE_'),
  txnKind: byPrefix('WQ_TXN_'),
  why: byPrefix('WQ_WHY_'),
  flowFlags: named('WQ_FLOW_', 'sealed', 'cancelled', 'finished'),
};

const toNumber = {}; // enum -> name -> number
const toName = {}; // enum -> number -> name
for (const [name, pairs] of Object.entries(ENUMS)) {
  toNumber[name] = new Map(pairs);
  toName[name] = new Map(pairs.map(([word, value]) => [value, word]));
}

/** The number of a name; undefined is 0. */
function enumNumber(name, value, field) {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'string') throw new TypeError(`${field}: a string is wanted`);
  const number = toNumber[name].get(value);
  if (number === undefined) {
    throw invalid(`${field}: '${value}' is none of ${[...toNumber[name].keys()].join(', ')}`);
  }
  return number;
}

const enumName = (name, number) => {
  const word = toName[name].get(number);
  if (word !== undefined) return word;
  return number === 0 ? '' : `unknown_${number}`;
};

/** The names of the bits, in the order of the header; bits with no name are 'unknown_N'. */
function flagNames(name, mask) {
  const words = [];
  for (let bit = 0; bit < 32; bit++) {
    const value = (1 << bit) >>> 0;
    if (mask & value) words.push(toName[name].get(value) || `unknown_${value}`);
  }
  return words;
}

// ---- values ----

function u32(value, field) {
  if (typeof value === 'bigint') value = Number(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'number') throw new TypeError(`${field}: a number is wanted`);
  if (value >>> 0 !== value) throw invalid(`${field}: ${value} is not within 0..4294967295`);
  return value;
}

const I64_MIN = -(1n << 63n);
const I64_MAX = (1n << 63n) - 1n;
const U64_MAX = (1n << 64n) - 1n;

const POINTS_IN_TIME = new Set(['runAtMs', 'expiresAtMs', 'retryUntilMs', 'fromMs', 'untilMs',
  'from']);
const WAITS = new Set(['waitMs', 'timeoutMs']);

/** A number or a BigInt. A point in time may be a Date; a wait Infinity, which is -1. */
function i64(value, field) {
  if (value instanceof Date) {
    if (!POINTS_IN_TIME.has(field)) {
      throw new TypeError(`${field}: a Date is no length of time; runAtMs and its like take one`);
    }
    value = value.getTime();
  }
  if (value === Infinity && WAITS.has(field)) return -1;
  if (typeof value === 'bigint') {
    if (value < I64_MIN || value > I64_MAX) throw invalid(`${field}: ${value} is out of range`);
    return value;
  }
  if (typeof value !== 'number') throw new TypeError(`${field}: a number is wanted`);
  if (!Number.isSafeInteger(value)) throw invalid(`${field}: ${value} is not a whole number`);
  return value;
}

function u64(value, field) {
  if (typeof value === 'bigint') {
    if (value < 0n || value > U64_MAX) throw invalid(`${field}: ${value} is out of range`);
    return value;
  }
  if (typeof value !== 'number') throw new TypeError(`${field}: a BigInt or number is wanted`);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw invalid(`${field}: ${value} is out of range`);
  }
  return value;
}

/** Put a number or BigInt into 8 bytes. */
function set64(view, at, value) {
  if (typeof value === 'bigint') {
    if (value < 0n) view.setBigInt64(at, value, true);
    else view.setBigUint64(at, value, true);
  } else if (value >= 0) {
    view.setUint32(at, value >>> 0, true);
    view.setUint32(at + 4, (value / 4294967296) >>> 0, true);
  } else {
    view.setBigInt64(at, BigInt(value), true);
  }
}

const get64 = (view, at) =>
  view.getUint32(at, true) + view.getUint32(at + 4, true) * 4294967296;
const getI64 = (view, at) => view.getUint32(at, true) + view.getInt32(at + 4, true) * 4294967296;

// ---- writing ----

/** A writer of each field of a struct that can be given: name -> function(request, at, value). */
function fieldWriters(struct) {
  const writers = Object.create(null);
  for (const [name, field] of Object.entries(layouts[struct].fields)) {
    const { offset, kind, target, count } = field;
    if (name === 'struct_size' || name.startsWith('reserved')) continue;
    const key = camel(name);
    if (kind === KIND.U32) {
      writers[key] = (r, at, value) => r.view.setUint32(at + offset, u32(value, key), true);
    } else if (kind === KIND.U64) {
      writers[key] = (r, at, value) => set64(r.view, at + offset, u64(value, key));
    } else if (kind === KIND.I64) {
      writers[key] = (r, at, value) => set64(r.view, at + offset, i64(value, key));
    } else if (kind === KIND.BYTES) {
      writers[key] = (r, at, value) => r.bytesField(at + offset, value, key);
    } else if (target && count >= 0) {
      writers[key] = arrayWriter(target, offset, count, key);
    }
  }
  return writers;
}

/** A writer of an array of structs: [{ id: 1, bytes }, ...]. */
function arrayWriter(target, offset, count, key) {
  let writers = null;
  return (r, at, list) => {
    if (!Array.isArray(list)) throw new TypeError(`${key}: an array is wanted`);
    writers ||= fieldWriters(target);
    const first = r.structs(target, list.length);
    list.forEach((one, i) => writeFields(r, first + i * layouts[target].size, writers, one, key));
    set64(r.view, at + offset, list.length ? first : 0);
    set64(r.view, at + count, list.length);
  };
}

const enumWriter = (struct, field, name) => {
  const { offset } = layouts[struct].fields[field];
  const key = camel(field);
  return (r, at, value) => r.view.setUint32(at + offset, enumNumber(name, value, key), true);
};

/** Options that are bits of a field: name -> bit. */
const flagWriter = (struct, bit, field = 'flags') => {
  const { offset } = layouts[struct].fields[field];
  return (r, at, value) => {
    if (!value) return;
    r.view.setUint32(at + offset, (r.view.getUint32(at + offset, true) | bit) >>> 0, true);
  };
};

/** Write what `values` has; names that no writer knows are refused, but for those in `ignored`. */
function writeFields(request, at, writers, values, what, ignored = none) {
  for (const key in values) {
    const value = values[key];
    if (value === undefined) continue;
    const write = writers[key];
    if (write) write(request, at, value);
    else if (!ignored.has(key)) throw new TypeError(`${what}: there is no option '${key}'`);
  }
}
const none = new Set();

// ---- reading ----

const BIG = /(^|_)(id|generation|lsn|flow|cursor|epoch|version)$/;

function fieldReader(name, { offset, size, kind }) {
  if (kind === KIND.U32) return (reply, at) => reply.view.getUint32(at + offset, true);
  if (kind === KIND.I32) return (reply, at) => reply.view.getInt32(at + offset, true);
  if (kind === KIND.F64) return (reply, at) => reply.view.getFloat64(at + offset, true);
  if (kind === KIND.I64) return (reply, at) => getI64(reply.view, at + offset);
  if (kind === KIND.U64) {
    return BIG.test(name) ? (reply, at) => reply.view.getBigUint64(at + offset, true)
      : (reply, at) => get64(reply.view, at + offset);
  }
  if (kind === KIND.BYTES) {
    return (reply, at) => {
      const start = get64(reply.view, at + offset);
      return reply.bytes(start, get64(reply.view, at + offset + 8));
    };
  }
  if (kind === KIND.CHARS) {
    return (reply, at) => {
      const bytes = reply.bytes(at - reply.base + offset, size);
      return bytes.toString('utf8', 0, bytes.indexOf(0));
    };
  }
  return null;
}

const READ_ENUMS = {
  state: 'state', status: 'status', dead_reason: 'deadReason', backoff_kind: 'backoffKind',
  durability: 'durability', full_policy: 'fullPolicy', io_backend: 'ioBackend',
  queue_status: 'status',
};
const READ_FLAGS = { causes: 'why' };
const READ_CODES = new Set(['payload_code', 'result_code']);
const STORE_STATUS = { wq_store_stats: { status: 'storeStatus' } };

/** Readers of all fields of a struct: [[name, function(reply, at)], ...]. */
function fieldReaders(struct) {
  const readers = [];
  for (const [name, field] of Object.entries(layouts[struct].fields)) {
    if (name === 'struct_size' || name.startsWith('reserved')) continue;
    const raw = fieldReader(name, field);
    if (!raw) continue;
    const words = (STORE_STATUS[struct] || READ_ENUMS)[name] || READ_ENUMS[name];
    if (words) {
      readers.push([camel(name), (reply, at) => enumName(words, raw(reply, at))]);
    } else if (READ_FLAGS[name]) {
      readers.push([camel(name), (reply, at) => flagNames(READ_FLAGS[name], raw(reply, at))]);
    } else if (READ_CODES.has(name)) {
      readers.push([camel(name), (reply, at) => codeText(raw(reply, at))]);
    } else if (/(^|_)(queue_name|name|queue)$/.test(name) && field.kind === KIND.BYTES) {
      readers.push([camel(name), (reply, at) => raw(reply, at).toString()]);
    } else {
      readers.push([camel(name), raw]);
    }
  }
  return readers;
}

/** A function(reply, at) that reads a struct into an object. */
function structReader(struct) {
  const readers = fieldReaders(struct);
  return (reply, at) => {
    const object = {};
    for (let i = 0; i < readers.length; i++) object[readers[i][0]] = readers[i][1](reply, at);
    return object;
  };
}

const offsetOf = (struct, field) => layouts[struct].fields[field].offset;

module.exports = {
  camel, enumNumber, enumName, flagNames, toNumber, u32, i64, u64, set64, get64, getI64,
  fieldWriters, enumWriter, flagWriter, writeFields, fieldReaders, structReader, offsetOf,
  constants, layouts, codes, WqError,
};
