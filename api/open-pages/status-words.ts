// How states, instants and shares are written on pages.
import { html } from 'htm/preact';
import { renderTag } from '../account-app/components.ts';
import type { Content } from '../account-app/shell.ts';

const TONES: Readonly<Record<string, 'good' | 'bad' | 'warn'>> = {
  live: 'good',
  degraded: 'warn',
  down: 'bad',
  open: 'warn',
};

export const renderStateTag = (state: string): Content =>
  renderTag(TONES[state] ?? 'plain', state.replaceAll('_', ' '));

const renderDigits = (text: string | null, digits: number): Content =>
  text === null
    ? 'never'
    : html`<time datetime=${text} data-local>${`${text.slice(0, digits).replace('T', ' ')} UTC`}</time>`;
/** To the second: what is live was received in this minute. */
export const renderTextInstant = (text: string | null): Content => renderDigits(text, 19);
/** To the millisecond, as an incident is stated: many are shorter than a second. */
export const renderExactInstant = (text: string | null): Content => renderDigits(text, 23);
export const formatPercent = (share: number | null): string =>
  share === null ? 'not measured' : `${(share * 100).toFixed(2)} %`;
