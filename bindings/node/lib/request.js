'use strict';
// request.js: a call on its way. A request is written into one buffer that all calls share, and
// copied by the addon before anything else can write into it; the promise is kept in a slot until
// the answer comes. See src/wire.c for the form of both.
const { addon } = require('./native');
const { WqError, outcomes, codeText } = require('./errors');
const { constants, enumNumber, i64, u64, set64, get64, layouts } = require('./layout');
const { checkText } = require('./text');

const FRAME_BYTES = 56;
const ARGS_AT = 8;
const BUFFER_KEEP_BYTES = 1 << 20;
const RECORD_BYTES = 32;

/** The buffer that a request is written into. begin(), arg() and the others, then call(). */
class Request {
  constructor() {
    this.allocate(1 << 16);
  }

  allocate(size) {
    this.buffer = Buffer.allocUnsafeSlow(size);
    this.view = new DataView(this.buffer.buffer, this.buffer.byteOffset, size);
    this.size = size;
  }

  begin(op, durability) {
    if (this.size > BUFFER_KEEP_BYTES) this.allocate(1 << 16);
    this.buffer.fill(0, 0, FRAME_BYTES);
    this.end = FRAME_BYTES;
    this.view.setUint32(0, op, true);
    if (durability !== undefined) {
      this.view.setUint32(4, enumNumber('durability', durability, 'durability'), true);
    }
    return this;
  }

  reserve(size) {
    const needed = this.end + size;
    if (needed <= this.size) return;
    const old = this.buffer;
    this.allocate(Math.max(needed, this.size * 2));
    old.copy(this.buffer, 0, 0, this.end);
  }

  /** Room for `size` zero bytes, aligned to 8: where it begins. */
  room(size) {
    this.reserve(size + 8);
    const at = (this.end + 7) & ~7;
    this.buffer.fill(0, at, at + size);
    this.end = at + size;
    return at;
  }

  /** Room for n structs, each with its struct_size, if it has one. */
  structs(name, n = 1) {
    const { size, fields } = layouts[name];
    const at = this.room(size * n);
    for (let i = 0; fields.struct_size && i < n; i++) {
      this.view.setUint32(at + i * size, size, true);
    }
    return at;
  }

  arg(i, value) {
    set64(this.view, ARGS_AT + 8 * i, value);
    return this;
  }

  i64(i, value, field) {
    return this.arg(i, i64(value, field));
  }

  u64(i, value, field) {
    return this.arg(i, u64(value, field));
  }

  /** Copy bytes in: sets `start` and `length` of what was copied. */
  copy(value, field) {
    if (typeof value === 'string') {
      checkText(value, field);
      this.reserve(value.length * 3 + 8);
      this.start = this.end;
      this.length = this.buffer.write(value, this.end, 'utf8');
    } else {
      const bytes = toBytes(value, field);
      this.reserve(bytes.length + 8);
      this.start = this.end;
      this.length = bytes.length;
      this.buffer.set(bytes, this.end);
    }
    this.end += this.length;
  }

  /** Bytes as the arguments i and i + 1. */
  bytes(i, value, field) {
    this.copy(value, field);
    return this.arg(i, this.start).arg(i + 1, this.length);
  }

  /** Bytes of a field of the type wq_bytes. */
  bytesField(at, value, field) {
    this.copy(value, field);
    set64(this.view, at, this.start);
    set64(this.view, at + 8, this.length);
  }

  path(i, value, field) {
    if (typeof value !== 'string') throw new TypeError(`${field}: a string is wanted`);
    return this.bytes(i, `${value}\0`, field);
  }
}

/** Strings are UTF-8; anything with bytes is its bytes. */
function toBytes(value, field) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(`${field}: a string, Buffer, TypedArray or ArrayBuffer is wanted`);
}

/** An answer: offsets in it count from `base`. */
class Reply {
  constructor(buffer, view, base, length) {
    this.buffer = buffer;
    this.view = view;
    this.base = base;
    this.length = length;
    this.code = 0;
    this.lsn = 0n;
  }

  /** A view of some bytes, no copy. */
  bytes(start, length) {
    const from = this.base + start;
    return this.buffer.subarray(from, from + length);
  }

  u64(start) {
    return get64(this.view, this.base + start);
  }

  big(start) {
    return this.view.getBigUint64(this.base + start, true);
  }

  i32(start) {
    return this.view.getInt32(this.base + start, true);
  }

  get outcome() {
    return codeText(this.code);
  }
}

// ---- slots ----

const slots = [];
const free = [];

const viewOf = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

function readError(code, buffer, view, at) {
  const length = get64(view, at + 16);
  return new WqError(code, buffer.toString('utf8', at + 24, at + 24 + length), {
    osErrno: view.getInt32(at, true), offset: view.getBigUint64(at + 8, true),
  });
}

// ---- signals: one listener for each, however many calls wait with it ----

const watched = new WeakMap(); // AbortSignal -> { waiting: Set of slots, listener }

function watch(signal, slot) {
  let entry = watched.get(signal);
  if (!entry) {
    const waiting = new Set();
    entry = { waiting, listener: () => waiting.forEach((one) => calls.cancel(one)) };
    watched.set(signal, entry);
    signal.addEventListener('abort', entry.listener, { once: true });
  }
  entry.waiting.add(slot);
}

function unwatch(signal, slot) {
  const entry = watched.get(signal);
  entry.waiting.delete(slot);
  if (entry.waiting.size) return;
  watched.delete(signal);
  signal.removeEventListener('abort', entry.listener);
}

/** Answer one promise. */
function settle(slot, reply, error) {
  const waiting = slots[slot];
  slots[slot] = undefined;
  free.push(slot);
  if (waiting.signal) unwatch(waiting.signal, slot);
  try {
    if (error && !waiting.takesErrors) throw error;
    if (reply.code === constants.WQ_CANCELLED && waiting.signal && waiting.signal.aborted) {
      throw waiting.signal.reason;
    }
    waiting.resolve(waiting.decode ? waiting.decode(reply, error) : outcomes[reply.code]);
  } catch (failure) {
    waiting.reject(failure);
  }
}

/** Called by the addon with many answers at once; see `record` in src/module.c. */
function onDone(records, extras, more) {
  if (more) setImmediate(calls.answer);
  const view = viewOf(records);
  for (let at = 0; at < records.length;) {
    const slot = view.getUint32(at, true);
    const code = view.getInt32(at + 4, true);
    const errorLength = view.getUint32(at + 16, true);
    const length = view.getUint32(at + 20, true);
    const extra = view.getInt32(at + 24, true);
    const lsnAt = at + 8;
    at += RECORD_BYTES;
    const error = code < 0 ? readError(code, records, view, at) : null;
    at += errorLength;
    let reply;
    if (extra >= 0) {
      const buffer = extras[extra];
      reply = new Reply(buffer, viewOf(buffer), 0, buffer.length);
    } else {
      reply = new Reply(records, view, at, length);
      at += length;
    }
    reply.code = code;
    reply.lsn = view.getBigUint64(lsnAt, true);
    settle(slot, reply, error);
  }
}

const calls = addon.start(onDone);
// Stores that are open when the process ends are closed, with all that was asked for done.
process.on('exit', () => calls.end());
const request = new Request();
const ops = addon.ops;

/**
 * Hand the request over. `decode(reply, error)` makes the value of the promise; without it that is
 * the outcome. Errors reject it, unless `takesErrors`. An aborted `signal` rejects with its reason.
 */
function call(store, queues, decode, signal, takesErrors = false) {
  return new Promise((resolve, reject) => {
    const waiting = { resolve, reject, decode, signal, takesErrors };
    if (signal !== undefined && signal !== null) {
      if (typeof signal.aborted !== 'boolean') throw new TypeError('signal: no AbortSignal');
      if (signal.aborted) throw signal.reason;
    } else {
      waiting.signal = undefined;
    }
    const slot = free.length ? free.pop() : slots.length;
    slots[slot] = waiting;
    try {
      calls.submit(store, queues, request.buffer, request.end, slot);
    } catch (error) {
      slots[slot] = undefined;
      free.push(slot);
      throw error;
    }
    if (waiting.signal) watch(signal, slot);
  });
}

/** A function that returns a promise and never throws: wrong arguments reject it. */
function promised(build) {
  try {
    return build();
  } catch (error) {
    return Promise.reject(error);
  }
}

module.exports = { request, ops, call, promised, calls, Reply };
