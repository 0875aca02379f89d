// How states, instants and shares are written on pages.
import { renderInstant, renderTag } from '../account-app/components.ts';
import type { Content } from '../account-app/shell.ts';

const TONES: Readonly<Record<string, 'good' | 'bad' | 'warn'>> = {
  live: 'good',
  degraded: 'warn',
  down: 'bad',
  open: 'warn',
};

export const renderStateTag = (state: string): Content =>
  renderTag(TONES[state] ?? 'plain', state.replaceAll('_', ' '));
export const renderTextInstant = (text: string | null): Content =>
  renderInstant(text === null ? null : new Date(text), 'never');
export const formatPercent = (share: number | null): string =>
  share === null ? 'not measured' : `${(share * 100).toFixed(2)} %`;
