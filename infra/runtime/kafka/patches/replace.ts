// Replaces parts of kafkajs by ours, in the one version they were written for.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

const PATCHED = '2.2.4';

/** Throws for a version whose internals were not compared with our parts. */
export const refuseOtherVersion = (version: string): void => {
  if (version === PATCHED) return;
  throw new Error(
    `kafkajs ${version} is installed, and infra/runtime/kafka/patches is written for ${PATCHED}: pin "kafkajs": "${PATCHED}" in package.json and ` +
      'run npm install; or compare each patch with the new source, run test/infra/runtime/kafka/kafkajs.test.ts and change the version in replace.ts.',
  );
};

refuseOtherVersion((require('kafkajs/package.json') as { readonly version: string }).version);

/** A file of kafkajs, by its path in the package. */
export const requirePart = <T>(path: string): T => require(path) as T;

/** Every later import of that file of kafkajs returns `part`. */
export const replacePart = (path: string, part: unknown): void => {
  require(path);
  const loaded = require.cache[require.resolve(path)];
  if (loaded === undefined) throw new Error(`kafkajs ${PATCHED} has no ${path}`);
  loaded.exports = part;
};
