// One instrument: live figures of its venues side by side, history charts with the causes of holes, candles, book, liquidations.
import { html } from 'htm/preact';
import { type Content, sendProblem } from '../account-app/shell.ts';
import type { SiteModule } from '../account-app/site.ts';
import { readQuery } from '../contract/request-url.ts';
import type { BoardListing } from './board/board-rows.ts';
import type { Form } from './board/figure-text.ts';
import {
  CHARTS,
  type ChartSpec,
  type InstrumentView,
  RANGES,
  RAW_SPAN_MS,
  readInstrumentView,
  toInstrumentAddress,
} from './board/instrument-view.ts';
import { toListingKey } from './board/reading.ts';
import { type Directory, filterScope, openDirectory, toProblem } from './directory.ts';
import { EXPLORE, sendExplorer, sendUnread } from './frame.ts';
import { requireExplorer } from './guard.ts';
import { renderCellTip, renderLiveCell, renderLiveLine } from './live-cell.ts';
import { findScopes, type Scope } from './scopes.ts';

type Shown = {
  readonly instrument: string;
  /** The selection of exactly these listings. */
  readonly where: string;
  readonly listings: readonly BoardListing[];
  readonly view: InstrumentView;
  readonly directory: Directory;
  readonly scope: Scope;
};

type SideColumn = {
  readonly label: string;
  readonly layer: string;
  readonly member: string;
  readonly form: Form;
  readonly measure?: string;
};

const SIDE: readonly SideColumn[] = [
  { label: 'Mark', layer: 'mark', member: 'mark', form: 'price' },
  { label: 'Index', layer: 'mark', member: 'index', form: 'price' },
  { label: 'Basis', layer: 'mark', member: 'basis', form: 'bps', measure: 'basis' },
  { label: 'Funding', layer: 'funding', member: 'funding', form: 'rate', measure: 'funding' },
  { label: 'Funding, 8 h', layer: 'funding', member: 'funding_8h', form: 'rate', measure: 'funding_8h' },
  { label: 'Open interest', layer: 'oi', member: 'oi', form: 'quantity' },
  { label: 'Bid', layer: 'book', member: 'bid', form: 'price' },
  { label: 'Ask', layer: 'book', member: 'ask', form: 'price' },
  { label: 'Spread', layer: 'book', member: 'spread', form: 'width', measure: 'spread' },
];
const SIDE_LAYERS = ['mark', 'funding', 'oi', 'book'];

const findVenueName = ({ directory }: Shown, venue: string): string => directory.venues.get(venue) ?? venue;
const makeTitle = (shown: Shown, listing: BoardListing): string =>
  `${findVenueName(shown, listing.venue)} ${listing.venue_symbol}`;

/** What a price or a quantity is in. */
const listUnits = (
  { form }: SideColumn,
  { asset, quote }: BoardListing,
): { quote?: string; asset?: string; unit?: 'whole' } =>
  form === 'quantity' ? { quote, asset, unit: 'whole' } : form === 'price' ? { quote } : {};

const renderSideTable = (shown: Shown): Content => {
  const layers = SIDE_LAYERS.filter((layer) => shown.scope.layers.includes(layer));
  const columns = SIDE.filter(({ layer }) => layers.includes(layer));
  return html`<div class="table side" role="region" aria-label="Venues side by side" tabindex="0">
    <table id="side" data-layers=${layers.join(',')} data-where=${shown.where} data-names=${JSON.stringify(Object.fromEntries(shown.directory.venues))}>
      <caption class="hidden-text">${shown.instrument} on each venue, live. Arrow keys lead from cell to cell.</caption>
      <thead>
        <tr><th scope="col">Venue</th>${columns.map(({ label }) => html`<th scope="col" class="number">${label}</th>`)}</tr>
      </thead>
      <tbody>
        ${shown.listings.map(
          (listing) =>
            html`<tr>
              <th scope="row">${findVenueName(shown, listing.venue)} <span class="muted">${listing.venue_symbol}</span></th>
              ${columns.map((figure) => {
                return html`<td>${renderLiveCell({ ...figure, ...listUnits(figure, listing), listing: toListingKey(listing) })}</td>`;
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
};

const renderRangeLinks = ({ view, instrument, scope }: Shown): Content => {
  const path = EXPLORE.instrument(instrument);
  const { spanMs } = RANGES.find(({ id }) => id === view.range) ?? RANGES[0];
  return html`<nav class="measures" aria-label="Range of time">
    <ul>
      ${RANGES.map(
        ({ id, label }) =>
          html`<li>
            <a href=${toInstrumentAddress(path, { ...view, range: id, isRaw: false })} aria-current=${id === view.range ? 'true' : undefined}>${label}</a>
          </li>`,
      )}
      ${
        scope.mayReadRaw && spanMs <= RAW_SPAN_MS
          ? html`<li>
              <a href=${toInstrumentAddress(path, { ...view, isRaw: !view.isRaw })} aria-current=${view.isRaw ? 'true' : undefined}>Stored rows, late ones marked</a>
            </li>`
          : null
      }
    </ul>
  </nav>`;
};

/** The plot with a lane for each line, and their names below it with the room of their figures: nothing moves when these come. */
const renderPlot = (names: readonly string[]): Content =>
  html`<div class="plot" data-plot>${names.map(() => html`<span class="lane"></span>`)}</div>
    <div class="readout small-text" data-readout>
      <strong>${'\u00a0'}</strong>
      <ul>
        ${names.map((name) => html`<li><span class="key"></span><span class="muted">${name}</span> <span class="room"></span></li>`)}
      </ul>
    </div>`;

/** A member of each listing as text for an island, by the listings' keys. */
const writeByListing = (listings: readonly BoardListing[], member: 'asset' | 'multiplier'): string =>
  JSON.stringify(Object.fromEntries(listings.map((listing) => [toListingKey(listing), listing[member]])));

/** Whether prices only compare as those of one base unit, such as of 1000PEPE and PEPE. */
const isOfOneUnit = ({ isPrice }: ChartSpec, listings: readonly BoardListing[]): boolean =>
  isPrice === true && listings.some(({ asset }) => asset !== listings[0]?.asset);

/** The heading of a chart, and what its figures were converted by. */
const describeChart = (
  spec: ChartSpec,
  listings: readonly BoardListing[],
): readonly [heading: string, note?: string] => {
  const base = listings[0]?.base ?? '';
  if (spec.units === 'base') return [`${spec.label} in ${base}`, 'converted by contract size and mark'];
  return isOfOneUnit(spec, listings)
    ? [`${spec.label} of one ${base}`, 'divided by the multiplier of each listing']
    : [spec.label];
};

/** The island fills it when it comes into sight; its height is fixed before. */
const renderChart = (spec: ChartSpec, listings: readonly BoardListing[]): Content => {
  const { id, label, layer, member, units } = spec;
  const base = units === 'base' ? listings[0]?.base : undefined;
  const [heading, note] = describeChart(spec, listings);
  const multipliers = isOfOneUnit(spec, listings) ? writeByListing(listings, 'multiplier') : undefined;
  return html`<figure class="chart" data-chart=${id} data-layer=${layer} data-member=${member} data-units=${units} data-base=${base} data-multipliers=${multipliers}>
    <figcaption>
      <h3>${heading}</h3>
      ${note === undefined ? null : html`<span class="muted small-text">${note}</span>`}
      <span class="muted small-text" data-told>Not read yet</span>
    </figcaption>
    ${renderPlot(listings.map(({ venue, venue_symbol: symbol }) => `${venue} ${symbol}`))}
    <details><summary>As a table</summary><div class="table" role="region" aria-label=${`${label} as a table`} tabindex="0" data-rows></div></details>
  </figure>`;
};

const renderListingForm = (shown: Shown): Content => {
  const { listings, view, instrument } = shown;
  return html`<form method="get" action=${EXPLORE.instrument(instrument)} class="board-filter">
    <input type="hidden" name="range" value=${view.range} />
    <div>
      <label for="listing">Candles and book of</label>
      <select id="listing" name="listing">
        ${listings.map(
          (listing) =>
            html`<option value=${toListingKey(listing)} selected=${toListingKey(listing) === view.listing}>${makeTitle(shown, listing)}</option>`,
        )}
      </select>
    </div>
    <div>
      <label for="price">Candles of</label>
      <select id="price" name="price">
        ${['trade', 'mark', 'index'].map((price) => html`<option value=${price} selected=${price === view.price}>${price}</option>`)}
      </select>
    </div>
    <button type="submit" class="quiet">Show</button>
  </form>`;
};

const renderParts = (shown: Shown): Content => {
  const { view, listings, scope } = shown;
  const chosen = listings.find((listing) => toListingKey(listing) === view.listing) ?? listings[0];
  if (chosen === undefined) return null;
  const name = makeTitle(shown, chosen);
  return html`<h2>Candles, book, liquidations</h2>
    ${renderListingForm(shown)}
    <div id="one" data-venue=${chosen.venue} data-symbol=${chosen.venue_symbol} data-asset=${chosen.asset} data-price=${view.price}>
      <figure class="chart" id="candles">
        <figcaption><h3>${`Candles of ${view.price}s, ${name}`}</h3><span class="muted small-text" data-told>Not read yet</span></figcaption>
        ${renderPlot([chosen.venue])}
        <details><summary>As a table</summary><div class="table" role="region" aria-label="Candles as a table" tabindex="0" data-rows></div></details>
      </figure>
      <section id="book" class="book">
        <h3>${`Book, ${name}`}</h3>
        <p class="muted small-text" data-told>Not read yet</p>
        <div class="book-sides" data-book></div>
      </section>
    </div>
    ${
      scope.layers.includes('liquidation')
        ? html`<section id="liquidations" data-assets=${writeByListing(listings, 'asset')}><h3>Liquidations, all venues</h3><p class="muted small-text" data-told>Not read yet</p><div data-rows></div></section>`
        : html`<p class="muted small-text">Liquidations are part of the plans from Standard.</p>`
    }`;
};

const renderBody = (shown: Shown): Content =>
  html`<h1>${shown.instrument}</h1>
    <div class="board-bar">${renderLiveLine()}<a href=${EXPLORE.board}>All instruments</a></div>
    ${renderSideTable(shown)}
    <h2>Over time</h2>
    ${renderRangeLinks(shown)}
    <p class="muted small-text">
      Nothing is drawn where no value is valid; the lanes below each chart show why. Arrow keys move the line of a chart.
    </p>
    <div id="charts" data-where=${shown.where} data-range=${shown.view.range} data-raw=${shown.view.isRaw ? 'yes' : 'no'}>
      ${CHARTS.filter(({ layer }) => shown.scope.layers.includes(layer)).map((chart) => renderChart(chart, shown.listings))}
    </div>
    ${renderParts(shown)}${renderCellTip()}`;

const UNKNOWN = { status: 404, code: 'NOT_FOUND', text: 'No venue of your plan lists this instrument.' };

/** Whole venues, as many as a stream of the plan may contain. */
const pickFitting = (
  instrument: string,
  listed: readonly BoardListing[],
  most: number,
): Pick<Shown, 'listings' | 'where'> => {
  const of = `instrument = ${instrument}`;
  if (listed.length <= most) return { listings: listed, where: of };
  const chosen: BoardListing[] = [];
  const venues = [...new Set(listed.map(({ venue }) => venue))].filter((venue) => {
    const own = listed.filter((listing) => listing.venue === venue);
    if (chosen.length + own.length > most) return false;
    chosen.push(...own);
    return true;
  });
  return { listings: chosen, where: `${of} and venue in (${venues.join(', ')})` };
};

const register: SiteModule['register'] = (app, site) => {
  const directory = openDirectory(site);
  const readScope = findScopes(site);
  app.addHook('onRequest', requireExplorer(site));
  app.get('/explore/:instrument', async (request, reply) => {
    const { instrument } = request.params as { readonly instrument: string };
    const read = await Promise.all([directory(), readScope(request)]).catch(toProblem);
    if (!Array.isArray(read)) return sendUnread(site, { request, reply }, read);
    const [known, scope] = read;
    const listed = filterScope(known.listings, scope).filter((listing) => listing.instrument === instrument);
    const { listings, where } = pickFitting(instrument, listed, Number(scope.limits['stream_listings'] ?? 0));
    if (listings.length === 0) return sendProblem(site, { request, reply }, UNKNOWN);
    const shown = {
      instrument,
      where,
      listings,
      view: readInstrumentView(readQuery(request.url)),
      directory: known,
      scope,
    };
    return sendExplorer(
      site,
      { request, reply },
      { title: instrument, body: renderBody(shown), islands: ['instrument'], styles: ['board', 'instrument'] },
    );
  });
};

export const instrumentPage: SiteModule = {
  name: 'instrument',
  islands: { instrument: new URL('./islands/instrument.ts', import.meta.url) },
  styles: { instrument: new URL('./styles/instrument.css', import.meta.url) },
  register,
};
