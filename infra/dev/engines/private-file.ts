// Files with secrets: only their owner may read them.
import { chmodSync, renameSync, writeFileSync } from 'node:fs';

/** Written beside and renamed, so that an interrupted run never leaves half a file. */
export const writePrivateFile = (file: string, text: string): void => {
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, text, { mode: 0o600 });
  // A file that was there already keeps its own mode.
  chmodSync(beside, 0o600);
  renameSync(beside, file);
};
