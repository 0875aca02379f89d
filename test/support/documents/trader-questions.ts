// Fifty questions a trader asks, each with the calls of tools that answer it, and fifty calls as models get them wrong with what `next` leads to.

/** Full hours before the newest, as RFC 3339 text. */
export type Ago = (hours: number) => string;
export type ToolCall = readonly [tool: string, args: Readonly<Record<string, unknown>>];
type Question = { readonly question: string; readonly calls: readonly ToolCall[] };

const snapshots = (where: unknown, layers: readonly string[], more: object = {}): ToolCall => [
  'snapshots',
  { where, layers, ...more },
];
const screen = (query: string, more: object = {}): ToolCall => ['screen', { query, ...more }];

const NOW: readonly (readonly [string, ...ToolCall[]])[] = [
  ['Which venues do you have, and is any of them down?', ['venues', {}]],
  ['What may I use, and how much of today is left?', ['account', {}]],
  ['Where can I trade BTC perpetuals?', ['instruments', { where: 'base = BTC' }]],
  ['What is the tick size of ETH on Binance?', ['instruments', { where: 'base = ETH and venue = binance' }]],
  ['Which contracts are quoted in USDT?', ['instruments', { where: { quote: 'USDT' }, limit: 10 }]],
  ['What was listed for BTC on OKX?', ['instruments', { where: { base: ['BTC'], venue: ['okx'] } }]],
  ['What is BTC at right now?', snapshots('base = BTC', ['mark'])],
  ['What did BTC last trade at on each venue?', snapshots('base = BTC', ['ticker'])],
  ['How old is the ETH mark on Binance?', snapshots('base = ETH and venue = binance', ['mark'])],
  ['What funding does ETH pay on each venue, and when next?', snapshots('base = ETH', ['funding'])],
  ['How much open interest does BTC have, in BTC?', snapshots('base = BTC', ['oi'], { units: 'base' })],
  ['What is the BTC open interest worth?', snapshots('base = BTC', ['oi'], { units: 'quote' })],
  ['What is the best bid and ask for ETH on OKX?', snapshots('base = ETH and venue = okx', ['book'])],
  ['How deep is the BTC book within 10 basis points?', snapshots('base = BTC', ['venue_depth'])],
  ['What was the volume of BTC in 24 hours?', snapshots('base = BTC', ['stats'])],
  ['How far is the BTC mark from its index?', snapshots({ base: 'BTC' }, ['mark'], { number_format: 'string' })],
  ['Show the last known BTC price even if it is old.', snapshots('base = BTC', ['mark'], { allow_stale: true })],
  ['Is the BTC price younger than five seconds?', snapshots('base = BTC', ['mark'], { freshness: '5s' })],
  [
    'Compare BTC and ETH funding on Binance and OKX.',
    snapshots({ base: ['BTC', 'ETH'], venue: ['binance', 'okx'] }, ['funding']),
  ],
  [
    'What do Binance and OKX say of BTC, everything but the book?',
    snapshots('base = BTC and venue in (binance, okx)', ['mark', 'funding', 'oi', 'ticker', 'stats']),
  ],
];

const SCREENS: readonly (readonly [string, ...ToolCall[]])[] = [
  [
    'Which venues pay most for being short ETH?',
    screen(
      'any(venues where funding > 0) where base = ETH select funding, funding_8h order by max(venues, funding_8h) desc',
    ),
  ],
  ['Which coins have negative funding somewhere?', screen('any(venues where funding < 0) select funding')],
  ['Where is funding positive on every venue?', screen('all(venues where funding_8h > 0) select funding_8h')],
  [
    'Where is the largest difference in funding between venues?',
    screen(
      'max(venues, funding_8h) - min(venues, funding_8h) > 0 select funding_8h order by max(venues, funding_8h) - min(venues, funding_8h) desc',
    ),
  ],
  [
    'Which mark is more than half a per cent from its index?',
    screen('any(venues where abs(basis) > 0.5%) select basis'),
  ],
  [
    'How far apart are the BTC marks?',
    screen(
      'max(venues, mark) >= min(venues, mark) where base = BTC select mark, max(venues, mark) - min(venues, mark)',
    ),
  ],
  ['Which books are tighter than five basis points?', screen('any(venues where spread < 5bps) select spread')],
  [
    'On which venue can I sell 100,000 of ETH within 50 basis points?',
    screen('any(venues where depth_bid_value(50bps) > 100000) where base = ETH select depth_bid_value(50bps)'),
  ],
  [
    'What trades most today?',
    screen('any(venues where turnover_24h > 0) select turnover_24h order by max(venues, turnover_24h) desc'),
  ],
  [
    'Which funding settles within the hour?',
    screen('any(venues where time_to_funding < 1h) select funding, time_to_funding'),
  ],
  ['Which coins trade on two venues at least?', screen('venues_listed >= 2')],
  ['Which marks are stale right now?', screen('any(venues where status(mark) = stale) select status(mark), age(mark)')],
  [
    'What moved more than one per cent in an hour?',
    screen('any(venues where abs(roc(close, 60)) > 1%) timeframe 1m select roc(close, 60)'),
  ],
  [
    'Is BTC above its average of 20 hours?',
    screen('any(venues where close > sma(close, 20)) timeframe 1h where base = BTC'),
  ],
  [
    'Which RSI is below 30?',
    screen('any(venues where rsi(close, 14) < 30) timeframe 1h select rsi(close, 14)', { include_unknown: true }),
  ],
  ['What crossed its moving average?', screen('any(venues where crossover(close, ema(close, 10))) timeframe 1h')],
  ['Where did open interest rise five per cent in a day?', screen('any(venues where roc(oi, 24, 1h) > 5%) select oi')],
  [
    'What is unknown of BTC just now?',
    screen('any(venues where spread < 1bps) where base = BTC', { include_unknown: true }),
  ],
  ['How much BTC is open on all venues together?', screen('sum(venues, oi) > 0 where base = BTC', { units: 'base' })],
];

const past = (ago: Ago): readonly (readonly [string, ...ToolCall[]])[] => [
  [
    "What was BTC's basis at noon yesterday, and how sure are you?",
    ['history', { where: 'base = BTC', layers: ['mark'], as_of: ago(24) }],
  ],
  [
    'What was ETH funding at 8, 9 and 10 o’clock?',
    ['history', { where: 'base = ETH', layers: ['funding'], at: [ago(4), ago(3), ago(2)] }],
  ],
  [
    'How did the BTC mark go in the last hour on Binance?',
    [
      'history',
      { where: 'base = BTC and venue = binance', layers: ['mark'], interval: '5m', from: ago(1), to: ago(0) },
    ],
  ],
  [
    'How did ETH open interest go since yesterday?',
    ['history', { where: 'base = ETH', layers: ['oi'], interval: '1h', from: ago(24), to: ago(0), units: 'base' }],
  ],
  [
    'Was there a gap in the BTC data of the last two hours?',
    [
      'history',
      { where: 'base = BTC', layers: ['ticker'], interval: '15m', from: ago(2), to: ago(0), include_gaps: true },
    ],
  ],
  [
    'Show BTC candles of a minute for the last hour on Binance.',
    ['candles', { where: 'base = BTC and venue = binance', timeframe: '1m', from: ago(1), to: ago(0) }],
  ],
  [
    'What were high and low of ETH today by the hour?',
    ['candles', { where: 'base = ETH', timeframe: '1h', from: ago(12), to: ago(0) }],
  ],
  [
    'How did the BTC index go in the last hour?',
    ['candles', { where: 'base = BTC', timeframe: '5m', price_type: 'index', from: ago(1), to: ago(0) }],
  ],
  [
    'Which coins had positive funding an hour ago?',
    screen(`any(venues where funding > 0) select funding as of ${ago(1)}`),
  ],
  [
    'What was listed for BTC an hour ago, and what did it stand at?',
    ['instruments', { where: 'base = BTC', as_of: ago(1) }],
    ['history', { where: 'base = BTC', layers: ['ticker', 'mark'], as_of: ago(1) }],
  ],
  [
    'Did the funding of BTC and ETH change between yesterday and now?',
    ['history', { where: { base: ['BTC', 'ETH'] }, layers: ['funding'], as_of: ago(24) }],
    snapshots({ base: ['BTC', 'ETH'] }, ['funding']),
  ],
];

export const traderQuestions = (ago: Ago): readonly Question[] =>
  [...NOW, ...SCREENS, ...past(ago)].map(([question, ...calls]) => ({ question, calls }));

/** A wrong call, parts of the `next` in its answer, and the call that follows from them. */
type WrongCall = {
  readonly call: ToolCall;
  readonly code: string;
  readonly next: RegExp;
  readonly corrected: ToolCall;
};

type Wrong = readonly [code: string, args: Readonly<Record<string, unknown>>, next: RegExp, change: object];
/** `common` is in every call that does not override it. */
const of = (tool: string, wrong: readonly Wrong[], common: object = {}): WrongCall[] =>
  wrong.map(([code, args, next, change]) => ({
    call: [tool, { ...common, ...args }],
    code,
    next,
    corrected: [tool, { ...common, ...args, ...change }],
  }));

/** Each as models make them: aliases, a base for an instrument, missing quantifiers, dates as text, members of other tools. */
export const wrongCalls = (ago: Ago): readonly WrongCall[] => [
  ...of(
    'snapshots',
    [
      ['DQL_UNKNOWN_INSTRUMENT', { where: 'instrument = BTC' }, /BTC-PERP/, { where: 'instrument = BTC-PERP' }],
      ['DQL_UNKNOWN_INSTRUMENT', { where: { instrument: 'ETH' } }, /ETH-PERP/, { where: { instrument: 'ETH-PERP' } }],
      ['DQL_UNKNOWN_INSTRUMENT', { where: 'instrument = BTC-PREP' }, /BTC-PERP/, { where: 'instrument = BTC-PERP' }],
      ['DQL_UNKNOWN_VENUE', { where: 'venue = binanc' }, /binance/, { where: 'venue = binance' }],
      ['DQL_UNKNOWN_VENUE', { where: { venue: ['okxx'] } }, /okx/, { where: { venue: ['okx'] } }],
      ['DQL_UNKNOWN_CURRENCY', { where: 'quote = USDTT' }, /USDT/, { where: 'quote = USDT' }],
      ['DQL_UNKNOWN_ASSET', { where: 'base = BTCC' }, /BTC/, { where: 'base = BTC' }],
      [
        'DQL_UNKNOWN_FIELD',
        { where: 'exchange = okx' },
        /instrument, base, venue, quote, symbol/,
        { where: 'venue = okx' },
      ],
      ['DQL_UNKNOWN_FIELD', { where: 'bas = BTC' }, /base/, { where: 'base = BTC' }],
      ['DQL_UNKNOWN_FIELD', { where: 'BTC' }, /instrument, base, venue/, { where: 'base = BTC' }],
      ['DQL_SYNTAX', { where: 'symbol = BTCUSDT' }, /symbol = "BTCUSDT"/, { where: 'symbol = "BTCUSDT"' }],
      ['DQL_SYNTAX', { where: 'base = BTC, ETH' }, /base in \(BTC, ETH\)/, { where: 'base in (BTC, ETH)' }],
      ['DQL_SYNTAX', { where: 'base = BTC or base = ETH' }, /base in \(BTC, ETH\)/, { where: 'base in (BTC, ETH)' }],
      [
        'DQL_DUPLICATE_CLAUSE',
        { where: 'base = BTC and base = ETH' },
        /base in \(a, b\)/,
        { where: 'base in (BTC, ETH)' },
      ],
      ['DQL_JSON_SCHEMA', { where: 'base = BTC', layers: ['fundng'] }, /funding/, { layers: ['funding'] }],
      ['DQL_JSON_SCHEMA', { where: 'base = BTC', layers: ['candles'] }, /candles/, { layers: ['mark'] }],
      ['DQL_JSON_SCHEMA', { where: 'base = BTC', layers: 'mark' }, /array|list/i, { layers: ['mark'] }],
      ['DQL_JSON_SCHEMA', { where: 'base = BTC', units: 'usd' }, /published, base, quote/, { units: 'quote' }],
      ['DQL_JSON_SCHEMA', { where: 'base = BTC', freshness: '1 minute' }, /60s/, { freshness: '60s' }],
      ['DQL_JSON_SCHEMA', { where: 'base = BTC', allow_stale: 'yes' }, /true|boolean/, { allow_stale: true }],
    ],
    { layers: ['mark'] },
  ),
  ...of('screen', [
    ['DQL_SCOPE', { query: 'funding > 0' }, /any\(venues where/, { query: 'any(venues where funding > 0)' }],
    [
      'DQL_SCOPE',
      { query: 'mark > 50000 and spread < 1bps' },
      /any\(venues where/,
      { query: 'any(venues where mark > 50000 and spread < 1bps)' },
    ],
    [
      'DQL_UNKNOWN_FIELD',
      { query: 'any(venues where funding_rate > 0)' },
      /fields|funding/,
      { query: 'any(venues where funding > 0)' },
    ],
    [
      'DQL_UNKNOWN_FIELD',
      { query: 'any(venues where fundin > 0)' },
      /funding/,
      { query: 'any(venues where funding > 0)' },
    ],
    [
      'DQL_UNKNOWN_FUNCTION',
      { query: 'any(venues where emma(close, 5) > 0) timeframe 1h' },
      /ema/,
      { query: 'any(venues where ema(close, 5) > 0) timeframe 1h' },
    ],
    [
      'DQL_TIMEFRAME_REQUIRED',
      { query: 'any(venues where ema(close, 5) > 0)' },
      /timeframe/,
      { query: 'any(venues where ema(close, 5) > 0) timeframe 1h' },
    ],
    [
      'DQL_TIMEFRAME_UNSUPPORTED',
      { query: 'any(venues where ema(close, 5) > 0) timeframe 2h' },
      /1h/,
      { query: 'any(venues where ema(close, 5) > 0) timeframe 1h' },
    ],
    [
      'DQL_ARGUMENT',
      { query: 'any(venues where ema(close, 900) > 0) timeframe 1m' },
      /500/,
      { query: 'any(venues where ema(close, 400) > 0) timeframe 1m' },
    ],
    [
      'DQL_NESTING',
      { query: 'any(venues where any(venues where mark > 0))' },
      /./,
      { query: 'any(venues where mark > 0)' },
    ],
    [
      'DQL_SYNTAX',
      { query: 'any(venues where funding > 0' },
      /Close the parenthesis/,
      { query: 'any(venues where funding > 0)' },
    ],
    ['DQL_SYNTAX', { query: 'any(venues where funding == 0)' }, /=/, { query: 'any(venues where funding = 0)' }],
    [
      'DQL_SYNTAX',
      { query: 'any(venues where funding > 0) as of yesterday' },
      /\d{4}-\d\d-\d\dT/,
      { query: `any(venues where funding > 0) as of ${ago(1)}` },
    ],
    [
      'DQL_UNKNOWN_INSTRUMENT',
      { query: 'any(venues where mark > 0) where instrument = ETH' },
      /ETH-PERP/,
      { query: 'any(venues where mark > 0) where instrument = ETH-PERP' },
    ],
    ['DQL_JSON_SCHEMA', { where: 'base = BTC' }, /query/, { query: 'any(venues where mark > 0)' }],
    ['DQL_JSON_SCHEMA', { query: 'any(venues where mark > 0)', limit: '10' }, /integer|number/, { limit: 10 }],
    ['DQL_VERSION', { query: 'any(venues where mark > 0)', dql: '2' }, /"1"/, { dql: '1' }],
  ]),
  ...of('history', [
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC and venue = binance', layers: ['mark'], as_of: 'yesterday at noon' },
      /\d{4}-\d\d-\d\d/,
      { as_of: ago(24) },
    ],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC and venue = binance', layers: ['mark'], interval: '1m' },
      /from/,
      { from: ago(1), to: ago(0) },
    ],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC and venue = binance', layers: ['mark'] },
      /exactly one of interval, at/,
      { as_of: ago(1) },
    ],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC and venue = binance', layers: ['mark'], interval: '7m', from: ago(1), to: ago(0) },
      /1m/,
      { interval: '1m' },
    ],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC and venue = binance', layers: ['mark'], interval: '1m', from: ago(0), to: ago(1) },
      /./,
      { from: ago(1), to: ago(0) },
    ],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC and venue = binance', layers: ['mark'], at: ago(1) },
      /array|list/i,
      { at: [ago(1)] },
    ],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC and venue = binance', layers: ['mark'], at: [ago(0), ago(1)] },
      /ascending/,
      { at: [ago(1), ago(0)] },
    ],
    [
      'DQL_AS_OF_RANGE',
      { where: 'base = BTC and venue = binance', layers: ['mark'], as_of: ago(-24) },
      /Now is/,
      { as_of: ago(0) },
    ],
  ]),
  ...of('candles', [
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC', timeframe: '1hour', from: ago(1), to: ago(0) },
      /1h/,
      { timeframe: '1h' },
    ],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC', timeframe: '1h', from: 'today', to: ago(0) },
      /\d{4}-\d\d-\d\d/,
      { from: ago(4) },
    ],
    ['DQL_JSON_SCHEMA', { where: 'base = BTC', timeframe: '1h', from: ago(4) }, /to/, { to: ago(0) }],
    [
      'DQL_JSON_SCHEMA',
      { where: 'base = BTC', timeframe: '1h', from: ago(4), to: ago(0), price_type: 'last' },
      /trade, mark, index/,
      { price_type: 'trade' },
    ],
  ]),
  ...of('instruments', [
    ['DQL_JSON_SCHEMA', { where: 'base = BTC', as_of: 'last week' }, /\d{4}-\d\d-\d\d/, { as_of: ago(1) }],
    ['DQL_UNKNOWN_ASSET', { where: { base: 'BTCC' } }, /BTC/, { where: { base: 'BTC' } }],
  ]),
];
