// Completion in the shell: the words allowed next, read from the commands themselves.
import type { Command } from 'commander';

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: "complete -o default -C 'perp __complete' perp",
  zsh: "autoload -U +X bashcompinit && bashcompinit\ncomplete -o default -C 'perp __complete' perp",
  fish: "complete -c perp -f -a '(COMP_LINE=(commandline -cp) perp __complete)'",
};
export const SHELLS = Object.keys(SCRIPTS);
export const findCompletionScript = (shell: string): string => SCRIPTS[shell] ?? '';

const findCommand = (command: Command, word: string): Command | undefined =>
  command.commands.find((one) => one.name() === word || one.aliases().includes(word));

/** Words that may follow the line. */
export const listCompletions = (program: Command, line: string): readonly string[] => {
  const words = line.split(/\s+/).slice(1);
  const last = words.at(-1) ?? '';
  let command = program;
  for (const word of words.slice(0, -1)) command = findCommand(command, word) ?? command;
  const before = words.at(-2);
  const option = command.options.find(
    ({ short, long }) => before !== undefined && (before === short || before === long),
  );
  const offered =
    option?.argChoices ??
    (last.startsWith('-')
      ? [...command.options, ...program.options].flatMap(({ long }) =>
          long === undefined || long === null ? [] : [long],
        )
      : command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_')));
  return [...new Set(offered)].filter((word) => word.startsWith(last)).sort();
};
