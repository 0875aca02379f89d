// `/explore/proof`: choose a row and see its path to the posted root; the island recomputes every step in the browser with the public verifier.
import { html } from 'htm/preact';
import { fetchJson } from '../../infra/runtime/network/fetch-json.ts';
import type { Content, Exchange, sendPage } from '../account-app/shell.ts';
import type { Site, SiteModule } from '../account-app/site.ts';
import { ARCHIVE_LAYERS } from '../contract/archive.ts';
import { addChain, CHAIN_PATH } from './chain.ts';
import { EXPLORE, sendExplorer } from './frame.ts';
import { requireExplorer } from './guard.ts';

const STATUS_MS = 3_000;

type NewestDay = { readonly day: string | null; readonly words: string };
type Anchored = { readonly anchored: { readonly day: string } | null; readonly history_read_at: string | null };

const UNKNOWN_DAY: NewestDay = { day: null, words: 'The newest anchored day is not known at the moment.' };

/** The newest anchored day according to the status: a status that could not be read does not mean that there is none. */
const readNewestDay = async ({ urls }: Site): Promise<NewestDay> => {
  try {
    const status = await fetchJson(`${urls.api}/status.json`, { withinMs: STATUS_MS });
    const { anchored, history_read_at: readAt } = status as Anchored;
    if (anchored !== null) return { day: anchored.day, words: `Newest anchored day: ${anchored.day}` };
    return readAt === null ? UNKNOWN_DAY : { day: null, words: 'No day is anchored yet.' };
  } catch {
    return UNKNOWN_DAY;
  }
};

type ProofQuery = Readonly<Record<'day' | 'layer' | 'listing' | 'at' | 'seq', string>>;
const NAMES = ['day', 'layer', 'listing', 'at', 'seq'] as const;

const parseRequest = (query: unknown): ProofQuery => {
  const sent = query as Record<string, unknown>;
  return Object.fromEntries(
    NAMES.map((name) => [name, typeof sent[name] === 'string' ? sent[name].slice(0, 200) : '']),
  ) as ProofQuery;
};

const renderRowForm = ({ day, layer, listing, at, seq }: ProofQuery, newest: NewestDay): Content =>
  html`<form id="proof-form" method="get" action=${EXPLORE.proof}>
    <div class="field">
      <label for="day">Day (UTC)</label>
      <input id="day" name="day" type="date" required value=${day || newest.day || ''} />
      <span class="hint">${newest.words}</span>
    </div>
    <div class="field">
      <label for="layer">Table</label>
      <select id="layer" name="layer">
        ${ARCHIVE_LAYERS.map((name) => html`<option value=${name} selected=${name === (layer || 'mark')}>${name}</option>`)}
      </select>
      <span class="hint" id="layer-hint"></span>
    </div>
    <div class="field">
      <label for="listing">Listing</label>
      <input id="listing" name="listing" list="listings" required value=${listing} placeholder="venue:symbol" autocomplete="off" />
      <datalist id="listings"></datalist>
      <span class="hint" id="listing-hint"></span>
    </div>
    <div class="field">
      <label for="at">Instant of the row</label>
      <input id="at" name="at" value=${at} placeholder="end of the day" autocomplete="off" />
      <span class="hint">The newest row up to this instant is proved. For candles: their minute; 12:00 if it is empty.</span>
    </div>
    <div class="field">
      <label for="seq">or its number</label>
      <input id="seq" name="seq" inputmode="numeric" pattern="[0-9]*" value=${seq} autocomplete="off" />
      <span class="hint">The seq of the row; trades and liquidations need it.</span>
    </div>
    <p class="actions"><button type="submit">Prove this row</button></p>
  </form>`;

/** What a proof consists of, shown until there is one. */
const OUTLINE = [
  ['Row', 'The stored row as canonical JSON (RFC 8785), every figure with the venue’s digits.'],
  ['Leaf', 'SHA-256 of the row.'],
  ['Path to the root of the table', 'One hash a level: thousands of rows need a dozen.'],
  ['Root of the day', 'The roots of all tables of the day are the leaves of a second tree.'],
  ['Chain', 'The root that the contract holds for the day, read from a node.'],
] as const;

const outline: Content = html`<section>
  <h2>What is recomputed</h2>
  <ol class="way">
    ${OUTLINE.map(([name, text]) => html`<li><h3>${name}</h3><p class="muted">${text}</p></li>`)}
  </ol>
</section>`;

const renderAnswerPart = (site: Site): Content =>
  html`<p id="proof-head" class="proof-head" role="status"></p>
    <ul id="proof-faults" class="query-faults"></ul>
    <div class="proof-place" id="proof-place" data-chain=${site.chainUrl === null ? undefined : CHAIN_PATH}>
      ${outline}
    </div>
    <section>
      <h2>The proof as received</h2>
      <p class="muted">
        Change a character, or paste another proof, and check again: the step that fails is marked. Nothing of it leaves this page except the
        queries to the chain. The same check as a single-file program: <a href=${`${site.urls.base}/docs/verify`}>verify.py and verify.mjs</a>.
      </p>
      <textarea id="proof-text" rows="10" spellcheck="false" aria-label="The proof as JSON"></textarea>
      <p class="actions"><button type="button" id="proof-check" class="quiet">Check this text</button></p>
    </section>`;

const show = async (site: Site, exchange: Exchange): Promise<ReturnType<typeof sendPage>> => {
  const asked = parseRequest(exchange.request.query);
  return sendExplorer(site, exchange, {
    title: 'Proof',
    description: 'The path of one row to the root that was posted on the chain, recomputed in your browser.',
    islands: ['proof'],
    styles: ['query', 'proof'],
    body: html`<h1>Proof of a row</h1>
      <p class="lead">
        Every stored row of a closed day is a leaf of a hash tree, whose root is posted on a public chain. Your browser recomputes every step.
      </p>
      ${renderRowForm(asked, await readNewestDay(site))} ${renderAnswerPart(site)}`,
  });
};

export const proofPage: SiteModule = {
  name: 'explore-proof',
  islands: { proof: new URL('./islands/proof.ts', import.meta.url) },
  styles: { proof: new URL('./styles/proof.css', import.meta.url) },
  register: (app, site) => {
    app.get(EXPLORE.proof, { onRequest: requireExplorer(site) }, (request, reply) => show(site, { request, reply }));
    addChain(app, site);
  },
};
