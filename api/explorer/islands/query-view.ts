// Tables of answers as elements of the page; text only, nothing of an answer is ever taken for markup.
import type { Cell, Group, Table } from './query-table.ts';

type Attributes = Readonly<Record<string, string | number>>;

export const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...inner: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...inner);
  return made;
};

const cellElement = (cell: Cell | null): HTMLElement => {
  if (cell === null) return element('td', { class: 'number absent' }, '');
  const isShown = cell.full !== null;
  const inside = element('span', { tabindex: 0, 'data-tip': cell.tip }, cell.text);
  const unit = cell.unit === '' || !isShown ? [] : [' ', element('span', { class: 'unit' }, cell.unit)];
  return element('td', { class: isShown ? 'number' : 'number withheld' }, inside, ...unit);
};

const resultElement = ({ result, because }: Group, rows: number): HTMLElement => {
  const tag = element('span', { class: result === 'true' ? 'tag good' : 'tag warn' }, result ?? '');
  if (because.length === 0) return element('td', { rowspan: rows }, tag);
  const list = element('ul', {}, ...because.map((text) => element('li', {}, text)));
  const words = `${because.length} ${because.length === 1 ? 'input is' : 'inputs are'} not known`;
  return element(
    'td',
    { rowspan: rows },
    tag,
    element('details', { class: 'because' }, element('summary', {}, words), list),
  );
};

const groupRows = (group: Group, columns: 'with result' | 'bare'): HTMLElement[] => {
  const count = Math.max(1, group.rows.length);
  const lead = [
    element(
      'th',
      { scope: 'row', rowspan: count },
      element('a', { href: `/explore/${encodeURIComponent(group.title)}` }, group.title),
    ),
    ...(columns === 'with result' ? [resultElement(group, count)] : []),
  ];
  const own = group.cells.map((cell) => {
    const made = cellElement(cell);
    made.setAttribute('rowspan', String(count));
    return made;
  });
  return (group.rows.length === 0 ? [{ names: [], cells: [] }] : group.rows).map((row, i) =>
    element(
      'tr',
      {},
      ...(i === 0 ? lead : []),
      ...row.names.map((name) => element('td', {}, name)),
      ...row.cells.map(cellElement),
      ...(i === 0 ? own : []),
    ),
  );
};

/** A table that scrolls by itself; columns of the whole group come last. */
export const tableElement = (table: Table, caption: string): HTMLElement => {
  const hasResult = table.groups.some(({ result }) => result !== null);
  const head = (name: string): HTMLElement => element('th', { scope: 'col' }, name);
  const numberHead = (name: string): HTMLElement => element('th', { scope: 'col', class: 'number' }, name);
  const heads = [
    head(table.titleName),
    ...(hasResult ? [head('Result')] : []),
    ...table.rowNames.map(head),
    ...[...table.columns, ...table.groupColumns].map(numberHead),
  ];
  return element(
    'div',
    { class: 'table result-table', role: 'region', 'aria-label': caption, tabindex: 0 },
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...heads)),
      element('tbody', {}, ...table.groups.flatMap((group) => groupRows(group, hasResult ? 'with result' : 'bare'))),
    ),
  );
};
