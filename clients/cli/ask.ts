// Commands that ask one question and print its answer.
import type {
  BooksRequest,
  CandlesRequest,
  HistoryRequest,
  InstrumentsRequest,
  LiquidationsRequest,
  ScreenRequest,
  SnapshotsRequest,
} from '../typescript/src/index.ts';
import * as rows from './rows.ts';
import { layersOf, numberOption, periodOf, print, type Run, requestOf, textOption, writeTable } from './run.ts';

const signalOf = ({ world }: Run) => ({ signal: world.signal });

export const venues = async (run: Run): Promise<void> => {
  const { items, evaluated_at } = await run.client.venues({}, signalOf(run));
  print(run, { objects: items, rows: rows.venueRows(items), note: `at ${evaluated_at}` });
};

export const instruments = async (run: Run): Promise<void> => {
  const request = requestOf<InstrumentsRequest>(run, { as_of: textOption(run.options, 'asOf') });
  const items = [];
  for await (const page of run.client.pages('instruments', request, signalOf(run))) items.push(...page.items);
  print(run, { objects: items, rows: rows.listingRows(items), note: rows.counted(items.length, 'listing') });
};

export const snapshots = async (run: Run): Promise<void> => {
  const request = requestOf<SnapshotsRequest>(run, {
    layers: layersOf(run.options),
    ...(run.options['allowStale'] === true && { allow_stale: true }),
  });
  const answer = await run.client.snapshots(request, signalOf(run));
  print(run, {
    objects: answer.items,
    rows: rows.snapshotRows(answer),
    note: `at ${answer.evaluated_at}, ${answer.receipt_id}`,
  });
};

export const screen = async (run: Run, query: string): Promise<void> => {
  const request = requestOf<ScreenRequest>(run, {
    query,
    limit: numberOption(run.options, 'limit'),
    ...(run.options['includeUnknown'] === true && { include_unknown: true }),
  });
  const answer = await run.client.screen(request, signalOf(run));
  const more = answer.page.next_cursor === null ? '' : ', there are more: raise --limit';
  const note = `${rows.counted(answer.instruments.length, 'instrument')} at ${answer.evaluated_at}${more}`;
  print(run, { objects: answer.instruments, rows: rows.screenRows(answer), note });
};

export const history = async (run: Run): Promise<void> => {
  const isRaw = run.options['raw'] === true;
  const interval = textOption(run.options, 'interval') ?? '1m';
  const mode = isRaw ? { raw: true } : { interval };
  const request = requestOf<HistoryRequest>(run, {
    layers: layersOf(run.options),
    ...mode,
    ...periodOf(run.options, Date.now()),
  });
  if (run.format === 'parquet') return writeTable(run, 'history', request);
  const found = { objects: [] as unknown[], rows: [] as ReturnType<typeof rows.historyRows> };
  for await (const answer of run.client.pages('history', request, signalOf(run))) {
    found.objects.push(...answer.items);
    found.rows.push(...rows.historyRows(answer));
  }
  print(run, { ...found, note: rows.counted(found.rows.length, 'row') });
};

export const candles = async (run: Run): Promise<void> => {
  const request = requestOf<CandlesRequest>(run, {
    timeframe: textOption(run.options, 'timeframe'),
    price_type: textOption(run.options, 'priceType'),
    ...periodOf(run.options, Date.now()),
  });
  if (run.format === 'parquet') return writeTable(run, 'candles', request);
  const found = { objects: [] as unknown[], rows: [] as ReturnType<typeof rows.candleRows> };
  for await (const answer of run.client.pages('candles', request, signalOf(run))) {
    found.objects.push(...answer.items);
    found.rows.push(...rows.candleRows(answer));
  }
  print(run, { ...found, note: rows.counted(found.rows.length, 'candle') });
};

export const books = async (run: Run): Promise<void> => {
  const request = requestOf<BooksRequest>(run, { depth: numberOption(run.options, 'depth') });
  const { items, evaluated_at } = await run.client.books(request, signalOf(run));
  print(run, { objects: items, rows: rows.bookRows(items), note: `at ${evaluated_at}` });
};

export const liquidations = async (run: Run): Promise<void> => {
  const request = requestOf<LiquidationsRequest>(run, periodOf(run.options, Date.now()));
  if (run.format === 'parquet') return writeTable(run, 'liquidations', request);
  const found = { objects: [] as unknown[], rows: [] as ReturnType<typeof rows.liquidationRows> };
  for await (const answer of run.client.pages('liquidations', request, signalOf(run))) {
    found.objects.push(...answer.items);
    found.rows.push(...rows.liquidationRows(answer));
  }
  print(run, { ...found, note: rows.counted(found.rows.length, 'liquidation') });
};

export const account = async (run: Run): Promise<void> => {
  const answer = await run.client.account({}, signalOf(run));
  const { key, plan, today, limits, now } = answer;
  const facts = {
    ...{ key: key.key_id, plan: plan.name, until: key.expires_at ?? plan.expires_at ?? 'not limited' },
    ...{ venues: answer.venues.join(' '), layers: answer.layers.join(' '), history_from: answer.history_from },
    ...{ requests_used: today.requests.used, requests_left: today.requests.remaining, resets_at: today.resets_at },
    ...{ streams: now.streams, requests_in_flight: now.requests_in_flight },
    ...Object.fromEntries(Object.entries(limits).map(([name, value]) => [`limit ${name}`, value])),
  };
  print(run, { objects: [answer], rows: Object.entries(facts).map(([fact, value]) => ({ fact, value })) });
};

/** Its canonical text and its cost; a fault is underlined by whoever reports errors. */
export const checkQuery = async (run: Run, query: string): Promise<void> => {
  const answer = await run.client.dqlParse({ query }, signalOf(run));
  const { nodes, bars, cost } = answer.complexity;
  const { instrument, venue } = answer.atoms;
  const facts = {
    query: answer.query.string,
    reads: [...instrument, ...venue].join(', '),
    timeframes: answer.timeframes.join(', '),
    nodes,
    bars,
    cost,
  };
  print(run, { objects: [answer], rows: Object.entries(facts).map(([fact, value]) => ({ fact, value })) });
};
