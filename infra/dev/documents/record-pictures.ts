// Records the data of the pictures of the concepts from a running demo: `node infra/dev/documents/record-pictures.ts` after `npm run demo` (a minute).
// It cuts one connection of one simulated venue, requests the closed day of the demo's past, and writes docs/guides/pictures/recorded.json;
// `npm run docs` draws the pictures from that. `--past` records only the data of the past.
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readEndpoints } from '../../runtime/process/running-service.ts';
import type { Gap, Late, OpenInterest, Recorded, Sample } from './draw-pictures.ts';
import { RECORDED } from './draw-pictures.ts';

const [VENUE, SYMBOL] = ['binance', 'BTCUSDT'];
const WHERE = `venue = ${VENUE} and symbol = "${SYMBOL}"`;
const FRESHNESS = '2s';
const SAMPLES = 160;
const EVERY_MS = 250;
/** The sample at which the connection is cut, and for how long new ones are refused. */
const CUT_AT = 40;
const CUT_MS = 12_000;

type Endpoints = {
  readonly base_url: string;
  readonly control_url: string;
  readonly keys: Readonly<Record<string, string>>;
};
type Layer = {
  readonly status: string;
  readonly reason: string | null;
  readonly age_ms: number | null;
  readonly venue_ts: string | null;
  readonly received_at: string | null;
  readonly valid_until: string | null;
  readonly values: Readonly<Record<string, string | null>>;
  readonly units: Readonly<Record<string, string>>;
};
type Snapshot = {
  readonly evaluated_at: string;
  readonly items: readonly { readonly venue: string; readonly layers: Readonly<Record<string, Layer>> }[];
};

const { base_url: base, control_url: control, keys } = readEndpoints() as Endpoints;

const ask = async <T>(path: string, body: Readonly<Record<string, unknown>>): Promise<T> => {
  const headers = { authorization: `Bearer ${keys['pro_plus']}`, 'content-type': 'application/json' };
  const answer = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
};

const fetchSnapshot = (body: Readonly<Record<string, unknown>>): Promise<Snapshot> =>
  ask('/v2/snapshots', { number_format: 'string', ...body });

const toSample = ({ evaluated_at: at, items }: Snapshot, name: string): Sample => {
  const layer = items[0]?.layers[name];
  if (layer === undefined) throw new Error(`${VENUE}:${SYMBOL} has no ${name}`);
  const { status, reason = null, age_ms = null, venue_ts, received_at, valid_until = null, values } = layer;
  return { at, status, reason, age_ms, venue_ts, received_at, valid_until, figure: values[name] ?? null };
};

/** Forty seconds of one listing, with a connection cut in them: once unchanged, once with a bound on the age. */
const recordSamples = async (): Promise<Pick<Recorded, 'mark' | 'book' | 'oi' | 'oi_bounded'>> => {
  const told = { mark: [] as Sample[], book: [] as Sample[], oi: [] as Sample[], oi_bounded: [] as Sample[] };
  for (let i = 0; i < SAMPLES; i++) {
    const begun = performance.now();
    if (i === CUT_AT) {
      const body = JSON.stringify({ venue: VENUE, kind: 'disconnect', stream: 'mark', count: 1, durationMs: CUT_MS });
      await fetch(`${control}/faults`, { method: 'POST', body });
    }
    const [whole, bounded] = await Promise.all([
      fetchSnapshot({ where: WHERE, layers: ['mark', 'book', 'oi'] }),
      fetchSnapshot({ where: WHERE, layers: ['oi'], freshness: FRESHNESS }),
    ]);
    for (const name of ['mark', 'book', 'oi'] as const) told[name].push(toSample(whole, name));
    told.oi_bounded.push(toSample(bounded, 'oi'));
    await pause(Math.max(0, EVERY_MS - (performance.now() - begun)));
  }
  return told;
};

const recordOpenInterest = async (): Promise<readonly OpenInterest[]> => {
  const where = 'base = BTC';
  const [published, base_] = await Promise.all([
    fetchSnapshot({ where, layers: ['oi'] }),
    fetchSnapshot({ where, layers: ['oi'], units: 'base' }),
  ]);
  return published.items.flatMap(({ venue, layers }, i) => {
    const [own, inBase] = [layers['oi'], base_.items[i]?.layers['oi']];
    const [figure, converted] = [own?.values['oi'], inBase?.values['oi']];
    const unit = own?.units['oi'];
    return figure == null || converted == null || unit === undefined
      ? []
      : [{ venue, figure, unit, in_base: converted }];
  });
};

type Row = {
  readonly at: string;
  readonly status: string;
  readonly gap_cause?: string;
  readonly reason?: string;
  readonly late?: boolean;
};
type History = {
  readonly items: readonly { readonly layers: Readonly<Record<string, { readonly rows: readonly Row[] }>> }[];
};

/** From the closed day of the demo's past: the minutes in which its collector was down, and late rows. */
const PAST = { where: 'venue = okx and base = BTC and quote = USDT', from: '12:02:00Z', to: '12:06:00Z' } as const;
const GAP_LAYERS = ['mark', 'ticker', 'book', 'oi'];

const askPast = async (body: Readonly<Record<string, unknown>>): Promise<History> => {
  const headers = { authorization: `Bearer ${keys['pro_plus']}` };
  const listed = await fetch(`${base}/v2/archive?limit=1000`, { headers });
  const { items } = (await listed.json()) as { items: readonly { readonly day: string; readonly final: boolean }[] };
  const [day] = items
    .filter(({ final }) => final)
    .map((one) => one.day)
    .sort();
  if (day === undefined) throw new Error('the demo has no closed day yet: wait until it prints that the past is ready');
  const { where, from, to } = PAST;
  return ask('/v2/snapshots/history', { where, from: `${day}T${from}`, to: `${day}T${to}`, ...body });
};

const recordPast = async (): Promise<Pick<Recorded, 'gaps' | 'late'>> => {
  const windows = (await askPast({ layers: GAP_LAYERS, interval: '10s' })).items[0]?.layers ?? {};
  const raw = (await askPast({ layers: ['mark'], raw: true })).items[0]?.layers['mark']?.rows ?? [];
  const gaps = Object.entries(windows).flatMap(([layer, { rows }]) =>
    rows.map(({ at, status, gap_cause, reason }): Gap => ({ layer, at, status, cause: gap_cause ?? reason ?? null })),
  );
  const late = raw.flatMap(({ at, status, late: isLate }): Late[] =>
    status === 'present' ? [{ at, late: isLate === true }] : [],
  );
  return { gaps, late };
};

const recordPresent = async (): Promise<Omit<Recorded, 'gaps' | 'late'>> => {
  const samples = await recordSamples();
  return {
    provenance: {
      command: 'node infra/dev/documents/record-pictures.ts',
      source: 'npm run demo: simulated venues, invented figures',
      listing: `${VENUE}:${SYMBOL}; gaps and late rows: ${PAST.where}`,
      fault: `disconnect of the mark stream for ${CUT_MS} ms, ${(CUT_AT * EVERY_MS) / 1_000} s after the begin`,
      freshness: FRESHNESS,
    },
    ...samples,
    oi_by_venue: await recordOpenInterest(),
  };
};

const { values } = parseArgs({ options: { past: { type: 'boolean', default: false } } });
const present = values.past ? (JSON.parse(readFileSync(RECORDED, 'utf8')) as Recorded) : await recordPresent();
const recorded: Recorded = { ...present, ...(await recordPast()) };
writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 1)}\n`);
