// `npm run bench -- mapping [VENUE...]`: how fast our mapping reads recorded messages, compared with tardis-dev and bare JSON.parse in the same run.
//
// MAPPING_RECORDINGS=FOLDER   reads FOLDER/<venue>/*.ndjson[.gz] too, besides test/fixtures
//   MAPPING_ROUNDS=N            rounds a venue (15)
//
// Reads only messages of sockets that every reader turns into records, each reader from the same bytes. In every round each reader reads all
// of them in turn; ratios are of CPU time within one round, and the median of the rounds is printed with minimum and maximum. `hash` is
// that of all records of the recordings, as `npm run normalise` prints them, plain and assembled: a change of speed alone keeps it.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { normalise } from '../tools/normalise.ts';
import { findQuantile, sum } from './figures.ts';
import { describeMachine } from './machine.ts';
import { type Open, openBareParse, openOurs, openTardis, readByAll } from './mapping-readers.ts';
import { listRecordings, readRecorded, type Session } from './mapping-sessions.ts';
import { renderColumns } from './table.ts';

/** CPU time of our mapping in one round; determines how often a round reads its sessions. */
const ROUND_SECONDS = 0.1;
const WARM_ROUNDS = 3;

/** CPU time of one reader over all sessions, opened anew each time; excludes the opening. */
const measureSeconds = (open: Open, sessions: readonly Session[], times: number): number => {
  let micros = 0;
  for (let time = 0; time < times; time++) {
    for (const session of sessions) {
      const read = open(session);
      const begun = process.cpuUsage();
      for (const message of session.messages) read(message);
      const { user, system } = process.cpuUsage(begun);
      micros += user + system;
    }
  }
  return micros / 1e6;
};

type Round = { readonly ours: number; readonly tardis: number; readonly parse: number };

const measure = (
  readers: Readonly<Record<keyof Round, Open>>,
  sessions: readonly Session[],
  rounds: number,
): Round[] => {
  const once = measureSeconds(readers.ours, sessions, 1);
  const times = Math.max(1, Math.ceil(ROUND_SECONDS / Math.max(once, 1e-4)));
  const round = (): Round => ({
    ours: measureSeconds(readers.ours, sessions, times) / times,
    tardis: measureSeconds(readers.tardis, sessions, times) / times,
    parse: measureSeconds(readers.parse, sessions, times) / times,
  });
  for (let warm = 0; warm < WARM_ROUNDS; warm++) round();
  return Array.from({ length: rounds }, round);
};

/** Hash of all records of the recordings, in both forms. */
const hashRecords = async (venue: Venue, files: readonly string[]): Promise<string> => {
  const hash = createHash('sha256');
  for (const assembled of [false, true])
    await normalise({ venue, files, assembled, write: (line) => void hash.update(`${line}\n`) });
  return hash.digest('hex').slice(0, 12);
};

const formatRatios = (ratios: readonly number[]): string => {
  const [median, least, most] = [0.5, 0, 1].map((share) => (findQuantile(ratios, share) ?? 0).toFixed(2));
  return `${median} (${least} .. ${most})`;
};

const HEAD = ['venue', 'messages', 'µs each', 'tardis-dev', 'JSON.parse', 'of tardis-dev', 'of JSON.parse', 'hash'];
const RIGHT: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 6]);

const benchVenue = async (venue: Venue, folders: readonly string[], rounds: number): Promise<readonly string[]> => {
  const files = folders.flatMap((folder) => listRecordings(folder, venue.id));
  const recorded = readRecorded(venue, files);
  const readers = { ours: openOurs(venue, recorded), tardis: openTardis(venue.id), parse: openBareParse };
  const sessions = readByAll(recorded.sessions, Object.values(readers));
  const messages = sum(sessions.map((session) => session.messages.length));
  const hash = await hashRecords(venue, files);
  if (messages === 0) return [venue.id, '0', '', '', '', '', '', hash];
  const measured = measure(readers, sessions, rounds);
  const each = (name: keyof Round): string =>
    (
      ((findQuantile(
        measured.map((round) => round[name]),
        0.5,
      ) ?? 0) /
        messages) *
      1e6
    ).toFixed(2);
  const ofTardis = measured.map((round) => round.tardis / round.ours);
  const ofParse = measured.map((round) => round.parse / round.ours);
  const costs = [each('ours'), each('tardis'), each('parse')];
  return [venue.id, String(messages), ...costs, formatRatios(ofTardis), formatRatios(ofParse), hash];
};

/** `wanted` are venue ids; all without. */
export const benchMapping = async (wanted: readonly string[]): Promise<void> => {
  const { MAPPING_RECORDINGS: more = '', MAPPING_ROUNDS: rounds = '15' } = process.env;
  const folders = [join(PROJECT_ROOT, 'test/fixtures'), ...(more === '' ? [] : [more])];
  const rows: (readonly string[])[] = [];
  for (const venue of venues.values()) {
    if (wanted.length > 0 && !wanted.includes(venue.id)) continue;
    process.stderr.write(`${venue.id}\n`);
    rows.push(await benchVenue(venue, folders, Number(rounds)));
  }
  process.stdout.write(`\n${describeMachine()}; ${rounds} rounds\n\n${renderColumns(HEAD, rows, RIGHT)}\n`);
};

if (import.meta.main) await benchMapping(process.argv.slice(2));
