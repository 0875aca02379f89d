// Gaps of trades and liquidations: stretches without a connection are rows, silence on a living one is not (H-15).
import t from 'tap';
import { LiveMemory } from '../../../api/live/memory.ts';
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { listRows, runTask, SECOND, START, TestLog } from '../../support/tasks/task-driver.ts';
import { reference, symbolInfo } from '../../support/tasks/task-logs.ts';

const ON = { policy: 'on', cadence: 'live', horizonMs: null, horizonSource: 'connection' } as const;
const venue: Venue = { ...binance, layers: { ...binance.layers, trades: ON, liquidation: ON } };
const SPEC = { venue, partition: 0, shards: 1 };

const begin = (): TestLog => {
  const log = new TestLog();
  log.capability(venue);
  log.open('trades', 'trades', [{ layers: ['trades'], symbols: null }]);
  log.open('events', 'events', [{ layers: ['liquidation'], symbols: null }]);
  reference(log);
  return log;
};

type Gap = readonly [from: number, to: number, cause: string | undefined];
/** Gap rows of a table in seconds since the start, neighbours joined as answers join them. */
const listGaps = (log: TestLog, table: string): Gap[] => {
  const joined: Gap[] = [];
  for (const { at, instants, texts } of listRows(runTask(SPEC, log.records).outputs, table)) {
    if (texts.listing !== 'binance:BTCUSDT') continue;
    const gap: Gap = [((instants.from_at ?? 0) - START) / SECOND, (at - START) / SECOND, texts.gap_cause];
    const last = joined.at(-1);
    if (last !== undefined && last[1] === gap[0] && last[2] === gap[2])
      joined[joined.length - 1] = [last[0], gap[1], gap[2]];
    else joined.push(gap);
  }
  return joined;
};

t.test('silence on a living connection is no gap', (t) => {
  const log = begin();
  log.run(200 * SECOND, ['trades', 'events']);
  t.same(listGaps(log, 'liquidations'), []);
  t.same(listGaps(log, 'trades'), []);
  t.end();
});

/** The connection of liquidations is lost after 12.345678 s, and another follows after 35 s. */
const loseEvents = (): TestLog => {
  const log = begin();
  log.run(12 * SECOND, ['trades', 'events']);
  log.json('lost', 'events', 'events', { lost_at: log.now + 345_678, cause: 'connection_lost', detail: '' });
  log.run(23 * SECOND, ['trades']);
  log.open('events2', 'events', [{ layers: ['liquidation'], symbols: null }]);
  log.run(200 * SECOND, ['trades', 'events2']);
  return log;
};

t.test('between a loss and the next connection nothing could come, to the microsecond', (t) => {
  const log = loseEvents();
  t.same(listGaps(log, 'liquidations'), [[12.345678, 35, 'connection_lost']]);
  t.same(listGaps(log, 'trades'), [], 'the other connection lived');
  t.end();
});

/** What is told of a listing's liquidations that is not sealed, at seconds of the log, as a reader of `live` holds it. */
const listOpenGaps = (log: TestLog, seconds: readonly number[]): readonly (readonly Gap[])[] => {
  const memory = new LiveMemory(['binance']);
  const { outputs } = runTask(SPEC, log.records);
  const { records } = log;
  let next = 0;
  return seconds.map((second) => {
    for (; (records[next]?.timestampMs ?? Number.POSITIVE_INFINITY) * 1_000 <= START + second * SECOND; next += 1)
      for (const entry of outputs[next]?.live ?? []) memory.applyLive('binance', 0, codecs.live.encode(entry));
    return [...memory.recentRows('binance', 'liquidations', 'BTCUSDT')]
      .filter(({ sealed, row }) => !sealed && row.texts.status === 'missing')
      .map(({ row: { at, instants, texts } }) => [
        ((instants.from_at ?? 0) - START) / SECOND,
        (at - START) / SECOND,
        texts.gap_cause,
      ]);
  });
};

t.test('a window that has ended has its gaps on `live` long before its seal, without a cause (H-15, H-16k)', (t) => {
  const log = loseEvents();
  t.same(listOpenGaps(log, [19, 21, 31, 41, 109, 121, 131, 150]), [
    [],
    [[12.345678, 20, 'unknown']],
    [[12.345678, 30, 'unknown']],
    [[12.345678, 35, 'unknown']],
    [[12.345678, 35, 'unknown']],
    [[12.345678, 35, 'unknown']],
    [[20, 35, 'unknown']],
    [],
  ]);
  t.same(listGaps(log, 'liquidations'), [[12.345678, 35, 'connection_lost']]);
  t.end();
});

t.test('records that come late take back a gap at the end of the next window (H-16k, N-11)', (t) => {
  const log = begin();
  log.run(10 * SECOND, ['trades', 'events']);
  // The log takes nothing of the collector for 25 seconds; what it received meanwhile is recorded then.
  log.run(25 * SECOND, [], 250_000, null);
  const recordedAt = log.now;
  const body = { collector: 'c1', connections: [{ conn_id: 'events', opened_at: START }] };
  const tick = { kind: 'tick', slot: 'collector', conn_id: 'c1', request: null } as const;
  log.append({ ...tick, payload: Buffer.from(JSON.stringify(body)), received_at: START + 10.25 * SECOND }, recordedAt);
  log.run(200 * SECOND, ['trades', 'events']);
  t.same(listOpenGaps(log, [19, 21, 31, 39, 41, 150]), [
    [],
    [[13.001, 20, 'unknown']],
    [[13.001, 30, 'unknown']],
    [[13.001, 30, 'unknown']],
    [],
    [],
  ]);
  t.same(listGaps(log, 'liquidations'), [], 'the connection had lived');
  t.end();
});

t.test('a dead collector leaves a gap from three seconds after its last record until it is back', (t) => {
  const log = begin();
  log.run(30 * SECOND, ['trades', 'events']);
  log.run(60 * SECOND, [], 250_000, null);
  log.open('events2', 'events', [{ layers: ['liquidation'], symbols: null }]);
  log.run(200 * SECOND, ['events2']);
  const gaps = listGaps(log, 'liquidations');
  t.same([gaps[0]?.[0], gaps.at(-1)?.[1]], [33.001, 90]);
  t.ok(
    gaps.every(([, , cause]) => cause === 'collector_down'),
    JSON.stringify(gaps),
  );
  t.end();
});

t.test('of several losses in one window each stretch has its own cause', (t) => {
  const log = begin();
  log.run(12 * SECOND, ['trades', 'events']);
  log.json('lost', 'events', 'events', { lost_at: log.now, cause: 'connection_lost', detail: '' });
  log.run(2 * SECOND, ['trades']);
  log.open('events2', 'events', [{ layers: ['liquidation'], symbols: null }]);
  log.run(2 * SECOND, ['trades', 'events2']);
  log.json('lost', 'events', 'events2', { lost_at: log.now, cause: 'venue_down', detail: '' });
  log.run(2 * SECOND, ['trades']);
  log.open('events3', 'events', [{ layers: ['liquidation'], symbols: null }]);
  log.run(200 * SECOND, ['trades', 'events3']);
  t.same(listGaps(log, 'liquidations'), [
    [12, 14, 'connection_lost'],
    [16, 18, 'venue_down'],
  ]);
  t.end();
});

t.test('an answer that refuses a request loses nothing; a frame that cannot be read may have held anything', (t) => {
  const log = begin();
  log.run(12 * SECOND, ['trades', 'events']);
  log.json('frame', 'events', 'events', { error: { code: 2, msg: 'Invalid request' }, id: 1 });
  log.run(13 * SECOND, ['trades', 'events']);
  log.json('frame', 'trades', 'trades', 'nonsense');
  log.run(200 * SECOND, ['trades', 'events']);
  t.same(listGaps(log, 'liquidations'), []);
  t.same(listGaps(log, 'trades'), [[20, 30, 'parse_error']]);
  t.end();
});

t.test('a frame that cannot be read is a gap beside a loss in its window', (t) => {
  const log = begin();
  log.run(12 * SECOND, ['trades', 'events']);
  log.json('lost', 'trades', 'trades', { lost_at: log.now, cause: 'connection_lost', detail: '' });
  log.run(2 * SECOND, ['events']);
  log.open('trades2', 'trades', [{ layers: ['trades'], symbols: null }]);
  log.run(3 * SECOND, ['trades2', 'events']);
  log.json('frame', 'trades', 'trades2', 'nonsense');
  log.run(200 * SECOND, ['trades2', 'events']);
  t.same(listGaps(log, 'trades'), [
    [10, 12, 'parse_error'],
    [12, 14, 'connection_lost'],
    [14, 20, 'parse_error'],
  ]);
  t.same(listGaps(log, 'liquidations'), []);
  t.end();
});

t.test('events that a listing does not publish have no gaps: its record declares them', (t) => {
  const log = begin();
  log.run(200 * SECOND, []);
  t.ok(listRows(runTask(SPEC, log.records).outputs, 'trades').length > 0, 'rows of trades');
  const mapReference: Venue['mapReference'] = (state, message) => {
    const answer = venue.mapReference(state, message);
    return answer === null
      ? null
      : {
          ...answer,
          listings: answer.listings.map((listing) => ({
            ...listing,
            values: { ...listing.values, not_published: [...listing.values.not_published, 'trades'] },
          })),
        };
  };
  const { outputs } = runTask({ ...SPEC, venue: { ...venue, mapReference } }, log.records);
  t.same(listRows(outputs, 'trades'), []);
  t.ok(listRows(outputs, 'liquidations').length > 0);
  t.end();
});

/** Opens a connection of liquidations on a slot of its own. */
const openEvents = (log: TestLog, connId: string): void =>
  void log.open(connId, connId, [{ layers: ['liquidation'], symbols: null }]);

t.test('connections that come and go in turns leave only the time that none was alive', (t) => {
  const log = begin();
  log.run(11 * SECOND, ['trades', 'events']);
  log.run(3.5 * SECOND, ['trades']);
  openEvents(log, 'other');
  log.run(2 * SECOND, ['trades', 'other']);
  log.json('lost', 'other', 'other', { lost_at: log.now, cause: 'venue_down', detail: '' });
  log.run(SECOND, ['trades']);
  log.run(200 * SECOND, ['trades', 'events']);
  t.same(listGaps(log, 'liquidations'), [
    [14.001, 14.5, 'collector_down'],
    [16.5, 17.75, 'venue_down'],
  ]);
  t.end();
});

t.test('a loss at the very end of a window begins the gap of the next one', (t) => {
  const log = begin();
  log.run(20 * SECOND, ['trades', 'events']);
  log.json('lost', 'events', 'events', { lost_at: log.now, cause: 'venue_down', detail: '' });
  log.run(5 * SECOND, ['trades']);
  openEvents(log, 'events2');
  log.run(200 * SECOND, ['trades', 'events2']);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'liquidations');
  t.same(
    rows.map(({ at, instants }) => [((instants.from_at ?? 0) - START) / SECOND, (at - START) / SECOND]),
    [[20, 25]],
    'and no row of no length',
  );
  t.end();
});

t.test('before any connection the cause is that no collector ran, or unknown while one did', (t) => {
  const log = new TestLog();
  log.capability(venue);
  reference(log);
  log.run(30 * SECOND, []);
  log.run(30 * SECOND, [], 250_000, null);
  log.run(35 * SECOND, []);
  openEvents(log, 'events');
  log.run(200 * SECOND, ['events']);
  t.same(listGaps(log, 'liquidations'), [
    [0, 30, 'unknown'],
    [30, 60, 'collector_down'],
    [60, 95, 'unknown'],
  ]);
  t.end();
});

t.test('windows of a gap that are sealed at once are one row a day', (t) => {
  const log = begin();
  log.run(10 * SECOND, ['trades', 'events']);
  const midnight = 12 * 3_600;
  log.now = START + (midnight + 160) * SECOND;
  openEvents(log, 'events2');
  log.run(200 * SECOND, ['events2']);
  const rows = listRows(runTask(SPEC, log.records).outputs, 'liquidations');
  t.same(
    rows
      .slice(0, 2)
      .map(({ at, instants, texts }) => [
        ((instants.from_at ?? 0) - START) / SECOND,
        (at - START) / SECOND,
        texts.gap_cause,
      ]),
    [
      [13.001, midnight, 'collector_down'],
      [midnight, midnight + 50, 'collector_down'],
    ],
  );
  t.end();
});

t.test('of the window in which a listing ended, the time without a connection is `not_listed`', (t) => {
  const log = begin();
  log.run(22 * SECOND, ['trades', 'events']);
  log.json('lost', 'events', 'events', { lost_at: log.now, cause: 'venue_down', detail: '' });
  log.run(3 * SECOND, ['trades']);
  const request = 'GET https://fapi.binance.com/fapi/v1/exchangeInfo';
  log.json('response', 'reference', 'c1.reference', { symbols: [symbolInfo('ETHUSDT')] }, { request });
  log.run(200 * SECOND, ['trades']);
  t.same(listGaps(log, 'liquidations'), [[22, 30, 'not_listed']]);
  t.same(listGaps(log, 'trades'), []);
  t.end();
});
