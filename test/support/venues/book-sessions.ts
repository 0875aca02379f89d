// Follows the books of a recorded session as the collector does: by chains alone.
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { Chain } from '../../../ingest/venues/shared/book-sync.ts';
import { type BookSync, isWhole, makeBookSync, stepBookSync } from '../../../ingest/venues/shared/book-sync.ts';
import type { Recorded } from './recordings.ts';

type Followed = {
  /** Symbols of the breaks found, in order. */
  readonly broke: readonly string[];
  /** Symbols whose book is whole at the end, sorted. */
  readonly whole: readonly string[];
  readonly applied: number;
};

export const listChains = (venue: Venue, lines: readonly Recorded[]): readonly Chain[] =>
  lines.flatMap(({ dir, raw }) => (dir === 'in' ? (venue.sequence(raw) ?? []) : []));

export const followBooks = (venue: Venue, chains: readonly Chain[]): Followed => {
  const books = new Map<string, BookSync<null>>();
  const broke: string[] = [];
  let applied = 0;
  for (const chain of chains) {
    const step = stepBookSync(venue.bookRule, books.get(chain.symbol) ?? makeBookSync<null>(), {
      chain,
      payload: null,
    });
    books.set(chain.symbol, step.state);
    applied += step.apply.length;
    if (step.broke) broke.push(chain.symbol);
  }
  const whole = [...books].filter(([, state]) => isWhole(state)).map(([symbol]) => symbol);
  return { broke, whole: whole.toSorted(), applied };
};
