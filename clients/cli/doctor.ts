// `perp doctor`: checks everything between the user and an answer, one line a check, and shows what is stale and why.
import { makeUnreachable } from '../typescript/src/errors.ts';
import { ApiError, type Client, type SnapshotsAnswer } from '../typescript/src/index.ts';
import { Ended, EXIT, toExitCode } from './exit.ts';
import type { Row } from './output.ts';
import { formatCount } from './rows.ts';
import { print, type Run, readTextOption } from './run.ts';
import type { Settings } from './settings.ts';

type Finding = {
  readonly outcome: 'ok' | 'warn' | 'FAIL';
  readonly check: string;
  readonly says: string;
  readonly exit?: number;
};

/** An answer's age depends on the service's clock; with more than this between the two clocks, ages mean little. */
const CLOCK_WARN_MS = 1_000;
const DAYS_LEFT_WARN = 3;
const DAY_MS = 86_400_000;
const TOLD = 12;
const READY_WITHIN_MS = 10_000;

type Examined = {
  readonly client: Client<string>;
  readonly settings: Settings;
  readonly where: string | undefined;
  readonly signal: AbortSignal;
};

const makeFailed = (check: string, error: unknown): Finding => {
  const says = error instanceof ApiError ? `${error.message} ${error.hint ?? ''}`.trim() : String(error);
  return { outcome: 'FAIL', check, says, exit: toExitCode(error) };
};

const checkSettings = ({ baseUrl, baseUrlFrom, key, keyFrom }: Settings): readonly Finding[] => [
  { outcome: 'ok', check: 'address', says: `${baseUrl} (${baseUrlFrom})` },
  key === null
    ? {
        outcome: 'warn',
        check: 'key',
        says: 'none: set PERP_API_KEY, or run perp login. Venues, instruments and dql check need none.',
      }
    : { outcome: 'ok', check: 'key', says: `from ${keyFrom}` },
];

type Ready = { readonly status?: string; readonly simulated?: boolean; readonly problems?: readonly string[] };

const checkReady = async (baseUrl: string, signal: AbortSignal): Promise<Finding> => {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(READY_WITHIN_MS)]),
    });
    const { status, simulated, problems = [] } = (await answer.json()) as Ready;
    const source = simulated === true ? 'simulated venues' : 'live venues';
    return status === 'ready'
      ? { outcome: 'ok', check: 'service', says: `ready, ${source}` }
      : { outcome: 'FAIL', check: 'service', says: `not ready: ${problems.join(' ')}`, exit: EXIT.unavailable };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SyntaxError)) return makeFailed('service', makeUnreachable(baseUrl, error));
    const says = `${baseUrl} is the address of another service: its response is not JSON. Check the address.`;
    return { outcome: 'FAIL', check: 'service', says, exit: EXIT.unavailable };
  }
};

/** Half of the way there and back is taken as the time of the answer. */
const checkClock = async ({ client, signal }: Examined): Promise<Finding> => {
  const sent = Date.now();
  const { evaluated_at } = await client.venues({}, { signal });
  const offset = Math.round(Date.parse(evaluated_at) - (sent + Date.now()) / 2);
  const way = Date.now() - sent;
  const says = `${Math.abs(offset)} ms ${offset > 0 ? 'behind' : 'ahead of'} the service's (there and back ${way} ms)`;
  return { outcome: Math.abs(offset) > CLOCK_WARN_MS + way ? 'warn' : 'ok', check: 'clock', says };
};

const checkPlan = async ({ client, signal }: Examined): Promise<readonly Finding[]> => {
  const { plan, key, today, venues, layers } = await client.account({}, { signal });
  const { used, limit, remaining } = today.requests;
  const ends = key.expires_at ?? plan.expires_at;
  const days = ends === null ? null : (Date.parse(ends) - Date.now()) / DAY_MS;
  const until = ends === null ? '' : `, until ${ends}`;
  return [
    {
      outcome: days !== null && days < DAYS_LEFT_WARN ? 'warn' : 'ok',
      check: 'plan',
      says: `${plan.name}: ${venues.join(', ')}; ${layers.join(', ')}${until}`,
    },
    {
      outcome: remaining === 0 ? 'FAIL' : remaining < limit / 10 ? 'warn' : 'ok',
      check: 'requests',
      says: `${used} of ${limit} used today`,
      ...(remaining === 0 ? { exit: EXIT.limit } : {}),
    },
  ];
};

const checkVenues = async ({ client, signal }: Examined): Promise<readonly Finding[]> => {
  const { items } = await client.venues({}, { signal });
  return items
    .filter(({ state }) => state !== 'live')
    .map(
      ({ venue, state, state_since }) =>
        ({ outcome: 'warn', check: venue, says: `${state} since ${state_since ?? 'its start'}` }) as const,
    );
};

/** Readings that are not current, counted by venue, layer and reason. */
export const listStaleFindings = ({ items }: Pick<SnapshotsAnswer<string>, 'items'>): readonly Finding[] => {
  const counts = new Map<string, number>();
  let present = 0;
  for (const { venue, layers } of items) {
    for (const [layer, { status, reason = '', gap_cause: cause }] of Object.entries(layers)) {
      if (status === 'present') present += 1;
      if (status !== 'stale' && status !== 'missing') continue;
      const why = `${venue} ${layer}: ${status}, ${reason}${cause === undefined ? '' : ` (${cause})`}`;
      counts.set(why, (counts.get(why) ?? 0) + 1);
    }
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  return [
    {
      outcome: sorted.length === 0 ? 'ok' : 'warn',
      check: 'readings',
      says: `${present} present, ${sorted.reduce((sum, [, n]) => sum + n, 0)} not`,
    },
    ...sorted
      .slice(0, TOLD)
      .map(
        ([why, count]) =>
          ({ outcome: 'warn', check: 'stale', says: `${why}, ${formatCount(count, 'listing')}` }) as const,
      ),
  ];
};

const checkReadings = async ({ client, where, signal }: Examined): Promise<readonly Finding[]> =>
  listStaleFindings(await client.snapshots(where === undefined ? {} : { where }, { signal }));

/** Every check in order; those behind a failed one are left out. Rejects once the signal is aborted. */
const examine = async (examined: Examined): Promise<readonly Finding[]> => {
  const { settings, signal } = examined;
  const findings: Finding[] = [...checkSettings(settings), await checkReady(settings.baseUrl, signal)];
  if (findings.some(({ outcome }) => outcome === 'FAIL')) return findings;
  const steps: readonly (readonly [string, () => Promise<readonly Finding[]>])[] = [
    ['clock', async () => [await checkClock(examined)]],
    ['venues', () => checkVenues(examined)],
    ...(settings.key === null
      ? []
      : ([
          ['plan', () => checkPlan(examined)],
          ['readings', () => checkReadings(examined)],
        ] as const)),
  ];
  for (const [check, run] of steps) {
    const found = await run().catch((error: unknown) => [makeFailed(check, error)]);
    signal.throwIfAborted();
    findings.push(...found);
    if (found.some(({ outcome }) => outcome === 'FAIL')) break;
  }
  return findings;
};

const toFindingRows = (findings: readonly Finding[]): Row[] =>
  findings.map(({ outcome, check, says }) => ({ outcome, check, says }));

const findExit = (findings: readonly Finding[]): number =>
  findings.find(({ exit }) => exit !== undefined)?.exit ?? EXIT.ok;

export const runDoctor = async (run: Run): Promise<void> => {
  const { client, settings, options, world } = run;
  const where = readTextOption(options, 'where');
  const findings = await examine({ client, settings, where, signal: world.signal });
  print(run, { objects: findings, rows: toFindingRows(findings) });
  const code = findExit(findings);
  if (code !== EXIT.ok) throw new Ended(code);
};
