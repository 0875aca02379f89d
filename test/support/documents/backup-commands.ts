// The commands of docs/deployment.md, section Backups, as an operator pastes them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../../infra/dev/engines/java.ts';

/** Of the backup and of each step of the restore that has one; continued lines are one. Throws when the page has no such step. */
const readCommands = (step: 'backup' | '2' | '3' | '4' | '5, kept'): readonly string[] => {
  const page = readFileSync(join(PROJECT_ROOT, 'docs/deployment.md'), 'utf8');
  const section = /^## Backups\n(.*?)^## /ms.exec(page)?.[1] ?? '';
  const [backup = '', restore = ''] = [...section.matchAll(/^```text\n(.*?)^```$/gms)].map(([, text]) => text);
  const steps = new Map([['backup', backup]]);
  for (const [, name = '', text = ''] of restore.matchAll(/^# (.*)\n((?:(?!# ).*\n)+)/gm)) steps.set(name, text);
  const found = steps.get(step);
  if (found === undefined || found === '') throw new Error(`docs/deployment.md has no commands of "${step}"`);
  return found.trimEnd().split(/(?<!\\)\n(?! )/);
};

/** The settings that the commands name. */
export type Places = Readonly<Record<'BACKUP' | 'DATABASE_URL' | 'QUESTDB' | 'QUESTDB_DIR' | 'ARCHIVE_DIR', string>>;

/** Runs those commands of a step that name one of the places; rejects with the output of one that fails. */
export const runCommands = (step: Parameters<typeof readCommands>[0], places: Partial<Places>): void => {
  const { PATH = '', HOME = '' } = process.env;
  const names = Object.keys(places);
  for (const command of readCommands(step)) {
    const named = [...command.matchAll(/\$([A-Z_]+)/g)].map(([, name = '']) => name);
    if (!named.every((name) => names.includes(name))) continue;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { env: { PATH, HOME, ...places } });
    if (status !== 0) throw new Error(`${command}\nended with ${status}: ${stdout}${stderr}`);
  }
};

/** Group and instant of the command that sets the offsets of the sink. */
export const readOffsetReset = (): { readonly group: string; readonly instant: string } => {
  const [command = ''] = readCommands('5, kept');
  const { group, instant } = /--group (?<group>\S+) .*--to-datetime (?<instant>\S+)/s.exec(command)?.groups ?? {};
  if (group === undefined || instant === undefined) throw new Error(`no group or no instant: ${command}`);
  return { group, instant };
};

/** Why the commands cannot run on this machine; false when they can. */
export const noClients = (): string | false =>
  ['psql', 'pg_dump', 'pg_restore'].every((name) => spawnSync(name, ['--version']).status === 0)
    ? false
    : 'the clients of PostgreSQL are not installed';
