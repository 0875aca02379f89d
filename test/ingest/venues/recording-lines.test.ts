// What normalise prints of any venue's recordings: readings before listings (records.md), nothing dropped unsaid where a request is not known, whole
// sides as such, nothing of contracts with a delivery.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Counts, normalise } from '../../../infra/dev/tools/normalise.ts';
import { VenueError, type VenueMessage } from '../../../ingest/venues/contract/listings.ts';
import type { Mapped, MapState } from '../../../ingest/venues/contract/mapping.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import type { NormalisedRecord } from '../../../schemas/records.ts';
import {
  fixturePath,
  type Recorded,
  readRecording,
  recordingsIn,
  toVenueMessage,
} from '../../support/venues/recordings.ts';
import { factsAbout } from '../../support/venues/venue-facts.ts';
import { chooseSeeds, readRecordings, readReference } from '../../support/venues/venue-seeds.ts';
import { readShapes } from '../../support/venues/venue-shapes.ts';

const folder = mkdtempSync(join(tmpdir(), 'lines-'));
t.teardown(() => rmSync(folder, { recursive: true }));

type Printed = { readonly layer: string; readonly src?: { readonly file: string; readonly line: number } };

const print = async (
  venue: Venue,
  files: readonly string[],
  books: 'published' | 'assembled' = 'published',
): Promise<{ counts: Counts; printed: readonly Printed[] }> => {
  const printed: Printed[] = [];
  const write = (line: string): void => void printed.push(JSON.parse(line) as Printed);
  return { counts: await normalise({ venue, files, assembled: books === 'assembled', write }), printed };
};

t.test('within a message the listings come after the readings', async (t) => {
  for (const venue of venues.values()) {
    const { printed } = await print(venue, recordingsIn(venue.id).map(fixturePath));
    const early = printed.filter(({ layer, src }, i) => {
      const next = printed[i + 1];
      const isSame = next?.src?.file === src?.file && next?.src?.line === src?.line;
      return layer === 'listing' && isSame && next?.layer !== 'listing' && next?.layer !== 'error';
    });
    t.same(early.slice(0, 1), [], venue.id);
  }
});

const listAnswers = (venue: Venue): readonly Recorded[] =>
  recordingsIn(venue.id)
    .flatMap(readRecording)
    .filter(({ dir, kind }) => dir === 'in' && kind === 'rest')
    .map(({ url: _, ...line }) => line);

t.test('an answer without its request is read where it says what it is, and else counted as unread', async (t) => {
  for (const venue of venues.values()) {
    const lines = listAnswers(venue);
    const path = join(folder, `${venue.id}.ndjson`);
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const { counts, printed } = await print(venue, [path]);
    const read = new Set(printed.map(({ src }) => src?.line));
    t.equal(counts.messages, lines.length);
    t.equal(counts.errors, 0, `${venue.id}: no error of a guess`);
    t.equal(counts.unread, lines.length - read.size, `${venue.id}: ${counts.unread} of ${lines.length} unread`);
    const assembled = await print(venue, [path], 'assembled');
    t.equal(assembled.counts.unread, counts.unread, 'what an assembled book leaves out was read');
  }
});

t.test('white space in an answer without its request does not decide whether it is read', async (t) => {
  for (const venue of venues.values()) {
    const path = join(folder, `${venue.id}-spaced.ndjson`);
    const listRead = async (spell: (raw: string) => string): Promise<readonly (number | undefined)[]> => {
      const lines = listAnswers(venue).map((line) => ({ ...line, raw: spell(line.raw) }));
      writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const { printed } = await print(venue, [path]);
      return [...new Set(printed.map(({ src }) => src?.line))];
    };
    const asRecorded = await listRead((raw) => raw);
    t.same(await listRead((raw) => JSON.stringify(JSON.parse(raw), null, 4)), asRecorded, `${venue.id}: indented`);
  }
});

type Side = 'bid' | 'ask';
type Complete = Readonly<Record<Side, boolean>>;
type PrintedBook = Printed & {
  readonly values: { readonly bands: Readonly<Record<string, { readonly complete: Complete }>> };
};

/** Sides that snapshots among a recording's frames declare whole, by line. */
const listWholeSides = (
  venue: Venue,
  file: string,
): readonly { readonly line: number; readonly sides: readonly Side[] }[] => {
  const state = {};
  return readRecording(file).flatMap((recorded, i) => {
    if (recorded.dir !== 'in' || recorded.kind !== 'ws') return [];
    const chains = mapReadable(venue, state, recorded).flatMap(({ chain }) => chain ?? []);
    const full = chains.length === 1 && chains[0]?.kind === 'snapshot' ? chains[0].full : undefined;
    const sides = (['bid', 'ask'] as const).filter((side) => full?.[`${side}s`] === true);
    return sides.length === 0 ? [] : [{ line: i + 1, sides }];
  });
};

const mapReadable = (venue: Venue, state: MapState, line: Recorded): readonly Mapped[] => {
  try {
    return venue.map(state, toVenueMessage(line), { listings: new Map() });
  } catch (error) {
    if (error instanceof VenueError) return [];
    throw error;
  }
};

t.test('a side that a frame declares whole has complete bands, however far it reaches (L-03)', async (t) => {
  const declaring: string[] = [];
  for (const venue of venues.values())
    for (const file of recordingsIn(venue.id)) {
      const whole = listWholeSides(venue, file);
      if (whole.length === 0) continue;
      const { printed } = await print(venue, [fixturePath(file)], 'assembled');
      const books = new Map(
        printed.filter(({ layer }) => layer === 'book').map((book) => [book.src?.line, book as PrintedBook]),
      );
      const wrong = whole.filter(({ line, sides }) => {
        const bands = Object.values(books.get(line)?.values.bands ?? {});
        return bands.some(({ complete }) => sides.some((side) => !complete[side]));
      });
      t.same(wrong.slice(0, 1), [], `${file}: ${whole.length} frames`);
      declaring.push(venue.id);
    }
  t.ok(new Set(declaring).size >= 8, `${[...new Set(declaring)]}`);
});

const give = (venue: Venue, message: VenueMessage): readonly NormalisedRecord[] => {
  const listings = readReference(venue, message)?.listings ?? [];
  try {
    return [...listings, ...venue.map({}, message, { listings: new Map() }).map(({ record }) => record)];
  } catch (error) {
    if (error instanceof VenueError) return [];
    throw error;
  }
};

const renamed = (message: VenueMessage, symbol: string, dated: string): VenueMessage => ({
  ...message,
  request: message.request?.replaceAll(symbol, dated) ?? null,
  payload: Buffer.from(Buffer.from(message.payload).toString('utf8').replaceAll(symbol, dated)),
});

t.test('a contract with a delivery gives nothing in any message, whatever else the message says of it', (t) => {
  for (const venue of venues.values()) {
    const { dated } = factsAbout(venue);
    const messages = readRecordings(venue);
    const seeds = [...chooseSeeds(messages), ...readShapes(venue).map(({ message }) => message)];
    const faults: string[] = [];
    let tried = 0;
    for (const [symbol, name] of dated)
      for (const seed of seeds) {
        if (!give(venue, seed).some(({ venue_symbol }) => venue_symbol === symbol)) continue;
        const message = renamed(seed, symbol, name);
        const given = give(venue, message).filter(({ venue_symbol }) => String(venue_symbol).includes(name));
        tried++;
        if (given.length > 0)
          faults.push(`${given[0]?.layer} of ${message.request} ${message.payload.toString().slice(0, 200)}`);
      }
    t.same(faults.slice(0, 3), [], venue.id);
    t.ok(tried > 0 || dated.length === 0, `${venue.id}: ${tried} messages`);
  }
  t.end();
});
