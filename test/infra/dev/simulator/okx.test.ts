// The simulated OKX follows the venue's v5 protocol: separate acknowledgements, books as a chain of ids, shared indexes, times that give an interval.
import t, { type Test } from 'tap';
import type { FaultRequest } from '../../../../infra/dev/simulator/faults.ts';
import type { Simulator } from '../../../../infra/dev/simulator/simulator.ts';
import { okx } from '../../../../ingest/venues/okx/index.ts';
import {
  ask,
  type Client,
  connect,
  exchange,
  fakeSimulator,
  get,
  listPhases,
  listTruth,
  START_MS,
  settle,
  trimZeros,
} from '../../../support/venues/fake-simulator.ts';
import { waitFor } from '../../../support/wait.ts';

const PUBLIC = '/okx/ws/v5/public';
const BUSINESS = '/okx/ws/v5/business';
const BTC = 'BTC-USDT-SWAP';
const parse = <T>(text: string): T => JSON.parse(text) as T;

type Argument = { readonly channel: string; readonly instId?: string; readonly instType?: string };
type Frame<D> = { readonly arg: Argument; readonly action?: string; readonly data: readonly D[] };
type Book = {
  readonly asks: readonly (readonly string[])[];
  readonly bids: readonly (readonly string[])[];
  readonly ts: string;
  readonly checksum: number;
  readonly seqId: number;
  readonly prevSeqId: number;
};
type Element = Readonly<Record<string, string>>;

const listFrames = <D>(client: Client, channel: string): readonly Frame<D>[] =>
  client.frames.filter((text) => text.startsWith(`{"arg":{"channel":"${channel}"`)).map(parse<Frame<D>>);
const listElements = <D = Element>(client: Client, channel: string): readonly D[] =>
  listFrames<D>(client, channel).flatMap(({ data }) => data);

const subscribe = async (client: Client, args: readonly Argument[]): Promise<unknown> =>
  ask(client, { op: 'subscribe', args });

const subscribed = async (test: Test, sim: Simulator, args: readonly Argument[]): Promise<Client> => {
  const client = await connect(test, sim, args.some(({ channel }) => channel.includes('candle')) ? BUSINESS : PUBLIC);
  await subscribe(client, args);
  return client;
};

t.test('protocol', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: ['okx'], listings: 12 });

  t.test('answers each argument alone, pings by text, and errors in the words of the venue', async (t) => {
    const client = await connect(t, sim, PUBLIC);
    const asked = [
      { channel: 'trades', instId: BTC },
      { channel: 'trades', instId: 'NOPE-USDT-SWAP' },
      { channel: 'candle1m', instId: BTC },
      { channel: 'books-l2-tbt', instId: BTC },
      { channel: 'liquidation-orders', instType: 'SWAP' },
    ];
    await subscribe(client, asked);
    await waitFor('all answers', () => client.frames.length === asked.length);
    const answers = client.frames.map(parse<Record<string, unknown>>);
    t.match(answers[0], { event: 'subscribe', arg: asked[0], connId: /^[0-9a-f]{8}$/ });
    t.match(answers[1], {
      event: 'error',
      code: '60018',
      msg: /^Wrong URL or channel:trades,instId:NOPE-USDT-SWAP doesn't/,
    });
    t.match(answers[2], { event: 'error', code: '60018' }, 'candles have a URL of their own');
    t.match(answers[3], { event: 'error', code: '60011' });
    t.match(answers[4], { event: 'subscribe', arg: asked[4] });
    t.same(client.frames.map(okx.classify), ['ack', 'error', 'error', 'error', 'ack']);
    t.equal(await exchange(client, 'ping'), 'pong');
    t.match(parse(await exchange(client, 'what')), { event: 'error', code: '60012', msg: 'Invalid request: what' });
    t.match(await ask(client, { op: 'unsubscribe', args: [asked[0]] }), { event: 'unsubscribe', arg: asked[0] });
    run(3_000);
    await settle(sim, client);
    t.same(listFrames(client, 'trades'), [], 'nothing more of what was left');
    await t.rejects(connect(t, sim, '/okx/ws/v5/private'), /404/);
  });

  t.test('what has a state is sent at once: ticker, mark, index, funding, open interest', async (t) => {
    const channels = ['tickers', 'mark-price', 'funding-rate', 'open-interest'];
    const args: Argument[] = channels.map((channel) => ({ channel, instId: BTC }));
    const client = await subscribed(t, sim, [...args, { channel: 'index-tickers', instId: 'BTC-USDT' }]);
    await settle(sim, client);
    for (const channel of [...channels, 'index-tickers']) t.equal(listFrames(client, channel).length, 1, channel);
    run(61_000);
    await settle(sim, client);
    t.equal(listFrames(client, 'funding-rate').length, 2, 'funding comes each minute');
    t.equal(listFrames(client, 'open-interest').length, 1 + 20, 'open interest every three seconds');
    t.ok(listFrames(client, 'tickers').length > 61, 'a ticker each second and with each trade');
    t.equal(listElements(client, 'index-tickers')[0]?.instId, 'BTC-USDT');
  });

  t.test('an index is sent once for the swaps that follow it', async (t) => {
    const client = await subscribed(t, sim, [
      { channel: 'index-tickers', instId: 'BTC-USD' },
      { channel: 'index-tickers', instId: 'BTC-USDC' },
    ]);
    run(2_000);
    await settle(sim, client);
    t.match(parse(client.frames.at(-3) ?? ''), { event: 'error', code: '60018' }, 'the one in USDC is no more');
    const element = listElements(client, 'index-tickers').at(-1);
    for (const symbol of ['BTC-USD-SWAP', 'BTC-USDC-SWAP']) {
      const row = listTruth(sim, symbol, 'mark').find(({ venue_ts }) => venue_ts === Number(element?.ts) * 1_000);
      t.equal(row?.values.index, trimZeros(element?.idxPx ?? ''), symbol);
    }
  });

  t.test('a book is a chain from its snapshot: each message names its predecessor, the checksum is dead', async (t) => {
    const client = await subscribed(t, sim, [{ channel: 'books', instId: BTC }]);
    run(9_000);
    await settle(sim, client);
    const frames = listFrames<Book>(client, 'books');
    const books = listElements<Book>(client, 'books');
    t.same([frames[0]?.action, ...new Set(frames.slice(1).map(({ action }) => action))], ['snapshot', 'update']);
    t.equal(books[0]?.prevSeqId, -1);
    t.ok((books[0]?.bids.length ?? 0) > 40);
    t.ok(books.length > 10 && books.every(({ prevSeqId }, i) => i === 0 || prevSeqId === books[i - 1]?.seqId));
    t.ok(
      books.some(({ seqId, prevSeqId }) => seqId > prevSeqId + 1),
      'ids jump',
    );
    t.same([...new Set(books.map(({ checksum }) => checksum))], [0]);
    const prices = books[0]?.bids.map(([price]) => Number(price)) ?? [];
    t.same(
      prices,
      prices.toSorted((a, b) => b - a),
    );
    t.match(books[0]?.asks[0], [/^\d+\.\d$/, /^\d+\.\d\d$/, '0', /^[1-7]$/]);
    t.same(listPhases(okx, client), ['joined', 'live']);
    await subscribe(client, [{ channel: 'books', instId: BTC }]);
    await settle(sim, client);
    t.equal(listFrames<Book>(client, 'books').at(-1)?.action, 'snapshot', 'a new subscription begins whole');
  });

  t.test('trades carry counts, liquidations of all swaps come in one stream', async (t) => {
    const client = await subscribed(t, sim, [
      { channel: 'trades', instId: BTC },
      { channel: 'liquidation-orders', instType: 'SWAP' },
    ]);
    run(60_000);
    await settle(sim, client);
    const trades = listElements(client, 'trades');
    t.ok(trades.length > 0 && trades.every(({ count }) => Number(count) >= 1));
    type Liquidation = { readonly instId: string; readonly uly: string; readonly details: readonly Element[] };
    const liquidations = listElements<Liquidation>(client, 'liquidation-orders');
    t.ok(new Set(liquidations.map(({ instId }) => instId)).size > 1);
    for (const { instId, uly, details } of liquidations) {
      t.equal(instId, `${uly}-SWAP`);
      const row = listTruth(sim, instId, 'liquidations').find(
        ({ venue_ts }) => venue_ts === Number(details[0]?.ts) * 1_000,
      );
      t.same(
        [row?.values.side, row?.values.bankruptcy_price],
        [details[0]?.posSide, trimZeros(details[0]?.bkPx ?? '')],
      );
    }
  });

  t.test('a connection ends when neither side sent anything for thirty seconds', async (t) => {
    const silent = await connect(t, sim, PUBLIC);
    const pinging = await connect(t, sim, PUBLIC);
    const listening = await subscribed(t, sim, [{ channel: 'mark-price', instId: BTC }]);
    run(20_000);
    await exchange(pinging, 'ping');
    run(10_100);
    await waitFor('the close', silent.isClosed);
    t.notOk(pinging.isClosed());
    run(20_000);
    await waitFor('the other close', pinging.isClosed);
    t.notOk(listening.isClosed());
  });
});

t.test('a connection may send 480 commands an hour', async (t) => {
  const { sim } = await fakeSimulator(t, { venues: ['okx'], limits: { incomingPerSecond: 1_000 } });
  const client = await connect(t, sim, PUBLIC);
  const command = JSON.stringify({ op: 'unsubscribe', args: [{ channel: 'trades', instId: BTC }] });
  for (let n = 0; n < 481; n += 1) client.socket.send(command);
  await waitFor('all answers', () => client.frames.length === 481);
  t.equal(client.frames.filter((text) => text.startsWith('{"event":"unsubscribe"')).length, 480);
  t.match(parse(client.frames.at(-1) ?? ''), { event: 'error', code: '60014' });
});

t.test('a book without changes repeats its id as its own predecessor', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: ['okx'], listings: 6, rate: 1 });
  const client = await subscribed(t, sim, [{ channel: 'books', instId: BTC }]);
  run(60_000);
  await settle(sim, client);
  const books = listElements<Book>(client, 'books');
  const repeated = books.filter(({ seqId, prevSeqId }) => seqId === prevSeqId);
  t.ok(repeated.length > 1 && repeated.length < books.length - 2);
  t.ok(repeated.every(({ asks, bids }) => asks.length + bids.length === 0));
  t.same(listPhases(okx, client), ['joined', 'live']);
});

t.test('candles and REST', async (t) => {
  const { sim, run, nowMs } = await fakeSimulator(t, { venues: ['okx'], listings: 12 });
  const KINDS = [
    ['candle1m', 'market/candles', 'trade'],
    ['mark-price-candle1m', 'market/mark-price-candles', 'mark'],
    ['index-candle1m', 'market/index-candles', 'index'],
  ] as const;
  const SYMBOLS = [BTC, 'ADA-USDT-SWAP', 'BTC-USD-SWAP'];
  const toSubject = (symbol: string, type: string): string =>
    type === 'index' ? symbol.replace(/-SWAP$/, '') : symbol;
  const client = await subscribed(
    t,
    sim,
    KINDS.flatMap(([channel, , type]) => SYMBOLS.map((symbol) => ({ channel, instId: toSubject(symbol, type) }))),
  );
  run(185_000);
  await settle(sim, client);
  type Answer<D> = { readonly code: string; readonly msg: string; readonly data: readonly D[] };
  const fetchData = async <D>(path: string): Promise<Answer<D>> =>
    (await get<Answer<D>>(sim, `/okx/api/v5/${path}`)).body;

  t.test('closed minutes are the truth in frames and answers, newest first, the open one unconfirmed', async (t) => {
    for (const [channel, path, type] of KINDS) {
      for (const symbol of SYMBOLS) {
        const instId = toSubject(symbol, type);
        const received = listFrames<string[]>(client, channel)
          .filter(({ arg }) => arg.instId === instId)
          .flatMap(({ data }) => data)
          .filter((row) => row.at(-1) === '1');
        const { data } = await fetchData<string[]>(`${path}?instId=${instId}&bar=1m&before=${START_MS - 1}`);
        t.same(
          data.map((row) => row.at(-1)),
          ['0', '1', '1', '1'],
        );
        t.same(received, data.slice(1).toReversed(), `${channel} ${instId}`);
        const rows = listTruth(sim, symbol, 'candles').filter(({ values }) => values.price_type === type);
        t.equal(rows.length, 3);
        for (const { values } of rows) {
          const row = received.find(([start]) => Number(start) * 1_000 === values.open_time)?.map(trimZeros) ?? [];
          const { open, high, low, close, volume, turnover } = values;
          t.same(row.slice(1, 5), [open, high, low, close]);
          if (type === 'trade') t.same([row[5], row[7]], [volume, turnover]);
        }
      }
    }
    const [candle] = listFrames<string[]>(client, 'candle1m')
      .filter(({ arg, data }) => arg.instId === 'BTC-USD-SWAP' && data[0]?.at(-1) === '1')
      .flatMap(({ data }) => data);
    t.equal(Number(candle?.[7]), Number(candle?.[5]) * 100, 'a contract of an inverse swap is worth 100 dollars');
    t.equal(
      (await fetchData<string[]>(`market/candles?instId=${BTC}&after=${nowMs() - 60_000}&limit=1`)).data.length,
      1,
    );
  });

  t.test('instruments have the value of a contract; dated contracts have an answer of their own', async (t) => {
    const { data } = await fetchData<Element>('public/instruments?instType=SWAP');
    t.equal(data.length, 12);
    const of = (instId: string): Element | undefined => data.find((item) => item.instId === instId);
    t.match(of(BTC), { ctType: 'linear', ctVal: '0.01', ctValCcy: 'BTC', settleCcy: 'USDT', uly: 'BTC-USDT' });
    t.match(of('PEPE-USDT-SWAP'), { ctVal: '10000000', tickSz: '0.000000001', lotSz: '0.1' });
    t.match(of('BTC-USD-SWAP'), { ctType: 'inverse', ctVal: '100', ctValCcy: 'USD', settleCcy: 'BTC' });
    const dated = await fetchData<Element>('public/instruments?instType=FUTURES');
    t.match(dated.data, [{ instType: 'FUTURES', instId: 'BTC-USDT-301227' }]);
  });

  t.test('a book has as many levels as requested; the settlements are an interval apart', async (t) => {
    const { data } = await fetchData<Book>(`market/books?instId=${BTC}&sz=5`);
    t.same([data[0]?.asks.length, data[0]?.bids.length], [5, 5]);
    sim.inject({ venue: 'okx', kind: 'funding_interval_changed', symbols: [BTC], hours: 4 });
    const rates = (await fetchData<Element>('public/funding-rate?instId=ANY')).data;
    const findHours = (symbol: string): number => {
      const found = rates.find(({ instId }) => instId === symbol);
      return (Number(found?.nextFundingTime) - Number(found?.fundingTime)) / 3_600_000;
    };
    t.same([findHours(BTC), findHours('PEPE-USDT-SWAP'), findHours('BTC-USD-SWAP')], [4, 4, 8]);
  });

  t.test('refuses what it does not know with a code, and too many requests with 429', async (t) => {
    t.match(await fetchData('market/candles?instId=NOPE-USDT-SWAP'), { code: '51001', data: [] });
    t.match(await fetchData(`market/candles?instId=${BTC}&bar=2m`), { code: '51000' });
    t.match(await fetchData('market/tickers'), { code: '50014', msg: 'Parameter instType can not be empty.' });
    t.equal((await get(sim, '/okx/api/v5/trade/order')).status, 404);
    sim.inject({ venue: 'okx', kind: 'rate_limit', durationMs: 1_000 });
    t.match(await get(sim, '/okx/api/v5/public/time'), { status: 429, body: { code: '50011' } });
    run(1_000);
    t.match(await fetchData('market/ticker?instId=BTC-USD-SWAP'), { code: '0', data: [{ ts: String(nowMs()) }] });
  });
});

t.test('faults', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: ['okx'], listings: 12 });
  const inject = (request: Omit<FaultRequest, 'venue'>) => sim.inject({ venue: 'okx', ...request });

  t.test('a lost message breaks the chain of one book', async (t) => {
    const client = await subscribed(t, sim, [
      { channel: 'books', instId: BTC },
      { channel: 'mark-price', instId: BTC },
    ]);
    run(1_000);
    const hole = inject({ kind: 'sequence_hole', symbols: [BTC], count: 2 });
    run(2_000);
    await settle(sim, client);
    t.match(hole, { streams: [`books:${BTC}`], layers: ['book', 'venue_depth'], hit_count: 2 });
    t.same(listPhases(okx, client), ['joined', 'live', 'broken']);
  });

  t.test(
    'restart: with its sockets kept the new sequence follows the old one, else it begins with a snapshot',
    async (t) => {
      const client = await subscribed(t, sim, [{ channel: 'books', instId: BTC }]);
      run(8_000);
      inject({ kind: 'restart', keepSockets: true });
      run(6_000);
      await settle(sim, client);
      const books = listElements<Book>(client, 'books');
      const at = books.findIndex(({ seqId, prevSeqId }) => seqId < prevSeqId);
      t.ok(at > 5 && books.length > at + 3);
      t.same(listPhases(okx, client), ['joined', 'live'], 'nothing is missing');
      inject({ kind: 'restart' });
      await waitFor('the close', client.isClosed);
      const again = await subscribed(t, sim, [{ channel: 'books', instId: BTC }]);
      run(6_000);
      await settle(sim, again);
      t.same(listPhases(okx, again), ['joined', 'live']);
      t.not(listElements<Book>(again, 'books')[0]?.seqId, books.at(-1)?.seqId);
    },
  );

  t.test('a silence hides one swap in the stream of all liquidations, and its own index', async (t) => {
    const client = await subscribed(t, sim, [
      { channel: 'liquidation-orders', instType: 'SWAP' },
      { channel: 'index-tickers', instId: 'ETH-USDT' },
      { channel: 'index-tickers', instId: 'BTC-USD' },
    ]);
    const symbols = ['ETH-USDT-SWAP', 'BTC-USD-SWAP'];
    await settle(sim, client);
    const from = client.frames.length;
    inject({ kind: 'silence', symbols, durationMs: 30_000 });
    run(29_000);
    await settle(sim, client);
    const received = client.frames.slice(from).map(parse<Frame<Element>>);
    const subjects = received.flatMap(({ data }) => data.map(({ instId }) => instId ?? ''));
    t.notOk(subjects.some((subject) => symbols.includes(subject) || subject === 'ETH-USDT'));
    t.equal(subjects.filter((subject) => subject === 'BTC-USD').length, 29, 'an index of several swaps continues');
  });

  t.test('crossed_book: also the snapshot of a new subscription is crossed', async (t) => {
    inject({ kind: 'crossed_book', symbols: [BTC], durationMs: 2_000 });
    run(1_000);
    const client = await subscribed(t, sim, [{ channel: 'books', instId: BTC }]);
    await settle(sim, client);
    const [whole] = listElements<Book>(client, 'books');
    t.ok(Number(whole?.bids[0]?.[0]) > Number(whole?.asks[0]?.[0]));
    const row = listTruth(sim, BTC, 'book').find(({ values }) => values.update_id === whole?.seqId && values.crossed);
    t.equal(row?.venue_ts, Number(whole?.ts) * 1_000);
  });
});
