/** The path that docs/records.md names for the command; the command itself is infra/dev/tools/normalise.ts. */
import { runNormalise } from '../dev/tools/normalise.ts';

await runNormalise();
