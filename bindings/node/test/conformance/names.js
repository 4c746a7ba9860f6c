'use strict';
// names.js: what a script has names for: jobs, tokens, flows, versions, queues.
const { quoted, queueName, starred } = require('./script');
const { nameBytes } = require('../../lib/names');

class Names {
  constructor() {
    this.jobs = new Map(); // name -> { q: name of a handle, id, generation }
    this.jobNames = new Map(); // id -> name that it had first
    this.flows = new Map();
    this.flowNames = new Map();
    this.versions = new Map();
    this.queues = new Map(); // handle name -> Queue
  }

  bindJob(name, queue, id) {
    if (!name) return;
    const q = [...this.queues].find(([, handle]) => handle === queue)[0];
    this.jobs.set(name, { q, id, generation: 0n });
    if (!this.jobNames.has(id)) this.jobNames.set(id, name);
  }

  bindFlow(name, flow) {
    if (!name) return;
    this.flows.set(name, flow);
    if (!this.flowNames.has(flow)) this.flowNames.set(flow, name);
  }

  job(name) {
    const job = this.jobs.get(name);
    if (!job) throw new Error(`no job is called ${name}`);
    return job;
  }

  queue(name) {
    const queue = this.queues.get(name);
    if (!queue) throw new Error(`no handle is called ${name}`);
    return queue;
  }

  nameOf(id) { return this.jobNames.get(id) || '?'; }

  /** A job was told: its generation goes to all names that follow the job. */
  told(job) {
    for (const entry of this.jobs.values()) {
      if (entry.id === job.id && !entry.kept) entry.generation = job.generation;
    }
  }

  /** Bind the ids of a lease that have no name yet. */
  bindLease(jobs, words) {
    const free = words ? words.split(',') : [];
    for (const job of jobs) {
      if (!this.jobNames.has(job.id) && free.length) {
        this.bindJob(free.shift(), job.queue, job.id);
      }
      this.told(job);
    }
  }

  /** The row of a job. */
  row(job) {
    let text = `  ${this.nameOf(job.id)} queue=${queueName(job.queueName)} state=${job.state}` +
      ` priority=${job.priority} attempts=${job.attempts} max_attempts=${job.maxAttempts}` +
      ` payload=${quoted(job.payload)}`;
    text += starred(job, ['exceptions', 'replays', 'dead_reason']);
    for (const key of ['deadlineMs', 'deadMs', 'firstDeadMs']) {
      if (job[key]) text += ` ${key.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`)}=set`;
    }
    for (const [name, value] of job.headers) text += ` header=${this.header(name, value)}`;
    const own = job.lastError.toString().startsWith('the payload of job');
    if (job.lastError.length) text += ` last_error=${own ? '*' : quoted(job.lastError)}`;
    if (job.timeoutMs) text += ` timeout_ms=${job.timeoutMs}`;
    if (job.expiresAtMs) text += ' expires_at_ms=set';
    if (job.retryUntilMs) text += ' retry_until_ms=set';
    if (job.maxExceptions) text += ` max_exceptions=${job.maxExceptions}`;
    const flags = [job.failOnTimeout && 'fail_on_timeout', job.sealed && 'encrypt'];
    if (flags.some(Boolean)) text += ` flags=${flags.filter(Boolean).join(',')}`;
    if (job.progress.length) text += ` progress=${quoted(job.progress)}`;
    if (job.flow) text += ` flow=${this.flowNames.get(job.flow) || '?'}`;
    if (job.chainCount) text += ` chain_count=${job.chainCount}`;
    if (job.flowCancelled) text += ' flow_cancelled=1';
    if (job.group.length) text += ` group=${quoted(job.group)}`;
    if (job.parked) text += ' parked=1';
    if (job.tenant.length) text += ` tenant=${quoted(job.tenant)}`;
    if (job.rateKey.length) text += ` rate_key=${quoted(job.rateKey)}`;
    if (job.rateKey.length) text += starred(job, ['rate_cost']);
    return text + starred(job, ['key_id']) + codeText('payload_code', job.payloadCode);
  }

  header(name, value) {
    let shown = value;
    if (name === 'wq-batch') {
      for (const [flow, flowName] of this.flowNames) {
        if (String(flow) === value.toString()) shown = Buffer.from(flowName);
      }
    }
    if (name === 'wq-slot-ms') shown = Buffer.from('*');
    return quoted(Buffer.concat([Buffer.from(nameBytes(name)), Buffer.from('='), shown]));
  }
}

/** ' key=WQ_E_...' of what does not open. */
const codeText = (key, code) => (code === 'ok' ? '' : ` ${key}=${code}`);

module.exports = { Names, codeText };
