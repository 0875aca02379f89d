// Binance: listings with their rules, of recorded answers.
import t from 'tap';
import { binance } from '../../../ingest/venues/binance/index.ts';
import type { VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import { readRecording, toVenueMessage } from '../../support/venues/recordings.ts';
import { BANDS, makeCandles, venueBench } from '../../support/venues/venue-checks.ts';

const FIXTURES = 'binance';

const { frame, lineOf, listingsOf, map, mapLine, record, ...bench } = venueBench(binance);

const answer = (url: string, body: unknown): VenueMessage => bench.answer(`GET ${url}`, body);

const GOCT_USDM = 'gocryptotrader-usdm-rest-recorded.ndjson';

const GOCT_COINM = 'gocryptotrader-coinm-rest-recorded.ndjson';

t.test('each rule of a listing has its derivation', (t) => {
  const usdm = listingsOf('cryptofeed-usdm-rest-instruments.ndjson.gz');
  t.equal(usdm.length, 120, 'perpetuals of 122 symbols: two are dated; one is not open yet and has no kind');
  t.same(
    usdm.find((l) => l.venue_symbol === '1000SHIBUSDT'),
    record(
      'listing',
      '1000SHIBUSDT',
      [1626858243909, lineOf('cryptofeed-usdm-rest-instruments.ndjson.gz', 1).recv_ms],
      {
        instrument: 'SHIB-PERP',
        venue_symbol: '1000SHIBUSDT',
        base: 'SHIB',
        quote: 'USDT',
        base_venue_alias: '1000SHIB',
        kind: 'perpetual',
        venue_kind: 'linear',
        pair: '1000SHIBUSDT',
        post_only: null,
        status: 'tradeable',
        contract_size: '1',
        multiplier: '1000',
        tick_size: '0.000001',
        lot_size: '1',
        min_qty: '1',
        min_notional: '5',
        price_decimals: 6,
        qty_decimals: 0,
        units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
        quantity_unit: 'base',
        funding_interval: '8h',
        funding_interval_source: 'assumed',
        funding_normalisation: { venue_field: 'r', transform: 'string_to_number' },
        rules_normalisation: {
          tick_size: { venue_field: 'filters.PRICE_FILTER.tickSize', transform: 'string_to_number' },
          lot_size: { venue_field: 'filters.LOT_SIZE.stepSize', transform: 'string_to_number' },
          min_qty: { venue_field: 'filters.LOT_SIZE.minQty', transform: 'string_to_number' },
          min_notional: { venue_field: 'filters.MIN_NOTIONAL.notional', transform: 'string_to_number' },
          price_decimals: { venue_field: 'pricePrecision', transform: 'identity' },
          qty_decimals: { venue_field: 'quantityPrecision', transform: 'identity' },
        },
        candles: makeCandles('trade', 'mark', 'index'),
        not_published: [],
        bands: BANDS,
        oi_sides: null,
        listed_at: 1620630000000_000,
        delisted_at: null,
      },
    ),
  );
  t.match(usdm.find((l) => l.venue_symbol === '1INCHUSDT')?.values, {
    base: '1INCH',
    multiplier: '1',
    base_venue_alias: null,
    instrument: '1INCH-PERP',
  });
  t.match(usdm.find((l) => l.venue_symbol === 'BTCBUSD')?.values, {
    base: 'BTC',
    quote: 'BUSD',
    tick_size: '0.1',
    qty_decimals: 3,
  });
  t.end();
});

t.test('every perpetual of the recorded exchangeInfo answers has base, multiplier, contract size and kind', (t) => {
  for (const { file, perpetuals, sizes } of [
    { file: 'cryptofeed-usdm-rest-instruments.ndjson.gz', perpetuals: 120, sizes: () => '1' },
    {
      file: 'cryptofeed-coinm-rest-instruments.ndjson.gz',
      perpetuals: 18,
      sizes: (base: string) => (base === 'BTC' ? '100' : '10'),
    },
    { file: 'gocryptotrader-usdm-rest-recorded.ndjson', perpetuals: 25, sizes: () => '1' },
    {
      file: 'gocryptotrader-coinm-rest-recorded.ndjson',
      perpetuals: 25,
      sizes: (base: string) => (base === 'BTC' ? '100' : '10'),
    },
  ]) {
    const listings = listingsOf(file);
    const inverse = file.includes('coinm');
    t.equal(listings.length, perpetuals, file);
    for (const { venue_symbol, values } of listings) {
      const asset = inverse ? venue_symbol.replace(/USD_PERP$/, '') : venue_symbol.replace(/(USDT|BUSD)$/, '');
      const multiplier = asset === '1000SHIB' ? '1000' : '1';
      const base = asset.slice(multiplier === '1' ? 0 : 4);
      const settling = venue_symbol === 'GALAUSD_PERP' && file.startsWith('gocrypto');
      const { status, multiplier: held, contract_size, venue_kind, quantity_unit, tick_size } = values;
      t.match(
        { base: values.base, held, contract_size, venue_kind, quantity_unit, status, positive: Number(tick_size) > 0 },
        {
          base,
          held: multiplier,
          contract_size: sizes(base),
          venue_kind: inverse ? 'inverse' : 'linear',
          quantity_unit: inverse ? 'contracts' : 'base',
          status: settling ? 'settling' : venue_symbol === 'BTCSTUSDT' ? 'pre_launch' : 'tradeable',
          positive: true,
        },
        venue_symbol,
      );
    }
  }
  t.end();
});

t.test('a perpetual being settled is listed as settling, in either market and in either spelling (V-02)', (t) => {
  const listStatuses = (file: string, type: string, status: string): readonly string[] => {
    const message = readRecording(`${FIXTURES}/${file}`)
      .filter(({ kind, url }) => kind === 'rest' && url?.includes('/exchangeInfo'))
      .map(toVenueMessage)[0] as VenueMessage;
    const text = Buffer.from(message.payload)
      .toString('utf8')
      .replaceAll('"contractType":"PERPETUAL"', `"contractType":"${type}"`)
      .replaceAll(/"(status|contractStatus)":"TRADING"/g, `"$1":"${status}"`);
    const listings = binance.mapReference({}, { ...message, payload: Buffer.from(text) })?.listings ?? [];
    t.equal(listings.length, 25, `${file}: ${type}`);
    return [...new Set(listings.map(({ values }) => values.status))];
  };
  for (const file of [GOCT_USDM, GOCT_COINM])
    for (const type of ['PERPETUAL_DELIVERING', 'PERPETUAL DELIVERING', 'TRADIFI_PERPETUAL_DELIVERING']) {
      t.same(listStatuses(file, type, 'SETTLING'), ['settling']);
      t.same(listStatuses(file, type, 'TRADING'), ['settling'], 'the type goes before the status');
      t.same(listStatuses(file, type, 'A_NEW_WORD'), ['settling']);
      t.ok(listStatuses(file, type, 'CLOSE').includes('delisted'));
    }
  for (const file of [GOCT_USDM, GOCT_COINM]) {
    t.ok(listStatuses(file, 'TRADIFI_PERPETUAL', 'TRADING_HALT').includes('halted'), file);
    t.ok(listStatuses(file, 'TRADIFI_PERPETUAL', 'TRADING_CANCEL_ONLY').includes('cancel_only'), file);
  }
  t.end();
});

t.test('multipliers in symbols are undone, names that begin with a digit are not', (t) => {
  const findMultiplier = (baseAsset: string): unknown => {
    const symbol = {
      symbol: `${baseAsset}USDT`,
      pair: `${baseAsset}USDT`,
      contractType: 'PERPETUAL',
      status: 'TRADING',
      baseAsset,
      quoteAsset: 'USDT',
      filters: [],
    };
    const found = binance.mapReference(
      {},
      answer('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols: [symbol] }),
    );
    return [found?.listings[0]?.values.base, found?.listings[0]?.values.multiplier];
  };
  t.same(findMultiplier('1000PEPE'), ['PEPE', '1000']);
  t.same(findMultiplier('1000000MOG'), ['MOG', '1000000']);
  t.same(findMultiplier('1MBABYDOGE'), ['BABYDOGE', '1000000']);
  t.same(findMultiplier('1000X'), ['X', '1000']);
  t.same(findMultiplier('1INCH'), ['1INCH', '1']);
  t.end();
});

t.test('the funding interval is the one that the venue publishes, else eight hours by its docs', (t) => {
  const state = {};
  const info = toVenueMessage(lineOf(GOCT_USDM, 3));
  t.equal(binance.mapReference(state, info), null, 'fundingInfo alone is no reference');
  const symbols = ['LPTUSDT', 'BTCUSDT'].map((symbol) => ({
    symbol,
    pair: symbol,
    contractType: 'PERPETUAL',
    baseAsset: symbol.slice(0, 3),
    quoteAsset: 'USDT',
  }));
  const listings =
    binance.mapReference(state, answer('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols }))?.listings ?? [];
  t.match(listings[0]?.values, { funding_interval: '4h', funding_interval_source: 'venue' });
  t.match(listings[1]?.values, { funding_interval: '8h', funding_interval_source: 'documented', status: 'unknown' });
  t.end();
});

t.test('an adjusted interval without its figure is none', (t) => {
  for (const hours of [null, undefined, 0, '', '4h', -1]) {
    const state = {};
    const info = [
      { symbol: 'AUSDT', fundingIntervalHours: hours },
      { symbol: 'BUSDT', fundingIntervalHours: 4 },
    ];
    binance.mapReference(state, answer('https://fapi.binance.com/fapi/v1/fundingInfo', info));
    const symbols = ['AUSDT', 'BUSDT', 'CUSDT'].map((symbol) => ({
      ...{ symbol, pair: symbol, contractType: 'PERPETUAL', baseAsset: symbol.slice(0, 1), quoteAsset: 'USDT' },
    }));
    const whole = binance.mapReference(state, answer('https://fapi.binance.com/fapi/v1/exchangeInfo', { symbols }));
    t.same(
      whole?.listings.map(({ values }) => [values.funding_interval, values.funding_interval_source]),
      [
        [null, null],
        ['4h', 'venue'],
        ['8h', 'documented'],
      ],
      String(hours),
    );
  }
  t.end();
});
