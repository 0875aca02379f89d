// A figure of a reading on a page: a button whose details open on hover and focus. Its size is fixed, so that nothing moves when figures come.
import { html } from 'htm/preact';
import type { Content } from '../account-app/shell.ts';
import type { Form } from './board/figure-text.ts';

/** Attributes that apply to a whole table are on the table, such as `data-layer` (`islands/live-cells.ts`). */
type ShownFigure = {
  /** `venue|venue_symbol`. */
  readonly listing: string;
  readonly layer?: string;
  readonly member?: string;
  readonly form?: Form;
  readonly label?: string;
  /** Colours it. */
  readonly measure?: string;
  /** Shown beside the age where the quote currency appears nowhere else. */
  readonly quote?: string;
  /** What a quantity in `base` is a number of. */
  readonly asset?: string;
  /** `whole`, of a quantity on a page about one asset: the figure states its unit whole, and no currency is beside the age. */
  readonly unit?: 'whole';
};

export const renderLiveCell = ({
  listing,
  layer,
  member,
  form,
  label,
  measure,
  quote,
  asset,
  unit,
}: ShownFigure): Content =>
  html`<button
    type="button"
    class="cell waiting"
    tabindex="-1"
    data-listing=${listing}
    data-layer=${layer}
    data-member=${member}
    data-form=${form}
    data-label=${label}
    data-measure=${measure}
    data-quote=${quote}
    data-asset=${asset}
    data-unit=${unit}
  ><span class="figure">…</span><span class="age">${unit === undefined ? quote : ''}</span></button>`;

/** The line that shows whether figures are live, with the button that stops them (WCAG 2.2.2). */
export const renderLiveLine = (): Content =>
  html`<div class="live-line">
    <span class="dot" aria-hidden="true"></span><span id="live-state" role="status">Connecting</span>
    <span class="muted" id="live-count"></span>
    <button type="button" class="quiet small" id="live-pause" hidden>Pause</button>
  </div>`;

/** Where details of cells appear. */
export const renderCellTip = (): Content => html`<div id="cell-tip" class="cell-tip" role="tooltip" hidden></div>`;
