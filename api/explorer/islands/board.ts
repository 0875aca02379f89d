// The live board: the stream updates its cells, and its rows keep the requested order.
import { readBoardView, toBoardAddress, toggleSort } from '../board/board-address.ts';
import { type RowFigures, type Sort, sortNames } from '../board/board-rows.ts';
import { openLivePage } from './live-page.ts';

const table = document.getElementById('board');

const sortRows = (board: HTMLElement, figureOf: (button: Element) => number | null, sort: Sort): void => {
  const body = board.querySelector('tbody') as HTMLElement;
  const rows = [...body.querySelectorAll<HTMLTableRowElement>('tr')];
  const byName = new Map(rows.map((row) => [row.dataset['row'] ?? '', row]));
  const collectFigures = (name: string): RowFigures => {
    const figures = new Map<string, number[]>();
    for (const button of byName.get(name)?.querySelectorAll('button.cell') ?? []) {
      const venue = (button as HTMLElement).dataset['listing']?.split('|')[0] ?? '';
      const figure = figureOf(button);
      if (figure !== null) figures.set(venue, [...(figures.get(venue) ?? []), figure]);
    }
    return figures;
  };
  for (const name of sortNames([...byName.keys()], sort, collectFigures))
    body.append(byName.get(name) as HTMLTableRowElement);
};

const start = (board: HTMLElement): void => {
  const { layer = '', where } = board.dataset;
  const { cells } = openLivePage({ table: board, query: { layers: layer, ...(where === undefined ? {} : { where }) } });
  let view = readBoardView(new URLSearchParams(location.search));
  const show = (): void => {
    sortRows(board, (button) => cells.figureOf(button), view.sort);
    for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-sort]')) {
      const by = link.dataset['sort'] ?? '';
      link.href = toBoardAddress({ ...view, sort: toggleSort(view.sort, by) });
      const isSorted = view.sort.by === by;
      const heading = link.closest('th');
      if (isSorted) heading?.setAttribute('aria-sort', view.sort.isAscending ? 'ascending' : 'descending');
      else heading?.removeAttribute('aria-sort');
    }
  };
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[data-sort]');
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    view = { ...view, sort: toggleSort(view.sort, link.dataset['sort'] ?? '') };
    history.replaceState(null, '', toBoardAddress(view));
    show();
  });
  // Once, when the first figures are there: rows do not move under a reader's eyes.
  const first = new MutationObserver(() => {
    if (board.querySelector('button.cell.figure, button.cell.withheld') === null) return;
    first.disconnect();
    show();
  });
  first.observe(board, { subtree: true, attributeFilter: ['class'] });
};

if (table !== null) start(table);
