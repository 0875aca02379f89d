// Bitget: books by checksum, by sequence and by request.
import { crc32 } from 'node:zlib';
import t from 'tap';
import { normalise } from '../../../infra/dev/tools/normalise.ts';
import { bitget } from '../../../ingest/venues/bitget/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import { type BookSync, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { toCanonicalDigits } from '../../../schemas/decimals.ts';
import { fixturePath, readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { runCase, venueBench } from '../../support/venues/venue-checks.ts';
import { answer, bookFrame, REST, SESSION, TARDIS, WS } from './bitget.messages.ts';

const NO_LISTINGS: MapContext = { listings: new Map() };

const { frame, map, mapLine } = venueBench(bitget);

type Level = readonly [string, string];

/** The venue's own proof of a book: CRC32 over the best 25 levels a side, as it spells them. */
const computeChecksum = (bids: ReadonlyMap<string, string>, asks: ReadonlyMap<string, string>): number => {
  const best = (side: ReadonlyMap<string, string>, sign: number): Level[] =>
    [...side].toSorted((a, b) => sign * (Number(a[0]) - Number(b[0]))).slice(0, 25);
  const [b, a] = [best(bids, -1), best(asks, 1)];
  const parts = Array.from({ length: 25 }, (_, i) => [...(b[i] ?? []), ...(a[i] ?? [])]).flat();
  return crc32(parts.join(':')) | 0;
};

t.test('the books of a recorded session are those the venue signed, message by message', async (t) => {
  const printed: { bids: Level[]; asks: Level[] }[] = [];
  await normalise({
    venue: bitget,
    files: [fixturePath(`bitget/${SESSION}`)],
    assembled: true,
    write: (line) => {
      const { layer, values } = JSON.parse(line);
      if (layer === 'book' || layer === 'gap') printed.push(values);
    },
  });
  const sides = { bids: new Map<string, string>(), asks: new Map<string, string>() };
  let count = 0;
  for (const { raw, dir } of readRecording(`bitget/${SESSION}`)) {
    const { action, arg, data } = dir === 'in' ? JSON.parse(raw) : {};
    if (arg?.channel !== 'books' || data === undefined) continue;
    for (const name of ['bids', 'asks'] as const) {
      if (action === 'snapshot') sides[name].clear();
      for (const [price, size] of data[0][name] as Level[]) {
        if (Number(size) === 0) sides[name].delete(price);
        else sides[name].set(price, size);
      }
    }
    t.equal(computeChecksum(sides.bids, sides.asks), data[0].checksum, `checksum of book ${count}`);
    for (const [name, sign] of [
      ['bids', -1],
      ['asks', 1],
    ] as const) {
      const best = [...sides[name]].toSorted((a, b) => sign * (Number(a[0]) - Number(b[0]))).slice(0, 25);
      t.same(
        printed[count]?.[name],
        best.map((level) => level.map(toCanonicalDigits)),
        `${name} of book ${count}`,
      );
    }
    count++;
  }
  t.equal(count, 98);
  t.equal(printed.length, 98, 'no gap');
});

t.test('a v3 book follows its pseq, breaks on a hole, and is whole again at a snapshot only', (t) => {
  const base = 1304314508780744705n;
  const steps: readonly (readonly [string, bigint, bigint, string])[] = [
    ['update', 1n, 0n, 'waits'],
    ['snapshot', 10n, -base, 'applies'],
    ['update', 14n, 10n, 'applies'],
    ['update', 14n, 10n, 'waits'],
    ['update', 15n, 14n, 'applies'],
    ['update', 18n, 16n, 'breaks'],
    ['update', 19n, 18n, 'waits'],
    ['snapshot', 30n, -base, 'applies'],
    ['update', 31n, 30n, 'applies'],
    // The first after a snapshot may have begun before it, a later one may not.
    ['snapshot', 50n, -base, 'applies'],
    ['update', 50n, 49n, 'waits'],
    ['update', 53n, 48n, 'applies'],
    ['update', 55n, 52n, 'breaks'],
    ['snapshot', 60n, -base, 'applies'],
    ['update', 64n, 61n, 'breaks'],
    ['snapshot', 70n, -base, 'applies'],
    ['update', 69n, 68n, 'breaks'],
  ];
  let sync: BookSync<null> = makeBookSync();
  for (const [action, seq, pseq, expected] of steps) {
    const text = bookFrame(action, base + seq, base + pseq);
    const chain = bitget.sequence(text);
    if (!chain) throw new Error('no chain');
    t.same(bitget.map({}, frame(text), NO_LISTINGS)[0]?.chain, chain, 'the mapper agrees with the quick check');
    const step = stepBookSync(bitget.bookRule, sync, { chain, payload: null });
    sync = step.state;
    t.equal(step.broke ? 'breaks' : step.apply.length > 0 ? 'applies' : 'waits', expected, `${action} ${seq}`);
  }
  t.match(map(frame(bookFrame('update', base, base - 1n))), [
    {
      values: {
        kind: 'update',
        bids: [
          ['5', '6'],
          ['4', '0'],
        ],
        asks: [['7', '8']],
        sequence: '1304314508780744705',
      },
    },
  ]);
  t.end();
});

t.test('a v2 book without pseq continues while its sequence rises', (t) => {
  const v2 = (action: string, seq: number): string =>
    JSON.stringify({
      action,
      arg: { instType: 'USDT-FUTURES', channel: 'books', instId: 'AUSDT' },
      data: [{ asks: [], bids: [['5', '6']], checksum: 1, seq, ts: '1700000000001' }],
      ts: 1700000000002,
    });
  let sync: BookSync<null> = makeBookSync();
  const outcomes = (
    [
      ['snapshot', 5],
      ['update', 9],
      ['update', 9],
      ['update', 8],
    ] as const
  ).map(([action, seq]) => {
    const chain = bitget.sequence(v2(action, seq));
    if (!chain) throw new Error('no chain');
    const step = stepBookSync(bitget.bookRule, sync, { chain, payload: null });
    sync = step.state;
    return step.broke ? 'breaks' : step.apply.length;
  });
  t.same(outcomes, [1, 1, 0, 'breaks']);
  t.match(map(frame(v2('update', 9)))[0]?.values, { sequence: '9' });
  t.end();
});

t.test('channels of the best levels are whole messages; a side with fewer levels than requested is complete', (t) => {
  const findChain = (topic: string) =>
    bitget.map({}, frame(bookFrame('snapshot', 9n, 0n, topic)), NO_LISTINGS)[0]?.chain;
  t.same(findChain('books15')?.full, { bids: true, asks: true });
  t.equal(findChain('books15')?.kind, 'snapshot');
  t.equal(findChain('books')?.full, undefined, 'its depth is not known');
  t.equal(findChain('books1'), undefined, 'the best level alone is never our book');
  t.equal(bitget.sequence(bookFrame('snapshot', 9n, 0n, 'books1')), null);
  t.end();
});

t.test('a message is what its action says, in every channel', (t) => {
  for (const topic of ['books', 'books1', 'books5', 'books50'])
    for (const action of ['snapshot', 'update']) {
      const text = bookFrame(action, 9n, 8n, topic);
      const [mapped] = bitget.map({}, frame(text), NO_LISTINGS);
      t.match(mapped?.record.values, { kind: action }, `${topic}: ${action}`);
      t.equal(mapped?.chain?.kind, topic === 'books1' ? undefined : action);
      t.equal(bitget.sequence(text)?.kind, mapped?.chain?.kind);
    }
  t.end();
});

t.test('the quick check of a frame agrees with the mapper', (t) => {
  for (const file of [WS, TARDIS, SESSION]) {
    let wrong = 0;
    for (const line of readRecording(`bitget/${file}`).filter(({ dir }) => dir === 'in')) {
      const mapped = bitget.map({}, toVenueMessage(line), NO_LISTINGS).find(({ chain }) => chain)?.chain;
      const { full: _, ...ids } = mapped ?? { full: undefined };
      const { full: __, ...seen } = bitget.sequence(line.raw) ?? { full: undefined };
      const text = (value: object): string => JSON.stringify(value, (_key, v) => (typeof v === 'bigint' ? `${v}n` : v));
      if (text(ids) !== text(seen)) wrong++;
    }
    t.equal(wrong, 0, file);
  }
  t.end();
});

t.test('a book by request is printed with its digits, never joined; a merged one is none', (t) => {
  const numbers = (request: string, data: string): VenueMessage => ({
    ...answer(request, null),
    payload: Buffer.from(`{"code":"00000","requestTime":3,"data":${data}}`),
  });
  const v3 = bitget.map(
    {},
    numbers(
      'v3/market/orderbook?symbol=AUSDT&category=USDT-FUTURES',
      '{"a":[[73000.0,0.007]],"b":[[71213.30,10.000]],"ts":"1700000000001"}',
    ),
    NO_LISTINGS,
  );
  t.match(v3, [
    {
      record: {
        venue_symbol: 'AUSDT',
        venue_ts: 1700000000001_000,
        values: { kind: 'snapshot', bids: [['71213.3', '10']], asks: [['73000', '0.007']], sequence: null },
      },
    },
  ]);
  t.equal(v3[0]?.chain, undefined);
  const merged = '{"asks":[[26347.5,0.25]],"bids":[[26346.5,0.16]],"ts":"1695870968804","precision":"scale1"}';
  t.same(map(numbers('v2/mix/market/merge-depth?symbol=AUSDT', merged)), []);
  for (const whole of ['"scale0"', 'null', '""'])
    t.equal(map(numbers('v2/mix/market/merge-depth?symbol=AUSDT', merged.replace('"scale1"', whole))).length, 1, whole);
  t.equal(
    runCase(() => mapLine(REST, 10)),
    'VENUE_UNKNOWN_LISTING',
    'a book of nobody',
  );
  t.end();
});
