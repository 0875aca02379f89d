// The simulated Bybit follows the venue's v5 protocol: subscriptions, merged tickers, numbered books, pages; and several venues share one simulator.
import t from 'tap';
import type { FaultRequest } from '../../../../infra/dev/simulator/faults.ts';
import type { TruthRow } from '../../../../infra/dev/simulator/truth-rows.ts';
import { bybit } from '../../../../ingest/venues/bybit/index.ts';
import {
  ask,
  type Client,
  connect,
  fakeSimulator,
  get,
  listTruth,
  START_MS,
  settle,
  trimZeros,
} from '../../../support/venues/fake-simulator.ts';
import { waitFor } from '../../../support/wait.ts';

const LINEAR = '/bybit/v5/public/linear';
const INVERSE = '/bybit/v5/public/inverse';
const parse = <T>(text: string): T => JSON.parse(text) as T;

type Frame<D> = {
  readonly topic: string;
  readonly type: string;
  readonly ts: number;
  readonly cts: number;
  readonly data: D;
};
type Book = { readonly s: string; readonly b: [string, string][]; readonly a: [string, string][]; readonly u: number };
type Ticker = Readonly<Record<string, string>>;

const listFrames = <D>(client: Client, topic: string): readonly Frame<D>[] =>
  client.frames.filter((text) => text.startsWith(`{"topic":"${topic}`)).map(parse<Frame<D>>);

const subscribe = async (client: Client, args: readonly string[]): Promise<unknown> =>
  ask(client, { op: 'subscribe', args, req_id: '7' });

t.test('protocol', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: ['bybit'] });

  t.test(
    'acknowledges with the request id, answers pings, and refuses a request with an unknown topic whole',
    async (t) => {
      const client = await connect(t, sim, LINEAR);
      t.match(await subscribe(client, ['publicTrade.BTCUSDT']), {
        success: true,
        ret_msg: '',
        req_id: '7',
        op: 'subscribe',
      });
      t.match(await ask(client, { op: 'ping' }), { success: true, ret_msg: 'pong', op: 'ping' });
      t.equal(bybit.classify(client.frames.at(-1) ?? ''), 'heartbeat');
      const refusal = await subscribe(client, ['tickers.ETHUSDT', 'tickers.BTCUSD']);
      t.match(refusal, { success: false, ret_msg: 'error:handler not found,topic:tickers.BTCUSD' });
      t.equal(bybit.classify(client.frames.at(-1) ?? ''), 'error');
      run(2_000);
      await settle(sim, client);
      t.same(
        [...new Set(client.frames.slice(3).map((text) => parse<{ topic: string }>(text).topic))],
        ['publicTrade.BTCUSDT'],
      );
      await t.rejects(connect(t, sim, '/bybit/v5/public/spot'), /404/);
    },
  );

  t.test('a ticker sends everything once and then only what changed, each message true when merged', async (t) => {
    const client = await connect(t, sim, LINEAR);
    await subscribe(client, ['tickers.BTCUSDT']);
    run(5_000);
    await settle(sim, client);
    const frames = listFrames<Ticker>(client, 'tickers.');
    t.same([frames[0]?.type, ...new Set(frames.slice(1).map(({ type }) => type))], ['snapshot', 'delta']);
    t.ok(Object.keys(frames[0]?.data ?? {}).length >= 20);
    let merged: Record<string, string> = {};
    for (const { type, data, ts } of frames) {
      const { symbol: _, ...members } = data;
      const repeated = Object.keys(members).filter((name) => type === 'delta' && merged[name] === members[name]);
      t.same(repeated, [], 'nothing is repeated');
      merged = { ...merged, ...members };
      const rows = listTruth(sim, 'BTCUSDT', 'mark').filter((row) => row.venue_ts === ts * 1_000);
      for (const { values } of rows)
        t.same(
          [values.mark, values.index],
          [merged.markPrice, merged.indexPrice].map((f) => trimZeros(f ?? '')),
        );
    }
    t.equal(merged.fundingIntervalHour, '8');
  });

  t.test('a book begins whole, its numbers rise by one, and unsubscribing ends it', async (t) => {
    const client = await connect(t, sim, INVERSE);
    await subscribe(client, ['orderbook.1000.BTCUSD', 'orderbook.200.BTCUSD']);
    run(3_000);
    await settle(sim, client);
    const frames = listFrames<Book>(client, 'orderbook.1000.');
    t.equal(frames[0]?.type, 'snapshot');
    t.ok((frames[0]?.data.b.length ?? 0) > 40);
    t.ok(frames.length > 10 && frames.every(({ data }, i) => i === 0 || data.u === (frames[i - 1]?.data.u ?? 0) + 1));
    t.equal(listFrames<Book>(client, 'orderbook.200.').length, frames.length);
    await ask(client, { op: 'unsubscribe', args: ['orderbook.1000.BTCUSD'] });
    run(1_000);
    await settle(sim, client);
    t.equal(listFrames<Book>(client, 'orderbook.1000.').length, frames.length);
    const before = listFrames<Book>(client, 'orderbook.200.').length;
    await subscribe(client, ['orderbook.1000.BTCUSD']);
    t.equal(listFrames<Book>(client, 'orderbook.1000.').at(-1)?.type, 'snapshot', 'and begins whole again');
    t.ok(before > frames.length);
  });
});

t.test('REST', async (t) => {
  const { sim, run, nowMs } = await fakeSimulator(t, { venues: ['bybit'], listings: 12 });
  run(185_000);
  type Answer<R> = { readonly retCode: number; readonly result: R; readonly time: number };
  type Page = {
    readonly list: { symbol: string; contractType: string; fundingInterval: number }[];
    readonly nextPageCursor: string;
  };
  const ask = async <R>(path: string): Promise<Answer<R>> =>
    (await get<Answer<R>>(sim, `/bybit/v5/market/${path}`)).body;

  t.test('gives the instruments in pages, a dated contract among them, none before its launch', async (t) => {
    const symbols: string[] = [];
    let cursor = '';
    let pages = 0;
    do {
      const { result } = await ask<Page>(`instruments-info?category=linear&limit=4&cursor=${cursor}`);
      symbols.push(...result.list.map(({ symbol }) => symbol));
      cursor = result.nextPageCursor;
      pages += 1;
    } while (cursor !== '');
    const whole = (await ask<Page>('instruments-info?category=linear&limit=1000')).result.list;
    t.same([symbols, pages], [whole.map(({ symbol }) => symbol), 3]);
    t.equal(whole.find(({ symbol }) => symbol === 'BTC-27DEC30')?.contractType, 'LinearFutures');
    t.equal(whole.find(({ symbol }) => symbol === '1000000MOGUSDT')?.fundingInterval, 60);
    t.same((await ask<Page>('instruments-info?category=linear&status=PreLaunch')).result.list, []);
  });

  t.test('candles of trades, mark and index are the closed minutes of the truth, newest first', async (t) => {
    type Klines = { readonly list: string[][] };
    for (const [path, type] of [
      ['kline', 'trade'],
      ['mark-price-kline', 'mark'],
      ['index-price-kline', 'index'],
    ] as const) {
      for (const symbol of ['BTCUSDT', '1000000MOGUSDT', 'BTCUSD']) {
        const category = symbol.endsWith('USDT') ? 'linear' : 'inverse';
        const { result } = await ask<Klines>(
          `${path}?category=${category}&symbol=${symbol}&interval=1&start=${START_MS}`,
        );
        const times = result.list.map(([start]) => Number(start));
        t.same(
          times,
          times.toSorted((a, b) => b - a),
        );
        const rows = listTruth(sim, symbol, 'candles').filter(({ values }) => values.price_type === type);
        t.equal(rows.length, 3);
        for (const { values } of rows) {
          const row = result.list.find(([start]) => Number(start) * 1_000 === values.open_time)?.map(trimZeros);
          const { open, high, low, close, volume, turnover } = values;
          t.same(
            row?.slice(1),
            type === 'trade' ? [open, high, low, close, volume, turnover] : [open, high, low, close],
          );
        }
      }
    }
    const minutes = listTruth(sim, '1000000MOGUSDT', 'candles').filter(({ values }) => values.price_type === 'trade');
    t.same(
      minutes.map(({ values }) => values.trades === 0).filter(Boolean).length,
      2,
      'two of three quiet minutes have no trade',
    );
  });

  t.test('refuses what it does not know with a code, and too many requests with 403', async (t) => {
    t.match(await ask('kline?category=linear&symbol=NOPE&interval=1'), { retCode: 10_001 });
    t.match(await ask('tickers?category=option'), { retCode: 10_001 });
    t.equal((await get(sim, '/bybit/v5/nothing')).status, 404);
    sim.inject({ venue: 'bybit', kind: 'rate_limit', durationMs: 1_000 });
    t.match(await get(sim, '/bybit/v5/market/time'), { status: 403, body: { retCode: 10_006 } });
    run(1_000);
    t.match(await ask('tickers?category=inverse&symbol=BTCUSD'), { retCode: 0, time: nowMs() });
  });
});

t.test('faults', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: ['bybit'] });
  const inject = (request: Omit<FaultRequest, 'venue'>) => sim.inject({ venue: 'bybit', ...request });

  t.test('a hole in the numbers of one book; a layer names its streams', async (t) => {
    const client = await connect(t, sim, LINEAR);
    await subscribe(client, ['orderbook.1000.BTCUSDT', 'tickers.BTCUSDT']);
    run(1_000);
    const hole = inject({ kind: 'sequence_hole', symbols: ['BTCUSDT'], count: 2 });
    run(2_000);
    const drop = inject({ kind: 'drop', symbols: ['BTCUSDT'], stream: 'mark' });
    run(2_000);
    await settle(sim, client);
    const ids = listFrames<Book>(client, 'orderbook.').map(({ data }) => data.u);
    t.same(
      ids
        .slice(1)
        .map((u, i) => u - (ids[i] ?? 0))
        .filter((step) => step !== 1),
      [3],
    );
    t.match(hole, { streams: ['orderbook.1000.BTCUSDT'], layers: ['book', 'venue_depth'], hit_count: 2 });
    t.match(drop, { streams: ['tickers.BTCUSDT'], hits: [{ stream: 'tickers.BTCUSDT' }] });
  });

  t.test('after a silence the ticker sends everything it had omitted', async (t) => {
    const client = await connect(t, sim, LINEAR);
    await subscribe(client, ['tickers.ETHUSDT']);
    run(2_000);
    inject({ kind: 'silence', symbols: ['ETHUSDT'], stream: 'tickers', durationMs: 5_000 });
    inject({ kind: 'funding_interval_changed', symbols: ['ETHUSDT'], hours: 4 });
    run(8_000);
    await settle(sim, client);
    const frames = listFrames<Ticker>(client, 'tickers.');
    t.ok(frames.some(({ ts }, i) => ts - (frames[i - 1]?.ts ?? ts) >= 5_000));
    t.equal(Object.assign({}, ...frames.map(({ data }) => data)).fundingIntervalHour, '4');
  });

  t.test(
    'restart: with its sockets kept every book is sent again with u 1, without them on the next subscription',
    async (t) => {
      const client = await connect(t, sim, LINEAR);
      await subscribe(client, ['orderbook.1000.BTCUSDT']);
      run(2_000);
      inject({ kind: 'restart', keepSockets: true });
      run(1_000);
      await settle(sim, client);
      const frames = listFrames<Book>(client, 'orderbook.');
      const at = frames.findIndex(({ data }) => data.u === 1);
      t.ok(at > 5 && frames.length > at + 3);
      t.equal(frames[at]?.type, 'snapshot');
      t.same(
        frames.slice(at, at + 3).map(({ data }) => data.u),
        [1, 2, 3],
      );
      inject({ kind: 'restart' });
      await waitFor('the close', client.isClosed);
      const again = await connect(t, sim, LINEAR);
      await subscribe(again, ['orderbook.1000.BTCUSDT']);
      run(1_000);
      await settle(sim, again);
      t.equal(listFrames<Book>(again, 'orderbook.')[0]?.data.u, 1);
    },
  );

  t.test('the truth of a book is that of its stamp, also where a restart has used its sequence again', async (t) => {
    inject({ kind: 'restart' });
    run(2_000);
    inject({ kind: 'restart' });
    run(3_000);
    const diffs = listTruth(sim, 'BTCUSDT', 'book').filter(({ values }) => values.source === 'diff');
    const last = diffs.at(-1)?.values.update_id;
    const [before, after] = diffs.filter(({ values }) => values.update_id === 5).slice(-2);
    t.ok(Number(last) > 5 && before !== undefined && after !== undefined && before.venue_ts !== after.venue_ts);
    for (const row of [before, after]) {
      const path = `/control/truth/book?symbol=BTCUSDT&u=5&ts=${row?.venue_ts}`;
      const { bids, asks } = (await get<{ bids: string[][]; asks: string[][] }>(sim, path)).body;
      const { bid, bid_size, ask, ask_size } = row?.values ?? {};
      t.same(
        [bids[0], asks[0]],
        [
          [bid, bid_size],
          [ask, ask_size],
        ],
      );
    }
    const path = `/control/truth/book?symbol=BTCUSDT&u=5&ts=${Number(after?.venue_ts) + 1_000}`;
    t.equal((await get(sim, path)).status, 404);
  });

  t.test('crossed_book: also the snapshot of a new subscription is crossed', async (t) => {
    inject({ kind: 'crossed_book', symbols: ['BTCUSDT'], durationMs: 2_000 });
    run(1_000);
    const client = await connect(t, sim, LINEAR);
    await subscribe(client, ['orderbook.1000.BTCUSDT']);
    run(100);
    await settle(sim, client);
    const [whole] = listFrames<Book>(client, 'orderbook.');
    t.ok(Number(whole?.data.b[0]?.[0]) > Number(whole?.data.a[0]?.[0]));
    const row = listTruth(sim, 'BTCUSDT', 'book').find(
      ({ values }) => values.update_id === whole?.data.u && values.crossed,
    );
    t.equal(row?.venue_ts, (whole?.cts ?? 0) * 1_000);
  });
});

t.test('two venues in one simulator', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: ['binance', 'bybit'], rate: 200 });

  t.test('each has its listings, truth, faults and connections under its own name', async (t) => {
    type Listed = { readonly venue: string; readonly symbol: string };
    const listed = (await get<Listed[]>(sim, '/control/listings')).body;
    t.same([...new Set(listed.map(({ venue }) => venue))], ['binance', 'bybit']);
    t.ok(listed.filter(({ symbol }) => symbol === 'BTCUSDT').length === 2, 'the same symbol on both');
    const client = await connect(t, sim, LINEAR);
    await subscribe(client, ['orderbook.1000.BTCUSDT']);
    run(2_000);
    const posted = { method: 'POST', body: JSON.stringify({ venue: 'bybit', kind: 'disconnect' }) };
    t.equal((await fetch(`${sim.control}/faults`, posted)).status, 201);
    await waitFor('the close', client.isClosed);
    const of = async <T>(path: string, venue: string) => (await get<T>(sim, `/control/${path}venue=${venue}`)).body;
    t.match(await of<unknown[]>('faults?', 'bybit'), [{ venue: 'bybit', kind: 'disconnect' }]);
    t.same(await of<unknown[]>('faults?', 'binance'), []);
    const rows = await of<TruthRow[]>('truth?symbol=BTCUSDT&layer=book&', 'bybit');
    t.ok(rows.length > 5 && rows.every(({ venue }) => venue === 'bybit'));
    const { connections } = await of<{ connections: { venue: string; cause: string }[] }>('sent?', 'bybit');
    t.match(connections, [{ venue: 'bybit', cause: 'fault' }]);
    t.equal((await get(sim, '/control/faults?venue=okay')).status, 404);
    const whole = await of<{ bids: unknown[] }>('truth/book?symbol=BTCUSDT&', 'bybit');
    t.ok(whole.bids.length > 40);
  });

  t.test("a coin's index goes the same way on both", async (t) => {
    run(20_000);
    const [first, second] = sim.hosts.map(({ market }) =>
      market.instruments.find(({ listing }) => listing.symbol === 'BTCUSDT'),
    );
    t.ok(first !== undefined && second !== undefined && Math.abs(first.index - second.index) <= 1_000_000);
    t.not(first?.mark, second?.mark);
  });
});
