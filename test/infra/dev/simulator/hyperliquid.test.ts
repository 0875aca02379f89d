// The simulated Hyperliquid follows the venue's protocol: whole books, contexts without a time, the past first, case-sensitive names, one REST path.
import t, { type Test } from 'tap';
import type { FaultRequest } from '../../../../infra/dev/simulator/faults.ts';
import type { Simulator } from '../../../../infra/dev/simulator/simulator.ts';
import { hyperliquid } from '../../../../ingest/venues/hyperliquid/index.ts';
import { makeBookSync, stepBookSync } from '../../../../ingest/venues/shared/book-sync.ts';
import {
  ask,
  type Client,
  connect,
  exchange,
  type Fake,
  fakeSimulator,
  listTruth,
  START_MS,
  settle,
} from '../../../support/venues/fake-simulator.ts';
import { waitFor } from '../../../support/wait.ts';

const VENUES = ['hyperliquid'];
const parse = <T>(text: string): T => JSON.parse(text) as T;
const trimmed = (figure: string | undefined): string => String(figure).replace(/\.0$/, '');

type Row = Readonly<Record<string, unknown>>;
const toEvent = (venueTs: number | null, { id, side, price, quantity }: Row): readonly unknown[] => [
  venueTs,
  id,
  side,
  price,
  quantity,
];

type Fields = Readonly<Record<string, string>>;
type Level = { readonly px: string; readonly sz: string; readonly n: number };
type Book = { readonly coin: string; readonly time: number; readonly levels: readonly [Level[], Level[]] };
type Trade = { readonly tid: number; readonly time: number; readonly side: string; readonly px: string };
type Candle = Fields & { readonly t: number; readonly n: number };

const listData = <D>(client: Client, channel: string): readonly D[] =>
  client.frames
    .filter((text) => text.startsWith(`{"channel":"${channel}"`))
    .map((text) => parse<{ data: D }>(text).data);

const subscription = (type: string, coin: string): object => ({
  type,
  coin,
  ...(type === 'candle' ? { interval: '1m' } : {}),
});

const subscribed = async (test: Test, sim: Simulator, ...wanted: [type: string, coin: string][]): Promise<Client> => {
  const client = await connect(test, sim, '/hyperliquid/ws');
  for (const [type, coin] of wanted) {
    const before = listData(client, 'subscriptionResponse').length;
    client.socket.send(JSON.stringify({ method: 'subscribe', subscription: subscription(type, coin) }));
    await waitFor('the answer', () => listData(client, 'subscriptionResponse').length > before);
  }
  return client;
};

type Answer<T> = { readonly status: number; readonly body: T };
const question = async <T>(sim: Simulator, body: object): Promise<Answer<T>> => {
  const answer = await fetch(`${sim.endpoints.hyperliquid?.rest}/info`, { method: 'POST', body: JSON.stringify(body) });
  return { status: answer.status, body: (await answer.json()) as T };
};

t.test('protocol', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: VENUES, listings: 12 });

  t.test('one subscription a command, spelled whole in its answer; errors are words in a channel', async (t) => {
    const client = await connect(t, sim, '/hyperliquid/ws');
    await settle(sim, client);
    t.same(client.frames.splice(0), ['Websocket connection established.'], 'a greeting that is no JSON');
    const commands: readonly [method: string, subscription: object][] = [
      ['subscribe', { type: 'candle', coin: 'kPEPE', interval: '1m' }],
      ['subscribe', { type: 'candle', coin: 'KPEPE', interval: '1m' }],
      ['subscribe', { type: 'candle', coin: 'BTC', interval: '5m' }],
      ['subscribe', { type: 'l2Book', coin: 'BTC', nSigFigs: 5 }],
      ['subscribe', { type: 'candle', coin: 'kPEPE', interval: '1m' }],
      ['unsubscribe', { type: 'candle', coin: 'kPEPE', interval: '1m' }],
      ['unsubscribe', { type: 'candle', coin: 'kPEPE', interval: '1m' }],
      ['post', {}],
    ];
    for (const [method, of] of commands) await ask(client, { method, subscription: of });
    const candle = { type: 'candle', coin: 'kPEPE', interval: '1m' };
    t.same(client.frames.map(parse), [
      { channel: 'subscriptionResponse', data: { method: 'subscribe', subscription: candle } },
      { channel: 'error', data: 'Invalid subscription {"type":"candle","coin":"KPEPE","interval":"1m"}' },
      { channel: 'error', data: 'Invalid subscription {"type":"candle","coin":"BTC","interval":"5m"}' },
      { channel: 'error', data: 'Invalid subscription {"type":"l2Book","coin":"BTC","nSigFigs":5}' },
      { channel: 'error', data: `Already subscribed: ${JSON.stringify(candle)}` },
      { channel: 'subscriptionResponse', data: { method: 'unsubscribe', subscription: candle } },
      { channel: 'error', data: `Already unsubscribed: ${JSON.stringify(candle)}` },
      {
        channel: 'error',
        data: 'Error parsing JSON into valid websocket request: {"method":"post","subscription":{}}',
      },
    ]);
    t.same(client.frames.map(hyperliquid.classify), [
      'ack',
      'error',
      'error',
      'error',
      'error',
      'ack',
      'error',
      'error',
    ]);
    const pong = await exchange(client, hyperliquid.ping?.frame ?? '');
    t.equal(hyperliquid.classify(pong), 'heartbeat');
    await t.rejects(connect(t, sim, '/hyperliquid/other'), /404/);
  });

  t.test(
    'every book is whole: twenty levels a side, best first, the same again each second without a change',
    async (t) => {
      const client = await subscribed(t, sim, ['l2Book', 'kPEPE'], ['l2Book', 'hyna:BTC']);
      await settle(sim, client);
      t.same(
        listData<Book>(client, 'l2Book').map(({ coin }) => coin),
        ['kPEPE', 'hyna:BTC'],
        'at once, a builder’s coins too',
      );
      run(2_000);
      await settle(sim, client);
      const books = listData<Book>(client, 'l2Book').filter(({ coin }) => coin === 'kPEPE');
      t.ok(books.length > 5);
      for (const { levels } of books) {
        t.same(
          levels.map((side) => side.length),
          [20, 20],
        );
        const [bids, asks] = levels.map((side) => side.map(({ px }) => Number(px)));
        t.same(
          bids,
          bids?.toSorted((a, b) => b - a),
        );
        t.same(
          asks,
          asks?.toSorted((a, b) => a - b),
        );
      }
      t.match(books[0]?.levels[0][0], { px: /^0\.0\d{5}$|^0\.0\d+$/, sz: /^\d+\.0$/, n: Number });
      t.equal(new Set(books.map(({ time }) => time)).size >= books.length - 2, true, 'each with its own time');
    },
  );

  t.test('contexts have no time: mark, oracle, the hour’s rate, open interest and the day', async (t) => {
    const client = await subscribed(t, sim, ['activeAssetCtx', 'BTC']);
    run(5_000);
    await settle(sim, client);
    const contexts = listData<{ coin: string; ctx: Fields }>(client, 'activeAssetCtx');
    t.equal(contexts.length, 1 + 5, 'at once, then each second');
    t.notOk('time' in (contexts[0] ?? {}) || 'time' in (contexts[0]?.ctx ?? {}));
    const newest = contexts.at(-1)?.ctx;
    const [mark] = listTruth(sim, 'BTC', 'mark').slice(-1);
    t.same([trimmed(newest?.markPx), trimmed(newest?.oraclePx)], [mark?.values.mark, mark?.values.index]);
    const [stats] = listTruth(sim, 'BTC', 'stats').slice(-1);
    t.same(
      [trimmed(newest?.dayBaseVlm), trimmed(newest?.dayNtlVlm)],
      [stats?.values.volume_24h, stats?.values.turnover_24h],
    );
  });

  t.test('the first message of trades repeats the past: our mapper prints each trade once', async (t) => {
    const subscribeAndRun = async (): Promise<readonly Trade[][]> => {
      const client = await subscribed(t, sim, ['trades', 'BTC']);
      run(8_000);
      await settle(sim, client);
      const state = {};
      const printed = client.frames.flatMap((text) =>
        hyperliquid.map(
          state,
          { kind: 'frame', received_at: START_MS * 1_000, request: null, payload: Buffer.from(text) },
          { listings: new Map() },
        ),
      );
      const received = listData<Trade[]>(client, 'trades');
      t.equal(printed.length, received.slice(1).flat().length);
      const ids = new Set(
        received
          .slice(1)
          .flat()
          .map(({ tid }) => String(tid)),
      );
      t.same(
        printed.map(({ record }) => toEvent(record.venue_ts, record.values as Row)),
        listTruth(sim, 'BTC', 'trades')
          .filter(({ values }) => ids.has(String(values.id)))
          .map(({ venue_ts, values }) => toEvent(venue_ts, values)),
        'each as it was made',
      );
      return received;
    };
    const first = await subscribeAndRun();
    const second = await subscribeAndRun();
    const ids = (trades: readonly Trade[][]): readonly number[] => trades.flat().map(({ tid }) => tid);
    t.same(ids(second.slice(0, 1)), [...ids(first)].slice(-10), 'the newest ten');
    t.ok(ids(second.slice(1)).every((tid) => !ids(first).includes(tid)));
  });

  t.test('a connection ends when it received nothing for a minute', async (t) => {
    const silent = await connect(t, sim, '/hyperliquid/ws');
    const pinging = await connect(t, sim, '/hyperliquid/ws');
    await settle(sim, pinging);
    run(40_000);
    await exchange(pinging, '{"method":"ping"}');
    run(20_100);
    await waitFor('the close', silent.isClosed);
    t.notOk(pinging.isClosed());
  });
});

t.test(
  'an unchanged book is sent again each second, and a coin without a trade sends its past all the same',
  async (t) => {
    const { sim, run } = await fakeSimulator(t, { venues: VENUES, listings: 6, rate: 1 });
    const client = await subscribed(t, sim, ['l2Book', 'BTC'], ['trades', 'BTC']);
    await settle(sim, client);
    t.equal(listData<Trade[]>(client, 'trades')[0]?.length, 1);
    run(20_000);
    await settle(sim, client);
    const books = listData<Book>(client, 'l2Book');
    t.ok(books.length >= 20);
    t.ok(new Set(books.map(({ time }) => time)).size < books.length / 2);
    let state = makeBookSync<null>();
    for (const text of client.frames) {
      const chain = hyperliquid.sequence(text);
      if (chain !== null) ({ state } = stepBookSync(hyperliquid.bookRule, state, { chain, payload: null }));
      if (chain !== null) t.not(state.phase, 'broken');
    }
  },
);

t.test('candles and questions', async (t) => {
  const fake: Fake = await fakeSimulator(t, { venues: VENUES, listings: 12 });
  const { sim, run, nowMs } = fake;
  const COINS = ['BTC', 'kPEPE', 'ADA'];
  const client = await subscribed(t, sim, ...COINS.map((coin): [string, string] => ['candle', coin]));
  run(185_000);
  await settle(sim, client);

  t.test('minutes are the truth in frames and answers; a minute without trades is only in answers', async (t) => {
    for (const coin of COINS) {
      const received = listData<Candle>(client, 'candle').filter(({ s }) => s === coin);
      const newest = new Map(received.map((candle) => [candle.t, candle]));
      const req = { coin, interval: '1m', startTime: START_MS, endTime: nowMs() };
      const { body } = await question<Candle[]>(sim, { type: 'candleSnapshot', req });
      t.same(
        body.map((candle) => candle.t),
        [0, 1, 2, 3].map((n) => START_MS + n * 60_000),
      );
      const rows = listTruth(sim, coin, 'candles').filter(({ values }) => values.price_type === 'trade');
      t.equal(rows.length, 3);
      for (const [i, { values }] of rows.entries()) {
        const candle = body[i];
        const { open, high, low, close, volume, trades } = values;
        const figures = [candle?.o, candle?.h, candle?.l, candle?.c, candle?.v].map(trimmed);
        t.same([...figures, candle?.n], [open, high, low, close, volume, trades]);
        if (trades === 0) t.notOk(newest.has(candle?.t ?? 0), `${coin} sent nothing`);
        else t.same(newest.get(candle?.t ?? 0), candle);
      }
    }
    t.ok(
      listTruth(sim, 'ADA', 'candles').some(({ values }) => values.trades === 0),
      'ADA is quiet',
    );
  });

  t.test('the collector requests minutes as the venue answers them, and reads the truth', async (t) => {
    for (const coin of COINS) {
      const range = { fromMs: START_MS, toMs: START_MS + 120_000 };
      const asked = hyperliquid.candles?.({ venue_symbol: coin }, range, sim.endpoints.hyperliquid ?? {});
      const answer = await fetch(asked?.url ?? '', { method: 'POST', body: asked?.body ?? '' });
      const payload = Buffer.from(await answer.arrayBuffer());
      const message = { kind: 'response', received_at: 0, request: `POST ${asked?.url}`, payload } as const;
      const mapped = hyperliquid.map({}, message, { listings: new Map() }).map(({ record }) => record.values as Row);
      const toFigures = ({ open_time, open, high, low, close, volume, trades }: Row): readonly unknown[] => [
        open_time,
        open,
        high,
        low,
        close,
        volume,
        trades,
      ];
      const rows = listTruth(sim, coin, 'candles').filter(({ values }) => values.price_type === 'trade');
      t.same(
        mapped.slice(0, 3).map(toFigures),
        rows.map(({ values }) => toFigures(values)),
        coin,
      );
      t.equal(mapped[3]?.open_time, (START_MS + 180_000) * 1_000, 'and the one that shows them to be over');
    }
  });

  t.test('universes name coins by place, the delisted ones too; contexts have the same order', async (t) => {
    type Meta = {
      readonly universe: readonly { name: string; szDecimals: number; isDelisted?: true }[];
      readonly collateralToken: number;
    };
    const metas = (await question<Meta[]>(sim, { type: 'allPerpMetas' })).body;
    t.same(
      metas.map(({ universe, collateralToken }) => [collateralToken, universe.length]),
      [
        [0, 10],
        [235, 2],
      ],
    );
    t.same(
      metas[1]?.universe.map(({ name }) => name),
      ['hyna:BTC', 'hyna:ETH'],
    );
    sim.inject({ venue: 'hyperliquid', kind: 'listing_delisted', symbols: ['ETH'] });
    sim.inject({ venue: 'hyperliquid', kind: 'listing_added' });
    sim.inject({ venue: 'hyperliquid', kind: 'listing_renamed', symbols: ['kPEPE'] });
    const [meta, contexts] = (await question<[Meta, Fields[]]>(sim, { type: 'metaAndAssetCtxs' })).body;
    t.same(meta.universe.map(({ name, isDelisted }) => `${name}${isDelisted ? ' delisted' : ''}`).slice(0, 3), [
      'BTC',
      'ETH delisted',
      'kPEPE delisted',
    ]);
    t.match(meta.universe.slice(-2), [{ name: 'SIM1000' }, { name: 'kSIM1001' }]);
    t.equal(contexts.length, meta.universe.length);
    const sol = meta.universe.findIndex(({ name }) => name === 'SOL');
    t.equal(trimmed(contexts[sol]?.markPx), listTruth(sim, 'SOL', 'mark').at(-1)?.values.mark);
    const tokens = await question<{ tokens: object[] }>(sim, { type: 'spotMeta' });
    t.match(tokens.body.tokens, [
      { name: 'USDC', index: 0 },
      { name: 'USDE', index: 235 },
    ]);
  });

  t.test('refuses what it cannot read with 422, too many requests with 429, knows no unknown coin', async (t) => {
    t.match(await question(sim, { type: 'nonsense' }), { status: 422 });
    t.same(await question(sim, { type: 'l2Book', coin: 'NOPE' }), { status: 200, body: null });
    t.match(await question(sim, { type: 'l2Book', coin: 'BTC' }), { status: 200, body: { coin: 'BTC' } });
    t.match(await question(sim, { type: 'recentTrades', coin: 'BTC' }), { status: 200, body: [{ coin: 'BTC' }] });
    sim.inject({ venue: 'hyperliquid', kind: 'rate_limit', durationMs: 1_000 });
    t.match(await question(sim, { type: 'spotMeta' }), { status: 429 });
  });
});

t.test('what the collector plans is what the venue takes', async (t) => {
  const { sim } = await fakeSimulator(t, { venues: VENUES, listings: 12 });
  const endpoints = sim.endpoints.hyperliquid ?? {};
  const state = {};
  const answers = hyperliquid.reference(endpoints).map(async ({ url, body }) => {
    const answer = await fetch(url, { method: 'POST', body: body ?? '' });
    return Buffer.from(await answer.arrayBuffer());
  });
  const message = { kind: 'response', received_at: 0, request: null } as const;
  const [, listed] = (await Promise.all(answers)).map((payload) =>
    hyperliquid.mapReference(state, { ...message, payload }),
  );
  const slots = hyperliquid.plan(listed?.listings ?? [], { shards: 1, shardOf: () => 0, endpoints });
  const frames = slots.flatMap((slot) => (slot.kind === 'socket' ? slot.subscribe : []));
  t.equal(frames.length, 4 * 12, 'book, context, trades and candles of each coin');
  const client = await connect(t, sim, '/hyperliquid/ws');
  for (const text of frames) client.socket.send(text);
  await waitFor('the answers', () => listData(client, 'subscriptionResponse').length === frames.length);
  t.same(listData(client, 'error'), []);
});

t.test('faults', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: VENUES, listings: 12 });
  const inject = (request: Omit<FaultRequest, 'venue'>) => sim.inject({ venue: 'hyperliquid', ...request });

  t.test('a lost book is healed by the next one; a silent context leaves the book alone', async (t) => {
    const client = await subscribed(t, sim, ['l2Book', 'BTC'], ['activeAssetCtx', 'BTC']);
    await settle(sim, client);
    const hole = inject({ kind: 'sequence_hole', symbols: ['BTC'] });
    inject({ kind: 'silence', symbols: ['BTC'], stream: 'funding', durationMs: 3_500 });
    run(3_000);
    await settle(sim, client);
    t.match(hole, { streams: ['l2Book:BTC'], layers: ['book', 'venue_depth'], hit_count: 1 });
    t.equal(listData(client, 'activeAssetCtx').length, 1);
    t.ok(listData(client, 'l2Book').length > 5);
  });

  t.test('crossed_book: the whole book is crossed for as long', async (t) => {
    inject({ kind: 'crossed_book', symbols: ['BTC'], durationMs: 2_000 });
    run(1_000);
    const client = await subscribed(t, sim, ['l2Book', 'BTC']);
    run(3_000);
    await settle(sim, client);
    const isCrossed = ({ levels: [bids, asks] }: Book): boolean => Number(bids[0]?.px) > Number(asks[0]?.px);
    const crossed = listData<Book>(client, 'l2Book').map(isCrossed);
    t.same([crossed[0], crossed.at(-1)], [true, false]);
  });
});
