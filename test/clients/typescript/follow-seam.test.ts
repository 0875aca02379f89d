// Where history ends and the stream begins, over a real wire: a small model of the service, whose history is behind, whose windows settle late, whose
// stream withholds what is stale, is cut, resumes or not, and merges for slow readers. In every case: the last reading of each window and
// everything the stream sent, once and in order.
import type { IncomingMessage, ServerResponse } from 'node:http';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { createClient, type Followed, type FollowedGap, figuresOf } from '../../../clients/typescript/src/index.ts';
import { toAnswerForm } from '../../../clients/typescript/src/past.ts';
import { formatInstant, formatInstantMicros, parseInstant } from '../../../schemas/instants.ts';
import { answerJson, frame, openEdgeServer } from '../../support/services/edge-server.ts';

const T0 = Date.parse('2026-01-15T12:00:00.000Z');
const WINDOW_S = 10;
const SETTLES_S = 120;
/** Answers after which history knows everything. */
const MOST_ASKS = 6;
/** A run that receives too little ends after this, and fails. */
const GUARD_MS = Number(process.env['GUARD_MS'] ?? 60_000);
const at = (seconds: number): string => new Date(T0 + seconds * 1_000).toISOString();
/** Forms in which the service takes an instant of a whole minute (N-03). */
const FORMS: readonly ((seconds: number) => string)[] = [
  at,
  (seconds) => at(seconds).replace('.000Z', 'Z'),
  (seconds) => at(seconds).replace(':00.000Z', 'Z'),
  (seconds) => at(seconds).replace('.000Z', '.000000-00:00'),
  (seconds) => at(seconds + 19_800).replace('.000Z', '+05:30'),
];
const toSeconds = (instant: string): number => (Date.parse(instant) - T0) / 1_000;
const computeEnd = (second: number): number => Math.ceil(second / WINDOW_S) * WINDOW_S;

type Reading = { readonly symbol: string; readonly second: number; readonly rev: number; readonly isStale: boolean };
type Step = {
  /** Seconds that are sent live before the connection ends. */
  readonly sent: number;
  /** Seconds that pass before the next connection. */
  readonly away: number;
  readonly resumes: boolean;
  /** Seconds in the middle of `sent` that are merged. */
  readonly merged: number;
};
type Plot = {
  readonly log: readonly Reading[];
  readonly steps: readonly Step[];
  readonly behindS: number;
  readonly interval: '10s' | '1m' | null;
  readonly since: number;
  readonly form: number;
};

const SYMBOLS = ['BTCUSDT', 'QUIETUSDT'] as const;
const named = (symbol: string) => ({ venue: 'binance', venue_symbol: symbol, instrument: `${symbol}-PERP` });
const PAST_S = 200;

const plots = fc
  .record({
    // Of the busy listing nearly every second, of the quiet one few.
    busy: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 400, maxLength: 400 }),
    quiet: fc.array(fc.integer({ min: 0, max: 29 }), { minLength: 400, maxLength: 400 }),
    steps: fc.array(
      fc.record({
        sent: fc.integer({ min: 1, max: 30 }),
        away: fc.integer({ min: 0, max: 45 }),
        resumes: fc.boolean(),
        merged: fc.integer({ min: 0, max: 15 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    behindS: fc.integer({ min: 0, max: 60 }),
    interval: fc.constantFrom(null, null, '10s' as const, '1m' as const),
    since: fc.constantFrom(-180, -60),
    form: fc.nat(FORMS.length - 1),
  })
  .map(({ busy, quiet, ...rest }): Plot => {
    const log: Reading[] = [];
    const revs = new Map<string, number>();
    for (let i = 0; i < busy.length; i += 1) {
      for (const [symbol, chance] of [
        ['BTCUSDT', busy[i] === 9 ? 29 : 0],
        ['QUIETUSDT', quiet[i] ?? 1],
      ] as const) {
        if (chance !== 0) continue;
        const rev = (revs.get(symbol) ?? 0) + 1;
        revs.set(symbol, rev);
        // Never on the boundary of a window, as hardly any reading is.
        log.push({ symbol, second: i - PAST_S + 0.5, rev, isStale: (busy[i] ?? 0) % 4 === 1 });
      }
    }
    return { log, ...rest };
  });

const toState = ({ second, rev, isStale }: Reading) => {
  const values = { mark: rev };
  if (!isStale) return { status: 'present', received_at: at(second), values, units: {} };
  return { status: 'stale', reason: 'state_lag', received_at: at(second), values: {}, units: {}, withheld: { values } };
};

/** The frames of each connection, their content, and when the last one begins. */
const makeScript = ({ log, steps }: Plot) => {
  const sent = new Set<Reading>();
  const connections: string[][] = [];
  let now = 0;
  let next = 0;
  for (const [n, { sent: length, away, resumes, merged }] of steps.entries()) {
    const frames: string[] = [];
    const send = (event: 'snapshot' | 'update', reading: Reading): void => {
      sent.add(reading);
      const change = event === 'update' ? { change: 'value' } : {};
      const data = {
        ...named(reading.symbol),
        layer: 'mark',
        rev: reading.rev,
        ...change,
        state: toState(reading),
      };
      frames.push(frame(`${n}-${reading.symbol}-${reading.rev}`, event, data));
    };
    const resumed = n > 0 && resumes;
    frames.push(frame(`h${n}`, 'hello', { stream_id: 's', evaluated_at: at(now), resumed, heartbeat_ms: 15_000 }));
    if (!resumed) {
      if (n > 0) {
        const expired = { from: at(next), to: at(now), reason: 'resume_expired', dropped: null, scope: {} };
        frames.push(frame(`g${n}`, 'gap', expired));
      }
      for (const symbol of SYMBOLS) {
        const newest = log.findLast((one) => one.symbol === symbol && one.second <= now);
        if (newest !== undefined) send('snapshot', newest);
      }
      next = now;
    }
    frames.push(frame(`r${n}`, 'ready', { listings: 2, layers: 2, served_at: at(now) }));
    const end = now + length;
    const slow = { from: end - Math.min(merged, length), to: end };
    const live = log.filter(({ second }) => second > next && second <= slow.from);
    for (const reading of live) send('update', reading);
    const dropped = log.filter(({ second }) => second > slow.from && second <= slow.to);
    if (dropped.length > 0) {
      const gap = { from: at(slow.from), to: at(slow.to), reason: 'slow_reader', dropped: 1, scope: {} };
      frames.push(frame(`m${n}`, 'gap', gap));
      for (const symbol of SYMBOLS) {
        const newest = dropped.findLast((one) => one.symbol === symbol);
        if (newest !== undefined) send('update', newest);
      }
    }
    next = end;
    now = end + away;
    connections.push(frames);
  }
  return { sent, connections, end: next };
};

type HistoryBody = { readonly from: string; readonly to: string; readonly interval?: string };

/** History of a node with the log up to `known`: windows that it has not reached, or that may still change, are unknown. */
const makeHistory = ({ log }: Plot, { from, to, interval }: HistoryBody, known: number) => {
  const length = interval === '1m' ? 60 : WINDOW_S;
  const settled = known >= toSeconds(to) + SETTLES_S;
  const [first, last] = [toSeconds(from), toSeconds(to)];
  const items = SYMBOLS.map((symbol) => {
    const own = log.filter((one) => one.symbol === symbol);
    const newest = new Map<number, Reading>();
    for (const one of own) if (computeEnd(one.second) <= known) newest.set(computeEnd(one.second), one);
    const rows: object[] = [];
    const missing = (end: number): object => {
      const gap_cause = settled ? 'no_update' : 'unknown';
      return { at: at(end), status: 'missing', reason: 'gap', gap_cause, received_at: null, values: {} };
    };
    const present = (end: number, { second, rev }: Reading): object => {
      return { at: at(end), status: 'present', received_at: at(second), values: { mark: rev } };
    };
    if (interval === undefined) {
      for (const [, one] of newest) if (one.second >= first && one.second < last) rows.push(present(one.second, one));
      for (let end = computeEnd(first); end < last; end += length) if (!newest.has(end)) rows.push(missing(end));
    } else {
      for (let end = Math.ceil(first / length) * length + length; end <= last; end += length) {
        const one = [...newest].findLast(([window]) => window > end - length && window <= end)?.[1];
        rows.push(one === undefined ? missing(end) : present(end, one));
      }
    }
    return { ...named(symbol), layers: { mark: { rows, history_cadence: `${WINDOW_S}s` } } };
  });
  return { settled, evaluated_at: at(known), from, to, items };
};

const openModel = async (t: Test, plot: Plot, script: ReturnType<typeof makeScript>) => {
  let opened = 0;
  const asks = new Map<string, number>();
  const history = (response: ServerResponse, request: IncomingMessage): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as HistoryBody;
      const asked = (asks.get(body.to) ?? 0) + 1;
      asks.set(body.to, asked);
      // With each answer it has come further; in the end everything is settled.
      const known = toSeconds(body.to) + (asked >= MOST_ASKS ? SETTLES_S : asked * 10 - plot.behindS);
      answerJson(200, makeHistory(plot, body, known))(response, request);
    });
  };
  const edge = await openEdgeServer(t, [
    (response, request) => {
      if (request.url?.startsWith('/v2/stream') !== true) return history(response, request);
      const frames = script.connections[opened++] ?? [];
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const text of ['retry: 1\n', ...frames]) response.write(text);
      // The last one stays open: readings withheld until now are sent once history has more.
      if (opened < script.connections.length)
        response.end(frame('again', 'bye', { reason: 'rotate', reconnect: true }));
    },
  ]);
  return createClient({ baseUrl: edge.url, key: 'k' });
};

/** What a follower from `since` on must receive, by symbol. */
const makeWanted = ({ log, interval }: Plot, { sent }: ReturnType<typeof makeScript>, since: number) => {
  const length = interval === '1m' ? 60 : WINDOW_S;
  return SYMBOLS.map((symbol) => {
    const own = log.filter((one) => one.symbol === symbol);
    const lastSent = own.findLast((one) => sent.has(one))?.rev ?? 0;
    const lastOf = new Map(own.map((one) => [Math.ceil(one.second / length), one]));
    const isStored = (one: Reading): boolean =>
      one.second >= since && lastOf.get(Math.ceil(one.second / length)) === one;
    return own.filter((one) => one.rev <= lastSent && (sent.has(one) || isStored(one))).map(({ rev }) => rev);
  });
};

const run = async (t: Test, plot: Plot): Promise<void> => {
  const script = makeScript(plot);
  const { since } = plot;
  const wanted = makeWanted(plot, script, since);
  const client = await openModel(t, plot, script);
  const returned: Followed[] = [];
  const gaps: FollowedGap[] = [];
  const request = {
    ...{ layers: ['mark'], since: FORMS[plot.form]?.(since) ?? '' },
    ...(plot.interval === null ? {} : { interval: plot.interval }),
  };
  const options = { againMs: 1, signal: AbortSignal.timeout(GUARD_MS), onGap: (gap: FollowedGap) => gaps.push(gap) };
  for await (const one of client.follow(request, options)) {
    returned.push(one);
    if (returned.length === wanted.flat().length) break;
  }
  const found = SYMBOLS.map((symbol) =>
    returned.filter(({ venue_symbol }) => venue_symbol === symbol).map(({ reading }) => figuresOf(reading)['mark']),
  );
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    throw new Error(`returned ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
  const unknown = gaps.filter((gap) => gap.source === 'history' && gap.cause === 'unknown');
  if (unknown.length > 0) throw new Error(`unknown gaps published: ${JSON.stringify(unknown)}`);
};

t.setTimeout(900_000);

t.test('the last reading of each window and everything that the stream sent, once and in order', async (t) => {
  const seed = process.env['FC_SEED'];
  await fc.assert(
    fc.asyncProperty(plots, (plot) => run(t, plot)),
    {
      numRuns: Number(process.env['RUNS'] ?? 15),
      ...(seed === undefined ? {} : { seed: Number(seed) }),
      // A run that receives too little takes a minute: the first failure is reported, without its log of hundreds of readings.
      endOnFailure: true,
      reporter: ({ failed, numRuns, seed: found, counterexamplePath: path, errorInstance: error }) =>
        t.notOk(failed, `${numRuns} runs; FC_SEED=${found} path ${path}: ${error}`),
    },
  );
});

t.test('a beginning in any form is compared in the form of the answers', (t) => {
  const micros = fc.integer({ min: Date.UTC(2000, 0, 2) * 1_000, max: Date.UTC(2099, 11, 30) * 1_000 });
  const forms = fc.record({
    micros,
    digits: fc.integer({ min: 0, max: 6 }),
    offset: fc.integer({ min: -1439, max: 1439 }),
  });
  fc.assert(
    fc.property(forms, ({ micros, digits, offset }) => {
      const local = formatInstantMicros(micros + offset * 60_000_000);
      const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((n) =>
        String(n).padStart(2, '0'),
      );
      const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${hours}:${minutes}`;
      const text = `${local.slice(0, digits === 0 ? 19 : 20 + digits)}${zone}`;
      return toAnswerForm(text) === formatInstant(parseInstant(text) ?? Number.NaN);
    }),
  );
  t.equal(toAnswerForm('2024-02-29'), '2024-02-29T00:00:00.000Z');
  t.equal(toAnswerForm('2026-01-15T12:00Z'), '2026-01-15T12:00:00.000Z');
  const wrong = ['2026-01-15T12:00', '2026-13-01', 'yesterday', '15 Jan 2026', '2026-01-15T12:00:00.1234567Z'];
  const unreal = ['2027-02-29', '2027-02-29T00:00:00Z', '2026-11-31', '2026-01-15T24:00:00Z', '2026-01-15T24:00+01:00'];
  for (const text of [...wrong, ...unreal]) t.equal(toAnswerForm(text), text, 'the service refuses it');
  t.end();
});
