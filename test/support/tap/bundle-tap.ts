/** Makes one module of tap and its packages, for the files of a run: they load it instead of 320 modules each (D-1065). */
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { BUNDLED_TAP } from './bundled-tap.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DOMAIN = fileURLToPath(new URL('error-domain.ts', import.meta.url));

/** Parts of tap are CommonJS modules. */
const REQUIRE = `import * as nodeModule from 'node:module'; const require = nodeModule.createRequire(import.meta.url);`;

export const bundleTap = async (): Promise<void> => {
  const path = fileURLToPath(BUNDLED_TAP);
  const made = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  try {
    await build({
      absWorkingDir: ROOT,
      entryPoints: ['tap'],
      outfile: made,
      bundle: true,
      platform: 'node',
      format: 'esm',
      alias: { 'async-hook-domain': DOMAIN },
      banner: { js: REQUIRE },
      logLevel: 'error',
    });
    // Another run may load it meanwhile.
    renameSync(made, path);
  } finally {
    rmSync(made, { force: true });
  }
};
