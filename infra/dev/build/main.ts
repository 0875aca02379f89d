// `npm run build`: bundles the processes, if the sources of one have changed.
import { describeError } from '../../../schemas/thrown.ts';
import { isBuilt, PROJECT } from './entries.ts';

const build = async (): Promise<void> => {
  if (PROJECT.entries.every((entry) => isBuilt(PROJECT, entry))) return;
  const begun = performance.now();
  process.stderr.write('bundling the processes\n');
  // The bundler is loaded only where there is something to bundle.
  const { bundleEntries } = await import('./bundle.ts');
  await bundleEntries();
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  process.stderr.write(`bundling the processes: done in ${seconds} s\n`);
};

await build().catch((error: unknown) => {
  process.stderr.write(`bundling the processes: failed, they run from their sources: ${describeError(error)}\n`);
  process.exitCode = 1;
});
