// The proof page: requests the proof of a row and recomputes each step with the verifier that outsiders run.
import { type ProofStep, verifyProofText } from '../../../infra/verify/verify.mjs';
import { type ApiFault, callApi, callJson, Refused, readWhole } from './call.ts';
import { describeOffered, type Files, listOffered } from './offered-listings.ts';
import { findElement } from './page-element.ts';
import { formatConclusion } from './proof-words.ts';
import { renderElement } from './query-view.ts';

type Proof = {
  readonly day: string;
  readonly network: string | null;
  readonly binding?: boolean;
  readonly table: string;
  readonly row: Readonly<Record<string, string | boolean | null>>;
  readonly canonical: string;
  readonly leaf_hash: string;
  readonly index: number;
  readonly rows: number;
  readonly path: readonly string[];
  readonly partition: {
    readonly root: string;
    readonly leaf: string;
    readonly index: number;
    readonly count: number;
    readonly path: readonly string[];
  };
  readonly day_root: string;
  readonly anchor: {
    readonly status: string;
    readonly contract: string | null;
    readonly tx_hash: string | null;
    readonly block: number | null;
    readonly anchored_at: string | null;
    readonly explorer_url: string | null;
  };
};
type Day = { readonly partitions: readonly { readonly table: string; readonly rows: number }[] };

const findInput = (id: string): HTMLInputElement => findElement<HTMLInputElement>(id);

const form = findElement<HTMLFormElement>('proof-form');
const head = findElement('proof-head');
const faultList = findElement('proof-faults');
const place = findElement('proof-place');
const text = findElement<HTMLTextAreaElement>('proof-text');
const { chain } = place.dataset;
/** What the page shows while there is no proof. */
const outline = [...place.childNodes];
const MOST_LISTINGS = '1000';

const showFaults = (faults: readonly ApiFault[]): void => {
  faultList.replaceChildren(
    ...faults.map(({ message, hint, code }) =>
      renderElement('li', {}, `${message} ${hint ?? ''} `, renderElement('code', {}, code)),
    ),
  );
};

type Told<T> = { readonly answer: T | null; readonly refusal: string };

/** The JSON of an answer, or the reason why it could not be read, which is not the same as an empty answer. */
const fetchTold = async <T>(path: string): Promise<Told<T>> => {
  try {
    return { answer: await callJson<T>(path), refusal: '' };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { answer: null, refusal: error.message };
  }
};

let offers = 0;

/** Offers the known tables of the day with their rows, and the listings with a file of the table; other values are not refused here. */
const offer = async (): Promise<void> => {
  const [day, layer] = [findInput('day').value, findElement<HTMLSelectElement>('layer').value];
  if (day === '') return;
  const number = ++offers;
  const query = new URLSearchParams({ from: day, to: day, layer, limit: MOST_LISTINGS });
  const [closed, files] = await Promise.all([fetchTold<Day>(`/anchors/${day}`), fetchTold<Files>(`/archive?${query}`)]);
  // An answer about an earlier choice does not apply to this one.
  if (number !== offers) return;
  const listings = files.answer === null ? [] : listOffered(files.answer);
  findElement('listings').replaceChildren(...listings.map((value) => renderElement('option', { value })));
  findElement('listing-hint').textContent = files.answer === null ? files.refusal : describeOffered(files.answer);
  findElement('layer-hint').textContent =
    closed.answer === null
      ? closed.refusal
      : closed.answer.partitions.map(({ table, rows }) => `${table} ${rows}`).join(', ');
  const [first] = listings;
  if (findInput('listing').value === '' && first !== undefined) findInput('listing').value = first;
};

const renderHash = (label: string, value: string, side = ''): HTMLElement =>
  renderElement(
    'li',
    side === '' ? {} : { class: side },
    renderElement('span', { class: 'hash-name' }, label),
    ' ',
    renderElement('code', {}, value),
  );

const renderStep = (title: string, ...children: readonly HTMLElement[]): HTMLElement =>
  renderElement('li', {}, renderElement('h3', {}, title), ...children);
const renderCode = (text: string): HTMLElement => renderElement('code', {}, text);
const renderHashes = (...items: readonly HTMLElement[]): HTMLElement =>
  renderElement('ol', { class: 'hashes' }, ...items);
const renderNumbered = (path: readonly string[]): HTMLElement[] =>
  path.map((value, i) => renderHash(String(i + 1), value));

const renderAnchorFacts = ({ network, anchor }: Proof): HTMLElement => {
  const link =
    anchor.explorer_url === null
      ? anchor.tx_hash
      : renderElement('a', { href: anchor.explorer_url, rel: 'noreferrer' }, anchor.tx_hash ?? '');
  const facts: readonly (readonly [string, string | Node | null])[] = [
    ['Contract', anchor.contract],
    ['Network', network],
    ['Transaction', link],
    ['Block', anchor.block === null ? null : String(anchor.block)],
    ['Posted', anchor.anchored_at],
  ];
  const rows = facts.flatMap(([name, value]) =>
    value === null ? [] : [renderElement('dt', {}, name), renderElement('dd', {}, value)],
  );
  return renderElement('dl', { class: 'facts' }, ...rows);
};

const renderWay = (proof: Proof): HTMLElement => {
  const { partition, anchor } = proof;
  return renderElement(
    'ol',
    { class: 'way' },
    renderStep('Row', renderElement('pre', { tabindex: 0 }, proof.canonical)),
    renderStep(`Leaf ${proof.index} of ${proof.rows} of ${proof.table}`, renderCode(proof.leaf_hash)),
    renderStep(
      `Path to the root of the table: ${proof.path.length} hashes`,
      renderHashes(...renderNumbered(proof.path)),
    ),
    renderStep('Root of the table', renderCode(partition.root)),
    renderStep(
      `Leaf ${partition.index} of ${partition.count} of the day, and its path`,
      renderHashes(renderHash('leaf', partition.leaf), ...renderNumbered(partition.path)),
    ),
    renderStep(`Root of ${proof.day}`, renderCode(proof.day_root)),
    renderStep(`On the chain: ${anchor.status}`, renderAnchorFacts(proof)),
  );
};

const MARKS = { ok: ['good', 'holds'], failed: ['bad', 'does not hold'], skipped: ['plain', 'not checked'] } as const;

const renderCheckStep = ({ name, outcome, claim, reason, expected, found }: ProofStep): HTMLElement => {
  const [tone, word] = MARKS[outcome];
  const describeFact = (label: string, value: unknown): Node[] =>
    value == null ? [] : [renderElement('p', { class: 'told' }, `${label} `, renderElement('code', {}, String(value)))];
  return renderElement(
    'li',
    { class: `step ${outcome}`, 'data-step': name },
    renderElement('span', { class: tone === 'plain' ? 'tag' : `tag ${tone}` }, word),
    renderElement(
      'div',
      {},
      renderElement('strong', {}, name),
      ` ${claim ?? ''}`,
      ...(reason === undefined ? [] : [renderElement('p', { class: 'told' }, reason)]),
      ...describeFact('stated', expected),
      ...describeFact('computed', found),
    ),
  );
};

/** Checks the current text. */
const check = async (): Promise<void> => {
  showFaults([]);
  head.textContent = 'Recomputing…';
  try {
    const rpc = chain === undefined ? null : new URL(chain, location.href).href;
    // The text may be changed while it is checked.
    const asked = text.value;
    const checked = await verifyProofText(asked, { rpc });
    // A text that lacks a member has no way to show.
    const unreadable = checked.steps.find(({ name, outcome }) => name === 'form' && outcome === 'failed');
    if (unreadable !== undefined) throw new Error(unreadable.reason);
    const proof = JSON.parse(asked) as Proof;
    head.textContent = formatConclusion(checked);
    place.replaceChildren(
      renderElement(
        'section',
        {},
        renderElement('h2', {}, 'Steps'),
        renderElement('ol', { class: 'steps' }, ...checked.steps.map(renderCheckStep)),
      ),
      renderElement('section', {}, renderElement('h2', {}, 'The path of the row'), renderWay(proof)),
    );
  } catch (error) {
    head.textContent = `This is not a proof: ${(error as Error).message}`;
    place.replaceChildren(...outline);
  }
};

const DAY_MS = 86_400_000;
/** Their instants begin rows and lie before the day's end; those of readings end windows and include it (AN-06). */
const BEFORE_MIDNIGHT: ReadonlySet<string> = new Set(['candles', 'trades', 'liquidation']);

/** The instant of a row that was not named: by it the newest row of the day is proved. */
const toDefaultInstant = (day: string, layer: string): string =>
  BEFORE_MIDNIGHT.has(layer) ? `${day}T12:00:00Z` : new Date(Date.parse(day) + DAY_MS).toISOString();

const prove = async (): Promise<void> => {
  const [day, listing] = [findInput('day').value, findInput('listing').value];
  const layer = findElement<HTMLSelectElement>('layer').value;
  const at = findInput('at').value.trim() || toDefaultInstant(day, layer);
  const seq = findInput('seq').value.trim();
  const colon = listing.indexOf(':');
  const named = { venue: listing.slice(0, Math.max(colon, 0)), symbol: listing.slice(colon + 1), layer };
  const shown = new URLSearchParams({
    day,
    layer: named.layer,
    listing,
    ...(findInput('at').value === '' ? {} : { at }),
    ...(seq === '' ? {} : { seq }),
  });
  history.replaceState(null, '', `${location.pathname}?${shown}`);
  head.textContent = 'Requesting the proof…';
  showFaults([]);
  try {
    const answer = await callApi(
      `/anchors/proof?${new URLSearchParams({ ...named, at, ...(seq === '' ? {} : { seq }) })}`,
    );
    text.value = await readWhole(answer.text());
    await check();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    head.textContent = 'There is no proof: see the faults.';
    place.replaceChildren(...outline);
    showFaults(error.faults);
  }
};

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void prove();
});
for (const id of ['day', 'layer']) findElement(id).addEventListener('change', () => void offer());
findElement('proof-check').addEventListener('click', () => void check());

await offer();
// An address may name a day that no calendar has: the field is empty then.
if (findInput('listing').value !== '' && findInput('day').value !== '') await prove();
