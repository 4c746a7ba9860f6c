'use strict';
// encode.js: the options of JavaScript as structs of wq.h. Every field of the header can be given
// by its camelCase name; flags are booleans; the masks that say which field counts are set from
// what is there. Where an option is a pointer in C, the code is here.
const {
  fieldWriters, enumWriter, flagWriter, writeFields, offsetOf, set64, i64, u32, u64, constants,
  layouts, enumNumber,
} = require('./layout');
const { invalid } = require('./errors');
const { copyToken } = require('./job');
const { nameBytes } = require('./names');
const { errorText } = require('./text');

const C = constants;
const HEADER_BYTES = layouts.wq_header.size;

function headerEntries(headers) {
  if (headers === null || typeof headers !== 'object') {
    throw new TypeError('headers: an object, a Map or an array of [name, value] is wanted');
  }
  return headers[Symbol.iterator] ? [...headers] : Object.entries(headers);
}

function writeHeaders(request, at, headers) {
  const entries = headerEntries(headers);
  if (entries.length === 0) return;
  const list = request.room(entries.length * HEADER_BYTES);
  entries.forEach((entry, i) => {
    if (!Array.isArray(entry)) throw new TypeError('headers: a [name, value] is wanted');
    request.bytesField(list + i * HEADER_BYTES, nameBytes(entry[0]), 'name of a header');
    request.bytesField(list + i * HEADER_BYTES + 16, entry[1], `header ${entry[0]}`);
  });
  set64(request.view, at + offsetOf('wq_job_spec', 'headers'), list);
  set64(request.view, at + offsetOf('wq_job_spec', 'headers_count'), entries.length);
}

function writeBackoffList(request, at, list) {
  if (!Array.isArray(list)) throw new TypeError('backoffListMs: an array is wanted');
  const where = request.room(list.length * 8);
  list.forEach((delay, i) => set64(request.view, where + i * 8, i64(delay, 'backoffListMs')));
  set64(request.view, at + offsetOf('wq_job_spec', 'backoff_list_ms'), list.length ? where : 0);
  request.view.setUint32(at + offsetOf('wq_job_spec', 'backoff_count'), list.length, true);
}

/** A wq_next_job: a job of a chain or of the end of a flow, { queue, ...spec }. */
function writeNextJob(request, at, job, what) {
  if (job === null || typeof job !== 'object') throw new TypeError(`${what}: a job is wanted`);
  if (job.queue !== undefined) {
    const name = typeof job.queue === 'string' ? job.queue : job.queue.name;
    request.bytesField(at + offsetOf('wq_next_job', 'queue_name'), name, 'queue');
  }
  const spec = request.structs('wq_job_spec');
  set64(request.view, at + offsetOf('wq_next_job', 'spec'), spec);
  writeSpec(request, spec, job, nextJobKeys);
}
const nextJobKeys = new Set(['queue']);

function writeChain(request, at, chain) {
  if (!Array.isArray(chain)) throw new TypeError('chain: an array is wanted');
  if (chain.length === 0) return;
  const { size } = layouts.wq_next_job;
  const list = request.structs('wq_next_job', chain.length);
  chain.forEach((job, i) => writeNextJob(request, list + i * size, job, 'chain'));
  set64(request.view, at + offsetOf('wq_job_spec', 'chain'), list);
  set64(request.view, at + offsetOf('wq_job_spec', 'chain_count'), chain.length);
  set64(request.view, at + offsetOf('wq_job_spec', 'chain_size'), size);
}

// ---- jobs ----

const specWriters = fieldWriters('wq_job_spec');
const writePriority = specWriters.priority;
const priorityFlag = flagWriter('wq_job_spec', C.WQ_JOB_PRIORITY);
const sealFlag = flagWriter('wq_job_spec', C.WQ_JOB_ENCRYPT);
const plainFlag = flagWriter('wq_job_spec', C.WQ_JOB_PLAIN);
Object.assign(specWriters, {
  headers: writeHeaders,
  backoffListMs: writeBackoffList,
  chain: writeChain,
  backoffKind: enumWriter('wq_job_spec', 'backoff_kind', 'backoffKind'),
  uniqueUntil: enumWriter('wq_job_spec', 'unique_until', 'uniqueUntil'),
  failOnTimeout: flagWriter('wq_job_spec', C.WQ_JOB_FAIL_ON_TIMEOUT),
  dryRun: flagWriter('wq_job_spec', C.WQ_JOB_DRY_RUN),
  overlap: enumWriter('wq_job_spec', 'overlap', 'overlap'),
  encrypt: (request, at, value) => (value ? sealFlag : plainFlag)(request, at, true),
  priority(request, at, value) {
    writePriority(request, at, value);
    priorityFlag(request, at, true);
  },
});
for (const key of ['flags', 'headersCount', 'backoffCount', 'chainCount', 'chainSize']) {
  delete specWriters[key];
}

const callKeys = new Set(['durability', 'signal']);

/** A job as a wq_job_spec; `ignored` are names that are the caller's. */
function writeSpec(request, at, job, ignored = callKeys) {
  if (job === null || typeof job !== 'object') throw new TypeError('job: an object is wanted');
  writeFields(request, at, specWriters, job, 'job', ignored);
}

// ---- queues and stores ----

const configWriters = fieldWriters('wq_queue_config');
const LIST_MAX = C.WQ_BACKOFF_LIST_MAX;

/** The bit of wq_queue_config.fields that makes a field count: the longest name that fits. */
function fieldBit(field) {
  let best = 'WQ_CONFIG_';
  for (const name of Object.keys(C)) {
    const part = name.slice(10);
    if (!name.startsWith('WQ_CONFIG_') || name.length <= best.length) continue;
    if (field.toUpperCase() === part || field.toUpperCase().startsWith(`${part}_`)) best = name;
  }
  return C[best] || 0;
}

Object.assign(configWriters, {
  durability: enumWriter('wq_queue_config', 'durability', 'durability'),
  backoffKind: enumWriter('wq_queue_config', 'backoff_kind', 'backoffKind'),
  fullPolicy: enumWriter('wq_queue_config', 'full_policy', 'fullPolicy'),
  backoffListMs(request, at, list) {
    if (!Array.isArray(list)) throw new TypeError('backoffListMs: an array is wanted');
    if (list.length > LIST_MAX) throw invalid(`backoffListMs: over ${LIST_MAX} entries`);
    const where = at + offsetOf('wq_queue_config', 'backoff_list_ms');
    list.forEach((delay, i) => set64(request.view, where + i * 8, i64(delay, 'backoffListMs')));
    request.view.setUint32(at + offsetOf('wq_queue_config', 'backoff_count'), list.length, true);
  },
});
for (const key of ['fields', 'status', 'consumersPaused', 'backoffCount']) {
  delete configWriters[key];
}
for (const field of Object.keys(layouts.wq_queue_config.fields)) {
  const key = field.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase());
  const write = configWriters[key];
  if (!write) continue;
  const count = flagWriter('wq_queue_config', fieldBit(field), 'fields');
  configWriters[key] = (request, at, value) => {
    write(request, at, value);
    count(request, at, true);
  };
}
// What a read of the configuration tells besides, so that it can be handed back.
const configReadOnly = new Set(['status', 'consumersPaused', 'backoffCount']);

function writeConfig(request, config, ignored = callKeys) {
  const at = request.structs('wq_queue_config');
  writeFields(request, at, configWriters, config, 'configuration',
    new Set([...ignored, ...configReadOnly]));
  return at;
}

const storeWriters = fieldWriters('wq_store_options');
delete storeWriters.flags;
delete storeWriters.keysCount;
Object.assign(storeWriters, {
  ioBackend: enumWriter('wq_store_options', 'io_backend', 'ioBackend'),
  noCreate: flagWriter('wq_store_options', C.WQ_OPEN_NO_CREATE),
  expireLeases: flagWriter('wq_store_options', C.WQ_OPEN_EXPIRE_LEASES),
  noThreads: flagWriter('wq_store_options', C.WQ_OPEN_NO_THREADS),
});

function writeStoreOptions(request, options) {
  const at = request.structs('wq_store_options');
  writeFields(request, at, storeWriters, options, 'options of a store');
  return at;
}

// ---- leases and settles ----

const leaseWriters = fieldWriters('wq_lease_options');
delete leaseWriters.flags;

function writeLeaseOptions(request, options) {
  const at = request.structs('wq_lease_options');
  writeFields(request, at, leaseWriters, options, 'options of a lease', callKeys);
  return at;
}

function errorWriter(struct) {
  const { error } = fieldWriters(struct);
  return (request, at, value) => error(request, at, errorText(value));
}

function nackWriters(struct) {
  const fields = fieldWriters(struct);
  const counted = (write, bit) => {
    const flag = flagWriter(struct, bit);
    return (request, at, value) => {
      write(request, at, value);
      flag(request, at, true);
    };
  };
  return {
    error: errorWriter(struct),
    reason: enumWriter(struct, 'reason', 'deadReason'),
    delayMs: counted(fields.delayMs, C.WQ_NACK_DELAY),
    priority: counted(fields.priority, C.WQ_NACK_PRIORITY),
    front: flagWriter(struct, C.WQ_NACK_FRONT),
    noException: flagWriter(struct, C.WQ_NACK_NO_EXCEPTION),
  };
}

const nackOptionWriters = nackWriters('wq_nack_options');
const itemFields = fieldWriters('wq_settle_item');
const itemReason = enumWriter('wq_settle_item', 'reason', 'deadReason');
const settleWriters = {
  ack: { result: itemFields.result },
  nack: nackWriters('wq_settle_item'),
  fail: { error: errorWriter('wq_settle_item'), reason: itemReason },
  release: {
    delayMs: itemFields.delayMs,
    front: flagWriter('wq_settle_item', C.WQ_RELEASE_FRONT),
  },
};

function writeNackOptions(request, options) {
  const at = request.structs('wq_nack_options');
  writeFields(request, at, nackOptionWriters, options, 'options of a nack', callKeys);
  return at;
}

/** The id and generation of a job, or of anything that has both. */
function token(job) {
  if (job === null || typeof job !== 'object') {
    throw new TypeError('a job, or { id, generation }, is wanted');
  }
  return job;
}

const settleKeys = new Set(['kind', 'job', 'id', 'generation']);
const settleKinds = new Map(Object.keys(settleWriters).map((kind) => [kind,
  { number: enumNumber('settleKind', kind, 'kind'), writers: settleWriters[kind] }]));
const ITEM_KIND_AT = offsetOf('wq_settle_item', 'kind');
const ITEM_ID_AT = offsetOf('wq_settle_item', 'id');
const ITEM_GENERATION_AT = offsetOf('wq_settle_item', 'generation');

/** { kind: 'ack', job, ... } as a wq_settle_item. */
function writeSettleItem(request, at, item, ignored = settleKeys) {
  if (item === null || typeof item !== 'object') throw new TypeError('settle: an object is wanted');
  const { kind } = item;
  const settle = settleKinds.get(kind);
  if (!settle) throw invalid(`kind: '${kind}' is none of ack, nack, fail, release`);
  const job = token(item.job || item);
  const { view } = request;
  view.setUint32(at + ITEM_KIND_AT, settle.number, true);
  if (!copyToken(job, view, at + ITEM_ID_AT, at + ITEM_GENERATION_AT)) {
    set64(view, at + ITEM_ID_AT, u64(job.id, 'id'));
    set64(view, at + ITEM_GENERATION_AT, u64(job.generation, 'generation'));
  }
  writeFields(request, at, settle.writers, item, kind, ignored);
}

// ---- dead letters ----

const queryWriters = fieldWriters('wq_dead_query');
delete queryWriters.flags;
Object.assign(queryWriters, {
  reason: enumWriter('wq_dead_query', 'reason', 'deadReason'),
  oldestFirst: flagWriter('wq_dead_query', C.WQ_DEAD_OLDEST_FIRST),
});

function writeDeadQuery(request, query) {
  const at = request.structs('wq_dead_query');
  writeFields(request, at, queryWriters, query, 'query');
  return at;
}

const filterWriters = fieldWriters('wq_dead_filter');
delete filterWriters.flags;
delete filterWriters.entriesCount;
Object.assign(filterWriters, {
  reason: enumWriter('wq_dead_filter', 'reason', 'deadReason'),
  all: flagWriter('wq_dead_filter', C.WQ_DEAD_ALL),
  dryRun: flagWriter('wq_dead_filter', C.WQ_DEAD_DRY_RUN),
  entries(request, at, entries) {
    const list = writeTokens(request, entries, 'entries');
    set64(request.view, at + offsetOf('wq_dead_filter', 'entries'), list);
    set64(request.view, at + offsetOf('wq_dead_filter', 'entries_count'), entries.length);
  },
});

function writeTokens(request, jobs, what) {
  if (!Array.isArray(jobs)) throw new TypeError(`${what}: an array is wanted`);
  const list = request.room(jobs.length * 16);
  jobs.forEach((job, i) => {
    const { id, generation } = token(job);
    set64(request.view, list + i * 16, u64(id, 'id'));
    set64(request.view, list + i * 16 + 8, u64(generation, 'generation'));
  });
  return list;
}

function writeDeadFilter(request, filter) {
  const at = request.structs('wq_dead_filter');
  writeFields(request, at, filterWriters, filter, 'filter', callKeys);
  return at;
}

// ---- rows ----

const kvFields = fieldWriters('wq_kv_options');
const kvWriters = {
  ttlMs: kvFields.ttlMs,
  ifAbsent: flagWriter('wq_kv_options', C.WQ_KV_IF_ABSENT),
  ifVersion(request, at, value) {
    kvFields.version(request, at, value);
    flagWriter('wq_kv_options', C.WQ_KV_IF_VERSION)(request, at, true);
  },
  ifValue(request, at, value) {
    kvFields.value(request, at, value);
    flagWriter('wq_kv_options', C.WQ_KV_IF_VALUE)(request, at, true);
  },
};

function writeKvOptions(request, options, ignored = callKeys) {
  const at = request.structs('wq_kv_options');
  writeFields(request, at, kvWriters, options, 'options of a row', ignored);
  return at;
}

const kvQueryWriters = fieldWriters('wq_kv_query');

function writeKvQuery(request, query) {
  const at = request.structs('wq_kv_query');
  writeFields(request, at, kvQueryWriters, query, 'query');
  return at;
}

module.exports = {
  writeSpec, writeNextJob, writeConfig, writeStoreOptions, writeLeaseOptions, writeNackOptions,
  writeSettleItem, writeDeadQuery, writeDeadFilter, writeTokens, writeKvOptions, writeKvQuery,
  callKeys, u32,
  // By struct, for the test that asks whether all of the header can be given.
  writers: { wq_job_spec: specWriters, wq_queue_config: configWriters,
    wq_store_options: storeWriters, wq_lease_options: leaseWriters,
    wq_nack_options: nackOptionWriters, wq_settle_item: Object.assign({}, ...Object.values(
      settleWriters)), wq_dead_query: queryWriters, wq_dead_filter: filterWriters,
    wq_kv_options: kvWriters, wq_kv_query: kvQueryWriters },
};
