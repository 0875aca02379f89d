/** Where tests keep the data of the engines that they start, a folder for each set. */
import { fileURLToPath } from 'node:url';

/** Chosen by `npm test`, else `.local/test` of this copy of the project. */
export const TEST_FOLDER: string =
  process.env.TEST_FOLDER ?? fileURLToPath(new URL('../../../.local/test', import.meta.url));
