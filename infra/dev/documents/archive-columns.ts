// The columns of archive files as Markdown: those of every file with their meaning, then the figures of each layer (AN-07, AR-03, AR-07).
import { ANCHORED_TABLES, type AnchoredColumn, type AnchoredTable } from '../../../schemas/anchored.ts';
import { printTable } from './schema-tables.ts';

const OF_EVENTS = '`trades`, `liquidation`';

/** Columns beside the figures: the layers that have them, and what they are. */
const WORDS: Readonly<Record<string, readonly [layers: string, meaning: string]>> = {
  segment: ['all', 'Venue code.'],
  symbol: ['all', 'Symbol at the venue, byte for byte.'],
  window_start: ['readings', 'Start of the sampling window, exclusive.'],
  window_end: ['readings', 'End of the window, inclusive: `at` of history with `interval`, and of the SQL views.'],
  open_time: ['`candles`', 'Minute of the candle. Every candle is of one minute.'],
  price_type: ['`candles`', '`trade`, `mark` or `index`.'],
  gap_start: [
    OF_EVENTS,
    'Start of a stretch in which events may be missing; `received_at` is its end. Null in events.',
  ],
  id: [OF_EVENTS, 'Id of the event, as answers have it. Null in gaps.'],
  status: ['all', '`present`, or `missing`: a gap, whose figures are null.'],
  gap_cause: ['all', 'Cause of the [gap](#gap-causes).'],
  received_at: [
    'all',
    'Instant at which the service received it. Null in gaps of readings and candles, and in minutes without trades that the venue leaves out.',
  ],
  venue_ts: ['all but `candles`', 'Timestamp of the venue; null when it sends none.'],
  seq: ['all', 'Number of the row within its listing, table and day, from 0; a proof may ask for it.'],
  late: ['all', 'True for a row that was recorded too late to count in any answer but a raw one.'],
};
/** In every file, hashed in none. */
const UNHASHED = [
  ['`recorded_at`', 'all', 'Instant at which the message was appended to the log; null in gaps.'],
  ['`leaf_index`', 'all', 'Index of the row among the leaves of its table and day; null until the file is `final`.'],
] as const;

const hasWords = ({ name }: AnchoredColumn): boolean => Object.hasOwn(WORDS, name);
const formatName = (name: string): string => `\`${name}\``;

const printFigures = ({ layer, columns }: AnchoredTable): readonly string[] => {
  const figures = columns.filter((column) => !hasWords(column));
  return [formatName(layer), figures.map(({ name }) => formatName(name)).join(', ')];
};

/** The section of docs/endpoints.md. */
export const printArchiveFiles = (): string => {
  const common = new Set(ANCHORED_TABLES.flatMap(({ columns }) => columns.filter(hasWords).map(({ name }) => name)));
  return [
    `A file has every stored row of one listing, layer and UTC day: readings, gaps and late rows, in the order of its leaves. \`book\` is archived as \`book_bands\`. The
formats have the same rows. Figures are texts with the digits of the venue; in Parquet instants are timestamps in microseconds, counts and milliseconds
integers. In CSV an empty cell is null.`,
    printTable(
      ['column', 'of', 'meaning'],
      [...[...common].map((name) => [formatName(name), ...(WORDS[name] ?? [])]), ...UNHASHED.map((row) => [...row])],
    ),
    `The figures are those of the [layer](#layers), in the venue's units: \`oi_unit\`, \`volume_unit\` and \`quantity_unit\` name the unit of the quantities of their row,
and \`funding_interval_ms\` is \`funding_interval\`. What is computed from others (\`basis\`, \`spread\`, \`funding_8h\`) is in no file.`,
    printTable(['layer', 'figures and their units'], ANCHORED_TABLES.map(printFigures)),
  ].join('\n\n');
};
