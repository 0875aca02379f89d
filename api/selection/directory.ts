// Every name ever listed, for resolving selections: known codes, their catalogue spelling, listings by instrument (S-03, S-04).
import { compareBytes } from '../../schemas/text-order.ts';
import { type CodeKey, type Codes, foldCase } from '../language/codes.ts';
import type { LiveListing } from '../live/listing-book.ts';
import type { LiveMemory } from '../live/memory.ts';

export type Directory = {
  readonly version: number;
  readonly codes: Codes;
  /** All listings ever seen that have a version, ascending by (venue, venue_symbol) bytes. */
  readonly listings: readonly LiveListing[];
};

const buildDirectory = (memory: LiveMemory): Directory => {
  const codes = { instrument: new Map(), base: new Map(), venue: new Map(), quote: new Map() } satisfies Record<
    CodeKey,
    Map<string, string>
  >;
  const listings: LiveListing[] = [];
  const know = (key: CodeKey, code: string): void => void codes[key].set(foldCase(key, code), code);
  for (const { venue, listings: listed } of memory.venues()) {
    know('venue', venue);
    const inOrder = [...listed.values()].filter((l) => l.versions.length > 0);
    listings.push(...inOrder.sort((a, b) => compareBytes(a.venueSymbol, b.venueSymbol)));
    for (const { versions } of inOrder) {
      for (const { record } of versions) {
        know('instrument', record.values.instrument);
        know('base', record.values.base);
        know('quote', record.values.quote);
      }
    }
  }
  return { version: memory.version, codes, listings };
};

const built = new WeakMap<LiveMemory, Directory>();

/** The directory of a memory copy, rebuilt only when a listing or capability version came. */
export const findDirectory = (memory: LiveMemory): Directory => {
  const held = built.get(memory);
  if (held !== undefined && held.version === memory.version) return held;
  const directory = buildDirectory(memory);
  built.set(memory, directory);
  return directory;
};
