// The value object of one listing and layer at T, exactly as L-04 shapes it.
import { findStatusAt, type Policy, type StatusAnswer } from '../../schemas/freshness.ts';
import { formatInstantOrNull } from '../../schemas/instants.ts';
import { type JsonValue, makeRawJson, type NumberFormat, writeJson } from '../../schemas/json.ts';
import type { Micros } from '../../schemas/records.ts';
import type { BookLevels, ListingVersion, Reading } from '../../schemas/topics.ts';
import { convertQuantity, type UnitsMode } from '../../schemas/units.ts';
import {
  findCountedUnit,
  findMarkFor,
  type Mark,
  makeInstants,
  makeMembers,
  makeStatusHead,
  makeUnits,
} from './members.ts';

type LayerQuestion = {
  readonly reading: Reading | null;
  readonly policy: Policy;
  readonly lostAt: Micros | null;
  readonly boundMs: number;
  readonly at: Micros;
  readonly stateLag: boolean;
  readonly units: UnitsMode;
  readonly allowStale: boolean;
  readonly includeRaw: boolean;
  readonly numberFormat: NumberFormat;
  /** Levels of a book to show (ST-09); none when left out. */
  readonly depth?: number;
  /** Version in force when the reading was recorded (H-16k). */
  readonly version: ListingVersion;
  readonly mark: () => Mark | null;
};

type Members = { readonly [member: string]: JsonValue | undefined };

/** One side of a book to the requested depth: prices and sizes are strings in every format (L-06), sizes in the requested unit (N-07). */
const toSide = (levels: BookLevels['bids'], reading: Reading, question: LayerQuestion): JsonValue => {
  const { units: mode, version, depth } = question;
  const shown = levels.slice(0, depth);
  if (mode === 'published') return shown;
  const unit = findCountedUnit(reading, version);
  return shown.map(([price, digits]) => [
    price,
    convertQuantity({ digits, unit, mode, listing: version.record.values, mark: price }),
  ]);
};

const makeLevels = (question: LayerQuestion): Members => {
  const { reading, depth = 0 } = question;
  if (depth === 0 || reading === null || reading.book === null) return {};
  const { bids, asks } = reading.book;
  return { bids: toSide(bids, reading, question), asks: toSide(asks, reading, question) };
};

/** Members after the two ages. Numbers of a stale reading are under `withheld`, and only when requested (L-09). */
const makeTail = (
  { status, valid_until: validUntil }: StatusAnswer,
  question: LayerQuestion,
  mark: Mark | null,
): Members => {
  const { reading } = question;
  const present = status === 'present';
  const shown = present || (status === 'stale' && question.allowStale) ? reading : null;
  const members = shown === null ? null : makeMembers(shown, question, mark);
  return {
    valid_until: formatInstantOrNull(validUntil),
    horizon_source: reading?.horizon_source ?? null,
    anchor: reading?.anchor ?? null,
    values: present ? members?.values : {},
    ...(present ? makeLevels(question) : {}),
    null_reasons: present ? members?.nullReasons : undefined,
    units: shown === null ? {} : makeUnits(shown, question),
    instants: shown === null ? undefined : makeInstants(shown),
    conversion: members?.conversion,
    withheld: members === null || present ? undefined : { values: members.values, null_reasons: members.nullReasons },
    raw: question.includeRaw && reading !== null && reading.raw !== null ? makeRawJson(reading.raw) : undefined,
  };
};

/** A layer object as text around its two ages, which alone change while it holds. */
type Frame = Pick<LayerQuestion, 'units' | 'numberFormat' | 'includeRaw' | 'version'> & {
  readonly mark: Mark | null;
  readonly validUntil: Micros | null;
  readonly head: string;
  readonly tail: string;
};
/** Frames of present readings, one per form of request: readings never change and are requested often. */
const frames = new WeakMap<Reading, Frame[]>();

const listFrames = (reading: Reading): Frame[] => {
  const held = frames.get(reading);
  if (held !== undefined) return held;
  const none: Frame[] = [];
  frames.set(reading, none);
  return none;
};

const isSameMark = (a: Mark | null, b: Mark | null): boolean =>
  a === b || (a?.digits === b?.digits && a?.receivedAt === b?.receivedAt);

/** Finds or makes the frame for this form of request; it is valid for its listing version, mark and end. */
const findFrame = (reading: Reading, question: LayerQuestion, answer: StatusAnswer): Frame => {
  const { units, numberFormat, includeRaw, version } = question;
  const mark = findMarkFor(reading, question, question.mark);
  const made = listFrames(reading);
  const i = made.findIndex(
    (frame) => frame.units === units && frame.numberFormat === numberFormat && frame.includeRaw === includeRaw,
  );
  const held = made[i];
  const holds = held?.version === version && held.validUntil === answer.valid_until && isSameMark(held.mark, mark);
  if (held !== undefined && holds) return held;
  const head = writeJson(makeStatusHead(answer, reading));
  const tail = writeJson(makeTail(answer, question, mark), { numberFormat });
  const frame: Frame = {
    ...{ units, numberFormat, includeRaw, version, mark, validUntil: answer.valid_until },
    ...{ head: `${head.slice(0, -1)},"age_ms":`, tail: `,${tail.slice(1)}` },
  };
  made[i < 0 ? made.length : i] = frame;
  return frame;
};

/** The layer object. */
export const makeLayerObject = (asked: LayerQuestion): JsonValue => {
  const answer = findStatusAt(asked);
  const { status, age_ms, venue_age_ms } = answer;
  // A layer that is off or not published has no reading, even if one is in memory.
  const reading = status === 'off' || status === 'not_published' ? null : asked.reading;
  if (status === 'present' && reading !== null && (asked.depth ?? 0) === 0) {
    const { head, tail } = findFrame(reading, asked, answer);
    return makeRawJson(`${head}${age_ms},"venue_age_ms":${venue_age_ms}${tail}`);
  }
  const mark = reading === null ? null : findMarkFor(reading, asked, asked.mark);
  return { ...makeStatusHead(answer, reading), age_ms, venue_age_ms, ...makeTail(answer, { ...asked, reading }, mark) };
};
