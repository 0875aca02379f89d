// The part above the table of venues: the venues served here, and when each last sent a message.
import { html } from 'htm/preact';
import { renderMessage, renderTable } from '../account-app/components.ts';
import type { Content } from '../account-app/shell.ts';
import type { KnownStatus, VenueStatus } from './read-status.ts';
import { toSlug } from './render-markdown.ts';
import { renderStateTag, renderTextInstant } from './status-words.ts';

const COLUMNS = [
  { label: 'Venue' },
  { label: 'State' },
  { label: 'Readings present', isNumber: true },
  { label: 'Last reading' },
];

/** Of all layers; instants of one form compare as texts. */
const findLast = ({ layers }: VenueStatus): string | null =>
  layers.reduce<string | null>(
    (last, { last_received: one }) => (one !== null && (last === null || one > last) ? one : last),
    null,
  );

const renderRow = (venue: VenueStatus): Content => {
  const sum = (of: 'present' | 'listings'): number => venue.layers.reduce((total, layer) => total + layer[of], 0);
  return html`<tr>
    <th scope="row"><a href=${`#${toSlug(venue.name)}`}>${venue.name}</a></th>
    <td>${renderStateTag(venue.state)}</td>
    <td class="number">${`${sum('present')} of ${sum('listings')}`}</td>
    <td>${renderTextInstant(findLast(venue))}</td>
  </tr>`;
};

export const renderVenuesNow = (known: KnownStatus | null): Content => {
  if (known === null)
    return renderMessage(
      'warn',
      html`<p>The API does not respond, so it is not known when each venue last sent data.</p>`,
    );
  const { status, isOld } = known;
  return html`<section aria-labelledby="now">
    <h2 id="now">Served here</h2>
    ${isOld ? renderMessage('warn', html`<p>The API does not respond. This is its last response.</p>`) : null}
    <p class="muted">As of ${renderTextInstant(status.evaluated_at)}; a reading counts for each listing and layer. More on the${' '}<a href="/status">status page</a>.</p>
    ${renderTable('Venues served here', COLUMNS, status.venues.map(renderRow))}
  </section>`;
};
