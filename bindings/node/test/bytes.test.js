'use strict';
// Bytes come back as they were given, whatever they are and wherever they go.
const test = require('node:test');
const assert = require('node:assert');
const { openStore } = require('./helper');
const { nameText, nameBytes } = require('../lib/names');

const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
const samples = {
  'every byte': every,
  empty: Buffer.alloc(0),
  NUL: Buffer.from('a\0b\0'),
  'broken UTF-8': Buffer.from([0xc3, 0x28, 0xa0, 0xff, 0xed, 0xa0, 0x80]),
  '1 MiB': Buffer.alloc(1 << 20, every),
};

for (const [name, bytes] of Object.entries(samples)) {
  test(`bytes intact: ${name}`, async (t) => {
    const store = await openStore(t);
    const queue = await store.queue('q', { keepDoneCount: 10 });
    const small = bytes.subarray(0, 4000);
    await queue.enqueue(bytes, { headers: [['h', small], ['h', 'again']] });
    let [job] = await queue.lease();
    assert.ok(job.payload.equals(bytes));
    assert.ok(job.header('h').equals(small));
    assert.deepStrictEqual(job.headers.map(([key]) => key), ['h', 'h']);
    await job.setProgress(small);
    await job.nack({ error: small.length ? small : 'x' });
    [job] = await queue.lease();
    if (small.length) assert.ok(job.lastError.equals(small));
    assert.ok(job.progress.equals(small));
    assert.strictEqual(await job.ack(bytes), 'ok');
    assert.ok((await queue.history.get(job.id)).result.equals(bytes));
    await store.kv.put('k', bytes);
    assert.ok((await store.kv.get('k')).value.equals(bytes));
    if (bytes.length && bytes.length <= 512) {
      await store.kv.put(bytes, 'v');
      assert.ok((await store.kv.list({ prefix: bytes })).rows[0].key.equals(bytes));
    }
  });
}

test('strings are UTF-8; views and buffers are their bytes', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const text = '\u00e9\u20ac\u{1f600}\0';
  const words = new Uint16Array([1, 2, 3]);
  await queue.enqueue(text);
  await queue.enqueue(words.subarray(1));
  await queue.enqueue(words.buffer);
  await queue.enqueue(new DataView(words.buffer, 2, 2));
  const jobs = await queue.lease({ maxJobs: 4 });
  assert.strictEqual(jobs[0].text(), text);
  assert.ok(jobs[1].payload.equals(Buffer.from([2, 0, 3, 0])));
  assert.ok(jobs[2].payload.equals(Buffer.from([1, 0, 2, 0, 3, 0])));
  assert.ok(jobs[3].payload.equals(Buffer.from([2, 0])));
});

test('a string that UTF-8 can not say is refused, wherever it is given', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  await queue.enqueue('x');
  const [job] = await queue.lease();
  const bad = { high: 'a\ud83d', low: '\ude00b', reversed: '\ude00\ud83d',
    escaped: '\udcff\ud83d' };
  const calls = [
    (text) => queue.enqueue(text), (text) => queue.enqueueMany([{ payload: text }]),
    (text) => queue.enqueue('x', { headers: { h: text } }), (text) => store.queue(text),
    (text) => queue.enqueue('x', { uniqueKey: text }), (text) => store.kv.put(text, 'v'),
    (text) => queue.enqueue('x', { chain: [{ queue: text, payload: '' }] }),
    (text) => store.kv.put('k', text), (text) => store.cron.put(text, queue, '@daily'),
    (text) => job.ack(text), (text) => job.setProgress(text),
  ];
  const header = (text) => queue.enqueue('x', { headers: { [text]: 'v' } });
  const refused = (error) => error instanceof TypeError &&
    /a lone surrogate \(U\+D[89A-F][0-9A-F]{2}\) at [0-2]/.test(error.message);
  for (const text of Object.values(bad)) {
    for (const call of [...calls, header]) await assert.rejects(call(text), refused, String(call));
  }
  for (const call of calls) await assert.rejects(call('\udcff'), refused, String(call));
  assert.strictEqual((await queue.stats()).enqueuedTotal, 1);
  assert.strictEqual(await job.ack('\u{1f600}'), 'ok');
});

test('what was given may change as soon as the call has returned', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const bytes = Buffer.from('before');
  const done = queue.enqueue(bytes);
  bytes.fill('x');
  await done;
  assert.strictEqual((await queue.lease())[0].text(), 'before');
});

test('16 MiB are taken, more are refused', async (t) => {
  const store = await openStore(t);
  const queue = await store.queue('q');
  const most = Buffer.alloc(16 << 20, 'z');
  await queue.enqueue(most);
  assert.ok((await queue.lease())[0].payload.equals(most));
  await assert.rejects(queue.enqueue(Buffer.alloc((16 << 20) + 1)), { code: 'WQ_E_TOO_LARGE' });
});

test('names of headers go there and back, whatever bytes they are', async (t) => {
  const seed = Number(process.env.WQ_TEST_SEED || Date.now() % 1000000);
  t.diagnostic(`WQ_TEST_SEED=${seed}`);
  let state = seed >>> 0;
  const random = (below) => { // xorshift
    state ^= state << 13; state ^= state >>> 17; state ^= state << 5; state >>>= 0;
    return state % below;
  };
  const likely = [0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80, 0xed, 0xa0, 0xef, 0xbf, 0xbd, 0xe2, 0x82];
  for (let i = 0; i < 5000; i++) {
    const bytes = Buffer.from(Array.from({ length: random(12) },
      () => (random(2) ? random(256) : likely[random(likely.length)])));
    assert.deepStrictEqual(Buffer.from(nameBytes(nameText(bytes))), bytes);
  }
  assert.strictEqual(nameText(Buffer.from('caf\u00e9 \ufffd')), 'caf\u00e9 \ufffd');
  assert.strictEqual(nameText(Buffer.from([0xff, 0x41])), '\udcffA');
  const store = await openStore(t);
  const queue = await store.queue('q');
  const names = [Buffer.from([0xff, 0]), '\udcc3', 'plain'];
  const { id } = await queue.enqueue('x', { headers: names.map((name) => [name, 'v']) });
  const told = (await queue.get(id)).headers.map(([name]) => name);
  assert.deepStrictEqual(told, ['\udcff\0', '\udcc3', 'plain']);
});
