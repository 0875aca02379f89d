// Prices of a book's levels by their id: updates and deletions name the id alone.
import type { Digits } from '../../../schemas/records.ts';
import type { OwnJson } from '../contract/mapping.ts';
import { readId } from '../shared/wire.ts';

/** A number where a double holds all its digits, else its text. */
export type LevelId = number | string;

const toLevelId = (text: string): LevelId => {
  const number = Number(text);
  return Number.isSafeInteger(number) && String(number) === text ? number : text;
};

/** Throws `VenueError`. */
export const readLevelId = (value: unknown): LevelId =>
  Number.isSafeInteger(value) ? (value as number) : toLevelId(readId(value, 'id'));

/** The key of an ask. A row is known by its id and its side (`keys` of the table): while a level changes sides, two rows may have one id. */
export const toAskKey = (id: LevelId): LevelId => (typeof id === 'number' ? -id : `-${id}`);

/** A map, because an object takes twice the time for ids of ten digits. */
export class LevelPrices extends Map<LevelId, Digits> {
  toJSON(): Readonly<Record<string, Digits>> {
    return Object.fromEntries(this);
  }

  /** The text of its JSON. Ids and prices need no escapes. */
  formatJson(): string {
    let text = '';
    for (const [id, price] of this) text += `${text === '' ? '' : ','}"${id}":"${price}"`;
    return `{${text}}`;
  }
}

type PlainBooks = Readonly<Record<string, Readonly<Record<string, Digits>>>>;

/**
 * Prices of each book whose partial has arrived. A checkpoint writes them all at once, of some 100,000 levels: an object of the maps would take four
 * times the time of their text, from which `restoreBookPrices` makes them again.
 */
export class BookPrices extends Map<string, LevelPrices> implements OwnJson {
  toJSON(): PlainBooks {
    return Object.fromEntries(Array.from(this, ([symbol, prices]) => [symbol, prices.toJSON()]));
  }

  formatJson(): string {
    return `{${Array.from(this, ([symbol, prices]) => `${JSON.stringify(symbol)}:${prices.formatJson()}`).join()}}`;
  }
}

const restoreLevelPrices = (held: PlainBooks[string]): LevelPrices =>
  new LevelPrices(Object.entries(held).map(([text, price]) => [toLevelId(text), price]));

/** What a state holds of books: the prices, or their JSON where a checkpoint was read. */
export const restoreBookPrices = (held: BookPrices | PlainBooks): BookPrices =>
  held instanceof BookPrices
    ? held
    : new BookPrices(Object.entries(held).map(([symbol, prices]) => [symbol, restoreLevelPrices(prices)]));
