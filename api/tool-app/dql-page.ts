// `docs://dql`: the query language as a model reads it before it writes a query, rendered from the entries of the catalogue (T-06).
import { BANDS } from '../../schemas/layers/book-bands.ts';
import { READING_LAYERS } from '../../schemas/layers/readings.ts';
import { makeLanguageEntries } from '../language/catalogue.ts';
import { LIMITS, TIMEFRAMES } from '../language/limits.ts';
import { makeBounds, printBounds } from '../live/bounds.ts';

type Entry = Readonly<Record<string, string | boolean>>;

/** A question, and the whole query that answers it; each runs on any service. */
export const QUERIES: readonly (readonly [question: string, query: string])[] = [
  [
    'Where do longs pay most for their position?',
    'any(venues where funding_8h > 0) select funding_8h order by max(venues, funding_8h) desc',
  ],
  [
    'Which venues pay most for being short ETH?',
    'any(venues where funding > 0) where base = ETH select funding, funding_8h, time_to_funding order by max(venues, funding_8h) desc',
  ],
  [
    'How far are the marks of BTC and ETH apart between venues?',
    'max(venues, mark) >= min(venues, mark) where base in (BTC, ETH) select mark, max(venues, mark) - min(venues, mark)',
  ],
  [
    'Which marks are furthest from their index?',
    'any(venues where abs(basis) > 0) select basis, mark, index order by max(venues, abs(basis)) desc',
  ],
  [
    'Which instruments have a tight and fresh book on at least two listings?',
    'count(venues where age(bid) < 30s and spread < 20bps) >= 2 select bid, ask, spread',
  ],
  [
    'Where could a large order be sold within half a per cent?',
    'any(venues where depth_bid_value(50bps) > 10000) select depth_bid_value(50bps), depth_ask_value(50bps)',
  ],
  [
    'What has the largest turnover, over the venues whose statistics are current?',
    'any(venues where turnover_24h > 0) select turnover_24h order by sum(venues where status(turnover_24h) = present, turnover_24h) desc',
  ],
  [
    'Which prices are within five per cent of their 20-hour average?',
    'any(venues where abs(close / ema(close, 20) - 1) < 5%) timeframe 1h select close, ema(close, 20)',
  ],
  [
    'What has moved most in five minutes?',
    'any(venues where abs(roc(mark, 5)) > 0) timeframe 1m select roc(mark, 5) order by max(venues, abs(roc(mark, 5))) desc',
  ],
  ['Whose open interest is known, and how old is it?', 'any(venues where oi > 0) select oi, age(oi), status(oi)'],
];

const GRAMMAR = `query      = [ condition ] { clause }            each clause once, in any order
clause     = "timeframe" tf | "as of" instant | "where" selection
           | "select" expr { "," expr } | "order by" expr [ "desc" ] { "," expr [ "desc" ] }
condition  = comparison | condition "and" condition | condition "or" condition | "(" condition ")"
           | "any(venues where" condition ")" | "all(venues where" condition ")" | crossover( ... ) | crossunder( ... )
comparison = expr ( "=" | "<" | ">" | "<=" | ">=" ) expr | expr "in (" literal { "," literal } ")"
expr       = literal | field | source | function "(" ... ")" | "-" expr | "(" expr ")" | expr ( "+" | "-" | "*" | "/" ) expr
           | "count(venues where" condition ")"
           | ( "max" | "min" | "sum" ) "(venues" [ "where" condition ] "," expr ")"
selection  = term { "and" term }
term       = ( "instrument" | "base" | "venue" | "quote" ) ( "=" code | "in (" code { "," code } ")" )
           | "symbol" with the venue's own symbols in quotes: symbol = "BTCUSDT", symbol in ("BTCUSDT", "ETHUSDT")
literal    = number | "-" number | duration | code | status, the last two only beside a code field or status(F)
code       = BTC, BTC-PERP, a code that venues lists     status   = present, stale, missing, not_published, off
             (in quotes when it has a hyphen in lower case)
number     = 12, 0.5, 1bps (0.0001), 0.01% (0.0001)      duration = 30s, 2m, 1h, 1d
instant    = 2026-01-15T12:00:00Z                        never "yesterday" or "noon"`;

const RULES = [
  'A field of scope venue must be inside `any(venues where ...)`, `all(...)`, `count(...)` or an aggregate; elsewhere it is the error `DQL_SCOPE`. Quantifiers do not nest. In `select` a bare field lists the value of each venue.',
  'A comparison with a stale or missing input is neither true nor false. If the result depends on it, the instrument is omitted. `include_unknown: true` returns it with `result: "unknown"` and `because`.',
  'A series (a candle source, or a sampleable field at a period) needs a period: the clause `timeframe 1h`, or a last argument as in `ema(close, 20, 1h)`. The newest completed candle is used, never a forming one.',
  '`sum` adds additive fields only; quantities of different units (oi, sizes, volume_24h) need `units: "base"` or `"quote"`.',
  'An instrument is `BTC-PERP`, a base is `BTC`. Prices are in the quote currency of each listing; there is no price across venues.',
  '`as of <instant>` asks about the past. Choose a full minute, where a window of every layer ends: between them a value with a short horizon is stale. An answer with `settled: true` never changes; an instant is settled after 120 s at the earliest.',
];

const printRow = (cells: readonly (string | boolean | undefined)[]): string => `| ${cells.join(' | ')} |`;
const writeTable = (head: readonly string[], rows: readonly (readonly (string | boolean | undefined)[])[]): string =>
  [printRow(head), printRow(head.map(() => '---')), ...rows.map(printRow)].join('\n');

const listMarks = ({ sampleable, additive }: Entry): string =>
  [sampleable === true ? ['series'] : [], additive === true ? ['additive'] : []].flat().join(', ');

/** The text of the page. */
export const printDqlPage = (): string => {
  // Which venue lacks what differs by service, and is in GET /v2/dql/catalogue.
  const { fields, sources, functions } = makeLanguageEntries({
    ofField: () => [],
    ofSource: () => [],
  }) as unknown as Record<string, readonly Entry[]>;
  const bounds = printBounds(makeBounds(undefined), READING_LAYERS);
  return [
    '# DQL, version 1',
    'The argument `query` of the tool `screen` is a condition over the listings of each instrument, followed by clauses.',
    `## Grammar\n\n\`\`\`text\n${GRAMMAR}\n\`\`\``,
    `## Rules\n\n${RULES.map((rule) => `* ${rule}`).join('\n')}`,
    `## Ten queries\n\n${QUERIES.map(([question, query]) => `${question}\n\n\`\`\`dql\n${query}\n\`\`\``).join('\n\n')}`,
    `## Fields\n\n"series": may be read at a period, as in \`sma(mark, 5, 1m)\`. "additive": may be summed over venues.\n\n${writeTable(
      ['field', 'scope', 'layer', 'unit', 'kind', 'meaning'],
      (fields ?? []).map((one) => [one.name, one.scope, one.layer, one.unit, listMarks(one), one.description]),
    )}`,
    `## Candle sources, read at a timeframe only\n\n${writeTable(
      ['source', 'unit', 'meaning'],
      (sources ?? []).map((one) => [one.name, one.unit, one.description]),
    )}`,
    `## Functions\n\nS is a series, n a whole number from 1 to ${LIMITS.window}, F a field of a layer, band one of ${BANDS.join(', ')}.\n\n${writeTable(
      ['function', 'result', 'bars read', 'meaning'],
      (functions ?? []).map((one) => [`\`${one.signature}\``, one.type, one.bars, one.description]),
    )}`,
    `## Limits\n\nTimeframes: ${TIMEFRAMES.join(', ')}.\n\n${Object.entries(LIMITS)
      .map(([name, limit]) => `* ${name}: ${limit}`)
      .join('\n')}`,
    `A reading is stale when it is older than its bound: ${Object.entries(bounds)
      .map(([layer, bound]) => `${layer} ${bound}`)
      .join(', ')}. The argument \`freshness\` sets another bound.`,
  ].join('\n\n');
};
