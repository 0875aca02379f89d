// The query page: the address contains the query; it is checked while it is typed, and the answer is shown as a table.
import { formatCount } from '../../contract/counts.ts';
import { type ApiFault, callApi, callJson, Refused, readWhole } from './call.ts';
import { measureClockError } from './page-clock.ts';
import { findElement } from './page-element.ts';
import { type Call, toCsv, toCurl, toPythonCode, toTypeScript } from './query-code.ts';
import { type Catalogue, createEditor } from './query-editor.ts';
import {
  flattenRows,
  type HistoryAnswer,
  type ScreenAnswer,
  type SnapshotsAnswer,
  type Table,
  toScreenTable,
  toSnapshots,
  toSnapshotsTable,
} from './query-table.ts';
import { renderElement, renderTable } from './query-view.ts';
import { findAsOf, toFullMinute, withAsOf } from './query-words.ts';
import { enableTips } from './tips.ts';

type Mode = 'screen' | 'snapshots';
type Question = {
  readonly mode: Mode;
  readonly q: string;
  readonly layers: readonly string[];
  readonly units: string;
  readonly unknown: boolean;
  /** For snapshots; a screen has it in its text. */
  readonly at: string;
};

const form = findElement<HTMLFormElement>('query-form');
const { base = '' } = form.dataset;
const state = findElement('query-state');
const faultList = findElement('query-faults');
const head = findElement('result-head');
const place = findElement('result');
const asOf = findElement<HTMLInputElement>('as-of');
const slider = findElement<HTMLInputElement>('as-of-slider');
const SLIDER_STEPS = Number(slider.max);
/** How far back the slider reaches at most; the input takes any instant. */
const SLIDER_MS = 86_400_000;
const HISTORY_MS = 3_600_000;

const clockErrorMs = measureClockError();
/** By the service's clock: an instant of its future is refused. */
const readNowMs = (): number => Date.now() + clockErrorMs;

let catalogue: Catalogue | null = null;
let shown: { readonly call: Call; readonly table: Table } | null = null;
let running: AbortController | null = null;

const toSecond = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const isMode = (text: string | null): text is Mode => text === 'screen' || text === 'snapshots';

const listChecked = (name: string): HTMLInputElement[] => [
  ...form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]:checked`),
];
const readMode = (): Mode => (listChecked('mode')[0]?.value === 'snapshots' ? 'snapshots' : 'screen');

const readQuestion = (): Question => ({
  mode: readMode(),
  q: editor.text(),
  layers: listChecked('layers').map(({ value }) => value),
  units: findElement<HTMLSelectElement>('units').value,
  unknown: findElement<HTMLInputElement>('unknown').checked,
  at: asOf.value.trim(),
});

/** The address of a query; it leaves out defaults. */
const toAddress = ({ mode, q, layers, units, unknown, at }: Question): string => {
  const query = new URLSearchParams({ q });
  if (mode === 'snapshots') {
    query.set('mode', mode);
    query.set('layers', layers.join(','));
    if (at !== '') query.set('at', at);
  } else if (unknown) query.set('unknown', '1');
  if (units !== 'published') query.set('units', units);
  return `${location.pathname}?${query}`;
};

const toCall = ({ mode, q, layers, units, unknown, at }: Question): Call => {
  const common = { ...(units === 'published' ? {} : { units }), number_format: 'string' };
  if (mode === 'screen')
    return { path: '/screen', body: { query: q, ...(unknown ? { include_unknown: true } : {}), ...common } };
  const body = { ...(q.trim() === '' ? {} : { where: q }), layers, ...common };
  return at === '' ? { path: '/snapshots', body } : { path: '/snapshots/history', body: { ...body, at: [at] } };
};

const showState = (text: string): void => {
  state.textContent = text;
};

const showFaults = (faults: readonly ApiFault[]): void => {
  faultList.replaceChildren(
    ...faults.map(({ message, hint, code }) =>
      renderElement(
        'li',
        {},
        message,
        ' ',
        hint == null ? '' : renderElement('span', { class: 'hint' }, hint),
        ' ',
        renderElement('code', {}, code),
      ),
    ),
  );
};

type Parsed = { readonly complexity: { readonly nodes: number; readonly bars: number; readonly cost: number } };

let checks = 0;
/** The last run, if it was refused: a text without faults can still be refused. */
let refused: { readonly text: string; readonly faults: readonly ApiFault[] } | null = null;

/** The text has no faults: only the refusal of its run remains. */
const showRefused = (text: string): readonly ApiFault[] => {
  const faults = refused?.text === text ? refused.faults : [];
  showFaults(faults);
  return faults;
};

/** Returns the faults that the service finds in the text; a selection is checked only when it is run. */
const check = async (text: string): Promise<readonly ApiFault[]> => {
  const number = ++checks;
  if (readMode() !== 'screen' || text.trim() === '') {
    showState('');
    return showRefused(text);
  }
  try {
    const { complexity } = await callJson<Parsed>('/dql/parse', { body: { query: text } });
    // An answer about an earlier text does not apply to this one.
    if (number !== checks) return [];
    showState(`Cost ${complexity.cost} of 10000, ${complexity.nodes} nodes, ${complexity.bars} bars`);
    return showRefused(text);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (number !== checks) return [];
    showFaults(error.faults);
    showState(formatCount(error.faults.length, 'fault'));
    return error.faults;
  }
};

/** Sets the controls of the instant from the text. */
const showInstant = (): void => {
  if (readMode() === 'screen') asOf.value = findAsOf(editor.text())?.at ?? '';
  const at = Date.parse(asOf.value);
  const back = Number.isNaN(at) ? 0 : Math.min(1, (readNowMs() - at) / readReachMs());
  slider.value = String(Math.round(SLIDER_STEPS * (1 - back)));
  slider.setAttribute('aria-valuetext', asOf.value === '' ? 'now' : asOf.value);
};

const readReachMs = (): number => {
  const earliest = Date.parse(catalogue?.earliest_retained ?? '');
  return Number.isNaN(earliest) ? SLIDER_MS : Math.min(SLIDER_MS, Math.max(60_000, readNowMs() - earliest));
};

const readSlider = (): string => {
  const back = 1 - Number(slider.value) / SLIDER_STEPS;
  return back === 0 ? '' : toFullMinute(readNowMs() - back * readReachMs(), readNowMs());
};

const setInstant = (at: string): void => {
  if (readMode() === 'screen') editor.setText(withAsOf(editor.text(), at === '' ? null : at));
  else asOf.value = at;
  showInstant();
};

const codes = { curl: toCurl, python: toPythonCode, typescript: toTypeScript };

const showCode = (call: Call): void => {
  for (const [name, write] of Object.entries(codes)) findElement(`code-${name}`).textContent = write(base, call);
};

const fetchAnswered = async (call: Call, signal: AbortSignal): Promise<{ table: Table; words: string }> => {
  const asked = { body: call.body, signal };
  if (call.path === '/screen') {
    const answer = await callJson<ScreenAnswer>(call.path, asked);
    const table = toScreenTable(answer);
    const more = answer.page.next_cursor === null ? '' : ', and more that are not shown';
    const settled =
      answer.as_of === null ? '' : answer.settled ? ', settled: this answer never changes' : ', not settled yet';
    return {
      table,
      words: `${formatCount(answer.instruments.length, 'instrument')}${more}, as of ${answer.as_of ?? answer.evaluated_at}${settled}.`,
    };
  }
  const isPast = call.path !== '/snapshots';
  const answer = isPast
    ? toSnapshots(await callJson<HistoryAnswer>(call.path, asked))
    : await callJson<SnapshotsAnswer>(call.path, asked);
  const [instant] = (call.body['at'] as readonly string[] | undefined) ?? [];
  return {
    table: toSnapshotsTable(answer),
    words: `${formatCount(answer.items.length, 'listing')}, as of ${instant ?? answer.evaluated_at}.`,
  };
};

const showRefusal = (error: unknown, { q: text }: Question): void => {
  if (!(error instanceof Refused)) throw error;
  refused = { text, faults: error.faults };
  showFaults(error.faults);
  editor.show(error.faults);
  head.textContent =
    error.status === 401
      ? 'Your session has ended. Load the page again to sign in.'
      : 'No answer: see the faults above.';
  place.replaceChildren();
};

/** What an answer without rows means. */
const explainNothing = ({ mode, unknown }: Question): string => {
  if (mode === 'snapshots') return 'No listing is in this selection.';
  return unknown
    ? 'The query is false for every instrument.'
    : 'The query holds for no instrument. Instruments with an unknown result are omitted unless you include them.';
};

const run = async ({ keepsAddress = false } = {}): Promise<void> => {
  running?.abort();
  const own = new AbortController();
  running = own;
  const question = readQuestion();
  const call = toCall(question);
  const address = toAddress(question);
  if (!keepsAddress && address !== location.pathname + location.search) history.pushState(null, '', address);
  showCode(call);
  head.textContent = 'Asking…';
  place.setAttribute('aria-busy', 'true');
  try {
    const { table, words } = await fetchAnswered(call, own.signal);
    shown = { call, table };
    refused = null;
    head.textContent = words;
    place.replaceChildren(
      table.groups.length === 0
        ? renderElement('p', { class: 'muted' }, explainNothing(question))
        : renderTable(table, 'Rows of the result'),
    );
    if (question.mode === 'snapshots') showFaults([]);
  } catch (error) {
    if ((error as Error).name === 'AbortError') return;
    shown = null;
    showRefusal(error, question);
  } finally {
    if (running === own) place.removeAttribute('aria-busy');
    for (const button of document.querySelectorAll<HTMLButtonElement>('[data-download]')) enable(button, question.mode);
  }
};

/** Rows of the past are given for a selection alone. */
const enable = (button: HTMLButtonElement, mode: Mode): void => {
  button.disabled = shown === null;
  button.hidden = button.dataset['download'] !== 'shown' && mode !== 'snapshots';
};

const save = (name: string, content: BlobPart, type: string): void => {
  const link = renderElement('a', { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
};

const FORMATS: Readonly<Record<string, readonly [type: string, extension: string]>> = {
  csv: ['text/csv', 'csv'],
  parquet: ['application/vnd.apache.parquet', 'parquet'],
};

/** The last hour before the shown instant, minute by minute, as the service itself writes it. */
const download = async (what: string): Promise<void> => {
  if (shown === null) return;
  if (what === 'shown') {
    const { columns, rows } = flattenRows(shown.table);
    return save('result.csv', toCsv(columns, rows), 'text/csv');
  }
  const [type, extension] = FORMATS[what] ?? ['text/csv', 'csv'];
  const {
    at,
    number_format: _format,
    ...asked
  } = shown.call.body as { at?: readonly string[]; number_format?: string };
  const to = at?.[0] ?? toSecond(Math.floor(readNowMs() / 60_000) * 60_000);
  const body = { ...asked, from: toSecond(Date.parse(to) - HISTORY_MS), to, interval: '1m' };
  try {
    const answer = await callApi('/snapshots/history', { body, accept: type });
    save(`history.${extension}`, await readWhole(answer.blob()), type);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    showFaults(error.faults);
    showState('The download was refused.');
  }
};

const host = findElement('editor');
const plainText = findElement<HTMLTextAreaElement>('q');
const editor = createEditor({
  host,
  text: plainText.value,
  catalogue: () => catalogue,
  onChange: showInstant,
  onRun: () => void run(),
  check,
});
plainText.hidden = true;
host.hidden = false;
enableTips(document.body);

const showMode = (): void => {
  const mode = readMode();
  for (const part of document.querySelectorAll<HTMLElement>('[data-of]')) part.hidden = part.dataset['of'] !== mode;
};

/** The form as the address has it: after Back and Forward. */
const readAddress = (): void => {
  const query = new URLSearchParams(location.search);
  const mode = query.get('mode');
  for (const input of form.querySelectorAll<HTMLInputElement>('input[name="mode"]'))
    input.checked = input.value === (isMode(mode) ? mode : 'screen');
  const layers = query.get('layers')?.split(',');
  for (const input of form.querySelectorAll<HTMLInputElement>('input[name="layers"]'))
    if (layers !== undefined) input.checked = layers.includes(input.value);
  findElement<HTMLSelectElement>('units').value = query.get('units') ?? 'published';
  findElement<HTMLInputElement>('unknown').checked = query.get('unknown') === '1';
  asOf.value = query.get('at') ?? '';
  const q = query.get('q');
  if (q !== null && q !== editor.text()) editor.setText(q);
  showMode();
  showInstant();
};

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void run();
});
form.addEventListener('change', ({ target }) => {
  const { name, id } = target as HTMLInputElement;
  if (name === 'mode') {
    const examples = form.dataset;
    editor.setText((readMode() === 'screen' ? examples['screen'] : examples['snapshots']) ?? '');
    showMode();
    showInstant();
  }
  if (id === 'as-of') setInstant(asOf.value.trim());
  if (id === 'as-of-slider') {
    setInstant(readSlider());
  }
  void run();
});
slider.addEventListener('input', () => {
  asOf.value = readSlider();
});
for (const button of document.querySelectorAll<HTMLButtonElement>('[data-example]'))
  button.addEventListener('click', () => {
    editor.setText(button.dataset['example'] ?? '');
    void run();
    editor.focus();
  });
for (const button of document.querySelectorAll<HTMLButtonElement>('[data-download]'))
  button.addEventListener('click', () => void download(button.dataset['download'] ?? ''));
findElement('as-of-now').addEventListener('click', () => {
  setInstant('');
  void run();
});
addEventListener('popstate', () => {
  readAddress();
  void run({ keepsAddress: true });
});

readAddress();
void run({ keepsAddress: true });
callJson<Catalogue>('/dql/catalogue').then(
  (answer) => {
    catalogue = answer;
    showInstant();
  },
  // Without it there is no completion; everything else works.
  () => undefined,
);
