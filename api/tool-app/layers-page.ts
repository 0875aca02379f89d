// `docs://layers`: what each layer holds, in which units, and which tool takes its name, rendered from the declarations of the layers (T-06).
import { formatDuration } from '../../schemas/durations.ts';
import { CANDLES, EVENTS, READINGS } from '../../schemas/layers/index.ts';
import type { ReadingDeclaration } from '../../schemas/layers/layer.ts';

const STATUSES = [
  '* `present`: current; the number is in `values`.',
  '* `stale`: not current, with a `reason` (`connection_lost`, `horizon_passed`, `state_lag`, `horizon_unknown`, `freshness_bound`). `values` is empty; with `allow_stale: true` the number is in `withheld.values`.',
  '* `missing`: nothing valid was received, with a `reason` (`no_value`, `gap`, `not_retained`). A gap has its `gap_cause`.',
  '* `not_published`: the venue does not publish the layer. `off`: the service does not collect it.',
];

const UNITS = [
  '* `quote`: the quote currency of the listing. Prices are never converted.',
  '* `quantity`: the unit of the venue (`base`, `contracts` or `quote`; `units` of the answer names it) unless the argument `units` is `base` or `quote`.',
  '* `fraction`: 0.0001 is one basis point. `ms`: milliseconds. `count`: a plain number.',
  '* A published figure has the digits of the venue. With `number_format: "string"` each number is a string with the same digits.',
];

const FAILURES = [
  'A failed call has `isError` and one JSON text: `code`, `message`, `position`, `hint` of the first error, all `errors`, `next`, `retry`, `retry_after`.',
  '`_meta` has the HTTP status as `http/status`, and `http/retry-after` when the same call may be repeated.',
];

const printReadingSection = ({ name, members, instants, freshnessMs, windowMs }: ReadingDeclaration): string =>
  [
    `### ${name}`,
    `History has one row per ${formatDuration(windowMs)}. A reading older than ${formatDuration(freshnessMs)} is stale unless \`freshness\` sets another bound.`,
    [
      '| member | unit | meaning |',
      '| --- | --- | --- |',
      ...Object.entries(members).map(([member, { unit, sentence }]) => `| ${member} | ${unit} | ${sentence} |`),
      ...instants.map((instant) => `| ${instant} | instant | In \`instants\` of the reading. |`),
    ].join('\n'),
  ].join('\n\n');

/** The text of the page. */
export const printLayersPage = (): string =>
  [
    '# Layers',
    'A layer is a group of figures that a venue publishes together; they share one timestamp.',
    '## Which tool takes which name',
    [
      '| name | tools |',
      '| --- | --- |',
      ...READINGS.map(({ name }) => `| ${name} | snapshots, history: \`layers\`; screen: its fields |`),
      `| ${CANDLES.name} | candles; screen: candle sources |`,
      ...EVENTS.map(({ name, endpoint }) => `| ${name} | no tool; ${endpoint} of the HTTP API |`),
    ].join('\n'),
    `## Status of a reading\n\n${STATUSES.join('\n')}`,
    `## Units\n\n${UNITS.join('\n')}`,
    `## Failures\n\n${FAILURES.join('\n')}`,
    '## Readings',
    ...READINGS.map(printReadingSection),
    `## ${CANDLES.name}`,
    `Completed candles of trades, of the venue's mark or of its index, by \`price_type\`: ${Object.keys(CANDLES.members).join(', ')}. A period of which a minute is missing is a row with status \`missing\`.`,
  ].join('\n\n');
