// Historical queries, each sent to its own app over a real store, and the common parts of their markets.
import type { PlanCode } from '../../../api/contract/plans.ts';
import type { HistoryStore } from '../../../api/history/store.ts';
import type { Micros } from '../../../schemas/records.ts';
import type { CapabilityVersion, LayerCapability } from '../../../schemas/topics.ts';
import { capability, type Feed, listingValues, micros, testApp } from './live-fixture.ts';

export const SECOND: Micros = 1_000_000;
/** 11:00:00 of the day of NOW, which is 12:00:00.500. */
export const ELEVEN = micros('2026-01-15T11:00:00.000Z');

const ON: LayerCapability = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: null };
/** A venue that collects a layer without readings too. */
export const collecting = (
  venue: string,
  layer: 'candles' | 'liquidation',
  over: Partial<LayerCapability> = {},
): CapabilityVersion => {
  const version = capability(venue);
  return { ...version, layers: { ...version.layers, [layer]: { ...ON, ...over } } };
};

export const BTCUSD = listingValues({
  venue_symbol: 'BTCUSD',
  quote: 'USD',
  venue_kind: 'inverse',
  quantity_unit: 'contracts',
  contract_size: '100',
});

/** A 200 with its items, or the errors of any other status. */
export type PastAnswer<Item> = {
  settled: boolean;
  items_sha256: string;
  from: string;
  to: string;
  items: Item[];
  errors: { code: string; message: string; hint?: string; path?: string }[];
  [member: string]: unknown;
};

type Asking = {
  headers?: Record<string, string>;
  feed?: Feed;
  plan?: PlanCode | null;
  history?: HistoryStore;
  nowMicros?: () => Micros;
};

/** Requests `path`; defaults: a settled market, the store, the largest plan and NOW. */
export const pastAsker =
  <Answer extends PastAnswer<unknown>>(path: string, usual: { feed: () => Feed; history: HistoryStore }) =>
  async (
    body: unknown,
    { feed = usual.feed(), plan = 'pro_plus', history = usual.history, nowMicros, headers = {} }: Asking = {},
  ) => {
    const { app, as } = await testApp(feed, { history, ...(nowMicros === undefined ? {} : { nowMicros }) });
    const answer = await app.inject({
      method: 'POST',
      url: path,
      headers: { 'content-type': 'application/json', ...(plan === null ? {} : as(plan)), ...headers },
      payload: JSON.stringify(body),
    });
    await app.close();
    const isJson = String(answer.headers['content-type']).startsWith('application/json');
    const json = isJson ? answer.json<Answer>() : ({ items: [], errors: [] } as unknown as Answer);
    return { status: answer.statusCode, text: answer.body, json, headers: answer.headers };
  };
