// Cells of the page that show a figure of a reading: painted at most ten times a second, each only when its content has changed.
import { type Cell, toCell } from '../board/cell.ts';
import { type Detail, listCellDetails } from '../board/cell-details.ts';
import { computeColourStep } from '../board/colour-step.ts';
import { type Form, formatAgeMs, formatForm, formatQuantity, nameUnit } from '../board/figure-text.ts';
import { findMeasure, type Scale } from '../board/measures.ts';
import type { LiveFeed } from './live-feed.ts';

/**
 * A button of the page: `data-listing`, and of its own or of its table `data-layer`, `data-member`, `data-form`, `data-label`, perhaps `data-measure`,
 * `data-quote`, `data-asset` and `data-unit`. `data-names` of the table has the names of venues.
 */
type LiveCell = {
  readonly button: HTMLButtonElement;
  readonly figure: HTMLElement;
  readonly age: HTMLElement;
  readonly listing: string;
  readonly layer: string;
  readonly member: string;
  readonly form: Form;
  readonly scale: Scale | null;
  readonly quote: string;
  readonly asset: string;
  /** Whether the figure states its unit whole. */
  readonly isWhole: boolean;
  readonly title: string;
  /** Cells of one row share the largest figure of a share. */
  readonly row: Element | null;
  shown: Cell;
  /** The text on the screen, so that nothing is written twice. */
  paint: string;
};

const PAINT_EVERY_MS = 100;
const AGES_EVERY_MS = 1_000;

const formatTitle = (listing: string, { label = '', names = '{}' }: DOMStringMap): string => {
  const [venue = '', symbol = ''] = listing.split('|');
  return `${(JSON.parse(names) as Record<string, string>)[venue] ?? venue} ${symbol}, ${label}`;
};

const readCell = (button: HTMLButtonElement): LiveCell => {
  const said: DOMStringMap = { ...button.closest('table')?.dataset, ...button.dataset };
  const { listing = '', layer = '', member = '', form = 'quantity', measure, quote = '', asset = 'base' } = said;
  return {
    ...{ button, listing, layer, member, form: form as Form, quote, asset, row: button.closest('tr') },
    isWhole: said['unit'] === 'whole',
    title: formatTitle(listing, said),
    scale: measure === undefined ? null : findMeasure(measure).scale,
    figure: button.querySelector('.figure') as HTMLElement,
    age: button.querySelector('.age') as HTMLElement,
    shown: { kind: 'waiting' },
    paint: '',
  };
};

/** A currency is beside the age where the cell names it, but for a quantity whose asset is known. */
const formatFigure = ({ form, quote, asset, isWhole }: LiveCell, cell: Cell): string => {
  switch (cell.kind) {
    case 'figure':
      if (form !== 'quantity') return formatForm(form, cell.digits);
      return formatQuantity(cell.digits, nameUnit(cell.unit, asset), isWhole ? quote : quote === '' ? undefined : '');
    case 'withheld':
    case 'absent':
      return cell.label;
    case 'waiting':
      return '…';
    default:
      return cell satisfies never;
  }
};

const formatAge = ({ quote, isWhole }: LiveCell, cell: Cell): string => {
  const age = cell.kind === 'figure' || cell.kind === 'withheld' ? cell.ageMs : null;
  return `${isWhole ? '' : quote} ${age === null ? '' : formatAgeMs(age)}`.trim();
};

/** Figures that may be compared: contracts are another size on each venue, a quote currency is a unit of its own, and so is a thousand of the base. */
const toComparedUnit = ({ listing, quote, asset }: LiveCell, unit: string): string =>
  unit === 'contracts' ? listing : unit === 'quote' ? quote : nameUnit(unit, asset);

export class LiveCells {
  readonly #feed: LiveFeed;
  readonly #cells: readonly LiveCell[];
  readonly #byListing = new Map<string, LiveCell[]>();
  readonly #byButton = new Map<Element, LiveCell>();
  readonly #byRow = new Map<Element | null, LiveCell[]>();
  #dirty = new Set<LiveCell>();
  #isPaintRequested = false;
  #paintedMs = 0;
  #frozenMs: number | null = null;
  readonly onPaint: () => void;

  constructor(root: ParentNode, feed: LiveFeed, onPaint: () => void) {
    this.#feed = feed;
    this.onPaint = onPaint;
    this.#cells = [...root.querySelectorAll<HTMLButtonElement>('button.cell')].map(readCell);
    for (const cell of this.#cells) {
      this.#byListing.set(cell.listing, [...(this.#byListing.get(cell.listing) ?? []), cell]);
      this.#byButton.set(cell.button, cell);
      this.#byRow.set(cell.row, [...(this.#byRow.get(cell.row) ?? []), cell]);
    }
    setInterval(() => this.refresh(), AGES_EVERY_MS);
  }

  /** By the service's clock, or the instant of the pause. */
  nowMs(): number {
    return this.#frozenMs ?? this.#feed.nowMs();
  }

  freeze(): void {
    this.#frozenMs = this.#feed.nowMs();
  }
  thaw(): void {
    this.#frozenMs = null;
  }

  /** A listing's layer has a new reading. */
  touch(listing: string, layer: string): void {
    for (const cell of this.#byListing.get(listing) ?? []) if (cell.layer === layer) this.#dirty.add(cell);
    this.#requestPaint();
  }

  /** Ages grow and horizons pass even when no event arrives. */
  refresh(): void {
    this.#dirty = new Set(this.#cells);
    this.#requestPaint();
  }

  #requestPaint(): void {
    if (this.#isPaintRequested) return;
    this.#isPaintRequested = true;
    const waitMs = this.#paintedMs + PAINT_EVERY_MS - performance.now();
    if (waitMs <= 0) requestAnimationFrame(() => this.#paint());
    else setTimeout(() => requestAnimationFrame(() => this.#paint()), waitMs);
  }

  #paint(): void {
    this.#isPaintRequested = false;
    this.#paintedMs = performance.now();
    const dirty = this.#dirty;
    this.#dirty = new Set();
    for (const cell of dirty) cell.shown = this.#see(cell);
    for (const cell of dirty) this.#write(cell);
    // A share of the row's largest may have moved with a neighbour.
    const rows = new Set([...dirty].filter(({ scale }) => scale?.kind === 'share').map(({ row }) => row));
    for (const row of rows) for (const cell of this.#byRow.get(row) ?? []) if (!dirty.has(cell)) this.#write(cell);
    this.onPaint();
  }

  #see({ listing, layer, member }: LiveCell): Cell {
    const isFrozen = this.#frozenMs !== null;
    return toCell(this.#feed.picture.read(listing, layer), member, {
      nowMs: this.nowMs(),
      boundMs: this.#feed.boundMs(layer),
      lostSinceMs: isFrozen ? null : this.#feed.lostSinceMs,
    });
  }

  /** 0 when there is nothing to compare with. */
  #largest(cell: LiveCell): number {
    if (cell.shown.kind !== 'figure') return 0;
    const unit = toComparedUnit(cell, cell.shown.unit);
    const figures = (this.#byRow.get(cell.row) ?? []).flatMap((other) =>
      other.shown.kind === 'figure' && toComparedUnit(other, other.shown.unit) === unit
        ? [Number(other.shown.digits)]
        : [],
    );
    return figures.length < 2 ? 0 : Math.max(...figures);
  }

  #step(cell: LiveCell): number {
    const { scale, shown } = cell;
    if (scale === null || shown.kind !== 'figure') return 0;
    return computeColourStep(Number(shown.digits), scale, scale.kind === 'share' ? this.#largest(cell) : 0);
  }

  #write(cell: LiveCell): void {
    const { shown, button } = cell;
    const [figure, age, step] = [formatFigure(cell, shown), formatAge(cell, shown), this.#step(cell)];
    const paint = `${shown.kind} ${figure} ${age} ${step}`;
    if (paint === cell.paint) return;
    cell.paint = paint;
    if (cell.figure.textContent !== figure) cell.figure.textContent = figure;
    if (cell.age.textContent !== age) cell.age.textContent = age;
    const kind = shown.kind === 'withheld' ? 'cell withheld' : `cell ${shown.kind}`;
    if (button.className !== kind) button.className = kind;
    if (button.dataset['step'] !== String(step)) button.dataset['step'] = String(step);
  }

  /** Figures that are shown now, for sorting. */
  figureOf(button: Element): number | null {
    const shown = this.#byButton.get(button)?.shown;
    return shown?.kind === 'figure' ? Number(shown.digits) : null;
  }

  titleOf(button: Element): string {
    return this.#byButton.get(button)?.title ?? '';
  }

  detailsOf(button: Element): readonly Detail[] {
    const cell = this.#byButton.get(button);
    if (cell === undefined) return [];
    const reading = this.#feed.picture.read(cell.listing, cell.layer);
    return listCellDetails(this.#see(cell), reading, { nowMs: this.nowMs(), quote: cell.quote, asset: cell.asset });
  }
}
