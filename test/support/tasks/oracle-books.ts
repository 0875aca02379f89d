// Books of a paper log assembled the slow way: every message again from the first, levels as decimals in plain maps, bands by looking at every level.
import { Decimal } from 'decimal.js';

const Exact = Decimal.clone({ precision: 400, rounding: Decimal.ROUND_HALF_EVEN });
const Divided = Decimal.clone({ precision: 18, rounding: Decimal.ROUND_HALF_EVEN });
const BUCKET = 100_000;
export const PAPER_BANDS = ['10bps', '25bps', '50bps', '100bps'] as const;
const SIDES = ['bid', 'ask'] as const;
type Side = (typeof SIDES)[number];

/** The content of a paper venue's message about a book; levels as `price:size price:size`, size `0` removes. */
export type PaperBook = {
  readonly kind: 'snapshot' | 'update';
  readonly id: number;
  readonly previous: number | null;
  readonly bids: string;
  readonly asks: string;
  /** The snapshot has all there is. */
  readonly full: number;
};
/** A message with its stamps. */
type BookMessage = { readonly receivedAt: number; readonly connId: string; readonly book: PaperBook };
/** Units of quantities. */
type BookRule = {
  readonly kind: 'linear' | 'inverse';
  readonly unit: 'base' | 'contracts';
  readonly size: string;
};

type Levels = ReadonlyMap<string, string>;
/** A book after a message, or the reason why it is no longer whole. */
export type Standing = {
  readonly broken: string | null;
  readonly bid: Levels;
  readonly ask: Levels;
  readonly full: boolean;
};

export const listLevels = (text: string): [string, string][] =>
  text === '' ? [] : text.split(' ').map((level) => level.split(':') as [string, string]);

const changed = (levels: Levels, text: string): Levels => {
  const next = new Map(levels);
  for (const [price, size] of listLevels(text)) {
    if (size === '0') next.delete(price);
    else next.set(price, size);
  }
  return next;
};

const NOTHING: Standing = { broken: null, bid: new Map(), ask: new Map(), full: false };

const findBest = (levels: Levels, side: Side): string | null => {
  const prices = [...levels.keys()].sort((a, b) => new Exact(a).cmp(b));
  return (side === 'bid' ? prices.at(-1) : prices[0]) ?? null;
};

/** Levels do not change once they are made, and belong to one side. */
const bests = new WeakMap<Levels, string | null>();

const best = (book: Standing, side: Side): string | null => {
  const held = bests.get(book[side]);
  if (held !== undefined) return held;
  const found = findBest(book[side], side);
  bests.set(book[side], found);
  return found;
};

const isCrossed = (book: Standing): boolean => {
  const [bid, ask] = [best(book, 'bid'), best(book, 'ask')];
  return bid !== null && ask !== null && new Exact(bid).gte(ask);
};

/** The books of each connection after each message; null: it changed nothing, or the book was not whole. */
const standings = (messages: readonly BookMessage[]): (Standing | null)[] => {
  const books = new Map<string, { last: number | null; book: Standing }>();
  return messages.map(({ connId, book: message }) => {
    const held = books.get(connId) ?? { last: null, book: NOTHING };
    books.set(connId, held);
    const isSnapshot = message.kind === 'snapshot';
    if (!isSnapshot && (held.last === null || message.id <= held.last)) return null;
    if (!isSnapshot && message.previous !== held.last) {
      held.last = null;
      return { ...NOTHING, broken: 'sequence_break' };
    }
    const before = isSnapshot ? NOTHING : held.book;
    const [bid, ask] = [changed(before.bid, message.bids), changed(before.ask, message.asks)];
    held.book = { broken: null, bid, ask, full: isSnapshot ? message.full === 1 : before.full };
    held.last = message.id;
    return isCrossed(held.book) ? { ...NOTHING, broken: 'crossed_book' } : held.book;
  });
};

/** Readings that come of the messages: of each 100 ms the first and the last, and every break at once (design section 5). */
export const bookReadings = <M extends BookMessage>(
  messages: readonly M[],
): (M & { readonly standing: Standing })[] => {
  const read: (M & { standing: Standing })[] = [];
  const stood = standings(messages);
  const all = messages.flatMap((message, i) => {
    const standing = stood[i] ?? null;
    return standing === null ? [] : [{ ...message, standing }];
  });
  const findBucket = ({ connId, receivedAt }: BookMessage): string => `${connId}|${Math.ceil(receivedAt / BUCKET)}`;
  const buckets = Map.groupBy(all, findBucket);
  for (const one of all) {
    const own = buckets.get(findBucket(one)) ?? [];
    const isBreak = one.standing.broken === 'sequence_break';
    if (isBreak || own[0] === one || own.at(-1) === one) read.push(one);
  }
  return read;
};

const middle = (bid: string, ask: string): string => new Exact(bid).plus(ask).div(2).toFixed();

/** Members of layer `book`; null where a side is empty. */
export const topFigures = (book: Standing): Record<string, string | null> => {
  const [bid, ask] = [best(book, 'bid'), best(book, 'ask')];
  const mid = bid === null || ask === null ? null : middle(bid, ask);
  return {
    ask,
    ask_size: ask === null ? null : (book.ask.get(ask) ?? null),
    bid,
    bid_size: bid === null ? null : (book.bid.get(bid) ?? null),
    mid,
    spread: mid === null ? null : Divided.div(new Exact(ask ?? 0).minus(bid ?? 0), mid).toFixed(),
  };
};

/** Members of layer `venue_depth` (L-03, H-16e); null where there is no middle, or the side is not known beyond the band's edge. */
export const depthFigures = (book: Standing, rule: BookRule): Record<string, string | null> => {
  const [bid, ask] = [best(book, 'bid'), best(book, 'ask')];
  const mid = bid === null || ask === null ? null : middle(bid, ask);
  const figures: Record<string, string | null> = { mid };
  for (const band of PAPER_BANDS) {
    for (const side of SIDES) {
      const share = new Exact(Number.parseInt(band, 10)).div(10_000);
      const edge = new Exact(mid ?? 0).times(side === 'bid' ? new Exact(1).minus(share) : share.plus(1));
      const beyond = (price: string): boolean => (side === 'bid' ? edge.gt(price) : edge.lt(price));
      const levels = [...book[side]];
      const isKnown = mid !== null && (book.full || levels.some(([price]) => beyond(price)));
      const within = levels.filter(([price]) => !beyond(price));
      const total = within.reduce((so, [, size]) => so.plus(size), new Exact(0));
      const priced = within.reduce((so, [price, size]) => so.plus(new Exact(price).times(size)), new Exact(0));
      const lots = rule.unit === 'contracts' ? rule.size : '1';
      const value = (rule.kind === 'inverse' ? total : priced).times(lots);
      figures[`depth_${side}_${band}`] = isKnown ? total.toFixed() : null;
      figures[`depth_${side}_value_${band}`] = isKnown ? value.toFixed() : null;
      figures[`levels_${side}_${band}`] = isKnown ? String(within.length) : null;
    }
  }
  return figures;
};
