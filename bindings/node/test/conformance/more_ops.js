'use strict';
// more_ops.js: the operations on dead letters, keys, flows, history, rows, transactions, schedules.
const wq = require('../..');
const { codeText } = require('./names');
const { toNumber, quoted, queueName, word, camel, starred } = require('./script');

const {
  options, spec, call, one, queueOf, onJob, onQueue, bytes, settleItem, told,
} = require('./common');
// ---- dead letters ----

const deadList = onQueue(async (queue, args, r) => {
  const query = options(r, args, ['limit', 'reason', 'error_part', 'from_ms', 'until_ms',
    'flags']);
  const rows = [];
  let pages = 0;
  let cursor = 0n;
  do {
    const page = await queue.dead.list({ ...query, cursor });
    if (page.outcome !== 'ok') break;
    pages++;
    for (const job of page.jobs) {
      r.names.told(job);
      rows.push(r.names.row(job));
    }
    cursor = page.cursor;
  } while (cursor !== 0n);
  return pages ? [`ok pages=${pages}`, ...rows] : ['empty'];
});

const deadMany = (method) => onQueue(async (queue, args, r) => {
  const filter = options(r, args, ['limit', 'reason', 'error_part', 'from_ms', 'until_ms',
    'flags', 'durability']);
  if (args.jobs) filter.entries = args.jobs.split(',').map((name) => r.names.job(name));
  const report = await queue.dead[method](filter);
  return [report.outcome === 'ok' ? `ok changed=${report.changed}` : report.outcome];
});

const dead = {
  dead_list: deadList,
  dead_get: onJob((queue, job, args, r) => told(r, queue.dead.get(job))),
  dead_replay: onJob((queue, job, args) => one(queue.dead.replay(job, call(args)))),
  dead_remove: onJob((queue, job, args) => one(queue.dead.remove(job, call(args)))),
  dead_replay_many: deadMany('replayMany'),
  dead_remove_many: deadMany('removeMany'),
  dead_purge: onQueue(async (queue, args) => [`ok removed=${await queue.dead.purge(call(args))}`]),
};

// ---- keys ----

const keys = {
  key_holder: onQueue(async (queue, args, r) =>
    [`ok job=${r.names.nameOf(await queue.keys.holder(args.kind, args.key))}`]),
  key_cancel: onQueue(async (queue, args, r) => {
    const { outcome, id } = await queue.keys.cancel(args.kind, args.key, call(args));
    return [outcome === 'ok' ? `ok job=${r.names.nameOf(id)}` : outcome];
  }),
  key_release: onJob((queue, job, args) => one(queue.keys.release(job, call(args)))),
};

// ---- flows ----

const flowOf = (r, args) => r.names.flows.get(args.flow);

async function flowCreate(r, args, parts) {
  const wanted = { ...call(args), ...options(r, args, ['flags']) };
  for (const part of parts) {
    wanted[part.when === 'complete' ? 'onComplete' : 'onFailure'] =
      { queue: part.q, ...spec(r, part) };
  }
  const { outcome, flow } = await r.store.flows.create(wanted);
  if (outcome === 'ok') r.names.bindFlow(args.as, flow);
  return [outcome];
}

async function flowStatus(r, args) {
  const s = await r.store.flows.status(flowOf(r, args));
  return [`ok total=${s.total} pending=${s.pending} done=${s.done} failed=${s.failed} ` +
    `cancelled=${s.cancelled}${s.flags.length ? ` flags=${s.flags.join(',')}` : ''}` +
    `${s.followUpId ? ' follow_up=yes' : ''}`];
}

async function flowList(r, args) {
  const rows = [];
  let cursor = 0n;
  do {
    const page = await r.store.flows.list({ cursor, ...options(r, args, ['limit']) });
    for (const s of page.flows) {
      rows.push(`  ${r.names.flowNames.get(s.flow) || '?'} total=${s.total} ` +
                `pending=${s.pending}`);
    }
    cursor = page.cursor;
  } while (cursor !== 0n);
  return ['ok', ...rows];
}

const flows = {
  flow_create: flowCreate,
  flow_seal: (r, args) => one(r.store.flows.seal(flowOf(r, args), call(args))),
  flow_cancel: (r, args) => one(r.store.flows.cancel(flowOf(r, args), call(args))),
  flow_status: flowStatus,
  flow_list: flowList,
};

// ---- history ----

function doneRow(r, job) {
  const flow = job.flow ? ` flow=${r.names.flowNames.get(job.flow) || '?'}` : '';
  const result = job.result.length ? ` result=${quoted(job.result)}` : '';
  return `  ${r.names.nameOf(job.id)} attempts=${job.attempts} priority=${job.priority}` +
    `${starred(job, ['exceptions', 'replays'])}${flow}${result}${starred(job, ['key_id'])}` +
    codeText('result_code', job.resultCode);
}

const history = {
  history_get: onJob(async (queue, job, args, r) =>
    ['ok', doneRow(r, await queue.history.get(job.id))]),
  history_list: onQueue(async (queue, args, r) => {
    const rows = [];
    let cursor = 0n;
    do {
      const page = await queue.history.list({ cursor, ...options(r, args, ['limit']) });
      rows.push(...page.jobs.map((job) => doneRow(r, job)));
      cursor = page.cursor;
    } while (cursor !== 0n);
    return ['ok', ...rows];
  }),
};

// ---- rows ----

function kvOptions(r, args) {
  const out = options(r, args, ['flags', 'ttl_ms', 'durability']);
  if (args.version) out.ifVersion = r.names.versions.get(args.version);
  if (args.if_value !== undefined) out.ifValue = bytes(args.if_value);
  return out;
}

async function kvGet(r, args) {
  const row = await r.store.kv.get(args.key);
  if (!row) return ['empty'];
  if (args.as) r.names.versions.set(args.as, row.version);
  return [`ok value=${quoted(row.value)}${row.expiresMs ? ' expires_ms=set' : ''}`];
}

async function kvPut(r, args) {
  const { outcome, version } = await r.store.kv.put(args.key, args.value, kvOptions(r, args));
  if (args.as && outcome === 'ok') r.names.versions.set(args.as, version);
  return [outcome];
}

async function kvAdd(r, args) {
  const { outcome, sum } = await r.store.kv.add(args.key, toNumber('', args.delta),
    kvOptions(r, args));
  return [outcome === 'ok' ? `ok sum=${sum}` : outcome];
}

async function kvList(r, args) {
  const query = options(r, args, ['prefix', 'after', 'limit']);
  const rows = [];
  let pages = 0;
  for (let more = true; more;) {
    const page = await r.store.kv.list(query);
    if (page.outcome !== 'ok') break;
    pages++;
    for (const row of page.rows) rows.push(`  ${quoted(row.key)} value=${quoted(row.value)}`);
    more = page.more;
    query.after = page.rows[page.rows.length - 1].key;
  }
  return pages ? [`ok pages=${pages}`, ...rows] : ['empty'];
}

const ttl = (args) => toNumber('', args.ttl_ms || '0');
const rows = {
  kv_get: kvGet,
  kv_put: kvPut,
  kv_add: kvAdd,
  kv_erase: (r, args) => one(r.store.kv.erase(args.key, kvOptions(r, args))),
  kv_list: kvList,
  lock_take: (r, args) => one(r.store.locks.take(args.key, args.owner, ttl(args), call(args))),
  lock_extend: (r, args) =>
    one(r.store.locks.extend(args.key, args.owner, ttl(args), call(args))),
  lock_release: (r, args) => one(r.store.locks.release(args.key, args.owner, call(args))),
};

// ---- transactions ----

function operation(r, part) {
  const { kind } = part;
  if (kind === 'enqueue') return { kind, queue: r.names.queue(part.q), ...spec(r, part) };
  if (kind === 'settle') {
    return { ...settleItem(r, part, part.settle),
      queue: queueOf(r, part, r.names.job(part.job)) };
  }
  const op = { kind: camel(kind), key: part.key, ...kvOptions(r, part) };
  if (part.value !== undefined) op.value = part.value;
  if (part.delta !== undefined) op.delta = toNumber('', part.delta);
  return op;
}

const refused = (outcome, failed) =>
  [`${word(outcome)}${failed === undefined ? '' : ` failed=${failed}`}`];

async function transact(r, args, parts) {
  let out;
  try {
    out = await r.store.transact(parts.map((part) => operation(r, part)), call(args));
  } catch (error) {
    if (!(error instanceof wq.WqError)) throw error;
    return refused(error.code, error.failed);
  }
  if (out.outcome !== 'ok') return refused(out.outcome, out.failed);
  const sums = [];
  parts.forEach((part, i) => {
    const { id, sum } = out.results[i];
    if (part.kind === 'enqueue') r.names.bindJob(part.as, r.names.queue(part.q), id);
    if (part.kind === 'kv_add') sums.push(`  sum=${sum}`);
  });
  return ['ok', ...sums];
}

// ---- schedules ----

function cronRow(r, cron) {
  let text = `  ${quoted(cron.name)} queue=${queueName(cron.queueName)}` +
    ` expression=${quoted(cron.expression)}`;
  if (cron.zone) text += ` zone=${quoted(cron.zone)}`;
  const flags = [cron.paused && 'paused', cron.sealed && 'encrypt'].filter(Boolean);
  if (flags.length) text += ` flags=${flags.join(',')}`;
  if (cron.catchUp) text += ` catch_up=${cron.catchUp}`;
  if (cron.priority !== 100) text += ` priority=${cron.priority}`;
  if (cron.maxAttempts) text += ` max_attempts=${cron.maxAttempts}`;
  if (cron.payload.length) text += ` payload=${quoted(cron.payload)}`;
  for (const [name, value] of cron.headers) text += ` header=${r.names.header(name, value)}`;
  return text + starred(cron, ['key_id']) + codeText('payload_code', cron.payloadCode);
}

async function cronList(r, args) {
  const wanted = args.q ? { queue: r.names.queue(args.q) } : {};
  const limit = toNumber('', args.limit || '100');
  const list = [];
  for (let after = ''; ;) {
    const page = await r.store.cron.list({ ...wanted, limit, after });
    list.push(...page.map((cron) => cronRow(r, cron)));
    if (page.length < limit) return ['ok', ...list];
    after = page[page.length - 1].name;
  }
}

async function cronNext(r, args) {
  const times = await wq.cronNext(args.expression, { from: toNumber('from_ms', args.from_ms),
    count: toNumber('', args.count), zone: args.zone || '' });
  return [`ok times=${times.map(Number).join(',') || 'none'}`];
}

const cron = {
  cron_put: onQueue((queue, args, r) => one(r.store.cron.put(args.name, queue, args.expression,
    { ...spec(r, args), ...options(r, args, ['zone', 'catch_up', 'durability']) }))),
  cron_get: async (r, args) => ['ok', cronRow(r, await r.store.cron.get(args.name))],
  cron_list: cronList,
  cron_next: cronNext,
};
for (const op of ['remove', 'pause', 'resume']) {
  cron[`cron_${op}`] = (r, args) => one(r.store.cron[op](args.name, call(args)));
}

exports.ops = { ...dead, ...keys, ...flows, ...history, ...rows, transact, ...cron };
