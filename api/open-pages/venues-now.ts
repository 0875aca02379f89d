// The part above the table of venues: the venues served here, and when each last sent a message.
import { html } from 'htm/preact';
import { message, table } from '../account-app/components.ts';
import type { Content } from '../account-app/shell.ts';
import type { KnownStatus, VenueStatus } from './read-status.ts';
import { toSlug } from './render-markdown.ts';
import { instant, stateTag } from './status-words.ts';

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

const row = (venue: VenueStatus): Content => {
  const sum = (of: 'present' | 'listings'): number => venue.layers.reduce((total, layer) => total + layer[of], 0);
  return html`<tr>
    <th scope="row"><a href=${`#${toSlug(venue.name)}`}>${venue.name}</a></th>
    <td>${stateTag(venue.state)}</td>
    <td class="number">${`${sum('present')} of ${sum('listings')}`}</td>
    <td>${instant(findLast(venue))}</td>
  </tr>`;
};

export const venuesNow = (known: KnownStatus | null): Content => {
  if (known === null)
    return message('warn', html`<p>The API does not answer: when each venue last sent something is not known.</p>`);
  const { status, isOld } = known;
  return html`<section aria-labelledby="now">
    <h2 id="now">Served here</h2>
    ${isOld ? message('warn', html`<p>The API does not answer. This is what it said last.</p>`) : null}
    <p class="muted">As of ${instant(status.evaluated_at)}; a reading counts for each listing and layer. More on the${' '}<a href="/status">status page</a>.</p>
    ${table('Venues served here', COLUMNS, status.venues.map(row))}
  </section>`;
};
