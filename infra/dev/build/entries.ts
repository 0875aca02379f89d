// The processes of the service as single files in `dist`, and which file to run: the bundle while it is that of the present sources.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../engines/java.ts';

/** A folder with the sources of processes, which are relative paths such as `api/main.ts`. */
export type Project = { readonly root: string; readonly entries: readonly string[] };

/** What runs for as long as the service does (D-1141). */
export const PROJECT: Project = {
  root: PROJECT_ROOT,
  entries: [
    'api/main.ts',
    'api/web.ts',
    'ingest/main.ts',
    'processors/main.ts',
    'processors/nightly.ts',
    'infra/dev/facilitator/main.ts',
    'infra/dev/simulator/main.ts',
  ],
};

/** A file of the project by its path, with its time of change in milliseconds and its size in bytes. */
export type Input = readonly [path: string, changedMs: number, bytes: number];

const toDistPath = ({ root }: Project, entry: string, extension: string): string =>
  join(root, 'dist', entry.replace(/ts$/, extension));
export const toBundlePath = (project: Project, entry: string): string => toDistPath(project, entry, 'mjs');
/** Of the list of inputs as they were read, which is written after the bundle. */
export const toInputsPath = (project: Project, entry: string): string => toDistPath(project, entry, 'inputs.json');

export const describeInput = ({ root }: Project, path: string): Input => {
  const { mtimeMs, size } = statSync(join(root, path));
  return [path, mtimeMs, size];
};

/** Whether the bundle of an entry was made of the sources and packages as they are. */
export const isBuilt = (project: Project, entry: string): boolean => {
  try {
    statSync(toBundlePath(project, entry));
    const inputs = JSON.parse(readFileSync(toInputsPath(project, entry), 'utf8')) as readonly Input[];
    return inputs.every(([path, changedMs, bytes]) => {
      const [, nowMs, nowBytes] = describeInput(project, path);
      return nowMs === changedMs && nowBytes === bytes;
    });
  } catch {
    // Never built, or a source is gone.
    return false;
  }
};

/** Absolute path of what to run for a file of the project: its bundle, if that is up to date, or the file itself. */
export const findProgram = (file: string, project = PROJECT): string =>
  project.entries.includes(file) && isBuilt(project, file) ? toBundlePath(project, file) : join(project.root, file);
