// The board: instruments by venues, one measure at a time, live (issue of the explorer). The address holds measure, order and filter.
import { html } from 'htm/preact';
import { renderMessage } from '../account-app/components.ts';
import type { Content } from '../account-app/shell.ts';
import type { SiteModule } from '../account-app/site.ts';
import { readQuery } from '../contract/request-url.ts';
import {
  type BoardView,
  hasRangeOrder,
  listLeftOut,
  MOST_CODES,
  readBoardView,
  toBoardAddress,
  toggleSort,
} from './board/board-address.ts';
import {
  type BoardListing,
  type BoardRow,
  filterListings,
  fitListings,
  makeBoardRows,
  SORT_BY_NAME,
  SORT_BY_RANGE,
} from './board/board-rows.ts';
import { findMeasure, MEASURES, type Measure, SHARE_STEPS } from './board/measures.ts';
import { toListingKey } from './board/reading.ts';
import { type Directory, filterScope, openDirectory, toProblem } from './directory.ts';
import { EXPLORE, sendExplorer, sendUnread } from './frame.ts';
import { requireExplorer } from './guard.ts';
import { renderCellTip, renderLiveCell, renderLiveLine } from './live-cell.ts';
import { findScopes, type Scope } from './scopes.ts';

/** A page with more listings is unreadable, regardless of the plan. */
const MOST_LISTINGS = 400;
/** Codes in one list of a selection. */
const MOST_IN_LIST = 32;

type Shown = {
  readonly view: BoardView;
  readonly measure: Measure;
  readonly directory: Directory;
  readonly scope: Scope;
  /** The listings that the plan and the filter admit, and those of them that fit. */
  readonly admitted: readonly BoardListing[];
  readonly fitting: readonly BoardListing[];
  /** Codes of the address that no listing has. */
  readonly leftOut: readonly string[];
};

const listDistinct = (listings: readonly BoardListing[], member: 'base' | 'quote' | 'venue'): string[] =>
  [...new Set(listings.map((listing) => listing[member]))].sort();

const listTerm = (name: string, codes: readonly string[]): string[] =>
  codes.length === 0 ? [] : [`${name} in (${codes.join(', ')})`];

/** The selection that gives exactly the rows of the page; null: everything that the plan covers. */
const writeWhere = ({ view: { filter }, admitted, fitting }: Shown): string | null => {
  const bases = fitting.length < admitted.length ? listDistinct(fitting, 'base') : filter.bases;
  const terms = [...listTerm('base', bases), ...listTerm('quote', filter.quotes), ...listTerm('venue', filter.venues)];
  return terms.length === 0 ? null : terms.join(' and ');
};

/** Names that no listing has are omitted, because the API would refuse them. */
const pickKnown = (view: BoardView, listings: readonly BoardListing[]): BoardView => {
  const known = (codes: readonly string[], member: 'base' | 'quote' | 'venue'): string[] => {
    const all = listDistinct(listings, member);
    return codes.filter((code) => all.includes(code));
  };
  const { bases, quotes, venues } = view.filter;
  return {
    ...view,
    filter: { bases: known(bases, 'base'), quotes: known(quotes, 'quote'), venues: known(venues, 'venue') },
  };
};

const makeShown = (query: URLSearchParams, directory: Directory, scope: Scope): Shown => {
  const inScope = filterScope(directory.listings, scope);
  const view = pickKnown(readBoardView(query), inScope);
  const admitted = filterListings(inScope, view.filter);
  const most = Math.min(Number(scope.limits['stream_listings'] ?? 0), MOST_LISTINGS);
  const fits = fitListings(admitted, most);
  const bases = new Set(
    fits
      .map(({ base }) => base)
      .filter((base, i, all) => all.indexOf(base) === i)
      .slice(0, MOST_IN_LIST),
  );
  const fitting = fits.length === admitted.length ? fits : fits.filter(({ base }) => bases.has(base));
  const leftOut = listLeftOut(query, view);
  return { view, measure: findMeasure(view.measure), directory, scope, admitted, fitting, leftOut };
};

const measureLinks = ({ view, scope }: Shown): Content =>
  html`<nav class="measures" aria-label="Measure">
    <ul>
      ${MEASURES.filter(({ planLayer }) => scope.layers.includes(planLayer)).map(
        ({ id, label }) =>
          html`<li>
            <a href=${toBoardAddress({ ...view, measure: id })} aria-current=${id === view.measure ? 'true' : undefined}>${label}</a>
          </li>`,
      )}
    </ul>
  </nav>`;

type Filter = { readonly codes: readonly string[]; readonly known: readonly string[] };

const filterField = (name: string, label: string, { codes, known }: Filter): Content =>
  html`<div>
    <label for=${`filter-${name}`}>${label}</label>
    <input id=${`filter-${name}`} name=${name} value=${codes.join(', ')} placeholder="all" autocomplete="off" list=${`known-${name}`} />
    <datalist id=${`known-${name}`}>${known.map((code) => html`<option value=${code}></option>`)}</datalist>
  </div>`;

const filterForm = ({ view, directory, scope, leftOut }: Shown): Content => {
  const listings = filterScope(directory.listings, scope);
  const { bases, quotes, venues } = view.filter;
  const order = new URLSearchParams(toBoardAddress(view).split('?')[1] ?? '').get('sort');
  const isNarrowed = bases.length + quotes.length + venues.length + leftOut.length > 0;
  return html`<details open=${isNarrowed}><summary>Filter</summary><form method="get" action=${EXPLORE.board} class="board-filter">
    <input type="hidden" name="measure" value=${view.measure} />
    ${order === null ? null : html`<input type="hidden" name="sort" value=${order} />`}
    ${filterField('base', 'Base', { codes: bases, known: listDistinct(listings, 'base').slice(0, 500) })}
    ${filterField('quote', 'Quote', { codes: quotes, known: listDistinct(listings, 'quote') })}
    ${filterField('venue', 'Venue', { codes: venues, known: listDistinct(listings, 'venue') })}
    <button type="submit" class="quiet">Show</button>
  </form></details>
  ${leftOut.length === 0 ? null : renderMessage('warn', html`<p>Left out of the filter: ${leftOut.join(', ')}. It takes codes of the listings of this board, ${MOST_CODES} of each kind.</p>`)}`;
};

const renderLegend = ({ measure }: Shown): Content => {
  const { scale, stepText } = measure;
  const steps = scale.kind === 'share' ? SHARE_STEPS : scale.steps;
  const below = scale.kind === 'signed' ? steps.map((size, i) => ({ step: -(i + 1), size: -size })).reverse() : [];
  const marks = [...below, ...steps.map((size, i) => ({ step: i + 1, size }))];
  return html`<div class="legend" role="img" aria-label=${`Colours: ${marks.map(({ size }) => stepText(size)).join(', ')}`}>
    ${scale.kind === 'share' ? html`<span>share of the largest of the row, from</span>` : null}
    ${marks.map(({ step, size }) => html`<span class="swatch" data-step=${step}>${stepText(size).replace('-', '\u2212')}</span>`)}
    <span class="swatch withheld">withheld</span>
  </div>`;
};

const renderHeading = ({ view }: Shown, by: string, label: string): Content => {
  const isSorted = view.sort.by === by;
  const order = view.sort.isAscending ? 'ascending' : 'descending';
  return html`<th scope="col" aria-sort=${isSorted ? order : undefined} class=${by === SORT_BY_NAME ? undefined : 'number'}>
    <a data-sort=${by} href=${toBoardAddress({ ...view, sort: toggleSort(view.sort, by) })}>${label}</a>
  </th>`;
};

/** A row is about its base: only another asset is named. */
const findBoardAsset = ({ base, asset }: BoardListing): string => (asset === base ? 'base' : asset);

const renderBoardCell = (listings: readonly BoardListing[]): Content =>
  listings.length === 0
    ? html`<td class="unlisted"><span class="hidden-text">Not listed here</span>·</td>`
    : html`<td>${listings.map((listing) => renderLiveCell({ listing: toListingKey(listing), quote: listing.quote, asset: findBoardAsset(listing) }))}</td>`;

const renderBoardRow = ({ instrument, cells }: BoardRow, venues: readonly string[]): Content =>
  html`<tr data-row=${instrument}>
    <th scope="row"><a href=${EXPLORE.instrument(instrument)}>${instrument}</a></th>
    ${venues.map((venue) => renderBoardCell(cells.get(venue) ?? []))}
  </tr>`;

const renderBoard = (shown: Shown): Content => {
  const { directory, fitting, measure } = shown;
  const present = new Set(fitting.map(({ venue }) => venue));
  const venues = [...directory.venues.keys()].filter((venue) => present.has(venue));
  return html`<div class="table board" role="region" aria-label=${`${measure.label} by instrument and venue`} tabindex="0">
    <table
      id="board"
      data-layer=${measure.layer}
      data-member=${measure.member}
      data-form=${measure.form}
      data-label=${measure.label}
      data-measure=${measure.id}
      data-names=${JSON.stringify(Object.fromEntries(venues.map((venue) => [venue, directory.venues.get(venue)])))}
      data-where=${writeWhere(shown) ?? undefined}
    >
      <caption class="hidden-text">${measure.label}: ${measure.words} Arrow keys lead from cell to cell.</caption>
      <thead>
        <tr>
          ${renderHeading(shown, SORT_BY_NAME, 'Instrument')}
          ${venues.map((venue) => renderHeading(shown, venue, directory.venues.get(venue) ?? venue))}
        </tr>
      </thead>
      <tbody>
        ${makeBoardRows(fitting).map((row) => renderBoardRow(row, venues))}
      </tbody>
    </table>
  </div>`;
};

/** Whole instruments are shown, so the limit that was met first leaves less than another instrument's listings. */
const describeCut = ({ fitting, scope }: Shown): string => {
  const instruments = listDistinct(fitting, 'base').length;
  if (instruments === MOST_IN_LIST) return `one stream names ${MOST_IN_LIST} instruments`;
  const covers = Number(scope.limits['stream_listings'] ?? 0);
  return covers < MOST_LISTINGS ? `a stream of this plan covers ${covers}` : `a page shows ${MOST_LISTINGS} at most`;
};

const renderCutNote = (shown: Shown): Content =>
  shown.fitting.length === shown.admitted.length
    ? null
    : html`<p class="muted small-text">
        ${shown.fitting.length} of ${shown.admitted.length} listings: ${describeCut(shown)}. Those on most venues are shown; filter to see others.
      </p>`;

const renderRangeLink = ({ view, measure }: Shown): Content =>
  hasRangeOrder(measure)
    ? html`<p class="small-text">
        <a data-sort=${SORT_BY_RANGE} href=${toBoardAddress({ ...view, sort: toggleSort(view.sort, SORT_BY_RANGE) })}>Order by the widest difference between venues</a>
      </p>`
    : null;

const renderBody = (shown: Shown): Content =>
  html`<h1>Board</h1>
    ${measureLinks(shown)}
    <p class="muted board-words">${shown.measure.words}</p>
    ${filterForm(shown)}
    <div class="board-bar">${renderLiveLine()}${renderLegend(shown)}</div>
    ${
      shown.fitting.length === 0
        ? renderMessage('warn', html`<p>Nothing that this plan covers is selected.</p>`)
        : html`${renderBoard(shown)}${renderRangeLink(shown)}`
    }
    ${renderCutNote(shown)}${renderCellTip()}`;

const register: SiteModule['register'] = (app, site) => {
  const directory = openDirectory(site);
  const readScope = findScopes(site);
  app.addHook('onRequest', requireExplorer(site));
  app.get(EXPLORE.board, async (request, reply) => {
    const read = await Promise.all([directory(), readScope(request)]).catch(toProblem);
    if (!Array.isArray(read)) return sendUnread(site, { request, reply }, read);
    const [known, scope] = read;
    const shown = makeShown(readQuery(request.url), known, scope);
    return sendExplorer(
      site,
      { request, reply },
      { title: `Board: ${shown.measure.label}`, body: renderBody(shown), islands: ['board'], styles: ['board'] },
    );
  });
};

export const boardPage: SiteModule = {
  name: 'board',
  islands: { board: new URL('./islands/board.ts', import.meta.url) },
  styles: { board: new URL('./styles/board.css', import.meta.url) },
  register,
};
