// The details of one cell as labelled lines: all digits, who reported it and when, how long it is valid, why it is withheld.
import { type Cell, computeAge } from './cell.ts';
import { formatAgeMs, formatUnit } from './figure-text.ts';
import type { Reading } from './reading.ts';

export type Detail = { readonly label: string; readonly text: string };

/** The currency of the listing, and what a quantity in `base` is a number of. */
type Units = { readonly quote: string; readonly asset: string };

const UNITS: Readonly<Record<string, string>> = { fraction: '(fraction)', ms: 'ms' };

const formatInstant = (instant: string | null | undefined): string | null =>
  instant === null || instant === undefined
    ? null
    : `${instant.slice(0, 10)} ${instant.slice(11, 23)} UTC`.replace('Z', '');

const listFigureLines = (cell: Cell, { quote, asset }: Units): readonly Detail[] => {
  switch (cell.kind) {
    case 'figure':
      return [
        { label: 'Figure', text: `${cell.digits} ${UNITS[cell.unit] ?? formatUnit(cell.unit, quote, asset)}`.trim() },
      ];
    case 'withheld':
      return [{ label: 'Withheld', text: `${cell.label}: ${cell.words}` }];
    case 'absent':
      return [{ label: 'Never here', text: `${cell.label}: ${cell.words}` }];
    case 'waiting':
      return [{ label: 'Not received', text: 'The stream has sent nothing for it yet.' }];
    default:
      return cell satisfies never;
  }
};

const listLine = (label: string, text: string | null): readonly Detail[] => (text === null ? [] : [{ label, text }]);

type DetailContext = Units & { readonly nowMs: number };

export const listCellDetails = (
  cell: Cell,
  reading: Reading | undefined,
  { nowMs, ...units }: DetailContext,
): readonly Detail[] => {
  if (reading === undefined) return listFigureLines(cell, units);
  const age = computeAge(reading, nowMs);
  const received = formatInstant(reading.received_at);
  return [
    ...listFigureLines(cell, units),
    ...listLine('Received', received === null || age === null ? received : `${received}, ${formatAgeMs(age)} ago`),
    ...listLine('Stated by the venue', formatInstant(reading.venue_ts)),
    ...listLine('Holds until', formatInstant(reading.valid_until)),
    ...listLine('Next settlement', formatInstant(reading.instants?.['next_funding_at'])),
  ];
};
