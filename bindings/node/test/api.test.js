'use strict';
// Does this package reach all of wq.h, and do its types say so? See bindings/api/surface.py for the
// question. A field of the header is there if index.d.ts declares it and the code writes it (an
// option) or has read it (an object that a call gave); a function, if the addon calls it and the
// operation that does is used; a constant, if a word or a flag stands for it.
const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { wq, openStore } = require('./helper');
const { writers } = require('../lib/encode');
const { toNumber, camel } = require('../lib/layout');

const ROOT = path.join(__dirname, '..');
const API = path.join(ROOT, '../api/api.json');
const skip = fs.existsSync(API) ? false : `${API} is not there`;
const read = (...names) => fs.readFileSync(path.join(ROOT, ...names), 'utf8');
const sources = (directory, pattern) => fs.readdirSync(path.join(ROOT, directory))
  .filter((name) => pattern.test(name)).map((name) => read(directory, name)).join('\n');

// Options: struct -> the declarations that have its fields.
const TAKEN = {
  wq_store_options: ['StoreOptions'], wq_queue_config: ['QueueConfig', 'Backoff'],
  wq_job_spec: ['JobOptions', 'JobSpec', 'Backoff'], wq_lease_options: ['LeaseOptions'],
  wq_nack_options: ['NackOptions'], wq_settle_item: ['Settle', 'Token', 'NackOptions'],
  wq_dead_query: ['DeadQuery'], wq_dead_filter: ['DeadFilter', 'SignalOptions'], wq_kv_options: ['KvOptions'],
  wq_kv_query: ['Kv'], wq_backup_options: ['SignalOptions'],
};
// Fields that have another name here, or are several.
const NAMES = {
  'wq_store_options.flags': ['noCreate', 'expireLeases', 'noThreads'],
  'wq_queue_config.fields': [], // set by what is given
  'wq_queue_config.status': ['status'], 'wq_queue_config.consumers_paused': ['consumersPaused'],
  'wq_job_spec.flags': ['failOnTimeout', 'dryRun', 'encrypt'],
  'wq_nack_options.flags': ['front', 'noException'],
  'wq_settle_item.flags': ['front', 'noException'],
  'wq_settle_item.kind': ['kind'], 'wq_settle_item.id': ['id'],
  'wq_settle_item.generation': ['generation'],
  'wq_dead_query.flags': ['oldestFirst'], 'wq_dead_filter.flags': ['all', 'dryRun'],
  'wq_dead_filter.cancel': ['signal'], 'wq_backup_options.cancel': ['signal'],
  // The lengths of lists.
  'wq_store_options.keys_count': ['keys'], 'wq_queue_config.backoff_count': ['backoffListMs'],
  'wq_job_spec.headers_count': ['headers'], 'wq_job_spec.backoff_count': ['backoffListMs'],
  'wq_job_spec.chain_count': ['chain'], 'wq_job_spec.chain_size': ['chain'],
  'wq_dead_filter.entries_count': ['entries'], 'wq_cron.backoff_count': ['backoffListMs'],
  'wq_kv_options.flags': ['ifAbsent', 'ifVersion', 'ifValue'],
  'wq_kv_options.version': ['ifVersion'], 'wq_kv_options.value': ['ifValue'],
  'wq_job.flags': ['failOnTimeout', 'sealed'], 'wq_job.queue_index': ['queue'],
  'wq_job.headers_count': ['headers'], 'wq_cron.flags': ['paused', 'sealed'],
  'wq_cron.headers_count': ['headers'], 'wq_key_use.flags': ['known', 'current'],
  'wq_enqueued.code': ['outcome'], 'wq_enqueued.job_id': ['id'],
  'wq_queue_error.text_len': ['text'], 'wq_store_event.queue_name_len': ['queueName'],
};
// Written one by one in the code, which these words of the declarations tell of.
const BY_HAND = {
  wq_bytes: 'Bytes', wq_header: 'Headers', wq_token: 'Token', wq_key: 'EncryptionKey',
  wq_next_job: 'NextJob', wq_flow_options: 'Flows', wq_cron_spec: 'Crons', wq_txn_op: 'Operation',
  wq_txn_result: 'Transacted', wq_event_cursor: 'EventCursor', wq_call: 'CallOptions',
  wq_error: 'WqError',
};
const IN_C = ['wq_event.code', 'wq_event.user_data']; // what the poller of the addon hands on

const types = read('index.d.ts').replace(/\/\*.*?\*\//gs, '').replace(/^ *\/\/.*$/gm, '');

/** The text of the declaration of a name, up to the next one. */
function declared(name) {
  const parts = types.split(/^export (?=declare|type|interface)/m)
    .filter((part) => new RegExp(`^(declare class|type|interface) ${name}\\b`).test(part));
  assert.notStrictEqual(parts.length, 0, `index.d.ts has no ${name}`);
  return parts.join('\n');
}
const declares = (names, member) => names.some((name) =>
  new RegExp(`\\b${member}\\??[:(<]`).test(declared(name)));

/** An object of each kind that calls give: struct -> [declaration, object]. */
async function given(t) {
  const store = await openStore(t, { eventsMax: 64, keys: [{ id: 3, bytes: Buffer.alloc(32, 3) }],
    currentKey: 3 });
  const queue = await store.queue('q', { keepDoneCount: 9 });
  await queue.enqueue('x', { headers: { a: 'b' }, encrypt: true });
  const [job] = await queue.lease();
  const explanation = await job.explain();
  await job.nack({ error: 'no', delayMs: 0 });
  await (await queue.lease())[0].ack('r');
  await store.cron.put('c', queue, '@daily', { payload: 'x' });
  await store.kv.put('k', 'v');
  const { flow } = await store.flows.create();
  await queue.enqueue('dead');
  await (await queue.lease())[0].fail('no');
  const dir = `${store.path}-backup`;
  return {
    wq_store_stats: ['StoreStats', await store.stats()],
    wq_recovery: ['Recovery', await store.recovery()],
    wq_verify_report: ['VerifyReport', await store.verify()],
    wq_backup_report: ['BackupReport', await store.backup(dir)],
    wq_queue_stats: ['QueueStats', await queue.stats()],
    wq_queue_error: ['FailedAttempt', (await queue.errors())[0]],
    wq_job: ['Job', { ...job.toObject(), queue: job.queue }],
    wq_job_explanation: ['JobExplanation', explanation],
    wq_queue_explanation: ['QueueExplanation', await queue.explain()],
    wq_done_job: ['DoneJob', (await queue.history.list()).jobs[0]],
    wq_cron: ['Cron', await store.cron.get('c')],
    wq_kv_row: ['KvRow', await store.kv.get('k')],
    wq_flow_status: ['FlowStatus', await store.flows.status(flow)],
    wq_key_use: ['KeyUse', (await store.encryptionKeys())[0]],
    wq_store_event: ['StoreEvent', (await store.pollEvents()).events[0]],
    wq_enqueued: ['Enqueued', await queue.enqueue('y')],
    wq_dead_report: ['DeadReport', await queue.dead.replayMany({ all: true, dryRun: true })],
    wq_queue_config: ['QueueConfigRead', await queue.config()],
  };
}

/** The fields of structs that are reached. */
function reachedFields(api, objects) {
  const reached = new Set(IN_C);
  for (const { name: struct, fields } of api.structs) {
    for (const { name: field } of fields) {
      const full = `${struct}.${field}`;
      const members = NAMES[full] || [camel(field)];
      if (BY_HAND[struct]) {
        if (declared(BY_HAND[struct])) reached.add(full);
        continue;
      }
      const taken = TAKEN[struct] && members.every((member) => declares(TAKEN[struct], member) &&
        (NAMES[full] || member in writers[struct]));
      const [declaration, object] = objects[struct] || [];
      const told = object && members.every((member) => member in object &&
        declares(declaration === 'QueueConfigRead' ? ['QueueConfigRead', 'QueueConfig', 'Backoff']
          : [declaration], member));
      if (taken || told) reached.add(full);
    }
  }
  return reached;
}

/** Functions whose operation some method asks for, and constants that a word or flag stands for. */
function reachedWords(api) {
  const c = sources('src', /\.(c|def|h)$/).replace(/\/\*.*?\*\//gs, '');
  const js = sources('lib', /^(?!constants).*\.js$/).replace(/^\s*(\/\/|\*|\/\*).*$/gm, '');
  const unused = [...c.matchAll(/^WQN_OP\((\w+),/gm)].map(([, op]) => op)
    .filter((op) => !new RegExp(`\\bops\\.${op}\\b|'${op}'`).test(js));
  assert.deepStrictEqual(unused, [], 'operations that no method asks for');
  const words = new Set(`${c} ${js}`.match(/\b(wq|WQ)_\w+/g));
  const values = new Map(Object.entries(toNumber));
  const PREFIXES = { deadReason: 'DEAD', eventKind: 'EVENT', why: 'WHY', overlap: 'OVERLAP',
    state: 'STATE', status: 'STATUS', storeStatus: 'STORE', ioBackend: 'IO', fullPolicy: 'FULL',
    backoffKind: 'BACKOFF', uniqueUntil: 'UNIQUE', keyKind: 'KEY', settleKind: 'SETTLE',
    txnKind: 'TXN', flowFlags: 'FLOW', durability: '' };
  for (const [name, numbers] of values) {
    for (const word of numbers.keys()) {
      words.add(['WQ', PREFIXES[name], word.toUpperCase()].filter(Boolean).join('_'));
    }
  }
  for (const name of Object.keys(wq.codes)) words.add(name);
  if (words.has('wq_store_open')) words.add('wq_store_open_abi'); // the macro over it
  // fieldBit() in encode.js finds the bit of each field that can be given.
  for (const { name } of api.constants) if (name.startsWith('WQ_CONFIG_')) words.add(name);
  return words;
}

/** Names that need not be there: name -> whether by its own name. */
function leftOut(names) {
  const out = new Map();
  for (const line of read('../api/left_out.txt').split('\n')) {
    const match = /^([a-z ]+): (.+?) -- \S/.exec(line);
    if (!match || !/^(all)$|\bnode\b/.test(match[1])) continue;
    for (const word of match[2].split(' ')) {
      for (const name of names) {
        const beginning = word.endsWith('*') && name.startsWith(word.slice(0, -1));
        if (beginning || name === word) out.set(name, !beginning);
      }
    }
  }
  return out;
}

test('all of the header is here, or left out for a reason', { skip }, async (t) => {
  const api = JSON.parse(fs.readFileSync(API, 'utf8'));
  const asked = (field) => field !== 'struct_size' && !field.startsWith('reserved');
  const names = [...api.functions, ...api.constants, ...api.codes].map(({ name }) => name)
    .concat(api.structs.flatMap(({ name, fields }) => fields.filter((field) => asked(field.name))
      .map((field) => `${name}.${field.name}`)));
  const out = leftOut(names);
  const fields = reachedFields(api, await given(t));
  const words = reachedWords(api);
  const wrong = [];
  for (const name of names) {
    const reached = name.includes('.') ? fields.has(name) : words.has(name);
    if (!reached && !out.has(name)) wrong.push(`${name}: not here, and not in left_out.txt`);
    if (reached && out.get(name)) wrong.push(`${name}: is here, and left_out.txt says it is not`);
  }
  assert.deepStrictEqual(wrong, []);
});

test('what calls give is declared', { skip }, async (t) => {
  for (const [struct, [name, object]] of Object.entries(await given(t))) {
    const where = struct === 'wq_queue_config' ? ['QueueConfigRead', 'QueueConfig', 'Backoff']
      : [name];
    const missing = Object.keys(object).filter((member) => !declares(where, member));
    assert.deepStrictEqual(missing, [], `${struct}: not in ${name} of index.d.ts`);
  }
});
