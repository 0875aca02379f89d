// How states, instants and shares are written on pages.
import { tag, when } from '../account-app/components.ts';
import type { Content } from '../account-app/shell.ts';

const TONES: Readonly<Record<string, 'good' | 'bad' | 'warn'>> = {
  live: 'good',
  degraded: 'warn',
  down: 'bad',
  open: 'warn',
};

export const stateTag = (state: string): Content => tag(TONES[state] ?? 'plain', state.replaceAll('_', ' '));
export const instant = (text: string | null): Content => when(text === null ? null : new Date(text), 'never');
export const percent = (share: number | null): string =>
  share === null ? 'not measured' : `${(share * 100).toFixed(2)} %`;
