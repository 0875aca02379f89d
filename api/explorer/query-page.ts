// `/explore/query`: the frame of the query page; its island sends the query and shows the answer. The address contains the query.
import { html } from 'htm/preact';
import { LAYERS, READING_LAYERS } from '../../schemas/layers/readings.ts';
import { renderCopyable } from '../account-app/components.ts';
import type { Content, Exchange, sendPage } from '../account-app/shell.ts';
import type { Site, SiteModule } from '../account-app/site.ts';
import { EXPLORE, sendExplorer } from './frame.ts';
import { requireExplorer } from './guard.ts';

const FIRST = {
  screen:
    'any(venues where abs(funding_8h) >= 0) select funding_8h, mark, spread order by max(venues, funding_8h) desc',
  snapshots: 'base = BTC',
};
/** Questions to begin with, each a click away. */
const EXAMPLES = [
  ['Highest funding', FIRST.screen],
  [
    'Marks apart between venues',
    'max(venues, mark) - min(venues, mark) > 0 select mark, index, max(venues, mark) - min(venues, mark)',
  ],
  ['Tight and fresh books', 'count(venues where age(bid) < 30s and spread < 50bps) >= 1 select bid, ask, spread'],
  [
    'Furthest from the index',
    'any(venues where abs(basis) >= 0) select basis, mark, index order by max(venues, abs(basis)) desc',
  ],
  [
    'Depth within 100 bps',
    'any(venues where depth_bid_value(100bps) > 0) select depth_bid_value(100bps), depth_ask_value(100bps)',
  ],
] as const;
const FIRST_LAYERS: ReadonlySet<string> = new Set(['mark', 'funding', 'book']);
const LONGEST_QUERY = 8_192;

const layerNames = READING_LAYERS.map((layer) => LAYERS[layer].recordName);

const readParameter = (query: unknown, name: string): string => {
  const value = (query as Record<string, unknown>)[name];
  return typeof value === 'string' ? value.slice(0, LONGEST_QUERY) : '';
};

const renderModes = (mode: string): Content =>
  html`<fieldset class="choice">
    <legend>Ask for</legend>
    <label><input type="radio" name="mode" value="screen" checked=${mode === 'screen'} /> Instruments for which a query holds</label>
    <label><input type="radio" name="mode" value="snapshots" checked=${mode === 'snapshots'} /> Values of a selection</label>
  </fieldset>`;

const renderOptions = (mode: string): Content =>
  html`<div class="query-options">
    <fieldset class="choice" data-of="snapshots" hidden=${mode !== 'snapshots'}>
      <legend>Layers</legend>
      ${layerNames.map(
        (name) =>
          html`<label><input type="checkbox" name="layers" value=${name} checked=${FIRST_LAYERS.has(name)} /> ${name}</label>`,
      )}
    </fieldset>
    <div class="field">
      <label for="units">Units of quantities</label>
      <select id="units" name="units">
        ${['published', 'base', 'quote'].map((units) => html`<option value=${units}>${units}</option>`)}
      </select>
    </div>
    <div class="field" data-of="screen" hidden=${mode !== 'screen'}>
      <label class="check"><input type="checkbox" id="unknown" name="unknown" value="1" /> Include instruments with an unknown result</label>
    </div>
  </div>`;

const HOUR_MS = 3_600_000;

/** The example is an hour ago, which most services know. */
const makeInstant = (nowMs: number): Content => html`<div class="as-of">
  <div class="field">
    <label for="as-of">As of (UTC)</label>
    <input id="as-of" type="text" placeholder="now" autocomplete="off" aria-describedby="as-of-hint" />
  </div>
  <div class="field slide">
    <label for="as-of-slider">Go back</label>
    <input id="as-of-slider" type="range" min="0" max="1440" value="1440" aria-valuetext="now" />
  </div>
  <button type="button" id="as-of-now" class="quiet">Now</button>
  <span class="hint" id="as-of-hint">Such as ${new Date(Math.floor((nowMs - HOUR_MS) / HOUR_MS) * HOUR_MS).toISOString()}, best a full minute; empty for now.</span>
</div>`;

const renderQuestionForm = (
  site: Site,
  { q, mode }: { readonly q: string; readonly mode: 'screen' | 'snapshots' },
): Content =>
  html`<form
    id="query-form" method="get" action=${EXPLORE.query}
    data-base=${site.urls.base} data-screen=${FIRST.screen} data-snapshots=${FIRST.snapshots}
  >
    ${renderModes(mode)}
    <div class="examples" data-of="screen" hidden=${mode !== 'screen'}>
      ${EXAMPLES.map(([name, text]) => html`<button type="button" class="quiet small" data-example=${text}>${name}</button>`)}
    </div>
    <div class="query-editor">
      <div id="editor" hidden></div>
      <textarea id="q" name="q" rows="5" maxlength=${LONGEST_QUERY} aria-label="Query" spellcheck="false">${q}</textarea>
    </div>
    <p id="query-state" class="query-state" role="status"></p>
    <ul id="query-faults" class="query-faults"></ul>
    ${renderOptions(mode)} ${makeInstant(site.nowMs())}
    <p class="actions">
      <button type="submit">Run</button>
      <span class="hint">Ctrl+Enter runs. <a href="/docs/language">The language</a></span>
    </p>
  </form>`;

const result: Content = html`<section class="result" aria-labelledby="result-title">
  <div class="result-bar">
    <h2 id="result-title">Result</h2>
    <p id="result-head" role="status"></p>
    <p class="actions">
      <button type="button" class="quiet small" data-download="shown" disabled>Download as CSV</button>
      <button type="button" class="quiet small" data-download="csv" hidden>Last hour as CSV</button>
      <button type="button" class="quiet small" data-download="parquet" hidden>Last hour as Parquet</button>
    </p>
  </div>
  <div id="result" class="result-place"></div>
  <details>
    <summary>Run it from a program</summary>
    <p>With a key of yours in <code>PERP_API_KEY</code> (<a href="/keys">make one</a>).</p>
    <h3>curl</h3>
    ${renderCopyable('code-curl', '')}
    <h3>Python</h3>
    ${renderCopyable('code-python', '')}
    <h3>TypeScript</h3>
    ${renderCopyable('code-typescript', '')}
  </details>
</section>`;

const show = (site: Site, exchange: Exchange): ReturnType<typeof sendPage> => {
  const { query } = exchange.request;
  const mode = readParameter(query, 'mode') === 'snapshots' ? 'snapshots' : 'screen';
  const q = readParameter(query, 'q') || FIRST[mode];
  return sendExplorer(site, exchange, {
    title: 'Query',
    description: 'Ask a question of the market, now or at any past instant.',
    islands: ['query'],
    styles: ['query'],
    body: html`<h1>Query</h1>
      ${renderQuestionForm(site, { q, mode })} ${result}`,
  });
};

export const queryPage: SiteModule = {
  name: 'explore-query',
  islands: { query: new URL('./islands/query.ts', import.meta.url) },
  styles: { query: new URL('./styles/query.css', import.meta.url) },
  register: (app, site) => {
    app.get(EXPLORE.query, { onRequest: requireExplorer(site) }, (request, reply) => show(site, { request, reply }));
  },
};
