// The simulated Binance follows its protocol, and its answers tell what its market truly was.
import { createHash } from 'node:crypto';
import t from 'tap';
import type { TruthRow } from '../../../../infra/dev/simulator/truth-rows.ts';
import {
  ask,
  type Client,
  connect,
  fakeSimulator,
  get,
  listTruth,
  settle,
  trimZeros,
} from '../../../support/venues/fake-simulator.ts';
import { listDepths, type Mark, parse } from './binance-book.ts';

t.test('protocol', async (t) => {
  const { sim, run } = await fakeSimulator(t);
  const open = (path: string): Promise<Client> => connect(t, sim, path);

  t.test('acknowledges, lists and ends subscriptions as the venue does', async (t) => {
    const client = await open('/binance/public/ws');
    t.same(await ask(client, { method: 'SUBSCRIBE', params: ['btcusdt@depth@100ms', 'nosuch@depth'], id: 1 }), {
      result: null,
      id: 1,
    });
    t.same(await ask(client, { method: 'LIST_SUBSCRIPTIONS', id: 2 }), {
      result: ['btcusdt@depth@100ms', 'nosuch@depth'],
      id: 2,
    });
    run(500);
    await settle(sim, client);
    t.ok(listDepths(client).length > 0);
    t.same(await ask(client, { method: 'UNSUBSCRIBE', params: ['btcusdt@depth@100ms'], id: 3 }), {
      result: null,
      id: 3,
    });
    const before = client.frames.length;
    run(500);
    await settle(sim, client);
    t.equal(client.frames.length, before);
    t.match(await ask(client, { method: 'NONSENSE', id: 4 }), { error: { code: 2 }, id: 4 });
  });

  t.test(
    'delivers depth only on /public and marks only on /market; the other path acknowledges and stays silent',
    async (t) => {
      const streams = ['btcusdt@depth@100ms', 'btcusdt@markPrice@1s'];
      const kinds: Record<string, string[]> = {};
      for (const path of ['/binance/public/ws', '/binance/market/ws', '/binance/ws']) {
        const client = await open(path);
        t.same(await ask(client, { method: 'SUBSCRIBE', params: streams, id: 7 }), { result: null, id: 7 });
        run(2_000);
        await settle(sim, client);
        kinds[path] = [...new Set(client.frames.slice(1).map((f) => parse<{ e: string }>(f).e))];
      }
      t.same(kinds, {
        '/binance/public/ws': ['depthUpdate'],
        '/binance/market/ws': ['markPriceUpdate'],
        '/binance/ws': ['depthUpdate'],
      });
    },
  );

  t.test('takes streams from the URL and wraps them on /stream', async (t) => {
    const raw = await open('/binance/market/ws/btcusdt@markPrice@1s');
    const wrapped = await open('/binance/market/stream?streams=btcusdt@markPrice@1s/ethusdt@ticker');
    run(1_000);
    await settle(sim, raw);
    await settle(sim, wrapped);
    t.match(parse(raw.frames[0] ?? ''), { e: 'markPriceUpdate', s: 'BTCUSDT' });
    t.same(wrapped.frames.map((f) => parse<{ stream: string }>(f).stream).sort(), [
      'btcusdt@markPrice@1s',
      'ethusdt@ticker',
    ]);
    const mark = wrapped.frames.find((f) => f.includes('@markPrice'));
    t.equal(mark, `{"stream":"btcusdt@markPrice@1s","data":${raw.frames[0]}}`);
  });

  t.test('marks of all listings are of the whole second, each ticker of its own moment in it', async (t) => {
    const client = await open(
      '/binance/market/ws/btcusdt@markPrice@1s/ethusdt@markPrice@1s/btcusdt@ticker/ethusdt@ticker',
    );
    run(3_000);
    await settle(sim, client);
    const phases = (kind: string, symbol: string) => {
      const frames = client.frames.map((text) => parse<{ e: string; s: string; E: number }>(text));
      return [...new Set(frames.filter(({ e, s }) => e === kind && s === symbol).map(({ E }) => E % 1_000))];
    };
    for (const symbol of ['BTCUSDT', 'ETHUSDT']) t.same(phases('markPriceUpdate', symbol), [0], symbol);
    const [[btc, ...moreBtc], [eth, ...moreEth]] = [phases('24hrTicker', 'BTCUSDT'), phases('24hrTicker', 'ETHUSDT')];
    t.ok(btc !== undefined && eth !== undefined && btc !== eth, `${btc} and ${eth} ms after the second`);
    t.same([moreBtc, moreEth], [[], []]);
  });

  t.test('sends the COIN-M index apart, by pair, and the quarterly contract without a rate', async (t) => {
    const client = await open('/binance/coinm/ws');
    await ask(client, {
      method: 'SUBSCRIBE',
      params: ['btcusd_perp@markPrice@1s', 'btcusd@indexPrice', '!markPrice@arr@1s'],
      id: 1,
    });
    run(1_000);
    await settle(sim, client);
    const [mark, index, all] = client.frames.slice(1).map(parse<Mark & Mark[]>);
    t.match(mark, { e: 'markPriceUpdate', s: 'BTCUSD_PERP', r: /^-?0\.\d{8}$/ });
    t.notOk('i' in (mark ?? {}));
    t.match(index, { e: 'IndexUpdate', s: 'BTCUSD', p: /^\d+\.\d{8}$/ });
    t.match(
      all?.find((m) => m.s === 'BTCUSD_301227'),
      { r: '', T: 0 },
    );
  });

  t.test('refuses unknown socket paths', async (t) => {
    await t.rejects(open('/binance/nowhere'), /404/);
  });
});

t.test('reference answers and truth', async (t) => {
  const { sim, run } = await fakeSimulator(t);

  t.test(
    'lists the perpetuals with their rules, a quarterly contract among them, and only unusual funding intervals',
    async (t) => {
      type Info = {
        symbols: {
          symbol: string;
          contractType: string;
          status: string;
          contractSize: number;
          filters: { filterType: string; tickSize: string }[];
        }[];
      };
      const usdm = (await get<Info>(sim, '/binance/fapi/v1/exchangeInfo')).body.symbols;
      const coinm = (await get<Info>(sim, '/binance/dapi/v1/exchangeInfo')).body.symbols;
      t.same(
        usdm.map((s) => s.symbol),
        [
          'BTCUSDT',
          'ETHUSDT',
          '1000PEPEUSDT',
          'BTCUSDC',
          'SOLUSDT',
          'XRPUSDT',
          'DOGEUSDT',
          '1000000MOGUSDT',
          'BTCUSDT_301227',
        ],
      );
      t.equal(usdm.at(-1)?.contractType, 'CURRENT_QUARTER');
      t.equal(usdm[0]?.filters.find((f) => f.filterType === 'PRICE_FILTER')?.tickSize, '0.10');
      t.same(
        coinm.map((s) => [s.symbol, s.contractSize]),
        [
          ['BTCUSD_PERP', 100],
          ['ETHUSD_PERP', 10],
          ['BTCUSD_301227', 100],
        ],
      );
      const intervals = (
        await get<{ symbol: string; fundingIntervalHours: number }[]>(sim, '/binance/fapi/v1/fundingInfo')
      ).body;
      t.same(
        intervals.map((i) => [i.symbol, i.fundingIntervalHours]),
        [
          ['1000PEPEUSDT', 4],
          ['XRPUSDT', 4],
          ['1000000MOGUSDT', 1],
        ],
      );
    },
  );

  t.test('answers errors as the venue does', async (t) => {
    t.match(await get(sim, '/binance/fapi/v1/depth?symbol=NOPE'), { status: 400, body: { code: -1121 } });
    t.match(await get(sim, '/binance/fapi/v1/depth'), { status: 400, body: { code: -1102 } });
    t.match(await get(sim, '/binance/fapi/v1/nothing'), { status: 404 });
  });

  t.test('every mark frame has its row of truth under its own stamp, and REST returns the same', async (t) => {
    const client = await connect(t, sim, '/binance/market/ws');
    await ask(client, { method: 'SUBSCRIBE', params: ['btcusdt@markPrice@1s', '1000pepeusdt@markPrice@1s'], id: 1 });
    run(5_000);
    await settle(sim, client);
    const marks = client.frames.slice(1).map(parse<Mark>);
    t.equal(marks.length, 10);
    for (const mark of marks) {
      const { body } = await get<TruthRow[]>(sim, `/control/truth?symbol=${mark.s}&ts=${mark.E * 1_000}&layer=mark`);
      t.same(
        body.map((row) => row.values),
        [{ mark: trimZeros(mark.p), index: trimZeros(mark.i) }],
      );
      const [funding] = listTruth(sim, mark.s, 'funding').filter((row) => row.venue_ts === mark.E * 1_000);
      t.match(funding?.values, { funding: trimZeros(mark.r), next_funding_at: mark.T * 1_000 });
    }
    const premium = (
      await get<{ markPrice: string; time: number }>(sim, '/binance/fapi/v1/premiumIndex?symbol=BTCUSDT')
    ).body;
    t.equal(premium.markPrice, marks.findLast((m) => m.s === 'BTCUSDT')?.p);
  });

  t.test("the next funding time moves on by the listing's own interval", async (t) => {
    const pepe = sim.market.find('usdm', '1000PEPEUSDT');
    t.equal(pepe?.nextFundingAtMs, Date.UTC(2026, 10, 21, 8));
    t.equal(sim.market.find('usdm', '1000000MOGUSDT')?.nextFundingAtMs, Date.UTC(2026, 10, 21, 7));
    t.equal(sim.market.find('usdm', 'BTCUSDT')?.nextFundingAtMs, Date.UTC(2026, 10, 21, 8));
  });

  t.test('klines close with their minute, and the REST answer holds them', async (t) => {
    const client = await connect(t, sim, '/binance/market/ws/btcusdt@kline_1m/btcusdt@aggTrade');
    run(122_000);
    await settle(sim, client);
    type Kline = {
      e: string;
      k: { t: number; f: number; L: number; o: string; c: string; v: string; n: number; x: boolean };
    };
    type Trade = { e: string; a: number; p: string; q: string };
    const events = client.frames.map(parse<Kline & Trade>);
    const closed = events.filter(({ e, k }) => e === 'kline' && k.x).map(({ k }) => k);
    t.equal(closed.length, 2);
    const second = closed[1];
    if (second === undefined) throw new Error('no second minute');
    const trades = events.filter(({ e, a }) => e === 'aggTrade' && a >= second.f && a <= second.L);
    t.same([trades.length, trades[0]?.p, trades.at(-1)?.p], [second.n, second.o, second.c]);
    t.equal(trades.reduce((sum, { q }) => sum + Number(q), 0).toFixed(3), second.v);
    const path = '/binance/fapi/v1/klines?symbol=BTCUSDT&interval=1m';
    const { body } = await get<[number, string, string, string, string, string][]>(sim, path);
    const [time, open, , , close, volume] = body[1] ?? [];
    t.same([time, open, close, volume], [second.t, second.o, second.c, second.v]);
  });

  t.test('trades, liquidations and closed minutes of all three prices have their rows of truth', async (t) => {
    const streams = ['btcusdt@aggTrade', '!forceOrder@arr', 'btcusdt@kline_1m', '1000000mogusdt@kline_1m'];
    const client = await connect(t, sim, `/binance/market/stream?streams=${streams.join('/')}`);
    run(182_000);
    await settle(sim, client);
    type Wrapped = {
      stream: string;
      data: Record<string, unknown> & { k: Record<string, unknown>; o: Record<string, unknown> };
    };
    const frames = client.frames.map(parse<Wrapped>);
    const of = (stream: string) => frames.filter((f) => f.stream === stream).map((f) => f.data);
    const trades = new Map(listTruth(sim, 'BTCUSDT', 'trades').map((row) => [row.values.id, row]));
    const wrong: unknown[] = [];
    for (const data of of('btcusdt@aggTrade')) {
      const row = trades.get(String(data.a));
      const side = data.m === true ? 'sell' : 'buy';
      const figures = [side, trimZeros(String(data.p)), trimZeros(String(data.q)), Number(data.T) * 1_000];
      const { values } = row ?? { values: {} as TruthRow['values'] };
      if (String(figures) !== String([values.side, values.price, values.quantity, row?.venue_ts])) wrong.push(data);
    }
    t.ok(trades.size > 50);
    t.same(wrong, []);
    const forced = of('!forceOrder@arr');
    t.ok(forced.length > 0);
    for (const { o } of forced) {
      const rows = listTruth(sim, String(o.s), 'liquidations').filter((row) => row.venue_ts === Number(o.T) * 1_000);
      t.match(rows, [{ values: { side: o.S === 'SELL' ? 'long' : 'short', price: trimZeros(String(o.p)) } }]);
    }
    const minutes = [...listTruth(sim, 'BTCUSDT', 'candles'), ...listTruth(sim, '1000000MOGUSDT', 'candles')];
    t.same([...new Set(minutes.map((row) => row.values.price_type))].sort(), ['index', 'mark', 'trade']);
    const closed = frames.filter(({ data }) => data.k?.x === true).map(({ data }) => data);
    for (const { k, E } of closed) {
      const row = listTruth(sim, String(k.s), 'candles').find(
        ({ values }) => values.open_time === Number(k.t) * 1_000 && values.price_type === 'trade',
      );
      t.equal(row?.venue_ts, Number(E) * 1_000);
      const [open, high, low, close, volume, turnover] = ['o', 'h', 'l', 'c', 'v', 'q'].map((n) =>
        trimZeros(String(k[n])),
      );
      t.match(row?.values, { open, high, low, close, volume, turnover, trades: k.n });
    }
    const quiet = closed.filter(({ k }) => k.s === '1000000MOGUSDT').map(({ k }) => k.n);
    t.ok(quiet.includes(0), 'the quiet listing has minutes without a trade');
  });

  t.test('the sent log names every frame by its hash', async (t) => {
    const client = await connect(t, sim, '/binance/public/ws');
    await ask(client, { method: 'SUBSCRIBE', params: ['btcusdt@depth@100ms', 'ethusdt@depth@100ms'], id: 1 });
    run(2_000);
    await settle(sim, client);
    const lines = await (await fetch(`${sim.control}/sent/frames?connection=${client.number}`)).text();
    const named = lines
      .trim()
      .split('\n')
      .map(parse<{ sha256: string; stream: string }>);
    t.same(
      named.map((n) => n.sha256),
      client.frames.map((f) => createHash('sha256').update(f).digest('hex').slice(0, 16)),
    );
    const { body } = await get<{ connections: { streams: Record<string, number> }[] }>(sim, '/control/sent');
    t.match(body.connections[client.number - 1]?.streams, { reply: 1, 'btcusdt@depth@100ms': Number });
  });
});
