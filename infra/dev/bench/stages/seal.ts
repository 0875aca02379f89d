// Time from the earliest instant a window could be sealed until its row is readable in QuestDB, compared with a bare write of as many rows.
import { setTimeout as pause } from 'node:timers/promises';
import type { Row } from '../../../../schemas/topics.ts';
import { openQuestdbReader } from '../../../runtime/questdb/reader.ts';
import { createRowSender } from '../../../runtime/questdb/row-sender.ts';
import { type Figure, findQuantile, makeFigure, makeUpperAim } from '../instruments/figures.ts';
import { combineRounds } from '../instruments/rounds.ts';
import { waitUntil } from '../instruments/until.ts';
import type { Run } from '../run.ts';
import type { SealDelay } from './log-watch.ts';

type SealSpec = {
  /** The first windows seal about 110 s after the first reading. */
  readonly waitMs: number;
  /** Per round: the shortest window's length, so that each round has its seals. */
  readonly seconds: number;
  readonly rounds: number;
};

const TABLE = 'bench_limit';
const ROUNDS = 10;
const LIMIT_ROWS = 500;

const makeRow = (at: number): Row => ({
  table: TABLE,
  at,
  texts: { listing: `binance|SIM${at % LIMIT_ROWS}`, venue: 'binance', status: 'present' },
  instants: { received_at: at, recorded_at: at },
  integers: { src_offset: at },
  figures: { mark: '97000.1', index_price: '97001.2', basis: '-0.00001134' },
  flags: { late: false },
});

/** Median time until 500 rows of one table, sent in one request, are readable. */
const measureBareWriteMs = async ({ service }: Run): Promise<number | null> => {
  const { questdb_http: http, questdb_pg: pg, questdb_user: user, questdb_password: password } = service.endpoints;
  if (http === null || pg === null) return null;
  const auth = { user: user ?? '', password: password ?? '' };
  const reader = openQuestdbReader(pg, { max: 1, timeoutMs: 15_000, auth });
  const sender = createRowSender(http, { auth });
  try {
    await reader.query({
      text: `CREATE TABLE IF NOT EXISTS ${TABLE} (at TIMESTAMP, listing SYMBOL INDEX, venue SYMBOL, status SYMBOL, received_at TIMESTAMP,
        recorded_at TIMESTAMP, src_offset LONG, mark DOUBLE, index_price DOUBLE, basis DOUBLE, late BOOLEAN, digits VARCHAR)
        TIMESTAMP(at) PARTITION BY DAY WAL DEDUP UPSERT KEYS(at, listing, src_offset)`,
    });
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const first = Date.now() * 1_000;
      const began = performance.now();
      await sender.send(
        TABLE,
        Array.from({ length: LIMIT_ROWS }, (_, i) => makeRow(first + i)),
      );
      await sender.waitVisible([TABLE]);
      times.push(performance.now() - began);
    }
    return findQuantile(times, 0.5);
  } finally {
    await sender.close();
    await reader.close();
  }
};

const POLL_MS = 200;

/** Rows of each round, from the first window that seals on; empty when none does in time. */
const collect = async (run: Run, { waitMs, seconds, rounds }: SealSpec): Promise<readonly (readonly SealDelay[])[]> => {
  let first: readonly SealDelay[] = [];
  const hasSealed = (): boolean => {
    first = run.watch.takeSealed();
    return first.length > 0;
  };
  if (!(await waitUntil(hasSealed, { everyMs: POLL_MS, forMs: waitMs }))) return [];
  const collected: (readonly SealDelay[])[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await pause(seconds * 1_000);
    collected.push([...(round === 0 ? first : []), ...run.watch.takeSealed()]);
  }
  return collected;
};

const WAYS = [
  ['window seal to visible in QuestDB', (delay: SealDelay) => delay.fromSealMs, 3_000],
  ['row published to visible in QuestDB', (delay: SealDelay) => delay.fromRowMs, null],
] as const;

const toFigures = (rows: readonly SealDelay[], limit: number | null): Figure[] => {
  const parts = { limit, limitIs: `bare write of ${LIMIT_ROWS} rows until visible`, note: `${rows.length} rows` };
  return WAYS.flatMap(([name, pick, aimMs]) => [
    makeFigure({ name: `${name} p50`, unit: 'ms', measured: findQuantile(rows.map(pick), 0.5), ...parts }),
    makeFigure({
      name: `${name} p99`,
      unit: 'ms',
      measured: findQuantile(rows.map(pick), 0.99),
      ...parts,
      aim: aimMs === null ? null : makeUpperAim(aimMs),
    }),
  ]);
};

export const measureSeal = async (run: Run, spec: SealSpec): Promise<Figure[]> => {
  const rounds = await collect(run, spec);
  const limit = await measureBareWriteMs(run);
  // Without a row the figures are listed with empty values.
  return combineRounds((rounds.length === 0 ? [[]] : rounds).map((rows) => toFigures(rows, limit)));
};
