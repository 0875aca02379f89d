// The commands of `perp`: names and flags are those of the API.
import { Argument, Command, CommanderError, Option } from 'commander';
import {
  account,
  books,
  candles,
  checkQuery,
  history,
  instruments,
  liquidations,
  screen,
  snapshots,
  venues,
} from './ask.ts';
import { completionScript, completions, SHELLS } from './complete.ts';
import { Ended, EXIT, errorLines, exitCodeOf, type SentTexts } from './exit.ts';
import { doctor, fetchFiles, listFiles, login, logout, stream, verify, watchTable } from './more.ts';
import { type Options, openRun, type Run, textOption, type World } from './run.ts';

const EXAMPLES = `Examples:
  perp snapshots -w 'base = BTC' -l mark,funding
  perp screen 'any(venues where funding_8h > 0.0003) select mark, funding'
  perp history -w 'base = BTC and quote = USDT' -l mark --last 2h --interval 1m --csv > marks.csv
  perp watch -w 'base = BTC' -l mark,funding
  perp archive get archive/ -w 'base = BTC' --layer funding
  perp doctor
`;

const AFTER = `
The key comes from PERP_API_KEY, --key-file or perp login; the address from --base-url, PERP_BASE_URL or perp login.
Data goes to standard output, everything else to standard error. On a terminal it is a table, else one JSON object a line.
Exit codes: 0 done, 1 usage, 3 the request was refused, 4 key, plan or payment, 5 rate limit, 6 the service cannot be reached.`;

const WHERE = ['-w, --where <selection>', "listings, such as 'base = BTC and quote = USDT'"] as const;
const LAYERS = ['-l, --layers <list>', 'layers separated by commas, such as mark,funding'] as const;
const PERIOD = [
  ['--from <instant>', 'start, such as 2026-01-15T12:00:00Z'],
  ['--to <instant>', 'end; now when left out'],
  ['--last <duration>', 'from so long ago, such as 2h; 1h when nothing is said'],
] as const;
const TABLE_OUT = ['--out <file>', 'file for --parquet'] as const;
const UNITS = new Option('-u, --units <units>', 'unit of quantities').choices(['published', 'base', 'quote']);
const PRICES = new Option('--price-type <type>', 'which price').choices(['trade', 'mark', 'index']);
const TIMEFRAMES = new Option('-t, --timeframe <timeframe>', 'length of a candle')
  .choices(['1m', '2m', '3m', '5m', '15m', '30m', '1h', '4h', '12h', '1d'])
  .default('1m');

type Flag = readonly [string, string] | Option;
type Action = (run: Run, ...words: string[]) => Promise<void> | void;
type Entry = {
  /** Name and arguments, as commander reads them. */
  readonly usage: string;
  readonly says: string;
  readonly flags?: readonly Flag[];
  readonly act: Action;
};

const SNAPSHOT_FLAGS: readonly Flag[] = [
  WHERE,
  LAYERS,
  UNITS,
  ['--freshness <bound>', 'older readings are stale, such as 60s'],
  ['--allow-stale', 'show the numbers of stale readings'],
];
const STREAM_FLAGS: readonly Flag[] = [
  WHERE,
  LAYERS,
  UNITS,
  ['--freshness <bound>', 'older readings are stale, such as 60s'],
];
const PROOF_FLAGS: readonly Flag[] = [
  ['--venue <venue>', 'venue code'],
  ['--symbol <symbol>', "the venue's symbol"],
  ['--layer <layer>', 'layer of the row'],
  ['--at <instant>', 'the row that held then'],
  ['--id <id>', 'of a trade or liquidation'],
  ['--rpc <url>', 'a node of the chain, to compare with the contract too'],
];
const FILE_FLAGS: readonly Flag[] = [
  WHERE,
  ['--layer <layer>', 'one layer'],
  ['--from <day>', 'first day'],
  ['--to <day>', 'last day'],
];

const COMMANDS: readonly Entry[] = [
  { usage: 'venues', says: 'venues with their state', act: venues },
  {
    usage: 'instruments',
    says: 'listings with their rules',
    flags: [WHERE, ['--as-of <instant>', 'as they were then']],
    act: instruments,
  },
  { usage: 'snapshots', says: 'the newest values, each with its age', flags: SNAPSHOT_FLAGS, act: snapshots },
  {
    usage: 'screen <query>',
    says: 'instruments for which a query holds',
    flags: [
      WHERE,
      UNITS,
      ['--limit <rows>', 'rows of a page'],
      ['--include-unknown', 'also those that cannot be told'],
    ],
    act: screen,
  },
  {
    usage: 'history',
    says: 'values of a period with its gaps',
    flags: [
      WHERE,
      LAYERS,
      UNITS,
      ...PERIOD,
      ['--interval <length>', 'one row a period; 1m when left out'],
      ['--raw', 'every stored row'],
      ['--freshness <bound>', 'older readings are stale'],
      TABLE_OUT,
    ],
    act: history,
  },
  {
    usage: 'candles',
    says: 'candles of a period',
    flags: [WHERE, UNITS, TIMEFRAMES, PRICES, ...PERIOD, TABLE_OUT],
    act: candles,
  },
  { usage: 'books', says: 'order books', flags: [WHERE, UNITS, ['--depth <levels>', 'levels a side']], act: books },
  {
    usage: 'liquidations',
    says: 'liquidations of a period',
    flags: [WHERE, UNITS, ...PERIOD, TABLE_OUT],
    act: liquidations,
  },
  { usage: 'stream', says: 'every change as it happens, one event a line', flags: STREAM_FLAGS, act: stream },
  { usage: 'watch', says: 'a live table in the terminal', flags: STREAM_FLAGS, act: watchTable },
  { usage: 'account', says: 'plan, limits and counters of the key', act: account },
  { usage: 'doctor', says: 'key, address, clock, plan, and what is stale and why', flags: [WHERE], act: doctor },
  { usage: 'login', says: 'keep the key, read from standard input, in a file of your own', act: login },
  { usage: 'logout', says: 'forget it', act: logout },
];
const GROUPS: readonly { readonly name: string; readonly says: string; readonly commands: readonly Entry[] }[] = [
  {
    name: 'archive',
    says: 'files of whole days',
    commands: [
      { usage: 'ls', says: 'list them', flags: FILE_FLAGS, act: listFiles },
      {
        usage: 'get <folder>',
        says: 'fetch those of the plan into a folder; what is there is kept',
        flags: FILE_FLAGS,
        act: fetchFiles,
      },
    ],
  },
  {
    name: 'proof',
    says: 'proofs of stored rows',
    commands: [
      {
        usage: 'verify [file]',
        says: 'check a proof, of a file or asked for by venue, symbol, layer and instant',
        flags: PROOF_FLAGS,
        act: verify,
      },
    ],
  },
  {
    name: 'dql',
    says: 'the query language',
    commands: [{ usage: 'check <query>', says: 'check a query without running it', act: checkQuery }],
  },
];

/** Texts whose faults have places. */
const sentTexts = (options: Options, words: readonly string[]): SentTexts => ({
  '/query': words[0],
  '/where': textOption(options, 'where'),
});

const addCommand = (parent: Command, { usage, says, flags = [], act }: Entry, world: World): void => {
  const command = parent.command(usage).description(says);
  for (const flag of flags) flag instanceof Option ? command.addOption(flag) : command.option(flag[0], flag[1]);
  command.action(async () => {
    const options = command.optsWithGlobals() as Options;
    try {
      await act(openRun(options, world), ...command.args);
    } catch (error) {
      if (world.signal.aborted || error instanceof Ended) throw error;
      world.err.write(`${errorLines(error, sentTexts(options, command.args)).join('\n')}\n`);
      throw new Ended(exitCodeOf(error));
    }
  });
};

const addCompletion = (program: Command, { env, out }: World): void => {
  program
    .command('completion')
    .description('completion for a shell, to be sourced by it')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: string) => {
      out.write(`${completionScript(shell)}\n`);
    });
  program
    .command('__complete', { hidden: true })
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      const line = (env['COMP_LINE'] ?? '').slice(0, Number(env['COMP_POINT'] ?? Number.MAX_SAFE_INTEGER));
      out.write(
        completions(program, line)
          .map((word) => `${word}\n`)
          .join(''),
      );
    });
};

export const buildProgram = (world: World): Command => {
  const program = new Command('perp')
    .description('Perpetual-futures market data that says how old each number is.')
    .option('--json', 'one JSON object a line, as the API has them')
    .option('--csv', 'CSV')
    .option('--parquet', 'Parquet, of history, candles and liquidations')
    .addOption(new Option('-o, --output <format>', 'format').choices(['table', 'json', 'csv', 'parquet']))
    .option('--base-url <url>', 'address of the service')
    .option('--key-file <file>', 'file that holds the key')
    .addHelpText('before', EXAMPLES)
    .addHelpText('after', AFTER)
    .exitOverride()
    .configureOutput({ writeOut: (text) => world.out.write(text), writeErr: (text) => world.err.write(text) });
  for (const entry of COMMANDS) addCommand(program, entry, world);
  for (const { name, says, commands } of GROUPS) {
    const group = program.command(name).description(says);
    for (const entry of commands) addCommand(group, entry, world);
  }
  addCompletion(program, world);
  return program;
};

/** Runs one command line; gives its exit code. */
export const perp = async (words: readonly string[], world: World): Promise<number> => {
  try {
    await buildProgram(world).parseAsync([...words], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (world.signal.aborted) return EXIT.ok;
    if (error instanceof Ended) return error.code;
    throw error;
  }
};
