// Tables of venues in Markdown, rendered from the README in each venue's folder: `npm run docs` writes them, a test compares them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Delivery } from '../../../ingest/venues/contract/feed.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { formatDuration } from '../../../schemas/durations.ts';
import { PROJECT_ROOT } from '../engines/java.ts';
import { printTable } from './schema-tables.ts';

/** Rows that the README of a venue has, in this order. */
const STATED = [
  'listings',
  'delivery and cadence',
  'horizon',
  'book rule',
  'funding interval',
  'units of quantity',
  'liquidations',
  'never recorded',
  'about recordings',
  'checked',
] as const;
type Statement = Readonly<Record<(typeof STATED)[number], string>>;

/** The statements of a venue's README. Throws where a row is missing. */
export const readStatement = ({ id }: Pick<Venue, 'id'>): Statement => {
  const path = join('ingest/venues', id, 'README.md');
  const rows = new Map(
    [...readFileSync(join(PROJECT_ROOT, path), 'utf8').matchAll(/^\| ([a-z ]+) \|(?: (.*))? \|$/gm)].map(
      ([, name = '', value = '']) => [name, value],
    ),
  );
  const read = (name: string): string => {
    const value = rows.get(name);
    if (value === undefined) throw new Error(`${path} has no row "| ${name} | ... |"`);
    return value;
  };
  return Object.fromEntries(STATED.map((name) => [name, read(name)])) as Statement;
};

const byId = [...venues.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
const linkVenue = ({ id, name }: Venue): string => `[${name}](venues/${id}/README.md) \`${id}\``;
const listLayers = ({ layers }: Venue): string =>
  Object.entries(layers)
    .filter(([, { policy }]) => policy === 'on')
    .map(([layer]) => layer)
    .join(', ');

const RECORDED = ['never recorded', 'about recordings'] as const;
const DELIVERED = STATED.filter((name) => !RECORDED.some((one) => one === name));

const printStatedTable = (names: readonly (keyof Statement)[]): string =>
  printTable(
    ['venue', ...names],
    byId.map((venue) => {
      const statement = readStatement(venue);
      return [linkVenue(venue), ...names.map((name) => statement[name])];
    }),
  );

const printVenueLayersTable = (): string =>
  printTable(
    ['venue', 'layers'],
    byId.map((venue) => [linkVenue(venue), listLayers(venue)]),
  );

/** Names and ids, two venues a line. */
const printNamesTable = (): string => {
  const half = Math.ceil(byId.length / 2);
  const cells = (venue: Venue | undefined): readonly string[] => (venue ? [venue.name, `\`${venue.id}\``] : ['', '']);
  const rows = byId.slice(0, half).map((venue, i) => [...cells(venue), '', ...cells(byId[half + i])]);
  return printTable(['venue', 'id', '', 'venue', 'id'], rows);
};

const formatCadence = ({ cadence }: Delivery): string =>
  cadence === 'live' ? 'as it changes' : formatDuration(cadence);
/** A value that holds by its connection has no time of its own. */
const formatHorizon = ({ horizonMs, horizonSource }: Delivery): string =>
  horizonSource === null ? '' : `${horizonMs === null ? '' : `${formatDuration(horizonMs)}, `}${horizonSource}`;
const POLICIES = { on: 'yes', off: 'published, not collected', not_published: 'not published' } as const;

const printLayersOfVenue = ({ layers }: Venue): string =>
  printTable(
    ['layer', 'here', 'cadence', 'horizon', 'events'],
    Object.entries(layers).map(([layer, delivery]) => [
      `\`${layer}\``,
      POLICIES[delivery.policy],
      ...(delivery.policy === 'on'
        ? [formatCadence(delivery), formatHorizon(delivery), delivery.completeness ?? '']
        : ['', '', '']),
    ]),
  );

/** The section of a venue for readers of the data: its layers, then the statements of its README except those for collectors only. */
const printVenueSection = (venue: Venue): string => {
  const statement = readStatement(venue);
  return [
    `## ${venue.name}`,
    `\`${venue.id}\``,
    printLayersOfVenue(venue),
    ...DELIVERED.map((name) => `* **${name}**: ${statement[name]}`),
  ]
    .join('\n\n')
    .replaceAll(/\n\n(?=\* \*\*(?!listings\*\*))/g, '\n');
};

/** Documents with generated parts, each between `<!-- name -->` and `<!-- end -->`. */
const GENERATED: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'README.md': { venues: printNamesTable },
  'ingest/README.md': {
    layers: printVenueLayersTable,
    deliveries: () => printStatedTable(DELIVERED),
    recorded: () => printStatedTable(RECORDED),
  },
  'docs/venues.md': { venues: () => byId.map(printVenueSection).join('\n\n') },
};

/** Generated documents by path. */
export const renderVenueDocs = (): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(GENERATED).map(([path, parts]) => {
      const text = readFileSync(join(PROJECT_ROOT, path), 'utf8');
      const rendered = text.replace(/<!-- (\w+) -->\n[\s\S]*?<!-- end -->/g, (part, name: string) =>
        parts[name] ? `<!-- ${name} -->\n\n${parts[name]()}\n\n<!-- end -->` : part,
      );
      return [path, rendered];
    }),
  );
