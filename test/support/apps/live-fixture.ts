// A data app over the real memory copy, fed with entries as the tasks publish them; only PostgreSQL is a hand-written fake.
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { Registry } from 'prom-client';
import type { AccountStore } from '../../../api/access/account-store.ts';
import type { PaymentChecks } from '../../../api/access/call.ts';
import { type KeyStore, openKeyStore } from '../../../api/access/key-store.ts';
import { hashKey, makeKey } from '../../../api/access/keys.ts';
import { Meter } from '../../../api/access/meter.ts';
import type { StoredTurnover } from '../../../api/access/turnover-store.ts';
import type { Anchors } from '../../../api/anchors/anchors.ts';
import type { ArchiveManifest } from '../../../api/contract/archive.ts';
import { PLAN_CODES, type PlanCode } from '../../../api/contract/plans.ts';
import { createApiMetrics } from '../../../api/data-app/api-metrics.ts';
import { buildApp } from '../../../api/data-app/build-app.ts';
import type { FileLinks } from '../../../api/files/links.ts';
import type { HistoryStore } from '../../../api/history/store.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import { ChallengeMeter } from '../../../api/payments/challenge-meter.ts';
import { openPaymentChecks } from '../../../api/payments/checks.ts';
import type { PaymentTerms } from '../../../api/payments/offers.ts';
import type { Receipts } from '../../../api/payments/receipts.ts';
import type { AgentRules } from '../../../api/rules/desk.ts';
import type { RuleMoves } from '../../../api/rules/moves.ts';
import type { StatusStore } from '../../../api/status/status-store.ts';
import { StreamHub } from '../../../api/stream/hub.ts';
import { createLog } from '../../../infra/runtime/process/log.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { READING_LAYERS } from '../../../schemas/layers/readings.ts';
import type { ListingValues, Micros } from '../../../schemas/records.ts';
import {
  type CapabilityVersion,
  type LayerCapability,
  type ListingVersion,
  type LiveEntry,
  makeLiveEntry,
  type Reading,
} from '../../../schemas/topics.ts';
import { invalid } from '../documents/valid-answer.ts';

export const micros = (text: string): Micros => Date.parse(text) * 1000;
/** T of the fixed clock. */
export const NOW = micros('2026-01-15T12:00:00.500Z');
export const LISTED = micros('2026-01-10T00:00:00.000Z');

export const listingValues = (over: Partial<ListingValues> = {}): ListingValues => ({
  instrument: 'BTC-PERP',
  venue_symbol: 'BTCUSDT',
  base: 'BTC',
  quote: 'USDT',
  base_venue_alias: null,
  kind: 'perpetual',
  venue_kind: 'linear',
  pair: null,
  post_only: null,
  status: 'tradeable',
  contract_size: '1',
  multiplier: '1',
  tick_size: '0.1',
  lot_size: '0.001',
  min_qty: '0.001',
  min_notional: '5',
  price_decimals: 1,
  qty_decimals: 3,
  units: { tick_size: 'quote', lot_size: 'base', min_qty: 'base', min_notional: 'quote', contract_size: 'base' },
  quantity_unit: 'base',
  funding_interval: '8h',
  funding_interval_source: 'venue',
  funding_normalisation: { venue_field: 'r', transform: 'identity' },
  rules_normalisation: { tick_size: { venue_field: 'filters.PRICE_FILTER.tickSize', transform: 'string_to_number' } },
  candles: { base_timeframe: '1m', price_types: ['trade', 'mark', 'index'], timeframes: ['1m'] },
  not_published: [],
  bands: ['10bps', '25bps', '50bps', '100bps'],
  oi_sides: 'one',
  listed_at: null,
  delisted_at: null,
  ...over,
});

export const listing = (
  venue: string,
  values: ListingValues,
  {
    writtenAt = LISTED,
    delistedAt = null,
    raw = null,
  }: { writtenAt?: Micros; delistedAt?: Micros | null; raw?: string | null } = {},
): ListingVersion => ({
  venue,
  venue_symbol: values.venue_symbol,
  written_at: writtenAt,
  first_seen_at: LISTED,
  delisted_at: delistedAt,
  record: {
    layer: 'listing',
    venue,
    venue_symbol: values.venue_symbol,
    venue_ts: null,
    received_at: writtenAt - 40_000,
    values,
  },
  raw,
});

const ON: LayerCapability = { policy: 'on', cadence_ms: null, horizon_ms: null, horizon_source: 'connection' };
export const capability = (
  venue: string,
  over: Readonly<Record<string, Partial<LayerCapability>>> = {},
  writtenAt = LISTED,
): CapabilityVersion => {
  const layers: Record<string, LayerCapability> = {};
  for (const layer of READING_LAYERS) layers[layer] = { ...ON, ...over[layer] };
  return { venue, name: `Name of ${venue}`, written_at: writtenAt, layers };
};

/** A funding reading on a live connection, by default that of the example of L-04. */
export const reading = (over: Partial<Reading> = {}): Reading => ({
  layer: 'funding',
  rev: 1,
  valid: true,
  gap_cause: null,
  venue_ts: micros('2026-01-15T12:00:00.120Z'),
  received_at: micros('2026-01-15T12:00:00.184Z') + 512,
  recorded_at: micros('2026-01-15T12:00:00.186Z'),
  conn_id: 'c1',
  horizon_ms: null,
  horizon_source: 'connection',
  anchor: 'venue',
  valid_until: null,
  values: { funding: '0.0000125', funding_interval: '3600000', funding_8h: '0.0001' },
  null_reasons: {},
  instants: { next_funding_at: micros('2026-01-15T13:00:00.000Z') },
  quantity_unit: null,
  book: null,
  raw: '{"r":"0.00001250"}',
  ...over,
});

export const markReading = (mark: string, over: Partial<Reading> = {}): Reading =>
  reading({ layer: 'mark', values: { mark, index: mark, basis: '0' }, instants: {}, raw: null, ...over });

/** Recorded at `NOW` when it does not say otherwise. */
type Body = Partial<Omit<LiveEntry, 'offset' | 'index'>> & Pick<LiveEntry, 'kind'>;

/** Feeds a memory copy with what a message of Kafka decodes to. */
export class Feed {
  readonly memory: LiveMemory;
  #offset = 0;

  /** Of several shards each is ready. */
  constructor(venues: readonly string[], shards = 1) {
    this.memory = new LiveMemory(venues);
    const partitions = Array.from({ length: shards }, (_, partition) => partition);
    for (const venue of venues) {
      this.memory.expectPartitions(venue, partitions);
      for (const partition of partitions) {
        this.memory.beginAtStart(venue, partition);
        this.memory.markReady(venue, partition);
      }
    }
  }

  entry(venue: string, body: Body, place: { partition?: number; offset?: number; index?: number } = {}): void {
    const { partition = 0, offset = ++this.#offset, index = 0 } = place;
    const entry = codecs.live.encode(makeLiveEntry({ offset, index, recorded_at: NOW, ...body }));
    this.memory.applyLive(venue, partition, entry);
  }

  list(version: ListingVersion): void {
    this.entry(version.venue, { kind: 'listing', symbol: version.venue_symbol, listing: version });
  }

  read(venue: string, symbol: string, value: Reading): void {
    this.entry(venue, { kind: 'reading', symbol, reading: value });
  }

  /** A venue with an open connection, capabilities and a watermark close behind now. */
  venue(venue: string, version = capability(venue)): void {
    this.entry(venue, { kind: 'capability', capability: version });
    this.entry(venue, {
      kind: 'connection',
      span: { conn_id: 'c1', slot: 'market', from: LISTED, to: null, cause: null },
    });
    this.watermark(venue, NOW - 190_000);
  }

  watermark(venue: string, watermark: Micros): void {
    this.entry(venue, { kind: 'watermark', watermark });
  }
}

/** Two venues, three listings, mark and funding everywhere; the market of most tests. */
export const market = (): Feed => {
  const feed = new Feed(['binance', 'okx']);
  feed.venue('binance');
  feed.venue('okx', capability('okx', { oi: { policy: 'off' }, stats: { policy: 'not_published' } }));
  feed.list(listing('binance', listingValues()));
  feed.list(listing('binance', listingValues({ instrument: 'ETH-PERP', venue_symbol: 'ETHUSDT', base: 'ETH' })));
  feed.list(
    listing('okx', listingValues({ venue_symbol: 'BTC-USDT-SWAP', quantity_unit: 'contracts', contract_size: '0.01' })),
  );
  for (const [venue, symbol] of [
    ['binance', 'BTCUSDT'],
    ['binance', 'ETHUSDT'],
    ['okx', 'BTC-USDT-SWAP'],
  ] as const) {
    feed.read(venue, symbol, reading());
    feed.read(venue, symbol, markReading('60000'));
  }
  return feed;
};

export const TERMS: PaymentTerms = {
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  token: { name: 'USD Coin', version: '2' },
};

const BASE_URL = 'http://api.test';
/** Challenges of these terms; no payment is taken. */
export const paymentsOff = (terms: PaymentTerms, baseUrl = BASE_URL): PaymentChecks =>
  openPaymentChecks({ challenges: new ChallengeMeter(), terms, baseUrl, desk: null });

const NO_RECEIPTS: Receipts = { find: async () => null };

type StoredKey = { key_id: string; hash: Buffer; plan: string; expires_at: Date | null; revoked: boolean };

/** The table of keys and the two statements the store sends to it. */
export class KeyTable {
  readonly rows: StoredKey[] = [];
  readonly compromised: string[] = [];
  isAway = false;
  lookups = 0;
  marks = 0;

  add(plan: string): string {
    const key = makeKey();
    this.rows.push({
      key_id: `key_${plan}_${this.rows.length}`,
      hash: hashKey(key),
      plan,
      expires_at: null,
      revoked: false,
    });
    return key;
  }

  row(key: string): StoredKey | undefined {
    return this.rows.find((row) => row.hash.equals(hashKey(key)));
  }

  async query(text: string, [hashes]: readonly (Buffer | readonly Buffer[])[]): Promise<{ rows: StoredKey[] }> {
    if (this.isAway) throw new Error('connection refused');
    const found = this.rows.filter(
      (row) => [hashes].flat().some((hash) => row.hash.equals(hash as Buffer)) && !row.revoked,
    );
    if (text.includes('update api_keys')) {
      this.marks++;
      this.compromised.push(...found.map((row) => row.key_id));
    } else this.lookups++;
    return { rows: found };
  }
}

export type TestApp = {
  readonly app: FastifyInstance;
  readonly keys: Readonly<Record<PlanCode, string>>;
  readonly table: KeyTable;
  readonly registry: Registry;
  readonly as: (plan: PlanCode) => { authorization: string };
};

export const testApp = async (
  feed: Pick<Feed, 'memory'>,
  over: {
    terms?: PaymentTerms;
    baseUrl?: string;
    accountUrl?: string;
    trustedProxies?: readonly string[];
    nowMicros?: () => Micros;
    keys?: KeyStore;
    meter?: Meter;
    accounts?: AccountStore;
    history?: HistoryStore;
    /** Made before the copy was filled. */
    hub?: StreamHub;
    files?: FileLinks;
    manifest?: ArchiveManifest;
    anchors?: Anchors;
    receipts?: Receipts;
    rules?: AgentRules;
    moves?: RuleMoves;
    turnover?: () => StoredTurnover | null;
    payments?: PaymentChecks;
    statusStore?: StatusStore;
    isHistoryReachable?: () => Promise<boolean>;
  } = {},
): Promise<TestApp> => {
  const table = new KeyTable();
  const keys = Object.fromEntries(PLAN_CODES.map((plan) => [plan, table.add(plan)])) as Record<PlanCode, string>;
  const registry = new Registry();
  const nowMicros = over.nowMicros ?? (() => NOW);
  const app = await buildApp({
    live: feed.memory,
    hub: over.hub ?? new StreamHub({ live: feed.memory, nowMicros }),
    ...(over.history === undefined ? {} : { history: over.history }),
    ...(over.files === undefined ? {} : { files: over.files }),
    ...(over.manifest === undefined ? {} : { manifest: over.manifest }),
    ...(over.anchors === undefined ? {} : { anchors: over.anchors }),
    ...(over.statusStore === undefined ? {} : { statusStore: over.statusStore }),
    nowMicros,
    keys: over.keys ?? openKeyStore(table as unknown as Parameters<typeof openKeyStore>[0]),
    meter: over.meter ?? new Meter(),
    receipts: over.receipts ?? NO_RECEIPTS,
    ...(over.rules === undefined ? {} : { rules: over.rules }),
    ...(over.moves === undefined ? {} : { moves: over.moves }),
    ...(over.turnover === undefined ? {} : { turnover: over.turnover }),
    accounts: over.accounts ?? { read: async () => null },
    payments: over.payments ?? paymentsOff(over.terms ?? TERMS, over.baseUrl),
    baseUrl: over.baseUrl ?? BASE_URL,
    ...(over.accountUrl === undefined ? {} : { accountUrl: over.accountUrl }),
    trustedProxies: over.trustedProxies ?? [],
    areKeysReachable: async () => !table.isAway,
    ...(over.isHistoryReachable === undefined ? {} : { isHistoryReachable: over.isHistoryReachable }),
    metrics: createApiMetrics(registry, feed.memory, nowMicros),
    simulated: true,
    log: createLog('test', 'silent'),
  });
  holdToLaw(app);
  return { app, keys, table, registry, as: (plan) => ({ authorization: `Bearer ${keys[plan]}` }) };
};

/** Judges every answer that a test gets, independent of the test's own checks. */
const holdToLaw = (app: FastifyInstance): void => {
  const inject = app.inject.bind(app) as (options: InjectOptions) => Promise<LightMyRequestResponse>;
  const judged = async (asked: string | InjectOptions): Promise<LightMyRequestResponse> => {
    const options: InjectOptions = typeof asked === 'string' ? { url: asked } : asked;
    const answer = await inject(options);
    const request = { method: options.method ?? 'GET', url: String(options.url) };
    const faults = invalid(request, answer);
    if (faults.length > 0) {
      throw new Error(
        `${request.method} ${request.url.slice(0, 200)} ${answer.statusCode}: ${faults.slice(0, 5).join('; ')}`,
      );
    }
    return answer;
  };
  app.inject = judged as typeof app.inject;
};

/** POST with a JSON body. */
export const post = (app: FastifyInstance, headers: Record<string, string>, body: unknown) =>
  app.inject({
    method: 'POST',
    url: '/v2/snapshots',
    headers: { 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(body),
  });
