// OKX: books by checksum and by the id of their predecessor.
import { crc32 } from 'node:zlib';
import t from 'tap';
import type { MapContext } from '../../../ingest/venues/contract/mapping.ts';
import { okx } from '../../../ingest/venues/okx/index.ts';
import { type BookSync, type Chain, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import { applySnapshot, applyUpdate, createBook } from '../../../processors/task/book.ts';
import { listTopLevels } from '../../../processors/task/book-levels.ts';
import type { BookRecord } from '../../../schemas/records.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { venueBench } from '../../support/venues/venue-checks.ts';

const { frame } = venueBench(okx);

const SESSION = 'cryptofeed-v5-ws-1.ndjson.gz';

const NO_LISTINGS: MapContext = { listings: new Map() };

t.test('every book of the recorded session has the checksum the venue then sent', (t) => {
  const book = createBook();
  let sync: BookSync<BookRecord['values']> = makeBookSync();
  let compared = 0;
  for (const line of readRecording(`okx/${SESSION}`)) {
    if (line.dir !== 'in') continue;
    for (const { record: mapped, chain } of okx.map({}, toVenueMessage(line), NO_LISTINGS)) {
      if (mapped.layer !== 'book' || !chain) continue;
      const step = stepBookSync(okx.bookRule, sync, { chain, payload: mapped.values });
      sync = step.state;
      for (const values of step.apply) (values.kind === 'snapshot' ? applySnapshot : applyUpdate)(book, values);
      const sent = (JSON.parse(line.raw) as { data: [{ checksum: number }] }).data[0].checksum;
      const { bids, asks } = listTopLevels(book, 25);
      const text = Array.from({ length: 25 }, (_, i) => [bids[i] ?? [], asks[i] ?? []].flat()).flat();
      if ((crc32(text.join(':')) | 0) !== sent) t.fail(`line of ${mapped.venue_ts}`);
      compared++;
    }
  }
  t.equal(compared, 93, 'one snapshot, 92 updates of the one swap');
  t.end();
});

t.test('a book continues while each predecessor is the last id, and a hole is found', (t) => {
  const seen: string[] = [];
  let sync: BookSync<null> = makeBookSync();
  const feed = (action: string | null, seqId: bigint, prevSeqId: bigint): void => {
    const text = `{"arg":{"channel":"books","instId":"BTC-USDT-SWAP"},${action === null ? '' : `"action":"${action}",`}"data":[{"asks":[],"bids":[],"ts":"5","checksum":0,"seqId":${seqId},"prevSeqId":${prevSeqId}}]}`;
    const chain = okx.sequence(text);
    const [mapped] = okx.map({}, frame(text), NO_LISTINGS);
    // Which sides are whole, and how many levels the channel has, the mapping alone reads.
    const toIds = (one: Chain | null | undefined) => ({ ...one, full: undefined, depth: undefined });
    t.same(toIds(mapped?.chain), toIds(chain), 'the cheap look sees the same chain');
    if (!chain) return;
    const step = stepBookSync(okx.bookRule, sync, { chain, payload: null });
    sync = step.state;
    seen.push(`${sync.phase}${step.broke ? ' broke' : ''}`);
  };
  const big = 9007199254740993n;
  feed('update', 5n, 4n);
  feed('snapshot', big, -1n);
  feed('update', big + 2n, big);
  feed('update', big + 2n, big + 2n);
  feed('update', 15n, big + 2n);
  feed('update', 15n, big + 2n);
  feed('update', 18n, 17n);
  feed('update', 20n, 18n);
  feed(null, 30n, -1n);
  t.same(
    seen,
    ['unsynced', 'joined', 'live', 'live', 'live', 'live', 'broken broke', 'broken', 'joined'],
    'a quiet book repeats its id, ids may start again after maintenance, a repeat is skipped, only a snapshot mends a hole',
  );
  for (const line of readRecording(`okx/${SESSION}`)) {
    if (line.dir !== 'in') continue;
    const chain = okx.map({}, toVenueMessage(line), NO_LISTINGS)[0]?.chain;
    t.equal(okx.sequence(line.raw)?.kind, chain?.kind, line.raw.slice(0, 60));
  }
  t.end();
});

t.test(
  'a side of a snapshot with fewer levels than the channel sends is all the venue has; five levels are no chain',
  (t) => {
    const levels = (n: number): string[][] => Array.from({ length: n }, (_, i) => [String(i + 1), '1', '0', '1']);
    const push = (channel: string): unknown =>
      okx.map(
        {},
        frame({
          arg: { channel, instId: 'A-USDT-SWAP' },
          action: 'snapshot',
          data: [{ bids: levels(399), asks: levels(400), ts: '5', seqId: 1, prevSeqId: -1 }],
        }),
        NO_LISTINGS,
      )[0]?.chain?.full;
    t.same(push('books'), { bids: true, asks: false });
    t.same(push('books50-l2-tbt'), { bids: false, asks: false });
    const five = { arg: { channel: 'books5', instId: 'A-USDT-SWAP' }, data: [{ bids: levels(2), asks: [], ts: '5' }] };
    const [mapped] = okx.map({}, frame(five), NO_LISTINGS);
    t.equal(mapped?.chain, undefined);
    t.same(
      (mapped?.record.values as BookRecord['values'] | undefined)?.bids,
      [
        ['2', '1'],
        ['1', '1'],
      ],
      'best first',
    );
    t.equal(okx.sequence(JSON.stringify(five)), null);
    t.end();
  },
);
