// The board as data: rows, filters and order, colours, addresses, the clock, and the picture that stays as large as its selection.
import t from 'tap';
import {
  listLeftOut,
  readBoardView,
  toBoardAddress,
  toggleSort,
} from '../../../../api/explorer/board/board-address.ts';
import {
  type BoardListing,
  filterListings,
  fitListings,
  makeBoardRows,
  type RowFigures,
  sortNames,
} from '../../../../api/explorer/board/board-rows.ts';
import { computeColourStep } from '../../../../api/explorer/board/colour-step.ts';
import { readInstrumentView, toInstrumentAddress } from '../../../../api/explorer/board/instrument-view.ts';
import { findMeasure, MEASURES } from '../../../../api/explorer/board/measures.ts';
import { type LayerUpdate, Picture } from '../../../../api/explorer/board/picture.ts';
import { ServerClock } from '../../../../api/explorer/board/server-clock.ts';
import { LAYERS, READING_LAYERS } from '../../../../schemas/layers/readings.ts';

const listing = (venue: string, base: string, quote = 'USDT'): BoardListing => ({
  ...{ venue, base, asset: base, multiplier: '1', quote, instrument: `${base}-PERP`, venue_symbol: `${base}${quote}` },
});
const ALL = [listing('okx', 'ETH'), listing('okx', 'BTC', 'USDC'), listing('okx', 'BTC'), listing('aster', 'BTC')];

t.test('a row is an instrument; listings of one venue share a cell', (t) => {
  const [btc, eth] = makeBoardRows(ALL);
  t.same([btc?.instrument, eth?.instrument], ['BTC-PERP', 'ETH-PERP']);
  t.same(
    btc?.cells.get('okx')?.map(({ quote }) => quote),
    ['USDC', 'USDT'],
  );
  t.equal(eth?.cells.get('aster'), undefined);
  t.end();
});

t.test('filters narrow, and what does not fit is left out by whole instruments', (t) => {
  const none = { bases: [], quotes: [], venues: [] };
  t.same(filterListings(ALL, none), ALL);
  t.same(filterListings(ALL, { ...none, bases: ['BTC'], venues: ['okx'] }).length, 2);
  t.same(filterListings(ALL, { ...none, quotes: ['EUR'] }), []);
  t.same(
    fitListings(ALL, 3).map(({ base }) => base),
    ['BTC', 'BTC', 'BTC'],
    'the one on most venues first',
  );
  t.same(fitListings(ALL, 2), [ALL[0]], 'an instrument that does not fit gives way to one that does');
  t.same(fitListings(ALL, 0), []);
  t.end();
});

t.test('rows without a figure are last in either order', (t) => {
  const figures: Readonly<Record<string, RowFigures>> = {
    A: new Map([['okx', [1]]]),
    B: new Map(),
    C: new Map([
      ['okx', [5]],
      ['aster', [-5]],
    ]),
  };
  const of = (name: string): RowFigures => figures[name] as RowFigures;
  t.same(sortNames(['C', 'A', 'B'], { by: 'okx', isAscending: true }, of), ['A', 'C', 'B']);
  t.same(sortNames(['C', 'A', 'B'], { by: 'okx', isAscending: false }, of), ['C', 'A', 'B']);
  t.same(sortNames(['C', 'A', 'B'], { by: 'range', isAscending: false }, of), ['C', 'A', 'B']);
  t.same(sortNames(['C', 'A', 'B'], { by: 'name', isAscending: false }, of), ['C', 'B', 'A']);
  t.end();
});

t.test('colours go both ways from zero, and shares compare', (t) => {
  const { scale } = findMeasure('funding_8h');
  t.same(
    [0, 0.00001, 0.0001, -0.0001, 1, -1, Number.NaN].map((figure) => computeColourStep(figure, scale, 0)),
    [0, 0, 3, -3, 5, -5, 0],
  );
  const share = findMeasure('oi').scale;
  t.same(
    [
      [10, 10],
      [5, 10],
      [0, 10],
      [5, 0],
    ].map(([figure = 0, largest = 0]) => computeColourStep(figure, share, largest)),
    [5, 3, 0, 0],
  );
  t.end();
});

t.test('steps grow, and each measure is a figure of its layer', (t) => {
  for (const { id, scale, layer, planLayer, member } of MEASURES) {
    if (scale.kind !== 'share')
      t.same(
        scale.steps,
        [...scale.steps].sort((a, b) => a - b),
        `${id}: steps ascend`,
      );
    const known = READING_LAYERS.find((name) => LAYERS[name].recordName === layer);
    t.ok(known !== undefined && planLayer === known, `${id}: ${layer} is streamed, ${planLayer} is in plans`);
    t.type(member, 'string');
  }
  t.end();
});

t.test('a view is its address, and what makes no sense is left aside', (t) => {
  for (const address of [
    '/explore',
    '/explore?measure=oi',
    '/explore?measure=basis&sort=-okx&base=BTC,ETH&quote=USDT&venue=okx,kraken-futures',
    '/explore?sort=-name',
  ])
    t.equal(toBoardAddress(readBoardView(new URLSearchParams(address.split('?')[1] ?? ''))), address);
  const odd = readBoardView(new URLSearchParams('measure=x&sort=%00&base=btc,,<b>,ETH;drop&venue=OKX'));
  t.equal(toBoardAddress(odd), '/explore?base=BTC&venue=okx');
  const mixed = readBoardView(new URLSearchParams('measure=oi&sort=-range'));
  t.equal(toBoardAddress(mixed), '/explore?measure=oi', 'quantities of several units have no widest difference');
  t.same(toggleSort({ by: 'name', isAscending: true }, 'okx'), { by: 'okx', isAscending: false }, 'largest first');
  t.same(toggleSort({ by: 'okx', isAscending: false }, 'okx'), { by: 'okx', isAscending: true });
  const path = '/explore/BTC-PERP';
  for (const address of [path, `${path}?range=24h&listing=okx%7CBTC-USDT-SWAP&price=mark`, `${path}?rows=stored`])
    t.equal(toInstrumentAddress(path, readInstrumentView(new URLSearchParams(address.split('?')[1] ?? ''))), address);
  t.equal(readInstrumentView(new URLSearchParams('range=7d&rows=stored')).isRaw, false, 'too long for stored rows');
  t.end();
});

t.test('what a filter does not take is named once, with the member that it was asked as', (t) => {
  const leftOut = (text: string): readonly string[] => {
    const query = new URLSearchParams(text);
    const view = readBoardView(query);
    const filter = { ...view.filter, bases: view.filter.bases.filter((code) => code === 'BTC') };
    return listLeftOut(query, { ...view, filter });
  };
  t.same(leftOut('base=btc,BTC&quote=usdt&venue=OKX'), []);
  t.same(leftOut('base=USDT,BTC,usdt&quote=USDT'), ['base USDT'], 'a quote of the same code is another member');
  t.same(leftOut('base=BTC/USDT&venue=<b>'), ['base BTC/USDT', 'venue <b>']);
  t.same(leftOut('base=BTC&base=NOPE'), ['base NOPE'], 'a member that is given twice');
  const many = Array.from({ length: 70 }, (_, i) => `v${i}`);
  const venue = many.join(',');
  t.equal(readBoardView(new URLSearchParams({ venue })).filter.venues.length, 32);
  t.same(
    leftOut(`venue=${venue}`),
    many.slice(32, 64).map((code) => `venue ${code}`),
    'so many are taken, and named',
  );
  t.match(leftOut(`base=${'A'.repeat(500)}`)[0], /^base A{10,100}…$/);
  t.end();
});

t.test('the clock is the least delayed of the received instants, and follows a step forward', (t) => {
  const clock = new ServerClock();
  t.equal(clock.nowMs(0), null);
  clock.note(1_000_000, 100);
  clock.note(1_000_500, 700);
  t.equal(clock.nowMs(700), 1_000_600, 'the second was 100 ms longer on its way');
  clock.note(1_010_000, 800);
  t.equal(clock.nowMs(900), 1_010_100, 'a machine that slept');
  clock.note(Number.NaN, 900);
  t.equal(clock.nowMs(900), 1_010_100);
  clock.note(1_070_000, 61_000);
  clock.note(1_131_000, 122_000);
  t.equal(clock.nowMs(122_000), 1_131_000, 'what is older than two stretches no longer counts');
  t.end();
});

const makeUpdate = (rev: number, symbol = 'BTCUSDT'): LayerUpdate => ({
  ...{ venue: 'okx', venue_symbol: symbol, instrument: 'BTC-PERP', layer: 'mark', rev },
  state: { status: 'present', venue_ts: null, received_at: null, age_ms: null, valid_until: null, values: {} },
});

t.test('the picture holds one reading a listing and layer, however many come', (t) => {
  const picture = new Picture();
  for (let rev = 1; rev <= 10_000; rev++) picture.apply(makeUpdate(rev, `S${rev % 7}`));
  t.equal(picture.size, 7);
  picture.clear();
  t.equal(picture.size, 0);
  t.end();
});

t.test('a revision that is left out is counted, unless it was announced or the picture begins again', (t) => {
  const picture = new Picture();
  for (const rev of [4, 5, 5, 6]) picture.apply(makeUpdate(rev));
  t.equal(picture.holes, 0, 'a status repeats the revision');
  picture.apply(makeUpdate(8));
  t.equal(picture.holes, 1);
  picture.replace(makeUpdate(20));
  picture.excuse();
  picture.apply(makeUpdate(30));
  picture.apply(makeUpdate(31));
  t.equal(picture.holes, 1);
  t.end();
});
