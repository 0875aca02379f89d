// Commands that send one request and print its answer.
import type {
  AgentStateRequest,
  BooksRequest,
  CandlesRequest,
  HistoryRequest,
  InstrumentsRequest,
  LiquidationsRequest,
  ScreenRequest,
  SnapshotsRequest,
} from '../typescript/src/index.ts';
import { UsageError } from './exit.ts';
import type { Row } from './output.ts';
import * as rows from './rows.ts';
import {
  makeRequest,
  print,
  type Run,
  readLayers,
  readNumberOption,
  readPeriod,
  readTextOption,
  writeTable,
} from './run.ts';

const pickSignal = ({ world }: Run) => ({ signal: world.signal });

/** Members that a flag sets. */
const readFlags = ({ options }: Run) => ({
  ...(options['allowStale'] === true && { allow_stale: true }),
  ...(options['includeRaw'] === true && { include_raw: true }),
});

export const printVenues = async (run: Run): Promise<void> => {
  const { items, evaluated_at } = await run.client.venues({}, pickSignal(run));
  print(run, { objects: items, rows: rows.toVenueRows(items), note: `at ${evaluated_at}` });
};

export const printInstruments = async (run: Run): Promise<void> => {
  const request = makeRequest<InstrumentsRequest>(run, {
    as_of: readTextOption(run.options, 'asOf'),
    ...readFlags(run),
  });
  const items = [];
  for await (const page of run.client.pages('instruments', request, pickSignal(run))) items.push(...page.items);
  print(run, { objects: items, rows: rows.toListingRows(items), note: rows.formatCount(items.length, 'listing') });
};

export const printSnapshots = async (run: Run): Promise<void> => {
  const request = makeRequest<SnapshotsRequest>(run, {
    layers: readLayers(run.options),
    ...readFlags(run),
  });
  const answer = await run.client.snapshots(request, pickSignal(run));
  print(run, {
    objects: answer.items,
    rows: rows.toSnapshotRows(answer),
    note: `at ${answer.evaluated_at}, ${answer.receipt_id}`,
  });
};

export const printScreen = async (run: Run, query: string): Promise<void> => {
  const request = makeRequest<ScreenRequest>(run, {
    query,
    limit: readNumberOption(run.options, 'limit'),
    ...(run.options['includeUnknown'] === true && { include_unknown: true }),
  });
  const answer = await run.client.screen(request, pickSignal(run));
  const more = answer.page.next_cursor === null ? '' : ', there are more: raise --limit';
  const note = `${rows.formatCount(answer.instruments.length, 'instrument')} at ${answer.evaluated_at}${more}`;
  print(run, { objects: answer.instruments, rows: rows.toScreenRows(answer), note });
};

/** Which rows of the past: at instants, all of a period, or one a part of it. */
const readRowOptions = (options: Run['options']): Pick<HistoryRequest, 'at' | 'raw' | 'from' | 'to'> => {
  const [at, interval] = [readTextOption(options, 'at'), readTextOption(options, 'interval')];
  const modes = [at, interval, options['raw'] === true || undefined].filter((mode) => mode !== undefined);
  if (modes.length > 1) throw new UsageError('--at, --interval and --raw exclude each other.', 'Give one of them.');
  if (at !== undefined) return { at: at.split(/[\s,]+/).filter(Boolean) };
  const mode = options['raw'] === true ? { raw: true } : { interval: interval ?? '1m' };
  return { ...mode, ...readPeriod(options, Date.now()) };
};

export const printHistory = async (run: Run): Promise<void> => {
  const request = makeRequest<HistoryRequest>(run, {
    layers: readLayers(run.options),
    ...readFlags(run),
    ...readRowOptions(run.options),
  });
  if (run.format === 'parquet') return writeTable(run, 'history', request);
  const found = { objects: [] as unknown[], rows: [] as ReturnType<typeof rows.toHistoryRows> };
  for await (const answer of run.client.pages('history', request, pickSignal(run))) {
    found.objects.push(...answer.items);
    found.rows.push(...rows.toHistoryRows(answer));
  }
  print(run, { ...found, note: rows.formatCount(found.rows.length, 'row') });
};

export const printCandles = async (run: Run): Promise<void> => {
  const request = makeRequest<CandlesRequest>(run, {
    timeframe: readTextOption(run.options, 'timeframe'),
    price_type: readTextOption(run.options, 'priceType'),
    ...readPeriod(run.options, Date.now()),
  });
  if (run.format === 'parquet') return writeTable(run, 'candles', request);
  const found = { objects: [] as unknown[], rows: [] as ReturnType<typeof rows.toCandleRows> };
  for await (const answer of run.client.pages('candles', request, pickSignal(run))) {
    found.objects.push(...answer.items);
    found.rows.push(...rows.toCandleRows(answer));
  }
  print(run, { ...found, note: rows.formatCount(found.rows.length, 'candle') });
};

export const printBooks = async (run: Run): Promise<void> => {
  const request = makeRequest<BooksRequest>(run, { depth: readNumberOption(run.options, 'depth') });
  const { items, evaluated_at } = await run.client.books(request, pickSignal(run));
  print(run, { objects: items, rows: rows.toBookRows(items), note: `at ${evaluated_at}` });
};

/** Of one answer. */
const MOST_LIQUIDATIONS = 5_000;

export const printLiquidations = async (run: Run): Promise<void> => {
  const request = makeRequest<LiquidationsRequest>(run, {
    side: readTextOption(run.options, 'side'),
    ...readPeriod(run.options, Date.now()),
  });
  if (run.format === 'parquet') return writeTable(run, 'liquidations', { ...request, limit: MOST_LIQUIDATIONS });
  const objects: unknown[] = [];
  const events: Row[] = [];
  const gaps: Row[] = [];
  let partly = '';
  for await (const answer of run.client.pages('liquidations', request, pickSignal(run))) {
    objects.push(...answer.items);
    events.push(...rows.toLiquidationRows(answer));
    gaps.push(...rows.toLiquidationGapRows(answer));
    partly = rows.describeCompleteness(answer);
  }
  const counts = [rows.formatCount(events.length, 'liquidation'), rows.formatCount(gaps.length, 'gap')];
  print(run, { objects, rows: [...gaps, ...events], note: `${counts.join(', ')}${partly}` });
};

export const printAccount = async (run: Run): Promise<void> => {
  const answer = await run.client.account({}, pickSignal(run));
  const { key, plan, today, limits, now } = answer;
  const facts = {
    ...{ key: key.key_id, plan: plan.name, until: key.expires_at ?? plan.expires_at ?? 'not limited' },
    ...{ venues: answer.venues.join(' '), layers: answer.layers.join(' '), history_from: answer.history_from },
    ...{ requests_used: today.requests.used, requests_left: today.requests.remaining, resets_at: today.resets_at },
    ...{ streams: now.streams, requests_in_flight: now.requests_in_flight },
    ...Object.fromEntries(Object.entries(limits).map(([name, value]) => [`limit ${name}`, value])),
  };
  print(run, { objects: [answer], rows: rows.toFactRows(facts) });
};

export const printAgentRules = async (run: Run, ...ids: string[]): Promise<void> => {
  const request: AgentStateRequest = {
    ...(ids.length > 0 && { rule_id: ids }),
    ...(run.options['fresh'] === true && { fresh: true }),
  };
  const { rules, missing, evaluated_at } = await run.client.agentState(request, pickSignal(run));
  const note = `at ${evaluated_at}${missing.length === 0 ? '' : `, not found: ${missing.join(', ')}`}`;
  print(run, { objects: rules, rows: rows.toRuleRows(rules), note });
};

/** The outcome of the payment of a call. */
export const printReceipt = async (run: Run, receiptId: string): Promise<void> => {
  const answer = await run.client.receipt({ receipt_id: receiptId }, pickSignal(run));
  print(run, { objects: [answer], rows: rows.toFactRows(answer) });
};

/** One row a partition of the day. */
export const printClosedDay = async (run: Run, day: string): Promise<void> => {
  const answer = await run.client.anchorDay({ day }, pickSignal(run));
  const { partitions, day_root, anchor } = answer;
  print(run, { objects: [answer], rows: partitions.map((one) => ({ ...one })), note: `${day_root}, ${anchor.status}` });
};

/** One row a field, source or function. */
export const printCatalogue = async (run: Run): Promise<void> => {
  const answer = await run.client.dqlCatalogue({}, pickSignal(run));
  print(run, { objects: [answer], rows: rows.toCatalogueRows(answer), note: `catalogue ${answer.catalogue}` });
};

/** Prints its canonical text and its cost; the reporter of errors underlines a fault. */
export const checkQuery = async (run: Run, query: string): Promise<void> => {
  const answer = await run.client.dqlParse({ query }, pickSignal(run));
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
  print(run, { objects: [answer], rows: rows.toFactRows(facts) });
};
