// The commands of `perp` with their flags: names are those of the API.
import { Option } from 'commander';
import { fetchFiles, listFiles, verify } from './archive.ts';
import { runDoctor } from './doctor.ts';
import { logIn, logOut } from './login.ts';
import {
  checkQuery,
  printAccount,
  printAgentRules,
  printBooks,
  printCandles,
  printCatalogue,
  printClosedDay,
  printHistory,
  printInstruments,
  printLiquidations,
  printReceipt,
  printScreen,
  printSnapshots,
  printVenues,
} from './requests.ts';
import type { Run } from './run.ts';
import { printStream } from './stream.ts';

const WHERE = ['-w, --where <selection>', "listings, such as 'base = BTC and quote = USDT'"] as const;
const LAYERS = ['-l, --layers <list>', 'layers separated by commas, such as mark,funding'] as const;
const PERIOD = [
  ['--from <instant>', 'start, such as 2026-01-15T12:00:00Z'],
  ['--to <instant>', 'end; default: now'],
  ['--last <duration>', 'length of the window before the end, such as 2h; default without --from: 1h'],
] as const;
const TABLE_OUT = ['--out <file>', 'file for --parquet'] as const;
const UNITS = new Option('-u, --units <units>', 'unit of quantities').choices(['published', 'base', 'quote']);
const PRICES = new Option('--price-type <type>', 'which price').choices(['trade', 'mark', 'index']);
const TIMEFRAMES = ['1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d'];
const TIMEFRAME = new Option('-t, --timeframe <timeframe>', 'length of a candle').choices(TIMEFRAMES).default('1m');
const SIDE = new Option('--side <side>', 'side of the position').choices(['long', 'short']);
const FILE_FORMAT = new Option('--format <format>', 'format of the files').choices(['parquet', 'csv', 'jsonl']);
const FRESHNESS = ['--freshness <bound>', 'older readings are stale, such as 60s'] as const;
const ALLOW_STALE = ['--allow-stale', 'show the figures of stale readings too'] as const;
const INCLUDE_RAW = ['--include-raw', "add the venue's own message to JSON; plans from Standard"] as const;

type Flag = readonly [string, string] | Option;
type Action = (run: Run, ...words: string[]) => Promise<void> | void;
export type Entry = {
  /** Name and arguments, as commander reads them. */
  readonly usage: string;
  readonly summary: string;
  readonly flags?: readonly Flag[];
  readonly act: Action;
};

const STREAM_FLAGS: readonly Flag[] = [
  WHERE,
  LAYERS,
  UNITS,
  FRESHNESS,
  ALLOW_STALE,
  ['--depth <levels>', 'levels of a book a side'],
  new Option('-t, --timeframe <timeframe>', 'length of candles').choices(TIMEFRAMES),
  ['--rules', 'the states of agent rules too'],
];
const PROOF_FLAGS: readonly Flag[] = [
  ['--venue <venue>', 'venue code'],
  ['--symbol <symbol>', "the venue's symbol"],
  ['--layer <layer>', 'layer of the row'],
  ['--at <instant>', 'the row that held then'],
  PRICES,
  ['--id <id>', 'of a trade or liquidation'],
  ['--seq <number>', 'of any row of the day, late rows and gaps included'],
  ['--rpc <url>', 'a node of the chain, to compare with the contract too'],
];
const FILE_FLAGS: readonly Flag[] = [
  WHERE,
  ['--layer <layer>', 'one layer'],
  ['--from <day>', 'first day'],
  ['--to <day>', 'last day'],
];

export const COMMANDS: readonly Entry[] = [
  { usage: 'venues', summary: 'venues with their state', act: printVenues },
  {
    usage: 'instruments',
    summary: 'listings with their rules',
    flags: [WHERE, UNITS, INCLUDE_RAW, ['--as-of <instant>', 'as they were then']],
    act: printInstruments,
  },
  {
    usage: 'snapshots',
    summary: 'the newest values, each with its age',
    flags: [WHERE, LAYERS, UNITS, FRESHNESS, ALLOW_STALE, INCLUDE_RAW],
    act: printSnapshots,
  },
  {
    usage: 'screen <query>',
    summary: 'instruments for which a query holds',
    flags: [
      WHERE,
      UNITS,
      FRESHNESS,
      ['--limit <rows>', 'rows of a page'],
      ['--include-unknown', 'also return those for which it may hold'],
    ],
    act: printScreen,
  },
  {
    usage: 'history',
    summary: 'values of a period with its gaps',
    flags: [
      WHERE,
      LAYERS,
      UNITS,
      ...PERIOD,
      ['--interval <length>', 'one row per period; default: 1m'],
      ['--raw', 'every stored row; plans from Standard'],
      ['--at <instants>', 'the newest reading at each instant; separated by commas'],
      FRESHNESS,
      ALLOW_STALE,
      TABLE_OUT,
    ],
    act: printHistory,
  },
  {
    usage: 'candles',
    summary: 'candles of a period',
    flags: [WHERE, UNITS, TIMEFRAME, PRICES, ...PERIOD, TABLE_OUT],
    act: printCandles,
  },
  {
    usage: 'books',
    summary: 'order books',
    flags: [WHERE, UNITS, ['--depth <levels>', 'levels a side']],
    act: printBooks,
  },
  {
    usage: 'liquidations',
    summary: 'liquidations of a period',
    flags: [WHERE, UNITS, SIDE, ...PERIOD, TABLE_OUT],
    act: printLiquidations,
  },
  {
    usage: 'stream',
    summary: 'a live table on a terminal; elsewhere, or with --json, every change, one event a line',
    flags: STREAM_FLAGS,
    act: printStream,
  },
  {
    usage: 'rules [rule_id...]',
    summary: 'states of agent rules, all of the account or those named',
    flags: [['--fresh', 'evaluate them now; counts against the evaluations of the day']],
    act: printAgentRules,
  },
  { usage: 'account', summary: 'plan, limits and counters of the key', act: printAccount },
  { usage: 'receipt <receipt_id>', summary: 'what became of the payment of one call', act: printReceipt },
  { usage: 'doctor', summary: 'key, address, clock, plan, and what is stale and why', flags: [WHERE], act: runDoctor },
  { usage: 'login', summary: 'store the key, read from standard input, in a file that only you can read', act: logIn },
  { usage: 'logout', summary: 'forget it', act: logOut },
];

type Group = { readonly name: string; readonly summary: string; readonly commands: readonly Entry[] };

export const GROUPS: readonly Group[] = [
  {
    name: 'archive',
    summary: 'files of whole days',
    commands: [
      { usage: 'ls', summary: 'list them', flags: FILE_FLAGS, act: listFiles },
      {
        usage: 'get <folder>',
        summary: 'fetch those of the plan into a folder; what is there is kept',
        flags: [...FILE_FLAGS, FILE_FORMAT],
        act: fetchFiles,
      },
    ],
  },
  {
    name: 'proof',
    summary: 'proofs of stored rows',
    commands: [
      {
        usage: 'verify [file]',
        summary: 'check a proof from a file, or one requested by venue, symbol, layer and instant',
        flags: PROOF_FLAGS,
        act: verify,
      },
      { usage: 'day <day>', summary: 'root, partitions and transaction of a closed day', act: printClosedDay },
    ],
  },
  {
    name: 'dql',
    summary: 'the query language',
    commands: [
      { usage: 'check <query>', summary: 'check a query without running it', act: checkQuery },
      { usage: 'catalogue', summary: 'fields, sources and functions', act: printCatalogue },
    ],
  },
];
