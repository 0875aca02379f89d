// The book of one listing: levels with bars of their size, and sums within bands of the mid; withheld as a whole when it is not current.
import { alignPoints, formatClock, formatForm, formatUnit } from '../board/figure-text.ts';
import type { Level, ReadingStatus } from '../board/reading.ts';
import { describeReason, formatReason } from '../board/reason-words.ts';
import { readWhileSeen } from './history-charts.ts';
import { callPatiently } from './patient-call.ts';

type Band = {
  readonly bid_value: string | null;
  readonly ask_value: string | null;
  readonly complete: { readonly bid: boolean; readonly ask: boolean };
};
type Book = {
  readonly status: ReadingStatus;
  readonly reason?: string;
  readonly gap_cause?: string;
  readonly quote: string;
  readonly received_at: string | null;
  readonly size_unit: string;
  readonly bids: readonly Level[] | null;
  readonly asks: readonly Level[] | null;
  readonly bands?: Readonly<Record<string, Band>>;
};
type Answer = { readonly evaluated_at: string; readonly liquidity_note: string; readonly items: readonly Book[] };

/** Each refresh is a counted request: a page that nobody uses stops its requests. */
const REFRESH_MS = 5_000;
const IDLE_MS = 300_000;
const USES = ['pointermove', 'pointerdown', 'keydown', 'scroll'] as const;
/** Three refreshes have failed by then: it is not known whether the book is still current. */
const HOLDS_MS = 15_000;
const DEPTH = 10;

const addCell = (row: HTMLTableRowElement, text: string): HTMLTableCellElement => {
  const made = row.insertCell();
  made.className = 'number';
  made.textContent = text;
  return made;
};

const makeTable = (caption: string, headings: readonly string[]): HTMLTableElement => {
  const table = document.createElement('table');
  table.createCaption().textContent = caption;
  const head = table.createTHead().insertRow();
  for (const text of headings) {
    const heading = document.createElement('th');
    heading.scope = 'col';
    heading.className = 'number';
    heading.textContent = text;
    head.append(heading);
  }
  table.createTBody();
  return table;
};

const renderSideTable = (
  name: string,
  levels: readonly Level[],
  { unit, quote, largest }: { unit: string; quote: string; largest: number },
): HTMLElement => {
  const table = makeTable(name, [`Price (${quote})`, `Size (${unit})`]);
  const body = table.tBodies[0] as HTMLTableSectionElement;
  const prices = alignPoints(levels.map(([price]) => formatForm('digits', price)));
  const sizes = alignPoints(levels.map(([, size]) => formatForm('digits', size)));
  for (const [i, [, size]] of levels.entries()) {
    const row = body.insertRow();
    addCell(row, prices[i] ?? '');
    const sized = addCell(row, sizes[i] ?? '');
    sized.classList.add('bar', name === 'Bids' ? 'bid' : 'ask');
    sized.style.backgroundSize = `${(Number(size) / largest) * 100}% 100%`;
  }
  return table;
};

type Sum = { readonly value: string | null; readonly isComplete: boolean };
const formatSum = ({ value, isComplete }: Sum): string =>
  value === null ? 'not known' : `${isComplete ? '' : 'at least '}${formatForm('quantity', value)}`;

const renderBandTable = (bands: Readonly<Record<string, Band>>, quote: string): HTMLElement => {
  const table = makeTable('Within bands of the mid', ['Band', `Bid (${quote})`, `Asked (${quote})`]);
  const body = table.tBodies[0] as HTMLTableSectionElement;
  for (const [band, { bid_value, ask_value, complete }] of Object.entries(bands).sort(
    ([a], [b]) => Number.parseInt(a, 10) - Number.parseInt(b, 10),
  )) {
    const row = body.insertRow();
    addCell(row, band.replace('bps', ' bps'));
    addCell(row, formatSum({ value: bid_value, isComplete: complete.bid }));
    addCell(row, formatSum({ value: ask_value, isComplete: complete.ask }));
  }
  return table;
};

const renderWithheldNote = (words: string): HTMLElement => {
  const note = document.createElement('p');
  note.className = 'withheld book-withheld';
  note.textContent = `Withheld, ${words}`;
  return note;
};

const describeBook = ({ status, reason = status, gap_cause: cause }: Book): string =>
  `${formatReason(reason, cause)}: ${describeReason(reason, cause)}`;

const makeParts = (book: Book | undefined, asset: string): readonly HTMLElement[] => {
  if (book === undefined) return [];
  const { status, bids, asks, bands, quote } = book;
  if (status !== 'present' || bids === null || asks === null) return [renderWithheldNote(describeBook(book))];
  const unit = formatUnit(book.size_unit, quote, asset);
  const largest = Math.max(...[...bids, ...asks].map(([, size]) => Number(size)));
  return [
    renderSideTable('Bids', bids, { unit, quote, largest }),
    renderSideTable('Asks', asks, { unit, quote, largest }),
    ...(bands === undefined ? [] : [renderBandTable(bands, quote)]),
  ];
};

export const showBook = (section: HTMLElement, listing: DOMStringMap): void => {
  const statusElement = section.querySelector('[data-told]') as HTMLElement;
  const place = section.querySelector('[data-book]') as HTMLElement;
  let usedMs = performance.now();
  for (const use of USES)
    addEventListener(
      use,
      () => {
        usedMs = performance.now();
      },
      { passive: true },
    );
  let expiry: ReturnType<typeof setTimeout> | undefined;
  readWhileSeen(section, REFRESH_MS, async () => {
    if (performance.now() - usedMs > IDLE_MS) {
      clearTimeout(expiry);
      statusElement.textContent =
        'Not followed while nobody uses the page: move the pointer or press a key to continue.';
      return place.replaceChildren();
    }
    try {
      const where = { venue: listing['venue'], symbol: listing['symbol'] };
      const answer = await callPatiently<Answer>('/books', { body: { where, depth: DEPTH } });
      const at = formatClock(Date.parse(answer.evaluated_at));
      place.replaceChildren(...makeParts(answer.items[0], listing['asset'] ?? ''));
      statusElement.textContent = `At ${at}. ${answer.liquidity_note}`;
      clearTimeout(expiry);
      expiry = setTimeout(() => {
        place.replaceChildren(renderWithheldNote('no newer book has been read since.'));
        statusElement.textContent = `Last read at ${at}.`;
      }, HOLDS_MS);
    } catch (error) {
      clearTimeout(expiry);
      // The earlier value may no longer be current.
      place.replaceChildren();
      statusElement.textContent = (error as Error).message;
    }
  });
};
