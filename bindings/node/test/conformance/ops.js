'use strict';
// ops.js: the operations of the scripts, through the surface of this package. Each takes the
// runner, its arguments and its parts, and returns lines. A WqError becomes its line in runner.js.
const wq = require('../..');
const { toNumber, quoted, queueName, word, starred } = require('./script');
const {
  options, spec, call, one, queueOf, onJob, onQueue, bytes, nackOptions, settleItem, told, CONFIG,
} = require('./common');

/** Until the job is in this state, which the clock brings about. */
async function until(queue, job, args, r) {
  const end = performance.now() + UNTIL_MS;
  for (;;) {
    const found = await queue.get(job.id);
    if (found.state === args.state) return told(r, found);
    if (performance.now() > end) throw new Error(`job ${args.job} is still ${found.state}`);
    await new Promise(setImmediate);
  }
}
const UNTIL_MS = 60000;

// ---- store ----

const OPEN = ['flags', 'events_max', 'payload_bytes_max', 'quota_bytes', 'memory_budget_bytes',
  'segment_bytes', 'keys', 'current_key'];

async function open(r, args) {
  const store = await wq.open(r.path(args.store || 'store'), options(r, args, OPEN));
  r.store = store;
  r.cursor = {};
  r.names.queues.clear();
  return ['ok'];
}

async function openAgain(r, args) {
  const store = await wq.open(r.path(args.store || 'store'), options(r, args, OPEN));
  await store.close();
  return ['ok'];
}

async function events(r) {
  const rows = [];
  for (;;) {
    const page = await r.store.pollEvents(r.cursor);
    r.cursor = page.cursor;
    if (page.outcome !== 'ok') break;
    for (const event of page.events) {
      if (event.kind === 'checkpoint') continue;
      let text = `  ${event.kind}`;
      if (event.queueName) text += ` queue=${queueName(event.queueName)}`;
      if (event.kind === 'flow_finished') text += ` flow=${r.names.flowNames.get(event.jobId)}`;
      else if (event.jobId) text += ` job=${r.names.nameOf(event.jobId)}`;
      rows.push(text + starred(event, ['count', 'dead_reason']));
    }
  }
  return rows.length ? ['ok', ...rows] : ['empty'];
}

const storeOps = {
  open,
  open_again: openAgain,
  close: async (r) => { await r.store.close(); return ['ok']; },
  shutdown: (r, args) => one(r.store.shutdown(toNumber('', args.timeout_ms))),
  sync: (r) => one(r.store.sync()),
  checkpoint: (r) => one(r.store.checkpoint()),
  tick: async (r) => { await r.store.tick(); return ['ok']; },
  recovery: async (r) => {
    const { leasesKept, leasesExpired } = await r.store.recovery();
    return [`ok leases_kept=${leasesKept} leases_expired=${leasesExpired}`];
  },
  queues: async (r) => ['ok', ...(await r.store.queues()).map((name) => `  ${queueName(name)}`)],
  store_stats: async (r) => {
    const s = await r.store.stats();
    return [`ok status=${s.status} queues=${s.queues} ready=${s.ready} delayed=${s.delayed} ` +
      `leased=${s.leased} running=${s.running} dead=${s.dead}`];
  },
  store_keys: async (r) => ['ok', ...(await r.store.encryptionKeys()).map((key) =>
    `  ${key.id}${key.payloads ? ' payloads=set' : ''}${starred(key, ['known', 'current'])}`)],
  metrics: async (r) => [(await r.store.metrics()).length ? 'ok' : 'no text'],
  verify: async (r) => {
    const { jobs, problems } = await r.store.verify();
    return [`ok jobs=${jobs} problems=${problems}`];
  },
  backup: async (r, args) => [(await r.store.backup(r.path(args.dir))).outcome],
  backup_verify: async (r, args) => [(await wq.verifyBackup(r.path(args.dir))).outcome],
  restore: async (r, args) =>
    [(await wq.restore(r.path(args.dir), r.path(args.store))).outcome],
  events,
};

// ---- queues ----

async function openQueue(r, args) {
  const create = !(args.flags && args.flags.split(',').includes('no_create'));
  const queue = await r.store.queue(args.q, { ...options(r, args, CONFIG), create });
  r.names.queues.set(args.as || String(args.q), queue);
  return ['ok'];
}

async function showConfig(queue, args, r) {
  const c = await queue.config();
  if (args.as) r.names.versions.set(args.as, c.version);
  if (c.fullPolicy === 'refuse') c.fullPolicy = '';
  c.backoffListMs = c.backoffListMs.join(',');
  return [`ok status=${c.status} max_running=${c.maxRunning} max_retries=${c.maxRetries}` +
    ` lease_ms=${c.leaseMs} durability=${c.durability}` + starred(c, ['backoff_kind',
    'backoff_base_ms', 'backoff_max_ms', 'backoff_list_ms', 'backoff_jitter_permille', 'job_ttl_ms',
    'max_depth', 'max_bytes', 'full_policy', 'dead_max_count', 'dead_max_age_ms',
    'keep_done_age_ms', 'keep_done_count', 'group_limit', 'rate_count', 'rate_burst',
    'rate_window_ms', 'encrypt', 'compress_min_bytes', 'key_rate_count', 'key_rate_burst',
    'key_rate_window_ms', 'throttle_count', 'throttle_window_ms', 'throttle_cool_ms',
    'consumers_paused'])];
}

async function showStats(queue) {
  const s = await queue.stats();
  return [`ok status=${s.status} ready=${s.ready} delayed=${s.delayed} leased=${s.leased}` +
    ` running=${s.running} dead=${s.dead}` + starred(s, ['enqueued_total', 'leased_total',
    'acked_total', 'nacked_total', 'failed_total', 'released_total', 'expired_total', 'dead_total',
    'replayed_total', 'cancelled_total', 'cleared_total', 'jobs_expired_total', 'dropped_total',
    'dead_dropped_total', 'chain_cut_total', 'parked', 'skipped_total'])];
}

const causes = (list) => list.filter((cause) => cause !== 'no_consumer').join(',') || 'none';

const queueOps = {
  queue: openQueue,
  configure: onQueue((queue, args, r) => {
    const config = options(r, args, CONFIG);
    if (args.version) config.version = r.names.versions.get(args.version);
    return one(queue.configure(config));
  }),
  config: onQueue(showConfig),
  stats: onQueue(showStats),
  clear: onQueue(async (queue, args) => {
    const states = args.states ? args.states.split(',') : [];
    return [`ok removed=${await queue.clear({ states, ...call(args) })}`];
  }),
  queue_explain: onQueue(async (queue) => {
    const e = await queue.explain();
    return [`ok status=${e.status} causes=${causes(e.causes)} leasable=${e.leasable} ` +
      `slots_taken=${e.slotsTaken} slots_max=${e.slotsMax} parked=${e.parked}`];
  }),
  errors: onQueue(async (queue, args, r) => {
    const rows = (await queue.errors()).map((error) => `  ${r.names.nameOf(error.jobId)} ` +
      `kind=${error.kind} attempt=${error.attempt} text=${quoted(error.text)}`);
    return rows.length ? ['ok', ...rows] : ['empty'];
  }),
  queue_close: onQueue(async (queue) => { await queue.close(); return ['ok']; }),
};
for (const op of ['pause', 'resume', 'disable', 'enable', 'delete']) {
  queueOps[op] = onQueue((queue, args) => one(queue[op](call(args))));
}

// ---- jobs ----

async function enqueue(r, args, parts) {
  const queue = r.names.queue(args.q);
  const { payload = '', ...rest } = spec(r, args);
  if (parts.length) {
    rest.chain = parts.map((part) => ({ ...spec(r, part), ...(part.q ? { queue: part.q } : {}) }));
  }
  const out = await queue.enqueue(payload, { ...rest, ...call(args) });
  if (out.outcome === 'duplicate') return [`duplicate job=${r.names.nameOf(out.holder)}`];
  if (out.outcome === 'ok' && out.id) r.names.bindJob(args.as, queue, out.id);
  return [out.outcome];
}

async function enqueueMany(r, args, parts) {
  const queue = r.names.queue(args.q);
  const partial = Boolean(args.flags && args.flags.split(',').includes('partial'));
  const counted = args.count !== undefined;
  const { flags, ...plain } = args;
  const jobs = counted ? Array(Number(args.count)).fill(spec(r, plain))
    : parts.map((part) => spec(r, part));
  let out;
  try {
    out = await queue.enqueueMany(jobs, { partial, ...call(args) });
  } catch (error) {
    if (!(error instanceof wq.WqError)) throw error;
    out = { outcome: error.code, accepted: error.accepted || 0, jobs: error.jobs || [] };
  }
  const rows = [];
  for (let i = 0; i < parts.length; i++) {
    const job = out.jobs[i] || { outcome: out.outcome };
    if (job.outcome === 'ok' && job.id) r.names.bindJob(parts[i].as, queue, job.id);
    const holder = job.outcome === 'duplicate' ? ` job=${r.names.nameOf(job.holder)}` : '';
    rows.push(`  ${word(job.outcome)}${holder}`);
  }
  return [`${word(out.outcome)} accepted=${out.accepted}`, ...rows];
}

async function lease(r, args) {
  const queues = args.q.split(',').map((name) => r.names.queue(name));
  const wanted = options(r, args, ['max_jobs', 'wait_ms', 'lease_ms', 'durability']);
  if (args.cancelled) {
    // The outcome of the library is a rejection with the reason of the signal here.
    const gone = await r.store.lease(queues, { ...wanted, signal: AbortSignal.abort('cancelled') })
      .catch((reason) => ({ outcome: reason }));
    return [gone.outcome];
  }
  const jobs = await r.store.lease(queues, wanted);
  r.names.bindLease(jobs, args.as);
  return [jobs.outcome, ...jobs.map((job) => r.names.row(job))];
}

async function extend(r, args) {
  const names = args.jobs.split(',');
  const jobs = names.map((name) => r.names.job(name));
  const queue = queueOf(r, args, jobs[0]);
  const leaseMs = toNumber('', args.lease_ms || '0');
  if (names.length === 1) return one(queue.extend(jobs[0], leaseMs, call(args)));
  const { outcome, outcomes } = await queue.extendMany(jobs, leaseMs, call(args));
  return [word(outcome), ...names.map((name, i) => `  ${name} ${word(outcomes[i])}`)];
}

async function settleMany(r, args, parts) {
  const queue = r.names.queue(args.q);
  const items = parts.map((part) => settleItem(r, part));
  const { outcome, outcomes } = await queue.settleMany(items, call(args));
  return [word(outcome), ...parts.map((part, i) => `  ${part.job} ${word(outcomes[i])}`)];
}

const jobOps = {
  enqueue,
  enqueue_many: enqueueMany,
  lease,
  extend,
  settle_many: settleMany,
  get: onJob((queue, job, args, r) => told(r, queue.get(job.id))),
  until: onJob(until),
  cancel: onJob((queue, job, args) => one(queue.cancel(job.id, call(args)))),
  reprioritise: onJob((queue, job, args) =>
    one(queue.reprioritise(job.id, toNumber('', args.priority), call(args)))),
  progress: onJob((queue, job, args) =>
    one(queue.setProgress(job, bytes(args.note), call(args)))),
  explain: onJob(async (queue, job) => {
    const e = await queue.explainJob(job.id);
    return [`ok state=${e.state} causes=${causes(e.causes)} ahead=${e.ahead}`];
  }),
  confirm: onJob((queue, job, args) => one(queue.confirm(job,
    { ...(args.run_ms ? { runMs: toNumber('', args.run_ms) } : {}), ...call(args) }))),
  ack: onJob((queue, job, args) => one(queue.ack(job, bytes(args.result), call(args)))),
  nack: onJob((queue, job, args) => one(queue.nack(job, nackOptions(args)))),
  release: onJob((queue, job, args) => one(queue.release(job, nackOptions(args)))),
  fail: onJob((queue, job, args) => one(queue.fail(job, bytes(args.error), call(args)))),
  keep: async (r, args) => {
    r.names.jobs.set(args.as, { ...r.names.job(args.job), kept: true });
    return ['ok'];
  },
  forge: async (r, args) => {
    r.names.jobs.set(args.as, { q: args.q, id: BigInt(args.id),
      generation: BigInt(args.generation), kept: true });
    return ['ok'];
  },
};

module.exports = { ops: { ...storeOps, ...queueOps, ...jobOps, ...require('./more_ops').ops } };
