// Progress of the past of a data folder: a file in it, so that a start can read it before the engines run.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type PastState = {
  /** `writing`: nothing has read it yet; `written`: whole in the log; `archived`: the nightly steps of its days are done. */
  readonly state: 'writing' | 'written' | 'archived';
  /** End of the past and begin of the live log, Unix ms. */
  readonly nowMs: number;
  /** 00:00 of the old day, Unix ms. */
  readonly oldDayMs: number;
};

export const toPastFile = (dir: string): string => join(dir, 'past.json');

export const readPast = (file: string): PastState | null =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as PastState) : null;

/** Written beside and renamed: never half a file. */
export const writePast = (file: string, state: PastState): void => {
  writeFileSync(`${file}.next`, JSON.stringify(state));
  renameSync(`${file}.next`, file);
};
