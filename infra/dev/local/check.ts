/** `npm run check`: types, lint and format, the architecture of the project, its documents; runs all checks, then reports the result. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../engines/java.ts';

const toBinPath = (name: string): string => join(PROJECT_ROOT, 'node_modules', '.bin', name);

const CHECKS: readonly { readonly name: string; readonly command: string; readonly args: readonly string[] }[] = [
  { name: 'types', command: toBinPath('tsc'), args: ['--noEmit', '-p', 'tsconfig.json'] },
  { name: 'types of browser scripts', command: toBinPath('tsc'), args: ['--noEmit', '-p', 'api/account-app/islands'] },
  { name: 'lint and format', command: toBinPath('biome'), args: ['check'] },
  { name: 'architecture', command: process.execPath, args: ['test/architecture.test.ts'] },
  { name: 'documents', command: process.execPath, args: ['test/docs.test.ts'] },
];

const failed = CHECKS.filter(({ name, command, args }) => {
  console.log(`== ${name}`);
  return spawnSync(command, args, { cwd: PROJECT_ROOT, stdio: 'inherit' }).status !== 0;
});
console.log(failed.length === 0 ? 'all checks passed' : `failed: ${failed.map(({ name }) => name).join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);
