// What the query page does without a service: terms of a query, its instant, the same call for a shell, and cells of answers.
import t from 'tap';
import { toCsv, toCurl } from '../../../api/explorer/islands/query-code.ts';
import {
  flattenRows,
  type ScreenAnswer,
  toCell,
  toScreenTable,
  toSnapshotsTable,
} from '../../../api/explorer/islands/query-table.ts';
import { findAsOf, splitWords, toFullMinute, withAsOf } from '../../../api/explorer/islands/query-words.ts';
import screen from '../../../api/operations/examples/screen.json' with { type: 'json' };

t.test('words of a query have their kinds and places', (t) => {
  const text = 'any(venues where ema(close, 20, 1h) > 0.5bps) where symbol = "a \\" b" as of 2026-11-22T12:00:00Z';
  const words = splitWords(text);
  for (const { text: word, from, to } of words) t.equal(text.slice(from, to), word);
  t.same(
    words.filter(({ kind }) => kind !== 'op').map(({ kind, text: word }) => [kind, word]),
    [
      ...[
        ['keyword', 'any'],
        ['keyword', 'venues'],
        ['keyword', 'where'],
        ['function', 'ema'],
        ['name', 'close'],
      ],
      ...[
        ['number', '20'],
        ['number', '1h'],
        ['number', '0.5bps'],
        ['keyword', 'where'],
        ['name', 'symbol'],
      ],
      ...[
        ['string', '"a \\" b"'],
        ['keyword', 'as'],
        ['keyword', 'of'],
        ['instant', '2026-11-22T12:00:00Z'],
      ],
    ],
  );
  t.same(
    splitWords('base in (BTC, 1000PEPE)')
      .filter(({ kind }) => kind === 'code')
      .map(({ text: word }) => word),
    ['BTC', '1000PEPE'],
  );
  t.end();
});

t.test('the instant of a query is found, replaced and removed, and is no part of a string', (t) => {
  const at = '2026-11-22T12:00:00Z';
  t.equal(findAsOf('any(venues where mark > 0)'), null);
  t.equal(findAsOf('any(venues where mark > 0) where symbol = "as of x"'), null);
  t.equal(findAsOf(`any(venues where mark > 0) as of ${at} select mark`)?.at, at);
  t.equal(withAsOf('any(venues where mark > 0)', at), `any(venues where mark > 0) as of ${at}`);
  t.equal(
    withAsOf(`any(venues where mark > 0) as of 2026-01-01 select mark`, at),
    `any(venues where mark > 0) select mark as of ${at}`,
  );
  t.equal(withAsOf(`any(venues where mark > 0) as of ${at}`, null), 'any(venues where mark > 0)');
  t.equal(withAsOf('any(venues where mark > 0) as of', at), `any(venues where mark > 0) as of ${at}`);
  t.end();
});

t.test('a quote in a query ends no argument of a shell, and a comma no cell of a table', (t) => {
  t.match(toCurl('http://x', { path: '/screen', body: { query: "it's" } }), `-d '{"query":"it'\\''s"}'`);
  t.equal(
    toCsv(
      ['a', 'b'],
      [
        ['1,5', null],
        ['say "x"', ''],
      ],
    ),
    'a,b\r\n"1,5",\r\n"say ""x""",\r\n',
  );
  t.end();
});

t.test('a number that is not current is in no cell and in no file, and its reason is', (t) => {
  const stale = toCell(
    { value: null, unit: 'quote', status: 'stale', reason: 'horizon_passed', age_ms: 40_000 },
    'USDT',
  );
  t.match(stale, { text: 'stale', full: null, tip: /^stale: it outlived .*\(horizon_passed\); 40 s old$/ });
  // Even if an answer should state one beside the status.
  t.notMatch(JSON.stringify(toCell({ value: '60000.5', status: 'stale', reason: 'connection_lost' })), /60000/);
  t.match(toCell({ value: '60000.5', unit: 'quote', status: 'present' }, 'USDT'), {
    text: '60000.5',
    full: '60000.5',
    unit: 'USDT',
  });
  t.match(toCell({ value: '0.0000010308263464782592', status: 'present' }), {
    text: '≈ 0.00000103083',
    full: '0.0000010308263464782592',
  });
  t.match(toCell({ value: null, unit: 'count', bound: { at_least: 1, at_most: 3 } }), { text: '1 to 3', full: null });
  t.equal(toCell(undefined), null);
  t.end();
});

t.test('the slider goes back to full minutes, and not into the future', (t) => {
  const now = Date.parse('2026-01-15T12:00:40Z');
  t.equal(toFullMinute(now - 100_000, now), '2026-01-15T11:59:00Z');
  t.equal(toFullMinute(Date.parse('2026-01-15T11:59:00Z'), now), '2026-01-15T11:59:00Z');
  t.equal(toFullMinute(now - 50_000, now), '2026-01-15T12:00:00Z');
  t.equal(toFullMinute(now - 10_000, now), '', 'the next minute has not begun');
  t.end();
});

t.test('the answer of a screen becomes rows with the digits of the answer', (t) => {
  const { columns, rows } = flattenRows(toScreenTable(screen as unknown as ScreenAnswer));
  t.same(columns, [
    'instrument',
    'result',
    'venue',
    'symbol',
    ...['funding_8h', 'funding_8h unit', 'funding_8h status'],
    ...['spread', 'spread unit', 'spread status'],
  ]);
  t.same(rows[0]?.slice(0, 7), ['BTC-PERP', 'true', 'binance', 'BTCUSDT', '0.00009985', 'fraction', 'present']);
  t.end();
});

t.test('a member that is null in a present layer reads as a screen reads it; a quantity has its unit', (t) => {
  const layers = {
    stats: {
      ...{ status: 'present', age_ms: 5, received_at: null, venue_ts: null },
      values: { change_24h: null, turnover_24h: null, volume_24h: '7' },
      null_reasons: { change_24h: 'venue_capability', turnover_24h: 'no_value' },
      units: { change_24h: 'fraction', turnover_24h: 'quote', volume_24h: 'contracts' },
    },
  };
  const item = { venue: 'okx', venue_symbol: 'BTC-USDT-SWAP', instrument: 'BTC-PERP', quote: 'USDT', layers };
  const table = toSnapshotsTable({ items: [item] });
  const [change, turnover, volume] = table.groups[0]?.rows[0]?.cells ?? [];
  t.match(change, { text: 'not published', tip: /^not_published: .*\(venue_capability\)/ });
  t.match(turnover, { text: 'missing', tip: /\(no_value\)/ });
  t.match(volume, { text: '7', unit: 'contracts' });
  t.same(flattenRows(table).rows[0]?.slice(3), [
    null,
    null,
    'not_published',
    null,
    null,
    'missing',
    '7',
    'contracts',
    'present',
  ]);
  t.end();
});
