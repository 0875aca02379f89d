// The simulated venue follows Binance's protocol and its seed, keeps its books whole, and injects each requested fault.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { elementHash } from '../../../../infra/dev/simulator/book-model.ts';
import { parseFault } from '../../../../infra/dev/simulator/faults.ts';
import type { TruthRow } from '../../../../infra/dev/simulator/truth-rows.ts';
import { binance } from '../../../../ingest/venues/binance/index.ts';
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
} from '../../../support/fake-simulator.ts';
import { waitFor } from '../../../support/wait.ts';

const BINANCE_FAULT = { venue: 'binance' } as const;

type Depth = {
  E: number;
  T: number;
  s: string;
  U: number;
  u: number;
  pu: number;
  b: [string, string][];
  a: [string, string][];
};
type Snapshot = { lastUpdateId: number; T: number; bids: [string, string][]; asks: [string, string][] };
type Mark = { e: string; E: number; s: string; p: string; i: string; r: string; T: number };

const parse = <T>(text: string): T => JSON.parse(text) as T;
const listDepths = (client: Client): Depth[] =>
  client.frames.filter((f) => f.startsWith('{"e":"depthUpdate"')).map(parse<Depth>);

/** An independent book: two maps, nothing of the model's code but the element hash. */
function mapBook(snapshot: Snapshot) {
  const sides = { b: new Map(snapshot.bids), a: new Map(snapshot.asks) };
  const best = (side: 'b' | 'a'): string => {
    const prices = [...sides[side].keys()].sort((x, y) => Number(x) - Number(y));
    return (side === 'b' ? prices.at(-1) : prices[0]) ?? '';
  };
  return {
    apply: (frame: Depth): void => {
      for (const side of ['b', 'a'] as const) {
        for (const [price, size] of frame[side]) {
          if (Number(size) === 0) sides[side].delete(price);
          else sides[side].set(price, size);
        }
      }
    },
    best,
    sizes: sides,
    hash: (): number =>
      (['b', 'a'] as const)
        .flatMap((side) => [...sides[side]].map(([p, q]) => elementHash(side, trimZeros(p), trimZeros(q))))
        .reduce((sum, one) => (sum ^ one) >>> 0, 0),
  };
}

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

t.test('limits', async (t) => {
  const limits = {
    pingEveryMs: 180_000,
    pongWithinMs: 600_000,
    maxAgeMs: 86_400_000,
    streamsPerConnection: 5,
    weightPerMinute: 60,
  };
  const { sim, run } = await fakeSimulator(t, { limits, rate: 20 });
  const cause = (client: Client) => sim.sent.connections[client.number - 1]?.cause;

  t.test('closes a connection above ten messages a second', async (t) => {
    const client = await connect(t, sim, '/binance/public/ws');
    for (let id = 0; id < 11; id += 1) client.socket.send(JSON.stringify({ method: 'LIST_SUBSCRIPTIONS', id }));
    await waitFor('the close', client.isClosed);
    t.equal(cause(client), 'too_many_messages');
  });

  t.test('closes a connection with too many streams', async (t) => {
    const client = await connect(t, sim, '/binance/public/ws');
    client.socket.send(
      JSON.stringify({ method: 'SUBSCRIBE', params: [1, 2, 3, 4, 5, 6].map((n) => `x${n}@depth`), id: 1 }),
    );
    await waitFor('the close', client.isClosed);
    t.equal(cause(client), 'too_many_streams');
  });

  t.test('counts weights by the minute and answers 429 above the limit', async (t) => {
    const first = await get(sim, '/binance/fapi/v1/depth?symbol=BTCUSDT&limit=1000');
    t.equal(first.headers.get('x-mbx-used-weight-1m'), '20');
    await get(sim, '/binance/fapi/v1/exchangeInfo');
    t.equal(
      (await get(sim, '/binance/fapi/v1/depth?symbol=BTCUSDT&limit=1000')).headers.get('x-mbx-used-weight-1m'),
      '41',
    );
    const refused = await get(sim, '/binance/fapi/v1/depth?symbol=BTCUSDT&limit=1000');
    t.equal(refused.status, 429);
    t.equal(refused.headers.get('retry-after'), '60');
    t.match(refused.body, { code: -1003 });
    t.equal(
      (await get(sim, '/binance/dapi/v1/exchangeInfo')).status,
      200,
      'COIN-M is another host with a weight of its own',
    );
    run(60_000);
    t.equal((await get(sim, '/binance/fapi/v1/depth?symbol=BTCUSDT&limit=1000')).status, 200);
  });

  t.test('pings every three minutes and closes at 24 hours', async (t) => {
    const client = await connect(t, sim, '/binance/public/ws');
    let pings = 0;
    client.socket.on('ping', () => {
      pings += 1;
    });
    run(180_000);
    await waitFor('the ping', () => pings === 1);
    run(4);
    t.notOk(client.isClosed());
  });

  t.test('closes a connection at its greatest age', async (t) => {
    const young = await fakeSimulator(t, { limits: { maxAgeMs: 3_000 } });
    const client = await connect(t, young.sim, '/binance/public/ws');
    young.run(2_900);
    t.notOk(client.isClosed());
    young.run(100);
    await waitFor('the close', client.isClosed);
  });
});

t.test('seed', async (t) => {
  const streams = ['btcusdt@depth@100ms', '1000pepeusdt@depth@100ms', 'ethusdt@bookTicker'];
  async function record(seed: number): Promise<readonly string[]> {
    const { sim, run } = await fakeSimulator(t, { seed });
    const book = await connect(t, sim, '/binance/public/ws');
    const rest = await connect(t, sim, '/binance/market/ws');
    await ask(book, { method: 'SUBSCRIBE', params: streams, id: 1 });
    await ask(rest, {
      method: 'SUBSCRIBE',
      params: ['!markPrice@arr@1s', '!ticker@arr', 'btcusdt@aggTrade', 'btcusdt@kline_1m'],
      id: 1,
    });
    run(3_000);
    await settle(sim, book);
    await settle(sim, rest);
    const snapshot = await get(sim, '/binance/fapi/v1/depth?symbol=BTCUSDT&limit=1000');
    return [...book.frames, ...rest.frames, JSON.stringify(snapshot.body)];
  }

  t.test('the same seed and clock give the same frames; another seed gives others', async (t) => {
    const [one, same, other] = [await record(5), await record(5), await record(6)];
    t.ok(one.length > 40);
    t.same(one, same);
    t.notSame(one, other);
  });
});

t.test('books', async (t) => {
  const { sim, run } = await fakeSimulator(t);
  const symbols = sim.market.instruments.map((i) => i.listing).filter((l) => l.scope === 'usdm');
  const client = await connect(t, sim, '/binance/public/ws');
  await ask(client, {
    method: 'SUBSCRIBE',
    params: symbols.map((l) => `${l.symbol.toLowerCase()}@depth@100ms`),
    id: 1,
  });
  run(2_000);
  const snapshots = new Map<string, Snapshot>();
  for (const { symbol } of symbols) {
    run(12);
    snapshots.set(symbol, (await get<Snapshot>(sim, `/binance/fapi/v1/depth?symbol=${symbol}&limit=1000`)).body);
  }
  run(20_000);
  await settle(sim, client);
  const frames = listDepths(client);

  t.test('each diff continues the one before it and stamps rise', async (t) => {
    const last = new Map<string, Depth>();
    let checked = 0;
    for (const frame of frames) {
      const before = last.get(frame.s);
      last.set(frame.s, frame);
      if (before === undefined) continue;
      checked += 1;
      if (
        frame.pu !== before.u ||
        frame.U <= before.u ||
        frame.U > frame.u ||
        frame.T <= before.T ||
        frame.E < frame.T
      ) {
        t.fail('broken chain', { before, frame });
      }
    }
    t.ok(checked > 1_000, `${checked} diffs`);
  });

  t.test(
    'a snapshot taken at any moment joins the diffs: an independent book is the true one after each',
    async (t) => {
      let between = 0;
      let direct = 0;
      let compared = 0;
      for (const [symbol, snapshot] of snapshots) {
        const book = mapBook(snapshot);
        const truth = new Map(listTruth(sim, symbol, 'book').map((row) => [row.values.update_id, row]));
        const [first, ...rest] = frames.filter((f) => f.s === symbol && f.u > snapshot.lastUpdateId);
        if (first === undefined) throw new Error('no diff after the snapshot');
        if (first.pu === snapshot.lastUpdateId) direct += 1;
        else if (first.U <= snapshot.lastUpdateId && snapshot.lastUpdateId <= first.u) between += 1;
        t.same(truth.get(snapshot.lastUpdateId)?.venue_ts, snapshot.T * 1_000, 'the snapshot has its row of truth');
        for (const frame of [first, ...rest]) {
          book.apply(frame);
          const row = truth.get(frame.u);
          const [bid, ask] = [book.best('b'), book.best('a')];
          const values = {
            bid: trimZeros(bid),
            ask: trimZeros(ask),
            bid_size: trimZeros(book.sizes.b.get(bid) ?? ''),
            ask_size: trimZeros(book.sizes.a.get(ask) ?? ''),
          };
          if (Number(bid) >= Number(ask)) t.fail('crossed', { symbol, bid, ask });
          if (row?.values.book_hash !== book.hash()) t.fail('another book', { symbol, frame });
          if (row?.venue_ts !== frame.T * 1_000 || row.values.crossed !== false) t.fail('another row', { row, frame });
          for (const [name, value] of Object.entries(values))
            if (row?.values[name] !== value) t.fail('another top', { name, value, row });
          compared += 1;
        }
      }
      t.ok(compared > 800, `${compared} books compared`);
      t.ok(between > 0, 'snapshots between two diffs occur');
      t.equal(between + direct, snapshots.size);
    },
  );

  t.test('an older book can be requested whole', async (t) => {
    for (const [symbol, snapshot] of snapshots) {
      const book = mapBook(snapshot);
      const mine = frames.filter((f) => f.s === symbol && f.u > snapshot.lastUpdateId).slice(0, 40);
      for (const frame of mine) book.apply(frame);
      const path = `/control/truth/book?symbol=${symbol}&u=${mine.at(-1)?.u}`;
      const { body } = await get<{ bids: [string, string][]; asks: [string, string][] }>(sim, path);
      const sorted = (side: 'b' | 'a', sign: 1 | -1): string[][] =>
        [...book.sizes[side]]
          .sort(([x], [y]) => (Number(x) - Number(y)) * sign)
          .map(([price, size]) => [trimZeros(price), trimZeros(size)]);
      t.same(body, { bids: sorted('b', -1), asks: sorted('a', 1) }, symbol);
    }
  });

  t.test('books reach beyond one percent on both sides and keep their size', async (t) => {
    for (const { book, listing } of sim.market.instruments) {
      const mid = book.bids.prices.at(-1) ?? 0;
      const reach = Math.min(mid - (book.bids.prices[0] ?? 0), (book.asks.prices[0] ?? 0) - mid) / mid;
      t.ok(reach > 0.0105, `${listing.symbol} reaches ${reach}`);
      t.ok(Math.abs(book.bids.prices.length - 60) < 15, `${listing.symbol} has ${book.bids.prices.length} bids`);
    }
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

t.test('faults', async (t) => {
  const { sim, run, nowMs } = await fakeSimulator(t);
  const open = async (path: string, params: string[]): Promise<Client> => {
    const client = await connect(t, sim, path);
    await ask(client, { method: 'SUBSCRIBE', params, id: 1 });
    return client;
  };
  const breaks = (frames: readonly Depth[]): number =>
    frames.filter((f, i) => i > 0 && f.pu !== frames[i - 1]?.u).length;

  t.test(
    'sequence_hole: diffs of the named listing are not sent, the next shows it, the others are whole',
    async (t) => {
      const client = await open('/binance/public/ws', [
        'btcusdt@depth@100ms',
        'ethusdt@depth@100ms',
        'btcusdt@bookTicker',
      ]);
      run(1_000);
      const entry = sim.inject({ ...BINANCE_FAULT, kind: 'sequence_hole', symbols: ['BTCUSDT'], count: 2 });
      t.equal(entry.to, null);
      run(2_000);
      await settle(sim, client);
      t.equal(breaks(listDepths(client).filter((f) => f.s === 'BTCUSDT')), 1);
      t.equal(breaks(listDepths(client).filter((f) => f.s === 'ETHUSDT')), 0);
      t.match(entry, {
        symbols: ['BTCUSDT'],
        streams: ['btcusdt@depth@100ms'],
        hit_count: 2,
        hits: [{ stream: 'btcusdt@depth@100ms' }, { stream: 'btcusdt@depth@100ms' }],
      });
      t.ok((entry.to ?? 0) > entry.from);
    },
  );

  t.test('duplicate and reorder: the same frames, twice or in another order', async (t) => {
    const client = await open('/binance/public/ws', ['btcusdt@depth@100ms']);
    sim.inject({ ...BINANCE_FAULT, kind: 'duplicate', symbols: ['BTCUSDT'], stream: 'depth', count: 2 });
    run(2_000);
    sim.inject({ ...BINANCE_FAULT, kind: 'reorder', symbols: ['BTCUSDT'], stream: 'depth' });
    run(2_000);
    await settle(sim, client);
    const ids = listDepths(client).map((f) => f.u);
    t.equal(ids.length - new Set(ids).size, 2);
    t.equal(
      breaks(
        listDepths(client)
          .toSorted((x, y) => x.u - y.u)
          .filter((f, i, all) => f.u !== all[i - 1]?.u),
      ),
      0,
    );
    t.equal(ids.filter((u, i) => i > 0 && u < (ids[i - 1] ?? 0)).length, 1);
  });

  t.test('reorder: a frame that nothing follows is late, not lost', async (t) => {
    const client = await open('/binance/public/ws', ['btcusdt@depth@100ms']);
    const fault = { ...BINANCE_FAULT, symbols: ['BTCUSDT'], stream: 'depth' } as const;
    sim.inject({ ...fault, kind: 'reorder' });
    const { hits } = sim.inject({ ...fault, kind: 'silence', durationMs: 10_000 });
    run(9_000);
    await settle(sim, client);
    t.ok(hits.length > 0, 'what came later was silenced');
    t.equal(listDepths(client).length, 1);
  });

  t.test('silence: nothing of that stream for its time, all else continues', async (t) => {
    const client = await open('/binance/market/ws', [
      'btcusdt@markPrice@1s',
      'ethusdt@markPrice@1s',
      '!markPrice@arr@1s',
    ]);
    run(500);
    const entry = sim.inject({
      ...BINANCE_FAULT,
      kind: 'silence',
      symbols: ['BTCUSDT'],
      stream: 'markPrice',
      durationMs: 3_000,
    });
    run(6_000);
    await settle(sim, client);
    const singles = client.frames.filter((f) => f.startsWith('{"e"')).map(parse<Mark>);
    t.same(singles.filter((m) => m.s === 'ETHUSDT').length - singles.filter((m) => m.s === 'BTCUSDT').length, 3);
    const arrays = client.frames.filter((f) => f.startsWith('[')).map(parse<Mark[]>);
    t.equal(arrays.filter((all) => !all.some((m) => m.s === 'BTCUSDT')).length, 3);
    t.equal(entry.to, entry.from + 3_000_000);
    t.equal(
      listTruth(sim, 'BTCUSDT', 'mark').filter((row) => row.venue_ts > entry.from && row.venue_ts < (entry.to ?? 0))
        .length >= 2,
      true,
    );
  });

  t.test('malformed: one frame is no longer JSON', async (t) => {
    const client = await open('/binance/public/ws', ['btcusdt@depth@100ms']);
    const entry = sim.inject({ ...BINANCE_FAULT, kind: 'malformed', symbols: ['BTCUSDT'], stream: 'depth' });
    run(2_000);
    await settle(sim, client);
    const broken = client.frames.filter((f) => {
      try {
        return JSON.parse(f) === undefined;
      } catch {
        return true;
      }
    });
    t.equal(broken.length, 1);
    t.equal(entry.hit_count, 1);
  });

  t.test('slow: frames come late, in order, none is lost', async (t) => {
    const client = await open('/binance/public/ws', ['ethusdt@depth@100ms']);
    run(1_000);
    await settle(sim, client);
    const before = client.frames.length;
    sim.inject({ ...BINANCE_FAULT, kind: 'slow', symbols: ['ETHUSDT'], durationMs: 1_000, delayMs: 2_000 });
    run(1_900);
    await settle(sim, client);
    t.equal(client.frames.length, before);
    run(3_000);
    await settle(sim, client);
    t.ok(client.frames.length > before + 5);
    t.equal(breaks(listDepths(client)), 0);
  });

  t.test('crossed_book: crossed on the wire and in snapshots while it lasts, whole and true afterwards', async (t) => {
    const client = await open('/binance/public/ws', ['ethusdt@depth@100ms']);
    const start = (await get<Snapshot>(sim, '/binance/fapi/v1/depth?symbol=ETHUSDT&limit=1000')).body;
    run(500);
    const entry = sim.inject({ ...BINANCE_FAULT, kind: 'crossed_book', symbols: ['ETHUSDT'], durationMs: 2_000 });
    run(1_500);
    const during = (await get<Snapshot>(sim, '/binance/fapi/v1/depth?symbol=ETHUSDT&limit=1000')).body;
    t.ok(Number(during.bids[0]?.[0]) > Number(during.asks[0]?.[0]));
    run(3_000);
    await settle(sim, client);
    const book = mapBook(start);
    const truth = new Map(listTruth(sim, 'ETHUSDT', 'book').map((row) => [row.values.update_id, row.values]));
    let crossed = 0;
    for (const frame of listDepths(client).filter((f) => f.u > start.lastUpdateId)) {
      book.apply(frame);
      const isCrossed = Number(book.best('b')) >= Number(book.best('a'));
      crossed += isCrossed ? 1 : 0;
      t.equal(truth.get(frame.u)?.crossed, isCrossed);
      if (!isCrossed && truth.get(frame.u)?.book_hash !== book.hash()) t.fail('another book', frame);
    }
    t.ok(crossed > 3);
    t.ok((entry.to ?? 0) > entry.from);
  });

  t.test('rate_limit: 429 with Retry-After for its time', async (t) => {
    sim.inject({ ...BINANCE_FAULT, kind: 'rate_limit', durationMs: 1_000 });
    const refused = await get(sim, '/binance/dapi/v1/depth?symbol=BTCUSD_PERP');
    t.equal(refused.status, 429);
    t.ok(Number(refused.headers.get('retry-after')) > 0);
    run(1_000);
    t.equal((await get(sim, '/binance/dapi/v1/depth?symbol=BTCUSD_PERP')).status, 200);
  });

  t.test('rate_limit 418 and rest_down: the requested status, for their time', async (t) => {
    const path = '/binance/fapi/v1/depth?symbol=BTCUSDT';
    sim.inject({ ...BINANCE_FAULT, kind: 'rate_limit', status: 418, durationMs: 1_000 });
    const banned = await get(sim, path);
    t.match([banned.status, banned.headers.get('retry-after'), banned.body], [418, '1', { code: -1003 }]);
    run(1_000);
    const entry = sim.inject({ ...BINANCE_FAULT, kind: 'rest_down', status: 502, durationMs: 1_000 });
    t.equal((await fetch(new URL(path, sim.control))).status, 502);
    run(1_000);
    t.equal((await get(sim, path)).status, 200);
    t.match(entry, { settings: { status: 502 }, to: entry.from + 1_000_000 });
  });

  t.test(
    'clock_skew: every stamp is off by so much, either way, and at once right again; truth has the same stamps',
    async (t) => {
      const client = await open('/binance/public/ws', ['btcusdt@depth@100ms']);
      const marks = await open('/binance/market/ws', ['btcusdt@markPrice@1s']);
      for (const skewMs of [2_345, -1_678]) {
        run(1_000);
        await settle(sim, client);
        const before = listDepths(client).length;
        const entry = sim.inject({ ...BINANCE_FAULT, kind: 'clock_skew', skewMs, durationMs: 3_000 });
        const fromMs = entry.from / 1_000;
        run(2_996);
        await settle(sim, client);
        const skewed = listDepths(client).slice(before);
        run(4);
        const time = (await get<{ serverTime: number }>(sim, '/binance/fapi/v1/time')).body.serverTime;
        t.equal(time, nowMs(), 'over');
        t.ok(skewed.length > 5);
        t.ok(
          skewed.every(({ T, E }) => T >= fromMs + skewMs - 8 && E <= fromMs + 3_000 + skewMs && E >= T),
          'all stamps are off by it',
        );
        t.equal(breaks(skewed), 0);
        for (const { u, T } of skewed) {
          const row = listTruth(sim, 'BTCUSDT', 'book').find(({ values }) => values.update_id === u);
          t.equal(row?.venue_ts, T * 1_000);
        }
      }
      run(1_000);
      await settle(sim, client);
      await settle(sim, marks);
      const last = listDepths(client).at(-1);
      t.ok(last !== undefined && Math.abs(last.E - nowMs()) < 1_000, 'right again');
      const seconds = marks.frames.slice(1).map((text) => parse<Mark>(text).E % 1_000);
      t.same([...new Set(seconds)].sort(), [0, 322, 345]);
    },
  );

  t.test('restart: sockets close, and every sequence begins again', async (t) => {
    const client = await open('/binance/public/ws', ['btcusdt@depth@100ms']);
    run(1_000);
    await settle(sim, client);
    const old = listDepths(client).at(-1)?.u ?? 0;
    const entry = sim.inject({ ...BINANCE_FAULT, kind: 'restart', durationMs: 1_000 });
    await waitFor('the close', client.isClosed);
    t.ok(entry.connections.includes(client.number) && entry.layers.includes('book'));
    t.equal(sim.sent.connections[client.number - 1]?.cause, 'restart');
    await t.rejects(connect(t, sim, '/binance/public/ws'), /503/);
    run(1_000);
    const again = await open('/binance/public/ws', ['btcusdt@depth@100ms']);
    const snapshot = (await get<Snapshot>(sim, '/binance/fapi/v1/depth?symbol=BTCUSDT&limit=1000')).body;
    run(2_000);
    await settle(sim, again);
    const frames = listDepths(again).filter((f) => f.u > snapshot.lastUpdateId);
    t.ok(frames.length > 5 && (frames.at(-1)?.u ?? old) < old);
    const book = mapBook(snapshot);
    const truth = new Map(listTruth(sim, 'BTCUSDT', 'book').map((row) => [row.values.update_id, row.values]));
    for (const frame of frames) {
      book.apply(frame);
      if (truth.get(frame.u)?.book_hash !== book.hash()) t.fail('another book', frame);
    }
    t.equal(breaks(frames), 0);
  });

  t.test('restart that keeps the sockets: the chain breaks on them', async (t) => {
    const client = await open('/binance/public/ws', ['ethusdt@depth@100ms']);
    run(1_000);
    sim.inject({ ...BINANCE_FAULT, kind: 'restart', keepSockets: true });
    run(1_000);
    await settle(sim, client);
    t.notOk(client.isClosed());
    t.equal(breaks(listDepths(client)), 1);
  });

  t.test('listing_renamed: the old name goes, the new one takes over its price', async (t) => {
    const entry = sim.inject({ ...BINANCE_FAULT, kind: 'listing_renamed', symbols: ['XRPUSDT'] });
    const [old, fresh] = entry.symbols;
    const listed = (await get<{ symbols: { symbol: string }[] }>(sim, '/binance/fapi/v1/exchangeInfo')).body.symbols;
    const names = listed.map(({ symbol }) => symbol);
    t.same([old, names.includes('XRPUSDT'), names.includes(fresh ?? '')], ['XRPUSDT', false, true]);
    const [before, after] = [old, fresh].map((symbol) => sim.market.find('usdm', symbol ?? ''));
    t.ok(Math.abs((before?.index ?? 0) / (after?.index ?? 1) - 1) < 0.001);
    const client = await open('/binance/public/ws', [`${fresh?.toLowerCase()}@depth@100ms`, 'xrpusdt@depth@100ms']);
    run(2_000);
    await settle(sim, client);
    t.same([...new Set(listDepths(client).map((f) => f.s))], [fresh]);
  });

  t.test('listings come, change their interval and go, in the reference answers and the streams', async (t) => {
    const added = sim.inject({ ...BINANCE_FAULT, kind: 'listing_added' });
    const symbol = added.symbols[0] ?? '';
    sim.inject({ ...BINANCE_FAULT, kind: 'listing_delisted', symbols: ['DOGEUSDT'] });
    sim.inject({ ...BINANCE_FAULT, kind: 'funding_interval_changed', symbols: ['BTCUSDT'], hours: 1 });
    const listed = (
      await get<{ symbols: { symbol: string }[] }>(sim, '/binance/fapi/v1/exchangeInfo')
    ).body.symbols.map((s) => s.symbol);
    t.ok(listed.includes(symbol));
    t.notOk(listed.includes('DOGEUSDT'));
    t.match((await get<unknown[]>(sim, '/binance/fapi/v1/fundingInfo')).body[0], {
      symbol: 'BTCUSDT',
      fundingIntervalHours: 1,
    });
    const client = await open('/binance/public/ws', [`${symbol.toLowerCase()}@depth@100ms`, 'dogeusdt@depth@100ms']);
    run(2_000);
    await settle(sim, client);
    t.same([...new Set(listDepths(client).map((f) => f.s))], [symbol]);
  });

  t.test('disconnect: cuts the connections of that stream, and refuses new ones for its time', async (t) => {
    const books = await open('/binance/public/ws', ['btcusdt@depth@100ms']);
    const marks = await open('/binance/market/ws', ['btcusdt@markPrice@1s']);
    const answer = await fetch(`${sim.control}/faults`, {
      method: 'POST',
      body: JSON.stringify({ kind: 'disconnect', stream: 'depth', durationMs: 2_000 }),
    });
    t.equal(answer.status, 201);
    await waitFor('the cut', books.isClosed);
    t.notOk(marks.isClosed());
    await t.rejects(connect(t, sim, '/binance/public/ws'), /503/);
    run(2_000);
    await connect(t, sim, '/binance/public/ws');
    const { body } = await get<{ kind: string; from: number; connections: number[] }[]>(sim, '/control/faults');
    const last = body.at(-1);
    t.match(last, { kind: 'disconnect', from: (nowMs() - 2_000) * 1_000 });
    t.ok(last?.connections.includes(books.number));
    t.equal(sim.sent.connections[books.number - 1]?.cause, 'fault');
  });

  t.test('a fault that is not one is refused with what is wrong', async (t) => {
    t.throws(() => parseFault({ kind: 'explode' }, ['binance']), /found kind "explode", use one of disconnect/);
    t.throws(() => parseFault({ kind: 'drop', count: -1 }, ['binance']), /count is a number/);
    t.throws(() => parseFault({ kind: 'drop', symbols: 'BTCUSDT' }, ['binance']), /symbols is a list/);
    const answer = await fetch(`${sim.control}/faults`, { method: 'POST', body: '{' });
    t.equal(answer.status, 400);
  });

  t.test('a plan starts its faults on its own schedule', async (t) => {
    const planned = await fakeSimulator(t, {
      plan: [{ ...BINANCE_FAULT, kind: 'rate_limit', durationMs: 500, afterMs: 1_000 }],
    });
    planned.run(900);
    t.equal(planned.sim.faults.length, 0);
    planned.run(700);
    t.match(planned.sim.faults, [
      { kind: 'rate_limit', from: (START_MS + 1_000) * 1_000, to: (START_MS + 1_500) * 1_000 },
    ]);
  });
});

t.test('the process prints its endpoints and stops on SIGTERM', async (t) => {
  const env = { ...process.env, SIM_LISTINGS: '3', LOG_LEVEL: 'warn' };
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../../../infra/dev/simulator/main.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const printed = parse<{ endpoints: { binance: Record<string, string> }; control: string }>(line.toString());
  t.same(Object.keys(printed.endpoints.binance).sort(), Object.keys(binance.endpoints).sort());
  t.match(await (await fetch(`${printed.control}/listings`)).json(), [
    { symbol: 'BTCUSDT' },
    { symbol: 'ETHUSDT' },
    { symbol: 'BTCUSD_PERP' },
  ]);
  child.kill('SIGTERM');
  t.same(await once(child, 'exit'), [0, null]);
});
