// Tables of answers as elements of the page; text only, nothing of an answer is ever taken for markup.
import { roveCells } from './cell-tip.ts';
import type { Cell, Group, Table } from './query-table.ts';

type Attributes = Readonly<Record<string, string | number>>;

export const renderElement = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...inner: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...inner);
  return made;
};

const renderCell = (cell: Cell | null): HTMLElement => {
  if (cell === null) return renderElement('td', { class: 'number absent' }, '');
  const isShown = cell.full !== null;
  const inside = renderElement('span', { tabindex: -1, 'data-tip': cell.tip }, cell.text);
  const unit = cell.unit === '' || !isShown ? [] : [' ', renderElement('span', { class: 'unit' }, cell.unit)];
  return renderElement('td', { class: isShown ? 'number' : 'number withheld' }, inside, ...unit);
};

const renderResult = ({ result, because }: Group, rows: number): HTMLElement => {
  const tag = renderElement('span', { class: result === 'true' ? 'tag good' : 'tag warn' }, result ?? '');
  if (because.length === 0) return renderElement('td', { rowspan: rows }, tag);
  const list = renderElement('ul', {}, ...because.map((text) => renderElement('li', {}, text)));
  const words = `${because.length} ${because.length === 1 ? 'input is' : 'inputs are'} not known`;
  return renderElement(
    'td',
    { rowspan: rows },
    tag,
    renderElement('details', { class: 'because' }, renderElement('summary', {}, words), list),
  );
};

const groupRows = (group: Group, columns: 'with result' | 'bare'): HTMLElement[] => {
  const count = Math.max(1, group.rows.length);
  const lead = [
    renderElement(
      'th',
      { scope: 'row', rowspan: count },
      renderElement('a', { href: `/explore/${encodeURIComponent(group.title)}` }, group.title),
    ),
    ...(columns === 'with result' ? [renderResult(group, count)] : []),
  ];
  const own = group.cells.map((cell) => {
    const made = renderCell(cell);
    made.setAttribute('rowspan', String(count));
    return made;
  });
  return (group.rows.length === 0 ? [{ names: [], cells: [] }] : group.rows).map((row, i) =>
    renderElement(
      'tr',
      {},
      ...(i === 0 ? lead : []),
      ...row.names.map((name) => renderElement('td', {}, name)),
      ...row.cells.map(renderCell),
      ...(i === 0 ? own : []),
    ),
  );
};

/** A table that scrolls by itself, one stop of the Tab key; columns of the whole group come last. */
export const renderTable = (table: Table, caption: string): HTMLElement => {
  const hasResult = table.groups.some(({ result }) => result !== null);
  const head = (name: string): HTMLElement => renderElement('th', { scope: 'col' }, name);
  const numberHead = (name: string): HTMLElement => renderElement('th', { scope: 'col', class: 'number' }, name);
  const heads = [
    head(table.titleName),
    ...(hasResult ? [head('Result')] : []),
    ...table.rowNames.map(head),
    ...[...table.columns, ...table.groupColumns].map(numberHead),
  ];
  const shown = renderElement(
    'div',
    { class: 'table result-table', role: 'region', 'aria-label': caption, tabindex: 0 },
    renderElement(
      'table',
      {},
      renderElement('thead', {}, renderElement('tr', {}, ...heads)),
      renderElement(
        'tbody',
        {},
        ...table.groups.flatMap((group) => groupRows(group, hasResult ? 'with result' : 'bare')),
      ),
    ),
  );
  roveCells(shown, '[data-tip]');
  return shown;
};
