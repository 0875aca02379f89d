// The day's turnover that narrowing plans choose by, the same on every node (AC-02): the newest stored one is read and kept; on the
// first day of an installation, the first process with statistics of all its venues in memory writes them down for all.
import type { Pool } from 'pg';
import type { Logger } from '../../infra/runtime/process/log.ts';
import { createOutageLog } from '../../infra/runtime/process/outage-log.ts';
import { toDayOf } from '../../schemas/instants.ts';
import type { Digits, Micros } from '../../schemas/records.ts';
import type { LiveMemory } from '../live/memory.ts';
import { measureTurnover, type Turnover } from './turnover.ts';

export type StoredTurnover = { readonly day: string; readonly turnover: Turnover };

/** The PostgreSQL channel for a new day's turnover. */
export const TURNOVER_CHANNEL = 'daily_turnover';

type Table = Readonly<Record<string, Readonly<Record<string, Digits | null>>>>;
type Row = { readonly day: string; readonly turnover: Table };

const NEWEST = `
  select day::text as day, turnover from daily_turnover where day <= $1 and ($2::date is null or day > $2) order by day desc limit 1`;
const WRITE = `insert into daily_turnover (day, source, turnover) values ($1, 'live', $2) on conflict do nothing`;

const toTurnover = (table: Table): Turnover =>
  new Map(Object.entries(table).map(([venue, byInstrument]) => [venue, new Map(Object.entries(byInstrument))]));

const toTable = (turnover: Turnover): Table =>
  Object.fromEntries([...turnover].map(([venue, byInstrument]) => [venue, Object.fromEntries(byInstrument)]));

const LOOK_EVERY_MS = 10_000;
/** While a first day has no choice, which is then made in the first minute. */
const FIRST_LOOK_EVERY_MS = 1_000;
/** A venue that is down holds back the choice of a first day for so long. */
const PATIENCE: Micros = 120_000_000;

type TurnoverKeeper = {
  /** The newest known; null while none is stored. */
  readonly current: () => StoredTurnover | null;
  /** Looks for a newer one now; rejects when the store is unavailable. */
  readonly refresh: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

type TurnoverDeps = {
  readonly pool: Pick<Pool, 'query'>;
  readonly live: LiveMemory;
  readonly nowMicros: () => Micros;
  readonly log: Pick<Logger, 'warn' | 'info'>;
};

/** Reads immediately and continues to poll, because a notification may be lost and the first day has to wait for statistics. */
export const keepTurnover = ({ pool, live, nowMicros, log }: TurnoverDeps): TurnoverKeeper => {
  const outages = createOutageLog(log, 'the turnover that plans choose by could not be read');
  let held: StoredTurnover | null = null;
  let readyAt: Micros | null = null;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;

  const readNewer = async (day: string): Promise<boolean> => {
    const { rows } = await pool.query<Row>(NEWEST, [day, held?.day ?? null]);
    const row = rows[0];
    if (row === undefined) return false;
    held = { day: row.day, turnover: toTurnover(row.turnover) };
    log.info({ day: row.day }, 'turnover that plans choose by');
    return true;
  };

  const refresh = async (): Promise<void> => {
    const at = nowMicros();
    const day = toDayOf(at);
    if ((await readNewer(day)) || held !== null || !live.isReady()) return;
    readyAt ??= at;
    const { turnover, measured } = measureTurnover(live, at);
    if (measured === 'nothing' || (measured === 'half' && at - readyAt < PATIENCE)) return;
    await pool.query(WRITE, [day, JSON.stringify(toTable(turnover))]);
    await readNewer(day);
  };

  let looking: Promise<void>;
  const look = (): void => {
    looking = refresh()
      .then(outages.noteSuccess, outages.noteFailure)
      .then(() => {
        if (!isStopped) timer = setTimeout(look, held === null ? FIRST_LOOK_EVERY_MS : LOOK_EVERY_MS).unref();
      });
  };
  look();
  return {
    current: () => held,
    refresh,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
};
