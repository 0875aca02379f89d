// `npm run bench -- mapping [VENUE...]`: how fast our mapping reads recorded messages, compared with tardis-dev and bare JSON.parse in the same run.
//
// MAPPING_RECORDINGS=FOLDER   reads FOLDER/<venue>/*.ndjson[.gz] too, besides test/fixtures
//   MAPPING_ROUNDS=N            rounds a venue (41)
//
// Reads only messages of sockets that every reader turns into records, each reader from the same bytes. In every round each reader reads all
// of them in turn, a small set many times; ratios are of processor time within one round, and their median is printed with the bounds that
// contain the true one in 19 of 20 benches. `hash` is that of all records of the recordings, as `npm run normalise` prints them, plain and
// assembled: a change of speed alone keeps it.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Venue } from '../../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../../ingest/venues/index.ts';
import { PROJECT_ROOT } from '../../engines/java.ts';
import { normalise } from '../../tools/normalise.ts';
import { sum } from '../instruments/figures.ts';
import { describeMachine } from '../instruments/machine.ts';
import { renderColumns } from '../instruments/table.ts';
import { openBareParse, openOurs, openTardis, readByAll } from './mapping-readers.ts';
import { computeMedian, measureRounds } from './mapping-rounds.ts';
import { listRecordings, readRecorded } from './mapping-sessions.ts';

/** Hash of all records of the recordings, in both forms. */
const hashRecords = async (venue: Venue, files: readonly string[]): Promise<string> => {
  const hash = createHash('sha256');
  for (const assembled of [false, true])
    await normalise({ venue, files, assembled, write: (line) => void hash.update(`${line}\n`) });
  return hash.digest('hex').slice(0, 12);
};

const formatRatios = (ratios: readonly number[]): string => {
  const { median, from, to } = computeMedian(ratios);
  return `${median.toFixed(2)} (${from.toFixed(2)} .. ${to.toFixed(2)})`;
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
  const measured = measureRounds(readers, sessions, rounds);
  const costs = (['ours', 'tardis', 'parse'] as const).map((name) =>
    (computeMedian(measured.map((round) => round[name])).median / messages).toFixed(2),
  );
  const ofTardis = measured.map(({ ours, tardis }) => tardis / ours);
  const ofParse = measured.map(({ ours, parse }) => parse / ours);
  return [venue.id, String(messages), ...costs, formatRatios(ofTardis), formatRatios(ofParse), hash];
};

/** `wanted` are venue ids; all without. */
export const benchMapping = async (wanted: readonly string[]): Promise<void> => {
  const { MAPPING_RECORDINGS: more = '', MAPPING_ROUNDS: rounds = '41' } = process.env;
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
