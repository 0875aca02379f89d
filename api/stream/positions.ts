// The position up to which the client of a stream has received it: a place in every task's `live`, printed as an event id (ST-02, ST-05).
import type { Micros } from '../../schemas/records.ts';
import { isAbove, type Place } from '../../schemas/topics.ts';

const LONGEST = 512;
const SELECTION_LENGTH = 11;
const NOWHERE = '.0';
const SHAPE = /^([\w-]{11})\.([0-9a-z]{1,11})(~?)\.([\w-]+)$/;

/** The content of an id; the same on every node, because the places are those of the log. */
export type EventId = {
  /** Name of the selection and format it was issued under. */
  readonly selection: string;
  /** Status changes that only time causes have been sent up to this instant. */
  readonly sentAt: Micros;
  /** Some venue was behind then, or a part of a step was received: what the client knows of statuses cannot be derived. */
  readonly lagging: boolean;
  readonly places: ReadonlyMap<string, Place>;
};

/** A whole record has been applied (a state round ends so): everything before the next one. */
const toFinite = ({ offset, index }: Place): Place =>
  Number.isFinite(index) ? { offset, index } : { offset: offset + 1, index: -1 };

/** Whether some of the places lie behind what has been reached. */
export const isBeyond = (places: ReadonlyMap<string, Place>, reached: ReadonlyMap<string, Place>): boolean => {
  for (const [task, place] of places) {
    const at = reached.get(task);
    if (at === undefined || isAbove(place, toFinite(at))) return true;
  }
  return false;
};

const pushVarint = (bytes: number[], value: number): void => {
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
};

/** The places of tasks, in the order of `tasks`. Offsets and indexes start at -1, so each is printed plus one. */
export const printPlaces = (tasks: readonly string[], places: ReadonlyMap<string, Place>): string => {
  const bytes: number[] = [];
  for (const task of tasks) {
    const { offset, index } = toFinite(places.get(task) ?? { offset: -1, index: -1 });
    pushVarint(bytes, offset + 1);
    pushVarint(bytes, index + 1);
  }
  return Buffer.from(bytes).toString('base64url');
};

const readVarints = (bytes: Buffer): number[] | null => {
  const values: number[] = [];
  let [value, scale] = [0, 1];
  for (const byte of bytes) {
    value += (byte % 128) * scale;
    if (!Number.isSafeInteger(value)) return null;
    if (byte < 128) {
      values.push(value);
      [value, scale] = [0, 1];
    } else scale *= 128;
  }
  return scale === 1 ? values : null;
};

/** The common part of the ids of one step, for any selection; an id that would be too long for ST-02 cannot be used to resume. */
export const printMoment = ({ sentAt, lagging }: Omit<EventId, 'places' | 'selection'>, places: string): string => {
  const text = `.${sentAt.toString(36)}${lagging ? '~' : ''}.${places}`;
  // One that is not lagging leaves room for the mark of a part.
  return text.length + SELECTION_LENGTH + (lagging ? 0 : 1) > LONGEST ? NOWHERE : text;
};

/** An id of printed places. */
export const printEventId = (id: Omit<EventId, 'places'>, places: string): string =>
  id.selection + printMoment(id, places);

/** The id of a part of a step of statuses: some of them may have been received, so which its client knows cannot be derived. */
export const toPartId = (id: string): string => id.replace(/^([\w-]{11}\.[0-9a-z]+)\.(?=.)/, '$1~.');

/** Id of the frames before the picture is complete: nothing can be resumed from it. */
export const makeStartId = (selection: string): string => selection + NOWHERE;

/** The content of an id, or null when the id does not belong to this selection over these tasks. */
export const parseEventId = (text: string, selection: string, tasks: readonly string[]): EventId | null => {
  const parts = text.length > LONGEST ? null : SHAPE.exec(text);
  if (parts === null || parts[1] !== selection) return null;
  const values = readVarints(Buffer.from(parts[4] ?? '', 'base64url'));
  if (values === null || values.length !== tasks.length * 2) return null;
  const places = new Map<string, Place>();
  for (const [i, task] of tasks.entries()) {
    places.set(task, { offset: (values[2 * i] ?? 0) - 1, index: (values[2 * i + 1] ?? 0) - 1 });
  }
  return { selection, sentAt: Number.parseInt(parts[2] ?? '', 36), lagging: parts[3] === '~', places };
};
