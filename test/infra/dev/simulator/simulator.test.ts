// The simulator keeps a venue's limits and its seed, keeps its books whole, and stops as a process does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { binance } from '../../../../ingest/venues/binance/index.ts';
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
import { waitFor } from '../../../support/wait.ts';
import { type Depth, listDepths, mapBook, parse, type Snapshot } from './binance-book.ts';

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

t.test('truth is kept up to its number of rows, of which each listing has an equal part', async (t) => {
  const { sim, run } = await fakeSimulator(t, { listings: 10, truthRows: 200 });
  const { symbol } = sim.market.instruments[0]?.listing ?? {};
  const readSeconds = () => listTruth(sim, symbol ?? '', 'mark').map(({ venue_ts }) => venue_ts);
  run(10_000);
  const early = readSeconds();
  run(60_000);
  const kept = readSeconds();
  // A moment of some layers counts too.
  t.ok(kept.length > 0 && kept.length <= 22, `${kept.length} rows are kept: at most a tenth more than its part`);
  t.ok(Math.min(...kept) > Math.max(...early), 'the newest');
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
