/** Which test files need the shared engines: those that call `useEngines`, themselves or in a file that they import. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const CALL = /\buseEngines\(/;
/** Imports of values by a relative path; those of types alone run nothing. */
const IMPORTED = /^(?:import|export) (?!type\b)(?:[^;]*? from )?'(\.[^']+\.ts)'/gm;

/** Answers for a file by its path; `folder` bounds the files that are followed. */
export const needsEngines = (file: string, folder: string): boolean => findCall(file, folder, new Set());

const findCall = (file: string, folder: string, seen: Set<string>): boolean => {
  if (seen.has(file) || !file.startsWith(folder) || !existsSync(file)) return false;
  seen.add(file);
  const source = readFileSync(file, 'utf8');
  if (CALL.test(source)) return true;
  return [...source.matchAll(IMPORTED)].some(([, path = '']) => findCall(join(dirname(file), path), folder, seen));
};
