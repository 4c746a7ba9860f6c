'use strict';
// job.js: a job as it is told. A Job keeps the answer that it came in, and reads a field when it is
// asked for; bytes are views into that answer, which belongs to JavaScript.
const { inspect } = require('node:util');
const { nameText } = require('./names');
const {
  enumName, fieldReaders, get64, layouts, constants, offsetOf,
} = require('./layout');

const JOB_BYTES = layouts.wq_job.size;
const HEADER_BYTES = layouts.wq_header.size;
const PLAIN = { headersCount: 1, flags: 1, queueIndex: 1 };
const fields = fieldReaders('wq_job').filter(([name]) => !PLAIN[name]);
const BOOLEAN = new Set(['flowCancelled', 'parked']);
const FLAGS_AT = offsetOf('wq_job', 'flags');
const HEADERS_COUNT_AT = offsetOf('wq_job', 'headers_count');
const QUEUE_INDEX_AT = offsetOf('wq_job', 'queue_index');
const ID_AT = offsetOf('wq_job', 'id');
const GENERATION_AT = offsetOf('wq_job', 'generation');

/** Put id and generation of a Job at two places, with no BigInt between; false: it is no Job. */
let copyToken;

function copy64(from, at, to, toAt) {
  to.setUint32(toAt, from.getUint32(at, true), true);
  to.setUint32(toAt + 4, from.getUint32(at + 4, true), true);
}

/**
 * One job: what a lease gave, or what was read. Its fields are those of wq_job in camelCase. The
 * methods settle the lease that it came with; they resolve to an outcome: 'ok', or 'stale' when
 * the lease is not this worker's any more, and nothing changed.
 */
class Job {
  #queue;
  #reply;
  #at;
  #headersAt;

  constructor(queue, reply, at, headersAt) {
    this.#queue = queue;
    this.#reply = reply;
    this.#at = at;
    this.#headersAt = headersAt;
  }

  static {
    for (const [name, read] of fields) {
      const get = BOOLEAN.has(name)
        ? function get() { return Boolean(read(this.#reply, this.#at)); }
        : function get() { return read(this.#reply, this.#at); };
      Object.defineProperty(Job.prototype, name, { get, enumerable: true, configurable: true });
    }
    copyToken = (job, view, idAt, generationAt) => {
      if (!(#reply in job)) return false;
      copy64(job.#reply.view, job.#at + ID_AT, view, idAt);
      copy64(job.#reply.view, job.#at + GENERATION_AT, view, generationAt);
      return true;
    };
  }

  /** The Queue that it belongs to. */
  get queue() { return this.#queue; }

  get failOnTimeout() {
    const flags = this.#reply.view.getUint32(this.#at + FLAGS_AT, true);
    return Boolean(flags & constants.WQ_JOB_FAIL_ON_TIMEOUT);
  }

  /** Its payload is stored encrypted. */
  get sealed() {
    const flags = this.#reply.view.getUint32(this.#at + FLAGS_AT, true);
    return Boolean(flags & constants.WQ_JOB_ENCRYPT);
  }

  /** [name, value] of each header, in the order they were given. */
  get headers() {
    const count = this.#reply.view.getUint32(this.#at + HEADERS_COUNT_AT, true);
    const headers = [];
    for (let i = 0; i < count; i++) {
      const at = this.#reply.base + this.#headersAt + i * HEADER_BYTES;
      headers.push([nameText(this.#bytesAt(at)), this.#bytesAt(at + 16)]);
    }
    return headers;
  }

  #bytesAt(at) {
    const { view } = this.#reply;
    return this.#reply.bytes(get64(view, at), get64(view, at + 8));
  }

  /** The value of the first header of this name, or undefined. */
  header(name) {
    const found = this.headers.find((header) => header[0] === name);
    return found && found[1];
  }

  /** The payload as UTF-8. */
  text() {
    return this.payload.toString();
  }

  /** The payload, parsed as JSON. */
  json() {
    return JSON.parse(this.text());
  }

  ack(result, options) { return this.queue.ack(this, result, options); }
  nack(options) { return this.queue.nack(this, options); }
  release(options) { return this.queue.release(this, options); }
  fail(error, options) { return this.queue.fail(this, error, options); }
  extend(leaseMs, options) { return this.queue.extend(this, leaseMs, options); }
  confirm(options) { return this.queue.confirm(this, options); }
  setProgress(note, options) { return this.queue.setProgress(this, note, options); }
  explain() { return this.queue.explainJob(this.id); }

  /** All fields as a plain object. */
  toObject() {
    const object = {};
    for (const [name] of fields) object[name] = this[name];
    object.failOnTimeout = this.failOnTimeout;
    object.sealed = this.sealed;
    object.headers = this.headers;
    return object;
  }

  [inspect.custom](depth, options) {
    return `Job ${inspect(this.toObject(), options)}`;
  }
}

/** The jobs of an answer; `queues` is the queue, or the array that a lease was given. */
function readBatch(reply, queues) {
  const jobs = [];
  if (reply.length < 8) return jobs;
  const count = reply.u64(0);
  const first = 8 + count * 8;
  const many = Array.isArray(queues);
  for (let i = 0; i < count; i++) {
    const at = reply.base + first + i * JOB_BYTES;
    const queue = many ? queues[reply.view.getUint32(at + QUEUE_INDEX_AT, true)] : queues;
    jobs.push(new Job(queue, reply, at, reply.u64(8 + i * 8)));
  }
  return jobs;
}

/** An array of jobs that knows how the call went. */
function jobsWithOutcome(reply, queues) {
  const jobs = reply.code === 0 ? readBatch(reply, queues) : [];
  Object.defineProperty(jobs, 'outcome', { value: reply.outcome });
  return jobs;
}

module.exports = { Job, copyToken, readBatch, jobsWithOutcome, enumName };
