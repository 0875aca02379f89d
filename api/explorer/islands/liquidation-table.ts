// Recent liquidations, newest first, and the stretches in which the service received nothing.
import { formatForm, formatQuantity, formatSpan, formatUtc, nameUnit } from '../board/figure-text.ts';
import { toListingKey } from '../board/reading.ts';
import { describeReason, formatReason } from '../board/reason-words.ts';
import { listLineNames, readWhileSeen } from './history-charts.ts';
import { createNewestReader, type Paged } from './newest-page.ts';
import { callPatiently, describeFailure } from './patient-call.ts';

type Row = {
  readonly received_at: string;
  readonly side: string;
  readonly price: string;
  readonly price_kind: string;
  readonly quantity: string | null;
  readonly value: string | null;
};
type Gap = { readonly from: string; readonly to: string; readonly gap_cause: string };
type Item = {
  readonly venue: string;
  readonly venue_symbol: string;
  readonly quote: string;
  readonly completeness: string;
  readonly units: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
  readonly gaps: readonly Gap[];
};
type Answer = Paged & {
  readonly from: string;
  readonly to: string;
  readonly items: readonly Item[];
};

const MOST_ROWS = 100;
const REFRESH_MS = 60_000;
/** Figures from here on: they line up at the right. */
const FIRST_FIGURE = 3;
const HEADINGS = ['Instant, UTC', 'Venue', 'Position', 'Price', 'Quantity', 'Value'];

type Shown = { readonly atMs: number; readonly cells: readonly string[]; readonly isGap: boolean };

/** `asset`: what a quantity in `base` is a number of. */
type Named = { readonly name: string; readonly asset: string };

const listEvents = ({ quote, units, rows }: Item, { name, asset }: Named): readonly Shown[] =>
  rows.map(({ received_at: at, side, price, price_kind: kind, quantity, value }): Shown => {
    const atMs = Date.parse(at);
    const format = (figure: string | null, unit: string | undefined) =>
      figure === null ? 'not known' : formatQuantity(figure, nameUnit(unit ?? '', asset), quote);
    const cells = [
      formatUtc(atMs),
      name,
      side,
      `${formatForm('digits', price)} ${quote} (${kind.replaceAll('_', ' ')})`,
      format(quantity, units['quantity']),
      format(value, units['value']),
    ];
    return { atMs, isGap: false, cells };
  });

/** One row for each stretch and cause, with the names of all listings that had it. */
const listHoles = (items: readonly Item[], names: readonly string[]): readonly Shown[] => {
  const all = items.flatMap(({ gaps }, i) => gaps.map((gap) => ({ gap, name: names[i] ?? '' })));
  const alike = Map.groupBy(all, ({ gap: { from, to, gap_cause: cause } }) => `${from} ${to} ${cause}`);
  return [...alike.values()].flatMap((of): readonly Shown[] => {
    const [first] = of;
    if (first === undefined) return [];
    const { gap } = first;
    const why = `hole, ${formatReason(gap.gap_cause)}: ${describeReason('gap', gap.gap_cause)}`;
    const cells = [formatSpan(Date.parse(gap.from), Date.parse(gap.to)), of.map(({ name }) => name).join(', '), why];
    return [{ atMs: Date.parse(gap.to), isGap: true, cells }];
  });
};

const makeTable = (items: readonly Item[], assets: Readonly<Record<string, string>>): HTMLTableElement => {
  const table = document.createElement('table');
  const head = table.createTHead().insertRow();
  for (const [i, text] of HEADINGS.entries()) {
    const heading = document.createElement('th');
    heading.scope = 'col';
    if (i >= FIRST_FIGURE) heading.className = 'number';
    heading.textContent = text;
    head.append(heading);
  }
  const body = table.createTBody();
  const names = listLineNames(items);
  const events = items.flatMap((item, i) =>
    listEvents(item, { name: names[i] ?? '', asset: assets[toListingKey(item)] ?? 'base' }),
  );
  const shown = [...events, ...listHoles(items, names)].sort((a, b) => b.atMs - a.atMs);
  for (const { cells, isGap } of shown.slice(0, MOST_ROWS)) {
    const row = body.insertRow();
    if (isGap) row.className = 'withheld';
    for (const [i, text] of cells.entries()) {
      const made = row.insertCell();
      made.textContent = text;
      if (i >= FIRST_FIGURE) made.className = 'number';
      if (isGap && i === cells.length - 1) made.colSpan = HEADINGS.length - i;
    }
  }
  return table;
};

type LiquidationQuestion = { readonly where: string; readonly spanMs: number; readonly nowMs: () => number };

/** The newest part of the period that one page holds. */
const openReader = ({ where, spanMs, nowMs }: LiquidationQuestion): (() => Promise<Answer>) =>
  createNewestReader(spanMs, (lengthMs) => {
    const to = nowMs();
    return callPatiently<Answer>('/liquidations', {
      body: {
        ...{ where, number_format: 'string' },
        ...{ from: new Date(to - lengthMs).toISOString(), to: new Date(to).toISOString() },
      },
    });
  });

/** How many are shown, since when, and which venues publish a part of theirs. */
const describeAnswer = ({ from, to, items }: Answer): string => {
  const count = items.reduce((sum, { rows }) => sum + rows.length, 0);
  const partly = new Set(
    items
      .filter(({ completeness }) => completeness !== 'full')
      .map(({ venue, completeness }) => `${venue} (${completeness})`),
  );
  const shown = count > MOST_ROWS ? `; the newest ${MOST_ROWS} are shown` : '';
  const complete = partly.size === 0 ? 'Every venue publishes each.' : `Not complete: ${[...partly].join(', ')}.`;
  return `${count} received since ${formatUtc(Date.parse(from))} until ${formatUtc(Date.parse(to))} UTC${shown}. ${complete}`;
};

export const showLiquidations = (section: HTMLElement, asked: LiquidationQuestion): void => {
  const status = section.querySelector('[data-told]') as HTMLElement;
  const place = section.querySelector('[data-rows]') as HTMLElement;
  const assets = JSON.parse(section.dataset['assets'] ?? '{}') as Readonly<Record<string, string>>;
  const readNewest = openReader(asked);
  let shown = '';
  readWhileSeen(section, REFRESH_MS, async () => {
    try {
      const answer = await readNewest();
      const frame = document.createElement('div');
      frame.className = 'table';
      Object.assign(frame, { tabIndex: 0, role: 'region', ariaLabel: 'Liquidations' });
      frame.append(makeTable(answer.items, assets));
      place.replaceChildren(frame);
      shown = describeAnswer(answer);
      status.textContent = shown;
    } catch (error) {
      status.textContent = describeFailure(error, shown);
    }
  });
};
