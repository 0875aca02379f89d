// `npm run build`: bundles the processes, if the sources of one have changed.
import { bundleEntries } from './bundle.ts';
import { isBuilt, PROJECT } from './entries.ts';

if (!PROJECT.entries.every((entry) => isBuilt(PROJECT, entry))) {
  const begun = performance.now();
  process.stderr.write('bundling the processes\n');
  await bundleEntries();
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0);
  process.stderr.write(`bundling the processes: done in ${seconds} s\n`);
}
