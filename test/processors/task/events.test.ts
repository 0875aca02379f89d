// Old events: those repeated by a venue's first message of a subscription are not published as new, on every recorded venue (D-53).
import { readdirSync } from 'node:fs';
import t from 'tap';
import { LIMITS } from '../../../infra/runtime/kafka/topics.ts';
import { toCapability } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { formatListing, parseListing } from '../../../processors/task/state-json.ts';
import type { LiquidationRecord, ListingRecord, TradeRecord } from '../../../schemas/records.ts';
import type { RawMessage, Row } from '../../../schemas/topics.ts';
import { listingValues } from '../../support/apps/live-fixture.ts';
import { paperVenue } from '../../support/tasks/paper-log.ts';
import { listRows, runTask, TestLog } from '../../support/tasks/task-driver.ts';
import { allLayers } from '../../support/tasks/task-logs.ts';
import { fixturePath, type Recorded, readRecording, toVenueMessage } from '../../support/venues/recordings.ts';

type EventRecord = TradeRecord | LiquidationRecord;

const readSessions = (id: string): readonly (readonly [string, readonly Recorded[]])[] =>
  readdirSync(fixturePath(id))
    .filter((name) => name.includes('ndjson'))
    .map((name) => [name, readRecording(`${id}/${name}`).filter((l) => l.kind !== 'rest' && l.dir === 'in')] as const)
    .filter(([, lines]) => lines.length > 1 && lines.every(({ recv_ms }) => recv_ms !== null));

const isEvent = (record: { readonly layer: string }): record is EventRecord =>
  record.layer === 'trade' || record.layer === 'liquidation';

/** Events of a session from its mapper. */
const listEvents = (venue: Venue, lines: readonly Recorded[]): readonly EventRecord[] => {
  const state = {};
  return lines.flatMap((line) => {
    const message = toVenueMessage(line);
    try {
      const payload = venue.decode ? venue.decode(message.payload) : message.payload;
      return venue
        .map(state, { ...message, payload }, { listings: new Map() })
        .flatMap(({ record }) => (isEvent(record) ? record : []));
    } catch {
      return [];
    }
  });
};

const toListing = (venue: Venue, symbol: string): ListingRecord => {
  const stamps = { layer: 'listing', venue: venue.id, venue_symbol: symbol, venue_ts: null, received_at: 0 } as const;
  return { ...stamps, values: listingValues({ venue_symbol: symbol }) };
};

/** The session as one connection that opens with its first frame. */
const rowsOfSession = (venue: Venue, lines: readonly Recorded[], symbols: readonly string[]): readonly Row[] => {
  const known = symbols.map((symbol) => toListing(venue, symbol));
  const listed: Venue = {
    ...venue,
    layers: allLayers.layers,
    mapReference: () => ({ scope: 'all', listings: known, elements: () => new Map() }),
  };
  const log = new TestLog();
  log.now = (lines[0]?.recv_ms ?? 0) * 1_000;
  log.json('capability', 'collector', 'c1', toCapability(listed));
  log.json('response', 'reference', 'r', {}, { request: 'GET https://test' });
  log.open('k1', 'all', [{ layers: ['trades', 'liquidation'], symbols: null }]);
  for (const { recv_ms, raw } of lines) {
    const frame = { kind: 'frame' as RawMessage['kind'], slot: 'all', conn_id: 'k1', request: null };
    log.append({ ...frame, payload: Buffer.from(raw), received_at: (recv_ms ?? 0) * 1_000 });
  }
  return listRows(runTask({ venue: listed, partition: 0, shards: 1 }, log.records).outputs).filter(
    ({ table, texts }) => (table === 'trades' || table === 'liquidations') && texts['status'] === 'present',
  );
};

t.test('of every recorded session the task publishes what happened since it began, each event once', (t) => {
  const repeating = new Set<string>();
  let publishedCount = 0;
  for (const [id, venue] of venues) {
    for (const [name, lines] of readSessions(id)) {
      const events = listEvents(venue, lines);
      if (events.length === 0) continue;
      const openedAt = (lines[0]?.recv_ms ?? 0) * 1_000;
      const rows = rowsOfSession(venue, lines, [...new Set(events.map((event) => event.venue_symbol ?? ''))]);
      const old = rows.filter(({ instants }) => (instants['venue_ts'] ?? openedAt) < openedAt);
      t.same(old, [], `${id} ${name}: nothing of before`);
      const isNew = ({ venue_ts: at }: EventRecord): boolean => at === null || at >= openedAt;
      const toId = (event: EventRecord): string => `${event.layer} ${event.venue_symbol} ${event.values.id}`;
      const ids = new Set(events.filter((event) => event.values.id !== null && isNew(event)).map(toId));
      const nameless = new Set(events.filter((event) => event.values.id === null).map((event) => event.layer));
      const kept = rows.filter(({ table }) => !nameless.has(table === 'trades' ? 'trade' : 'liquidation'));
      const counted = [...ids].filter((key) => !nameless.has(key.split(' ')[0] as EventRecord['layer']));
      t.equal(kept.length, counted.length, `${id} ${name}: ${counted.length} events with an id`);
      publishedCount += kept.length;
      if (events.some((event) => !isNew(event))) repeating.add(id);
    }
  }
  t.ok(repeating.has('htx') && repeating.has('okx'), `sessions of ${[...repeating].join(', ')} begin with the past`);
  t.ok(publishedCount > 90, `${publishedCount} events`);
  t.end();
});

t.test(
  'an empty id of the venue is none: the row has one of the service’s own, and no text of a row is empty (AR-07)',
  (t) => {
    const venue = venues.get('binance') as Venue;
    const nameless: Venue = {
      ...venue,
      map: (...words) =>
        venue
          .map(...words)
          .map((mapped) =>
            isEvent(mapped.record)
              ? { ...mapped, record: { ...mapped.record, values: { ...mapped.record.values, id: '' } } as EventRecord }
              : mapped,
          ),
    };
    let publishedCount = 0;
    for (const [, lines] of readSessions('binance')) {
      const symbols = [...new Set(listEvents(venue, lines).map((event) => event.venue_symbol ?? ''))];
      if (symbols.length === 0) continue;
      const rows = rowsOfSession(nameless, lines, symbols);
      publishedCount += rows.length;
      for (const { texts } of rows) t.notOk(Object.values(texts).includes('') || !texts['id'], JSON.stringify(texts));
    }
    t.ok(publishedCount > 0, `${publishedCount} events`);
    t.end();
  },
);

t.test(
  'a listing with any number of trades fits into a checkpoint, and its newest ones are not repeated (D-435)',
  (t) => {
    const log = new TestLog();
    log.json('capability', 'collector', 'c1', toCapability(paperVenue));
    const listing = { symbol: 'LIN', base: 'LIN', kind: 'linear', unit: 'base', multiplier: '1', size: '1' };
    log.json('response', 'reference', 'r', { listings: [listing] }, { request: 'GET https://test' });
    log.open('k1', 'all', [{ layers: ['liquidation'], symbols: null }]);
    const put = (n: number): void => {
      log.now += 1_000;
      const v = { id: `${n}`.padStart(9_000, '0'), side: 'long', price: '1', quantity: '1' };
      log.json('frame', 'all', 'k1', { l: 'liquidation', s: 'LIN', t: log.now / 1_000, v });
    };
    for (let n = 0; n < 1_200; n++) put(n);
    for (let n = 1_000; n < 1_200; n++) put(n);
    const { task, outputs } = runTask({ venue: paperVenue, partition: 0, shards: 1 }, log.records);
    t.equal(listRows(outputs, 'liquidations').filter((row) => row.texts.status === 'present').length, 1_200);
    const held = task.state.listings.get('LIN');
    if (held === undefined) return t.fail('it is listed');
    t.ok(formatListing(held).length < LIMITS.messageBytes / 2);
    const uncounted = formatListing(held).replace(/"bytes":\d+,?/, '');
    t.notMatch(uncounted, /"bytes"/);
    t.same(
      parseListing(uncounted).events,
      held.events,
      'a state from before the bytes of ids were kept has them counted',
    );
    t.end();
  },
);
