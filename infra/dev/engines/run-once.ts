/** Runs a short command to its end, for the set-up steps of the engines. */
import { type SpawnOptions, spawn } from 'node:child_process';

class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Resolves with the output of the command; throws with it when the command fails. */
export function runOnce(command: string, args: readonly string[], options: SpawnOptions = {}): Promise<string> {
  return new Promise((settle, fail) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk.toString('utf8');
    };
    child.stdout?.on('data', collect);
    child.stderr?.on('data', collect);
    child.once('error', (error) => fail(new CommandError(`${command} cannot be run: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code === 0) settle(output);
      else fail(new CommandError(`${command} failed (${signal ?? `exit code ${code}`})\n${output.trimEnd()}`));
    });
  });
}
