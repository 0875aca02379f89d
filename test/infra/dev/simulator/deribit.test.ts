// The simulated Deribit follows the venue's protocol: calls with ids, heartbeats with test requests, books by change ids, dollar and coin amounts.
import t, { type Test } from 'tap';
import type { FaultRequest } from '../../../../infra/dev/simulator/faults.ts';
import type { Simulator } from '../../../../infra/dev/simulator/simulator.ts';
import type { TruthRow } from '../../../../infra/dev/simulator/truth-rows.ts';
import { deribit } from '../../../../ingest/venues/deribit/index.ts';
import {
  type Answer,
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
} from '../../../support/venues/fake-simulator.ts';
import { waitFor } from '../../../support/wait.ts';

const VENUES = ['deribit'];
const INVERSE = 'BTC-PERPETUAL';
const LINEAR = 'DOGE_USDC-PERPETUAL';
const parse = <T>(text: string): T => JSON.parse(text) as T;

type Row = Readonly<Record<string, unknown>>;
type Change = readonly [action: string, price: number, amount: number];
type Book = {
  readonly type: string;
  readonly timestamp: number;
  readonly change_id: number;
  readonly prev_change_id?: number;
  readonly bids: readonly Change[];
  readonly asks: readonly Change[];
};
type Ticker = Readonly<Record<string, number>> & { readonly stats: Readonly<Record<string, number>> };
type Trade = { readonly trade_id: string; readonly amount: number; readonly liquidation?: string };

const call = (id: number, method: string, params: object = {}): object => ({ jsonrpc: '2.0', id, method, params });
const subscribe = (client: Client, channels: readonly string[], id = 1): Promise<unknown> =>
  ask(client, call(id, 'public/subscribe', { channels }));

const subscribed = async (test: Test, sim: Simulator, channels: readonly string[]): Promise<Client> => {
  const client = await connect(test, sim, '/deribit/ws/api/v2');
  await subscribe(client, channels);
  return client;
};

const listData = <D>(client: Client, channel: string): readonly D[] =>
  client.frames
    .filter((text) => text.includes(`"channel":"${channel}"`))
    .map((text) => parse<{ params: { data: D } }>(text).params.data);

t.test('protocol', async (t) => {
  const { sim, run, nowMs } = await fakeSimulator(t, { venues: VENUES, listings: 8 });

  t.test('calls are answered by their id; channels that do not exist are left out', async (t) => {
    const client = await connect(t, sim, '/deribit/ws/api/v2');
    const wanted = [`chart.trades.${INVERSE}.1`, 'book.NOPE-PERPETUAL.100ms', `trades.${LINEAR}.100ms`];
    t.match(await subscribe(client, wanted, 41), {
      jsonrpc: '2.0',
      id: 41,
      result: [wanted[0], wanted[2]],
      usIn: nowMs() * 1_000,
      testnet: false,
    });
    t.match(await subscribe(client, [`book.${INVERSE}.raw`], 42), {
      id: 42,
      error: { code: 13_778, message: 'raw_subscriptions_not_available_for_unauthorized' },
    });
    t.match(await ask(client, call(43, 'public/nonsense')), { id: 43, error: { code: -32_601 } });
    t.match(await ask(client, call(44, 'public/set_heartbeat', { interval: 5 })), {
      id: 44,
      error: { code: -32_602, data: { param: 'interval' } },
    });
    for (const unreadable of ['what', '{"method":{"toString":1}}'])
      t.match(parse(await exchange(client, unreadable)), { error: { code: -32_601 } });
    t.same(client.frames.map(deribit.classify), ['ack', 'error', 'error', 'error', 'error', 'error']);
    t.match(await ask(client, call(45, 'public/get_time')), { id: 45, result: nowMs() }, 'what REST knows, too');
    const unsubscribed = await ask(client, call(46, 'public/unsubscribe', { channels: wanted }));
    t.match(unsubscribed, { id: 46, result: [wanted[0], wanted[2]] });
    const before = client.frames.length;
    run(5_000);
    await settle(sim, client);
    t.equal(client.frames.length, before, 'nothing more of what was left');
  });

  t.test('a client that is silent for an interval gets a test request, and must answer by public/test', async (t) => {
    const open = async (): Promise<Client> => {
      const client = await connect(t, sim, '/deribit/ws/api/v2');
      t.match(await ask(client, call(1, 'public/set_heartbeat', { interval: 10 })), { result: 'ok' });
      return client;
    };
    const [answering, silent, talking, without] = [
      await open(),
      await open(),
      await open(),
      await connect(t, sim, '/deribit/ws/api/v2'),
    ];
    run(5_000);
    await ask(talking, call(2, 'public/get_time'));
    run(5_100);
    for (const client of [answering, silent, talking]) await settle(sim, client);
    t.match(parse(talking.frames.at(-1) ?? ''), { method: 'heartbeat', params: { type: 'heartbeat' } });
    const asked = answering.frames.at(-1) ?? '';
    t.match(parse(asked), { method: 'heartbeat', params: { type: 'test_request' } });
    t.equal(deribit.classify(asked), 'heartbeat');
    const reply = deribit.replyTo?.(asked) ?? '';
    t.match(parse(await exchange(answering, reply)), { result: { version: /^\d/ } });
    run(10_100);
    await waitFor('the close', silent.isClosed);
    t.notOk(answering.isClosed() || talking.isClosed() || without.isClosed());
  });

  t.test('a book begins whole; each change names the change before it and the action on its level', async (t) => {
    const channel = `book.${INVERSE}.100ms`;
    const client = await subscribed(t, sim, [channel]);
    run(4_000);
    await settle(sim, client);
    const books = listData<Book>(client, channel);
    t.same([books[0]?.type, ...new Set(books.slice(1).map(({ type }) => type))], ['snapshot', 'change']);
    t.notOk('prev_change_id' in (books[0] ?? {}));
    t.ok(books.length > 10 && books.every((book, i) => i === 0 || book.prev_change_id === books[i - 1]?.change_id));
    const held = new Map<string, number>();
    const actions = new Set<string>();
    for (const { bids, asks } of books) {
      for (const [side, changes] of [['b', bids] as const, ['a', asks] as const]) {
        for (const [action, price, amount] of changes) {
          actions.add(action);
          if (held.has(`${side}${price}`) !== (action !== 'new')) t.fail(`${action} of ${side}${price}`);
          if (action === 'delete') held.delete(`${side}${price}`);
          else held.set(`${side}${price}`, amount);
        }
      }
    }
    t.same([...actions].sort(), ['change', 'delete', 'new']);
    t.ok(
      [...held.values()].every((amount) => amount % 10 === 0),
      'in contracts of ten dollars',
    );
    t.same(listPhases(deribit, client), ['joined', 'live']);
    await subscribe(client, [channel], 2);
    t.equal(
      listData<Book>(client, channel).filter(({ type }) => type === 'snapshot').length,
      1,
      'nothing is subscribed again',
    );
    await ask(client, call(3, 'public/unsubscribe', { channels: [channel] }));
    await subscribe(client, [channel], 4);
    await settle(sim, client);
    t.equal(listData<Book>(client, channel).at(-1)?.type, 'snapshot');
  });

  t.test('inverse perpetuals count dollars, their volume is of coins; linear ones count coins', async (t) => {
    const channels = [INVERSE, LINEAR].map((symbol) => `ticker.${symbol}.100ms`);
    const client = await subscribed(t, sim, channels);
    await settle(sim, client);
    const [inverse, linear] = channels.map((channel) => listData<Ticker>(client, channel).at(-1));
    t.equal((inverse?.open_interest ?? 1) % 10, 0);
    t.equal((linear?.open_interest ?? 1) % 100, 0, 'a contract of a hundred coins');
    t.equal(inverse?.stats.volume_notional, inverse?.stats.volume_usd);
    const worth = (inverse?.stats.volume ?? 0) * (inverse?.last_price ?? 0);
    t.ok(Math.abs(worth / (inverse?.stats.volume_usd ?? 1) - 1) < 0.2, 'the dollars at about the price');
    const row = listTruth(sim, INVERSE, 'stats').at(-1)?.values;
    t.same([row?.volume_24h, row?.turnover_24h].map(Number), [inverse?.stats.volume, inverse?.stats.volume_notional]);
    const { body } = await get<{ result: readonly Row[] }>(sim, '/deribit/api/v2/public/get_instruments?currency=any');
    const of = (name: string): Row | undefined => body.result.find(({ instrument_name }) => instrument_name === name);
    t.match(of(INVERSE), { contract_size: 10, instrument_type: 'reversed', price_index: 'btc_usd', tick_size: 0.5 });
    t.match(of(LINEAR), { contract_size: 100, instrument_type: 'linear', price_index: 'doge_usdc' });
    t.match(of('BTC-27DEC30'), { settlement_period: 'month' }, 'a dated one is among them');
  });

  t.test('liquidations are marks of trades: of the taker', async (t) => {
    const symbols = [...sim.market.instruments].map(({ listing }) => listing.symbol);
    const client = await subscribed(
      t,
      sim,
      symbols.map((symbol) => `trades.${symbol}.100ms`),
    );
    run(60_000);
    await settle(sim, client);
    const forced = symbols.flatMap((symbol) =>
      listData<Trade[]>(client, `trades.${symbol}.100ms`)
        .flat()
        .filter(({ liquidation }) => liquidation !== undefined)
        .map(({ trade_id, liquidation }) => `${symbol} ${trade_id} ${liquidation}`),
    );
    const isSince = ({ venue_ts }: TruthRow): boolean => venue_ts > (nowMs() - 60_000) * 1_000;
    const rows = symbols.flatMap((symbol) => listTruth(sim, symbol, 'liquidations').filter(isSince));
    t.ok(forced.length > 1);
    t.same(
      forced,
      rows.map(({ symbol, values }) => `${symbol} ${values.id} T`),
    );
    const read = client.frames.flatMap((text) => {
      const message = { kind: 'frame', received_at: 0, request: null, payload: Buffer.from(text) } as const;
      return deribit.map({}, message, { listings: new Map() }).map(({ record }) => record);
    });
    const printed = (layer: string): readonly string[] =>
      read
        .filter((record) => record.layer === layer)
        .map(({ venue_symbol, venue_ts, values }) => {
          const { id, side, price, quantity } = values as Row;
          return `${venue_symbol} ${venue_ts} ${id} ${side} ${price} ${quantity}`;
        })
        .toSorted();
    const received = (layer: 'trades' | 'liquidations'): readonly string[] =>
      symbols
        .flatMap((symbol) => listTruth(sim, symbol, layer).filter(isSince))
        .map(
          ({ symbol, venue_ts, values: { id, side, price, quantity } }) =>
            `${symbol} ${venue_ts} ${id} ${side} ${price} ${quantity}`,
        )
        .toSorted();
    t.ok(printed('trade').length > 100);
    t.same(printed('trade'), received('trades'), 'and the collector reads them so, with every trade');
    t.same(printed('liquidation'), received('liquidations'));
  });
});

t.test('candles and REST', async (t) => {
  const { sim, run, nowMs } = await fakeSimulator(t, { venues: VENUES, listings: 8 });
  const SYMBOLS = [INVERSE, LINEAR, 'ADA_USDC-PERPETUAL'];
  const client = await subscribed(
    t,
    sim,
    SYMBOLS.map((symbol) => `chart.trades.${symbol}.1`),
  );
  run(185_000);
  await settle(sim, client);
  const fetchResult = <T>(path: string): Promise<Answer<T>> => get<T>(sim, `/deribit/api/v2/public/${path}`);

  t.test('minutes are the truth in notifications and columns, those without trades too', async (t) => {
    type Columns = Readonly<Record<'ticks' | 'open' | 'high' | 'low' | 'close' | 'volume' | 'cost', readonly number[]>>;
    for (const symbol of SYMBOLS) {
      const received = listData<Readonly<Record<string, number>>>(client, `chart.trades.${symbol}.1`);
      const newest = new Map(received.map((candle) => [candle.tick, candle]));
      const range = `start_timestamp=${START_MS}&end_timestamp=${nowMs()}&resolution=1`;
      const { body } = await fetchResult<{ result: Columns & { status: string } }>(
        `get_tradingview_chart_data?instrument_name=${symbol}&${range}`,
      );
      const { result } = body;
      t.same([result.status, result.ticks.length], ['ok', 4]);
      const rows = listTruth(sim, symbol, 'candles').filter(({ values }) => values.price_type === 'trade');
      t.equal(rows.length, 3);
      for (const [i, { values }] of rows.entries()) {
        const { open, high, low, close, volume, turnover, trades } = values;
        const column = (name: 'open' | 'high' | 'low' | 'close' | 'volume' | 'cost') => result[name][i];
        const figures = [column('open'), column('high'), column('low'), column('close')];
        t.same([...figures, column('volume'), column('cost')], [open, high, low, close, volume, turnover].map(Number));
        const candle = newest.get(result.ticks[i] ?? 0);
        t.same([candle?.open, candle?.volume, candle?.cost], [column('open'), column('volume'), column('cost')]);
        if (trades === 0) t.same([candle?.volume, candle?.high], [0, candle?.low], `${symbol}: the last price`);
      }
    }
    t.ok(
      listTruth(sim, 'ADA_USDC-PERPETUAL', 'candles').some(({ values }) => values.trades === 0),
      'ADA is quiet',
    );
  });

  t.test('the collector requests minutes as the venue answers them, and reads the truth', async (t) => {
    for (const symbol of SYMBOLS) {
      const range = { fromMs: START_MS, toMs: START_MS + 120_000 };
      const request = deribit.candles?.({ venue_symbol: symbol }, range, sim.endpoints.deribit ?? {});
      const payload = Buffer.from(await (await fetch(request?.url ?? '')).arrayBuffer());
      const message = { kind: 'response', received_at: 0, request: `GET ${request?.url}`, payload } as const;
      const mapped = deribit.map({}, message, { listings: new Map() }).map(({ record }) => record.values as Row);
      const toFigures = ({ open_time, open, high, low, close, volume, turnover }: Row): readonly unknown[] => [
        open_time,
        open,
        high,
        low,
        close,
        volume,
        turnover,
      ];
      const rows = listTruth(sim, symbol, 'candles').filter(({ values }) => values.price_type === 'trade');
      t.same(
        mapped.slice(0, 3).map(toFigures),
        rows.map(({ values }) => toFigures(values)),
        symbol,
      );
      t.equal(mapped[3]?.open_time, (START_MS + 180_000) * 1_000, 'and the one that shows them to be over');
    }
  });

  t.test('an order book has as many levels as requested, beside the ticker of its stamp', async (t) => {
    const { body } = await fetchResult<{ result: Book & Ticker }>(`get_order_book?instrument_name=${INVERSE}&depth=3`);
    const { result } = body;
    t.same([result.bids.length, result.asks.length], [3, 3]);
    const row = listTruth(sim, INVERSE, 'book').find(({ values }) => values.update_id === result.change_id);
    t.equal(row?.venue_ts, result.timestamp * 1_000);
    t.same([Number(row?.values.bid), Number(row?.values.bid_size)], result.bids[0]);
    t.match((await fetchResult(`get_last_trades_by_instrument?instrument_name=${INVERSE}&count=2`)).body, {
      result: { trades: [{ instrument_name: INVERSE }, { instrument_name: INVERSE }] },
    });
  });

  t.test('refuses with codes: unknown names, wrong parameters, too many requests', async (t) => {
    t.match(await fetchResult('ticker?instrument_name=NOPE-PERPETUAL'), {
      status: 400,
      body: { error: { code: -32_602, data: { param: 'instrument_name', reason: 'instrument not found' } } },
    });
    t.match(await fetchResult('ticker'), { status: 400, body: { error: { data: { reason: 'missing' } } } });
    t.equal((await fetchResult('subscribe?channels=a')).status, 404);
    sim.inject({ venue: 'deribit', kind: 'rate_limit', durationMs: 2_000 });
    t.match(await fetchResult('get_time'), { status: 429, body: { error: { code: 10_028, data: { wait: 2 } } } });
    run(2_000);
    t.match(await fetchResult('get_time'), { status: 200, body: { result: nowMs() } });
  });
});

t.test('what the collector plans is what the venue takes', async (t) => {
  const { sim } = await fakeSimulator(t, { venues: VENUES, listings: 8 });
  const endpoints = sim.endpoints.deribit ?? {};
  const [asked] = deribit.reference(endpoints);
  const payload = Buffer.from(await (await fetch(asked?.url ?? '')).arrayBuffer());
  const message = { kind: 'response', received_at: 0, request: `GET ${asked?.url}`, payload } as const;
  const listings = deribit.mapReference({}, message)?.listings ?? [];
  const wanted: string[] = [];
  const taken: string[] = [];
  for (const slot of deribit.plan(listings, { shards: 1, shardOf: () => 0, endpoints })) {
    const client = await connect(t, sim, '/deribit/ws/api/v2');
    for (const text of slot.kind === 'socket' ? slot.subscribe : []) {
      wanted.push(...(parse<{ params: { channels?: string[] } }>(text).params.channels ?? []));
      const { result } = (await ask(client, parse<object>(text))) as { readonly result: unknown };
      if (Array.isArray(result)) taken.push(...result.map(String));
    }
  }
  t.equal(wanted.length, 4 * 8, 'book, ticker, trades and candles of each instrument');
  t.same(taken, wanted);
});

t.test('faults', async (t) => {
  const { sim, run } = await fakeSimulator(t, { venues: VENUES, listings: 8 });
  const inject = (request: Omit<FaultRequest, 'venue'>) => sim.inject({ venue: 'deribit', ...request });
  const channel = `book.${INVERSE}.100ms`;

  t.test(
    'a lost change breaks the chain of one book; a sequence that begins again does so with a whole book',
    async (t) => {
      const client = await subscribed(t, sim, [channel, `ticker.${INVERSE}.100ms`]);
      run(1_000);
      const hole = inject({ kind: 'sequence_hole', symbols: [INVERSE], count: 2 });
      run(2_000);
      await settle(sim, client);
      t.match(hole, { streams: [channel], layers: ['book', 'venue_depth'], hit_count: 2 });
      t.same(listPhases(deribit, client), ['joined', 'live', 'broken']);
      const other = await subscribed(t, sim, [channel]);
      run(1_000);
      inject({ kind: 'restart', keepSockets: true });
      run(1_000);
      await settle(sim, other);
      const books = listData<Book>(other, channel);
      const at = books.findLastIndex(({ type }) => type === 'snapshot');
      t.ok(at > 0 && books.length > at + 3 && (books[at]?.change_id ?? 0) < (books[0]?.change_id ?? 0));
      t.same(listPhases(deribit, other), ['joined', 'live', 'joined', 'live']);
    },
  );

  t.test('crossed_book: also the snapshot of a new subscription is crossed', async (t) => {
    inject({ kind: 'crossed_book', symbols: [INVERSE], durationMs: 2_000 });
    run(1_000);
    const client = await subscribed(t, sim, [channel]);
    await settle(sim, client);
    const [whole] = listData<Book>(client, channel);
    t.ok(Number(whole?.bids[0]?.[1]) > Number(whole?.asks[0]?.[1]));
  });

  t.test('listings that come, go and change their name have instruments and channels of their own', async (t) => {
    inject({ kind: 'listing_added' });
    inject({ kind: 'listing_delisted', symbols: [LINEAR] });
    inject({ kind: 'listing_renamed', symbols: [INVERSE] });
    const { body } = await get<{ result: readonly Row[] }>(sim, '/deribit/api/v2/public/get_instruments?currency=any');
    const names = body.result.map(({ instrument_name }) => String(instrument_name));
    t.same(names.slice(-2), ['SIM1000_USDC-PERPETUAL', 'SIM1001-PERPETUAL']);
    t.notOk(names.includes(LINEAR) || names.includes(INVERSE));
    const client = await connect(t, sim, '/deribit/ws/api/v2');
    const channels = ['ticker.SIM1001-PERPETUAL.100ms', 'deribit_price_index.sim1001_usd', `ticker.${LINEAR}.100ms`];
    t.match(await subscribe(client, channels), { result: channels.slice(0, 2) });
  });
});
