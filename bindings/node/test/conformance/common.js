'use strict';
// common.js: what the operations share: arguments of a script as options of this package.
const { toNumber, word, camel } = require('./script');

const NUMBERS = new Set(`delay_ms run_at_ms priority max_attempts backoff_base_ms backoff_max_ms
  backoff_jitter_permille expires_at_ms retry_until_ms timeout_ms max_exceptions unique_ttl_ms
  debounce_ms debounce_max_ms idempotency_ms group_limit max_running max_retries lease_ms job_ttl_ms
  max_depth max_bytes dead_max_count dead_max_age_ms keep_done_age_ms keep_done_count rate_count
  rate_burst rate_window_ms events_max payload_bytes_max quota_bytes memory_budget_bytes
  segment_bytes max_jobs wait_ms limit from_ms until_ms ttl_ms catch_up overlap_ms rate_cost
  encrypt compress_min_bytes key_rate_count key_rate_burst key_rate_window_ms throttle_count
  throttle_window_ms throttle_cool_ms current_key`.split(/\s+/));
const BYTES = ['payload', 'unique_key', 'debounce_key', 'idempotency_key', 'group', 'error_part',
  'prefix', 'after', 'zone', 'tenant', 'rate_key'];
const WORDS = ['backoff_kind', 'unique_until', 'full_policy', 'durability', 'reason', 'overlap'];
const SPEC = ['payload', 'delay_ms', 'run_at_ms', 'priority', 'max_attempts', 'backoff_kind',
  'backoff_base_ms', 'backoff_max_ms', 'backoff_list_ms', 'backoff_jitter_permille',
  'expires_at_ms', 'retry_until_ms', 'timeout_ms', 'max_exceptions', 'unique_key', 'unique_ttl_ms',
  'unique_until', 'debounce_key', 'debounce_ms', 'debounce_max_ms', 'idempotency_key',
  'idempotency_ms', 'group', 'group_limit', 'flags', 'flow', 'overlap', 'overlap_ms', 'tenant',
  'rate_key', 'rate_cost'];
const CONFIG = ['max_running', 'max_retries', 'lease_ms', 'durability', 'backoff_kind',
  'backoff_base_ms', 'backoff_max_ms', 'backoff_list_ms', 'backoff_jitter_permille', 'job_ttl_ms',
  'max_depth', 'max_bytes', 'full_policy', 'dead_max_count', 'dead_max_age_ms', 'keep_done_age_ms',
  'keep_done_count', 'group_limit', 'rate_count', 'rate_burst', 'rate_window_ms', 'encrypt',
  'compress_min_bytes', 'key_rate_count', 'key_rate_burst', 'key_rate_window_ms', 'throttle_count',
  'throttle_window_ms', 'throttle_cool_ms'];

/** N or N:M: a key with the id N, 32 bytes N or M. */
function keyOf(text) {
  const [id, fill = id] = text.split(':');
  return { id: Number(id), bytes: Buffer.alloc(32, Number(fill)) };
}

/** The arguments named, as options of this package. */
function options(r, args, keys) {
  const out = {};
  for (const key of keys) {
    const value = args[key];
    if (value === undefined) continue;
    if (key === 'flags') for (const flag of value.split(',')) out[camel(flag)] = true;
    else if (key === 'keys') out.keys = value.split(',').map(keyOf);
    else if (key === 'flow') out.flow = r.names.flows.get(value);
    else if (key === 'backoff_list_ms') out.backoffListMs = String(value).split(',').map(Number);
    else if (NUMBERS.has(key)) out[camel(key)] = toNumber(key, value);
    else if (WORDS.includes(key)) out[camel(key)] = String(value);
    else if (BYTES.includes(key)) out[camel(key)] = Buffer.from(value, 'latin1');
    else throw new Error(`no form for ${key}`);
  }
  return out;
}

function spec(r, args) {
  const out = options(r, args, SPEC);
  if (out.plain) out.encrypt = false;
  delete out.plain;
  if (args.header.length) {
    out.headers = args.header.map((header) => {
      const at = header.includes('=') ? header.indexOf('=') : header.length;
      return [header.subarray(0, at), header.subarray(at + 1)];
    });
  }
  return out;
}

const call = (args) => (args.durability ? { durability: args.durability } : {});
const one = async (outcome) => [word(await outcome)];
const queueOf = (r, args, job) => r.names.queue(args.q || job.q);

/** An operation on the token of a name. */
const onJob = (run) => (r, args) => {
  const job = r.names.job(args.job);
  return run(queueOf(r, args, job), job, args, r);
};
const onQueue = (run) => (r, args) => run(r.names.queue(args.q), args, r);

const bytes = (value) => (value === undefined ? undefined : Buffer.from(value, 'latin1'));

function nackOptions(args) {
  const out = options(null, args, ['delay_ms', 'priority', 'reason', 'flags', 'durability']);
  if (args.error !== undefined) out.error = bytes(args.error);
  return out;
}

function settleItem(r, args, kind = args.kind) {
  const { id, generation } = r.names.job(args.job);
  const item = { kind, id, generation, ...nackOptions(args) };
  if (args.result !== undefined) item.result = bytes(args.result);
  return item;
}

async function told(r, job) {
  const found = await job;
  if (!found) return ['stale'];
  r.names.told(found);
  return ['ok', r.names.row(found)];
}

module.exports = {
  options, spec, call, one, queueOf, onJob, onQueue, bytes, nackOptions, settleItem, told, CONFIG,
};
