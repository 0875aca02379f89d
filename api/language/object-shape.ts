// Shapes of JSON objects read by hand: members known and required, lists with their lengths, kinds of values (DQL-08, DQL-34h).
import { findNearest } from '../../schemas/errors.ts';
import type { JsonObject } from '../../schemas/json-object.ts';
import { formatCount } from '../contract/counts.ts';
import { clip, describeValue, toPointerName } from '../contract/sent-text.ts';
import type { Faults, Words } from './faults.ts';

export type Members = { readonly required: readonly string[]; readonly optional?: readonly string[] };

/** A body can hold tens of thousands of faults, of which twenty are returned: reading stops at this many. */
const MOST_FAULTS = 1_000;

export class ObjectShape {
  readonly faults: Faults;
  #count = 0;

  constructor(faults: Faults) {
    this.faults = faults;
  }

  /** Whether so much is wrong that the rest need not be read. */
  get isHopeless(): boolean {
    return this.#count >= MOST_FAULTS;
  }

  fault(path: string, message: string, hint: string): void {
    this.#add(path, () => ({ message, hint }));
  }

  /** The value does not have its kind. `members` has reported one that is missing. */
  wrong(path: string, value: unknown, wanted: string): void {
    if (value === undefined) return;
    const member = path.slice(path.lastIndexOf('/') + 1);
    this.#add(path, () => ({
      message: `"${clip(member)}" is ${describeValue(value)}, not ${wanted}.`,
      hint: `Send ${wanted}.`,
    }));
  }

  /** A name that is not known. */
  unknown(path: string, name: string, { of, known }: { readonly of: string; readonly known: readonly string[] }): void {
    this.#add(path, () => {
      const near = findNearest(name, known);
      const hint = near.length > 0 ? `Did you mean ${near.join(', ')}?` : `Known are ${known.join(', ')}.`;
      return { message: `"${clip(name)}" is not ${of}.`, hint };
    });
  }

  #add(path: string, words: () => Words): void {
    this.#count++;
    this.faults.add('DQL_JSON_SCHEMA', { path }, words);
  }

  /** Reports unknown and missing members; a missing one at its own path. */
  members(object: JsonObject, path: string, { required, optional = [] }: Members): void {
    const known = [...required, ...optional];
    for (const name of Object.keys(object)) {
      if (known.includes(name)) continue;
      if (this.isHopeless) return;
      this.unknown(`${path}/${toPointerName(name)}`, name, { of: 'a member here', known });
    }
    for (const name of required) {
      if (!Object.hasOwn(object, name)) this.fault(`${path}/${name}`, `"${name}" is missing.`, `Send ${name}.`);
    }
  }

  /** Whether a member that is reported as unknown may be this one, misspelt. */
  hasMisspelt(object: JsonObject, member: string): boolean {
    return Object.keys(object).some((name) => name !== member && findNearest(name, [member]).length > 0);
  }

  /** A list of at least `least` and at most `most` items; null after its fault. */
  list(
    value: unknown,
    path: string,
    { least, most }: { readonly least: number; readonly most: number },
  ): readonly unknown[] | null {
    if (!Array.isArray(value)) {
      this.wrong(path, value, 'a list');
      return null;
    }
    if (value.length < least)
      this.fault(path, `"${clip(path)}" has fewer than ${formatCount(least, 'item')}.`, `Send at least ${least}.`);
    if (value.length > most)
      this.fault(path, `"${clip(path)}" has more than ${formatCount(most, 'item')}.`, `Send at most ${most}.`);
    return (value as readonly unknown[]).slice(0, most);
  }

  /** One of the words; undefined after its fault. */
  word<W extends string>(value: unknown, path: string, words: readonly W[]): W | undefined {
    const found = words.find((word) => word === value);
    if (found === undefined) this.wrong(path, value, `one of ${words.join(', ')}`);
    return found;
  }

  text(value: unknown, path: string): string | undefined {
    if (typeof value === 'string') return value;
    this.wrong(path, value, 'a string');
    return undefined;
  }
}
