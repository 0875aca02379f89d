// The program `perp`: its commands, completion, and how a run ends.
import { Argument, Command, CommanderError, Option } from 'commander';
import { COMMANDS, type Entry, GROUPS } from './commands.ts';
import { findCompletionScript, listCompletions, SHELLS } from './complete.ts';
import { Ended, EXIT, listErrorLines, type SentTexts, toExitCode } from './exit.ts';
import { cleanText } from './output.ts';
import pack from './package.json' with { type: 'json' };
import { type Options, openRun, readTextOption, type World } from './run.ts';

const EXAMPLES = `Examples:
  perp snapshots -w 'base = BTC' -l mark,funding
  perp screen 'any(venues where funding_8h > 0.0003) select mark, funding'
  perp history -w 'base = BTC and quote = USDT' -l mark --last 2h --interval 1m --csv > marks.csv
  perp stream -w 'base = BTC' -l mark,funding
  perp archive get archive/ -w 'base = BTC' --layer funding
  perp doctor
`;

const AFTER = `
The key comes from PERP_API_KEY, --key-file or perp login; the address from --base-url, PERP_BASE_URL or perp login.
Data goes to standard output, everything else to standard error. On a terminal it is a table, else one JSON object a line.
Exit codes: 0 done, 1 usage, 3 the request was refused, 4 key, plan or payment, 5 rate limit, 6 the service cannot be reached,
130 interrupted before it was done.`;

/** Texts whose faults have places. */
const listSentTexts = (options: Options, words: readonly string[]): SentTexts => ({
  '/query': words[0],
  '/where': readTextOption(options, 'where'),
});

const addCommand = (parent: Command, { usage, summary, flags = [], act }: Entry, world: World): void => {
  const command = parent.command(usage).description(summary);
  for (const flag of flags) flag instanceof Option ? command.addOption(flag) : command.option(flag[0], flag[1]);
  command.action(async () => {
    const options = command.optsWithGlobals() as Options;
    try {
      await act(openRun(options, world), ...command.args);
    } catch (error) {
      if (world.signal.aborted || error instanceof Ended) throw error;
      const lines = listErrorLines(error, listSentTexts(options, command.args));
      world.err.write(lines.map((line) => `${cleanText(line)}\n`).join(''));
      throw new Ended(toExitCode(error));
    }
  });
};

const addCompletion = (program: Command, { env, out }: World): void => {
  program
    .command('completion')
    .description('completion for a shell, to be sourced by it')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: string) => {
      out.write(`${findCompletionScript(shell)}\n`);
    });
  program
    .command('__complete', { hidden: true })
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      const line = (env['COMP_LINE'] ?? '').slice(0, Number(env['COMP_POINT'] ?? Number.MAX_SAFE_INTEGER));
      out.write(
        listCompletions(program, line)
          .map((word) => `${word}\n`)
          .join(''),
      );
    });
};

export const buildProgram = (world: World): Command => {
  const program = new Command('perp')
    .description('Perpetual-futures market data that says how old each number is.')
    .version(pack.version)
    .option('--json', 'one JSON object a line, as the API has them')
    .option('--csv', 'CSV')
    .option('--parquet', 'Parquet, of history, candles and liquidations')
    .addOption(new Option('-o, --output <format>', 'format').choices(['table', 'json', 'csv', 'parquet']))
    .option('--base-url <url>', 'address of the service')
    .option('--key-file <file>', 'file that contains the key')
    .addHelpText('before', EXAMPLES)
    .addHelpText('after', AFTER)
    .showHelpAfterError('Add --help to see how it is called.')
    .exitOverride()
    .configureOutput({ writeOut: (text) => world.out.write(text), writeErr: (text) => world.err.write(text) });
  for (const entry of COMMANDS) addCommand(program, entry, world);
  for (const { name, summary, commands } of GROUPS) {
    const group = program.command(name).description(summary);
    for (const entry of commands) addCommand(group, entry, world);
  }
  addCompletion(program, world);
  return program;
};

/** Runs one command line; gives its exit code. */
export const runPerp = async (words: readonly string[], world: World): Promise<number> => {
  try {
    await buildProgram(world).parseAsync([...words], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (world.signal.aborted) return EXIT.interrupted;
    if (error instanceof Ended) return error.code;
    throw error;
  }
};
