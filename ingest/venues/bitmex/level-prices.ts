// Prices of a book's levels by their id: updates and deletions name the id alone.
import type { Digits } from '../../../schemas/records.ts';
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

/** A map, because an object takes twice the time for ids of ten digits. Its JSON is an object, from which `restoreLevelPrices` makes it again. */
export class LevelPrices extends Map<LevelId, Digits> {
  toJSON(): Readonly<Record<string, Digits>> {
    return Object.fromEntries(this);
  }
}

/** What a state holds of a book: the prices, or their JSON where a checkpoint was read. */
export const restoreLevelPrices = (held: LevelPrices | Readonly<Record<string, Digits>>): LevelPrices =>
  held instanceof LevelPrices
    ? held
    : new LevelPrices(Object.entries(held).map(([text, price]) => [toLevelId(text), price]));
