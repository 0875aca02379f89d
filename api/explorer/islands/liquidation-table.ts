// Recent liquidations, newest first, and the stretches in which the service received nothing.
import { formText, instantText } from '../board/figure-text.ts';
import { describeReason, reasonLabel } from '../board/reason-words.ts';
import { whileSeen } from './history-charts.ts';
import { callPatiently } from './patient-call.ts';

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
  readonly quote: string;
  readonly completeness: string;
  readonly rows: readonly Row[];
  readonly gaps: readonly Gap[];
};
type Answer = { readonly items: readonly Item[] };

const MOST_ROWS = 100;
const REFRESH_MS = 60_000;
const HEADINGS = ['Instant, UTC', 'Venue', 'Position', 'Price', 'Quantity', 'Value'];

type Shown = { readonly atMs: number; readonly cells: readonly string[]; readonly isGap: boolean };

const listRows = ({ venue, quote, rows, gaps }: Item): readonly Shown[] => [
  ...rows.map(({ received_at: at, side, price, price_kind: kind, quantity, value }): Shown => {
    const atMs = Date.parse(at);
    const figures = [quantity, value].map((figure) => (figure === null ? 'not known' : formText('quantity', figure)));
    const cells = [
      instantText(atMs),
      venue,
      side,
      `${formText('digits', price)} (${kind})`,
      figures[0] ?? '',
      `${figures[1]} ${quote}`,
    ];
    return { atMs, isGap: false, cells };
  }),
  ...gaps.map(({ from, to, gap_cause: cause }): Shown => {
    const [fromMs, atMs] = [Date.parse(from), Date.parse(to)];
    const why = cause === 'not_retained' ? describeReason(cause) : describeReason('gap', cause);
    return {
      atMs,
      isGap: true,
      cells: [`${instantText(fromMs)} to ${instantText(atMs).slice(11)}`, venue, `hole, ${reasonLabel(cause)}: ${why}`],
    };
  }),
];

const makeTable = (items: readonly Item[]): HTMLTableElement => {
  const table = document.createElement('table');
  const head = table.createTHead().insertRow();
  for (const text of HEADINGS) {
    const heading = document.createElement('th');
    heading.scope = 'col';
    heading.textContent = text;
    head.append(heading);
  }
  const body = table.createTBody();
  const shown = items.flatMap(listRows).sort((a, b) => b.atMs - a.atMs);
  for (const { cells, isGap } of shown.slice(0, MOST_ROWS)) {
    const row = body.insertRow();
    if (isGap) row.className = 'withheld';
    for (const [i, text] of cells.entries()) {
      const made = row.insertCell();
      made.textContent = text;
      if (isGap && i === cells.length - 1) made.colSpan = HEADINGS.length - i;
    }
  }
  return table;
};

type LiquidationQuestion = { readonly where: string; readonly spanMs: number; readonly nowMs: () => number };

export const showLiquidations = (section: HTMLElement, { where, spanMs, nowMs }: LiquidationQuestion): void => {
  const status = section.querySelector('[data-told]') as HTMLElement;
  const place = section.querySelector('[data-rows]') as HTMLElement;
  whileSeen(section, REFRESH_MS, async () => {
    try {
      const to = nowMs();
      const { items } = await callPatiently<Answer>('/liquidations', {
        body: {
          ...{ where, number_format: 'string' },
          ...{ from: new Date(to - spanMs).toISOString(), to: new Date(to).toISOString() },
        },
      });
      const frame = document.createElement('div');
      frame.className = 'table';
      Object.assign(frame, { tabIndex: 0, role: 'region', ariaLabel: 'Liquidations' });
      frame.append(makeTable(items));
      place.replaceChildren(frame);
      const sampled = items
        .filter(({ completeness }) => completeness !== 'full')
        .map(({ venue, completeness }) => `${venue} (${completeness})`);
      const count = items.reduce((sum, { rows }) => sum + rows.length, 0);
      status.textContent = `${count} received. ${sampled.length === 0 ? 'Every venue publishes each.' : `Not complete: ${sampled.join(', ')}.`}`;
    } catch (error) {
      status.textContent = (error as Error).message;
    }
  });
};
