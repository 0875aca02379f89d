// A share of a limit as a bar: drawn with attributes, since the pages have no inline style.
import { html } from 'htm/preact';
import type { Content } from './shell.ts';

/** From this share on it is drawn as a warning. */
const HIGH = 0.9;

const grouped = new Intl.NumberFormat('en-US');
export const formatFigure = (value: number): string => grouped.format(value);

export const renderMeterBar = (
  label: string,
  { used, limit }: { readonly used: number; readonly limit: number },
): Content => {
  const share = limit === 0 ? 0 : Math.min(1, used / limit);
  // Any use above zero must be visible.
  const width = used === 0 ? 0 : Math.max(1.5, share * 100);
  return html`<div class="use">
    <div class="use-words"><span>${label}</span><span class="muted">${formatFigure(used)} of ${formatFigure(limit)}</span></div>
    <svg class=${share >= HIGH ? 'meter high' : 'meter'} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect width=${width} height="8" />
    </svg>
  </div>`;
};
