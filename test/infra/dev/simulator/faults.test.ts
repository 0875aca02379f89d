// The simulator injects each fault that is requested, as a venue shows it, and names in its log what it hit.
import t from 'tap';
import { parseFault } from '../../../../infra/dev/simulator/faults.ts';
import {
  ask,
  type Client,
  connect,
  fakeSimulator,
  get,
  listTruth,
  START_MS,
  settle,
} from '../../../support/venues/fake-simulator.ts';
import { waitFor } from '../../../support/wait.ts';
import { type Depth, listDepths, type Mark, mapBook, parse, type Snapshot } from './binance-book.ts';

const BINANCE_FAULT = { venue: 'binance' } as const;

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
