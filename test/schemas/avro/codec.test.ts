// Avro codecs: round trips of every subject, framing, refusals, old versions, and what may never change.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import avro from 'avsc';
import fc from 'fast-check';
import t from 'tap';
import {
  AvroError,
  codecs,
  createVersionedCodec,
  decodeLiveHead,
  makeMdCodec,
  readSchemaText,
  SUBJECT_IDS,
} from '../../../schemas/avro/codec.ts';
import type { ListingVersion, LiveEntry, MdLayer, RawMessage, WatermarkEntry } from '../../../schemas/topics.ts';
import { listing, SUBJECTS } from './values.ts';

const RAW: RawMessage = {
  slot: 's',
  conn_id: 'c',
  seq: 1,
  received_at: 1,
  kind: 'frame',
  request: null,
  payload: Buffer.from('x'),
};

/** Plain data of a decoded record (avsc gives instances of a class a record). */
const plain = (value: unknown): unknown => {
  if (Buffer.isBuffer(value)) return { bytes: value.toString('hex') };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
};

t.test('every subject has a codec and its values here', (t) => {
  t.same(SUBJECTS.map(({ codec }) => codec.subject).sort(), Object.keys(SUBJECT_IDS).sort());
  t.throws(() => makeMdCodec('listing' as MdLayer), AvroError, 'listings travel on their own topic');
  t.end();
});

t.test('every value of every subject returns as it was, in Confluent framing', (t) => {
  for (const { codec, values } of SUBJECTS) {
    const stays = fc.property(values, (value) => {
      const bytes = codec.encode(value);
      if (bytes[0] !== 0 || bytes.readInt32BE(1) !== codec.id) return false;
      return isDeepStrictEqual(plain(codec.decode(bytes)), plain(value));
    });
    fc.assert(stays, { numRuns: 100 });
    t.pass(codec.subject);
  }
  t.end();
});

t.test('the head of an entry of live is the whole one’s, and what is cut or foreign is refused as it is', (t) => {
  const live = SUBJECTS.find(({ codec }) => codec === codecs.live);
  if (live === undefined) throw new Error('live has no values here');
  const { values } = live;
  const isHead = fc.property(values, (value) => {
    const bytes = codecs.live.encode(value as LiveEntry);
    const { offset, index, recorded_at, kind, symbol, reading } = codecs.live.decode(bytes);
    const head = { offset, index, recorded_at, kind, symbol, layer: reading?.layer ?? null };
    return isDeepStrictEqual(decodeLiveHead(bytes), head);
  });
  fc.assert(isHead, { numRuns: 300 });
  const [sample] = fc.sample(values, { numRuns: 1, seed: 1 });
  const bytes = codecs.live.encode(sample as LiveEntry);
  for (let end = 0; end < bytes.length; end += 1) t.throws(() => decodeLiveHead(bytes.subarray(0, end)), AvroError);
  t.throws(() => decodeLiveHead(codecs.raw.encode({ ...RAW })), AvroError, 'of another topic');
  t.end();
});

t.test('a value larger than any before it, and the small one after it, are whole', (t) => {
  const message = (size: number): RawMessage => ({ ...RAW, payload: Buffer.alloc(size, 'x') });
  for (const size of [10, 16_384, 16_380, 3_000_000, 1]) {
    const decoded = codecs.raw.decode(codecs.raw.encode(message(size)));
    t.equal(decoded.payload.length, size);
    t.ok(Buffer.from(decoded.payload).equals(Buffer.alloc(size, 'x')));
  }
  const [first, second] = [codecs.raw.encode(message(4)), codecs.raw.encode(message(5))];
  t.equal(codecs.raw.decode(first).payload.length, 4, 'an encoded value is not touched by the next one');
  t.equal(codecs.raw.decode(second).payload.length, 5);
  const view = new Uint8Array([9, 1, 2, 9]).subarray(1, 3);
  t.same(
    [...codecs.raw.decode(codecs.raw.encode({ ...message(0), payload: view })).payload],
    [1, 2],
    'any byte array is taken',
  );
  t.end();
});

t.test('bytes that are not of the subject are refused with its name', (t) => {
  const good = codecs.watermark.encode({
    task: 'binance/0',
    kind: 'task',
    watermark: 1,
    offset: 2,
    positions: { rows: 3 },
  });
  const wrong: readonly (readonly [string, Buffer, RegExp])[] = [
    ['empty', Buffer.alloc(0), /watermark: not in Confluent framing/],
    ['no magic', Buffer.concat([Buffer.from([1]), good.subarray(1)]), /watermark: not in Confluent framing/],
    [
      'another subject',
      codecs.listing.encode(fc.sample(listing, { numRuns: 1, seed: 1 })[0] as ListingVersion),
      /watermark: schema id 26 is not one of its 6/,
    ],
    ['cut', good.subarray(0, -1), /^watermark: /],
    ['longer', Buffer.concat([good, Buffer.from([0])]), /^watermark: /],
  ];
  for (const [name, bytes, message] of wrong) {
    t.throws(() => codecs.watermark.decode(bytes), { name: 'AvroError', message }, name);
  }
  const invalid = { task: 'x', kind: 'task', watermark: 'soon', offset: 2, positions: {} } as unknown as WatermarkEntry;
  t.throws(() => codecs.watermark.encode(invalid), { name: 'AvroError', message: /^watermark: invalid/ });
  t.end();
});

const record = (fields: readonly object[]): avro.Schema => ({ type: 'record', name: 'Made', fields }) as avro.Schema;
const OLD = record([{ name: 'a', type: 'string' }]);
const NEW = record([
  { name: 'a', type: 'string' },
  { name: 'b', type: ['null', 'long'], default: null },
]);
const BROKEN = record([
  { name: 'a', type: 'string' },
  { name: 'b', type: 'long' },
]);
const readsOld = (newer: avro.Schema, older: avro.Schema): boolean => {
  try {
    avro.Type.forSchema(newer, { wrapUnions: 'never' }).createResolver(
      avro.Type.forSchema(older, { wrapUnions: 'never' }),
    );
    return true;
  } catch {
    return false;
  }
};

t.test('a reader resolves older versions, writes the newest, and refuses ids it does not know', (t) => {
  const before = createVersionedCodec<object>('made', [{ id: 1, schema: OLD }]);
  const now = createVersionedCodec<object>('made', [
    { id: 1, schema: OLD },
    { id: 7, schema: NEW },
  ]);
  t.same(plain(now.decode(before.encode({ a: 'x' }))), { a: 'x', b: null });
  t.same(plain(now.decode(now.encode({ a: 'x', b: 5 }))), { a: 'x', b: 5 });
  t.equal(now.id, 7);
  t.throws(() => before.decode(now.encode({ a: 'x', b: 5 })), /made: schema id 7 is not one of its 1/);
  t.throws(() => createVersionedCodec('made', []), AvroError);
  t.end();
});

t.test('every version of a subject reads all older ones (backward compatible for ever)', (t) => {
  t.ok(readsOld(NEW, OLD), 'the check passes a new member with a default');
  t.notOk(readsOld(BROKEN, OLD), 'the check sees a new member without one');
  for (const [name, ids] of Object.entries(SUBJECT_IDS)) {
    const files = readdirSync(new URL(`../../../schemas/avro/${name}/`, import.meta.url)).sort();
    t.same(files, ids.map((_, i) => `${i + 1}.avsc`).sort(), `${name}: one file a version`);
    const schemas = ids.map((_, i) => JSON.parse(readSchemaText(name, i + 1)) as avro.Schema);
    for (const [i, newer] of schemas.entries()) {
      for (const older of schemas.slice(0, i)) t.ok(readsOld(newer, older), `${name} version ${i + 1}`);
    }
  }
  t.end();
});

type Node = string | readonly Node[] | { readonly [member: string]: unknown };
const walk = (node: Node, visit: (node: { readonly [member: string]: unknown }) => void): void => {
  if (typeof node === 'string') return;
  if (Array.isArray(node)) {
    for (const each of node) walk(each as Node, visit);
    return;
  }
  const object = node as { readonly [member: string]: unknown };
  visit(object);
  for (const member of ['type', 'items', 'values', 'fields']) if (member in object) walk(object[member] as Node, visit);
};

t.test(
  'unions are with null only, null first with a default; codes are strings, never enums; instants name their unit',
  (t) => {
    for (const [name, ids] of Object.entries(SUBJECT_IDS)) {
      walk(JSON.parse(readSchemaText(name, ids.length)) as Node, (node) => {
        const { type } = node;
        if (type === 'enum' || type === 'double' || type === 'float')
          t.fail(`${name}: found ${type}; use string, because codes grow and figures keep their digits`);
        if (Array.isArray(type)) {
          t.equal(type.length, 2, `${name}.${String(node.name)}`);
          t.equal(type[0], 'null');
          t.equal(node.default, null, `${name}.${String(node.name)}: default null, so that older records can be read`);
        }
        const isInstant = /(_at|_ts|_until|^at|^watermark)$/.test(String(node.name ?? ''));
        if (isInstant) t.match(JSON.stringify(type), /timestamp-micros/, `${name}.${String(node.name)} is an instant`);
      });
    }
    t.end();
  },
);

t.test('a record of one name has one definition in all subjects that carry it', (t) => {
  const seen = new Map<string, { readonly subject: string; readonly fingerprint: string }>();
  for (const [name, ids] of Object.entries(SUBJECT_IDS)) {
    const registry: Record<string, avro.Type> = {};
    avro.Type.forSchema(JSON.parse(readSchemaText(name, ids.length)) as avro.Schema, { wrapUnions: 'never', registry });
    for (const type of Object.values(registry)) {
      if (type.name === undefined) continue;
      const fingerprint = type.fingerprint().toString('hex');
      const first = seen.get(type.name);
      if (!first) seen.set(type.name, { subject: name, fingerprint });
      else t.equal(fingerprint, first.fingerprint, `${type.name} of ${name} is that of ${first.subject}`);
    }
  }
  t.end();
});

t.test('ids are append-only: a written id means the same schema for ever', (t) => {
  const file = new URL('../../fixtures/schema-ids.json', import.meta.url);
  const hash = (name: string, version: number): string =>
    createHash('sha256')
      .update(JSON.stringify(JSON.parse(readSchemaText(name, version))))
      .digest('hex');
  const now = Object.fromEntries(
    Object.entries(SUBJECT_IDS).flatMap(([name, ids]) =>
      ids.map((id, i) => [id, `${name} ${i + 1} ${hash(name, i + 1)}`]),
    ),
  );
  if (process.env.GOLDEN_UPDATE === '1') writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`);
  const golden = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  const count = Object.values(SUBJECT_IDS).flat().length;
  t.equal(new Set(Object.values(SUBJECT_IDS).flat()).size, count, 'no id is used twice');
  for (const ids of Object.values(SUBJECT_IDS))
    t.same(
      [...ids].sort((a, b) => a - b),
      ids,
      'ids of a subject rise',
    );
  for (const [id, line] of Object.entries(golden)) {
    t.equal(
      now[id],
      line,
      `id ${id}: found another schema; add <n>.avsc with a new id, because messages of this id are stored`,
    );
  }
  t.same(Object.keys(now), Object.keys(golden), 'new ids are noted in the golden file (GOLDEN_UPDATE=1)');
  t.end();
});
