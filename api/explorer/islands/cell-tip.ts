// The details of a cell beside it: on hover and on focus, kept while the pointer is on it, dismissed by Escape (WCAG 1.4.13).
import type { LiveCells } from './live-cells.ts';

const REFRESH_MS = 1_000;
const GAP = 6;

const place = (tip: HTMLElement, button: Element): void => {
  const at = button.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, at.left), document.documentElement.clientWidth - width - 8);
  const isBelow = at.bottom + GAP + height < window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${isBelow ? at.bottom + GAP : Math.max(8, at.top - GAP - height)}px`;
};

const fill = (tip: HTMLElement, cells: LiveCells, button: Element): void => {
  const list = document.createElement('dl');
  for (const { label, text } of cells.detailsOf(button)) {
    const [term, words] = [document.createElement('dt'), document.createElement('dd')];
    term.textContent = label;
    words.textContent = text;
    list.append(term, words);
  }
  const head = document.createElement('strong');
  head.textContent = cells.titleOf(button);
  tip.replaceChildren(head, list);
};

/** `tip` is an empty element with an id and the role of a tooltip. */
export const showTips = (root: HTMLElement, tip: HTMLElement, cells: LiveCells): void => {
  let shown: HTMLButtonElement | null = null;
  const hide = (): void => {
    shown?.removeAttribute('aria-describedby');
    shown = null;
    tip.hidden = true;
  };
  const show = (button: HTMLButtonElement): void => {
    if (shown !== button) hide();
    shown = button;
    fill(tip, cells, button);
    tip.hidden = false;
    button.setAttribute('aria-describedby', tip.id);
    place(tip, button);
  };
  const findButton = ({ target }: Event): HTMLButtonElement | null =>
    (target as Element).closest?.('button.cell') ?? null;
  root.addEventListener('pointerover', (event) => {
    const button = findButton(event);
    if (button !== null) show(button);
  });
  const leave = ({ relatedTarget }: PointerEvent): void => {
    const to = relatedTarget as Element | null;
    if (to === null || (!tip.contains(to) && to.closest('button.cell') !== document.activeElement)) hide();
  };
  root.addEventListener('pointerout', leave);
  tip.addEventListener('pointerout', leave);
  root.addEventListener('focusin', (event) => {
    const button = findButton(event);
    if (button !== null) show(button);
  });
  root.addEventListener('focusout', hide);
  root.addEventListener('click', (event) => {
    const button = findButton(event);
    if (button !== null) show(button);
  });
  addEventListener('keydown', ({ key }) => (key === 'Escape' ? hide() : undefined));
  // Focus may scroll: the details go along.
  const follow = (): void => (shown === null ? undefined : place(tip, shown));
  addEventListener('scroll', follow, { passive: true, capture: true });
  setInterval(() => {
    if (shown !== null) fill(tip, cells, shown);
  }, REFRESH_MS);
};

const STEPS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** One stop of the Tab key for all `cells` of a table; arrows lead from cell to cell, Home and End within a row. */
export const roveCells = (table: HTMLElement, cells = 'button.cell'): void => {
  const findCell = (target: EventTarget | null): HTMLElement | null => (target as Element).closest<HTMLElement>(cells);
  const rows = (): HTMLElement[][] =>
    [...table.querySelectorAll('tbody tr')]
      .map((row) => [...row.querySelectorAll<HTMLElement>(cells)])
      .filter((row) => row.length > 0);
  let stop = table.querySelector<HTMLElement>(cells);
  if (stop !== null) stop.tabIndex = 0;
  table.addEventListener('focusin', ({ target }) => {
    const cell = findCell(target);
    if (cell === null) return;
    if (stop !== null) stop.tabIndex = -1;
    stop = cell;
    cell.tabIndex = 0;
  });
  table.addEventListener('keydown', (event) => {
    const cell = findCell(event.target);
    if (cell === null) return;
    const all = rows();
    const row = all.findIndex((own) => own.includes(cell));
    const at = all[row]?.indexOf(cell) ?? 0;
    const step = STEPS[event.key];
    const column = event.key === 'Home' ? 0 : event.key === 'End' ? Number.POSITIVE_INFINITY : at + (step?.[1] ?? 0);
    if (step === undefined && column === at) return;
    event.preventDefault();
    const own = all[Math.min(Math.max(0, row + (step?.[0] ?? 0)), all.length - 1)] ?? [];
    own[Math.min(Math.max(0, column), own.length - 1)]?.focus();
  });
};
