/** Checks of the shape of data from another service or a header: valid or not. For requests of callers, `api/data-app/shape-faults.ts` reports each fault. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';

/** Schemas are TypeBox's, which strict mode does not know whole. */
const ajv = new Ajv2020({ strict: false });

/** Members that the schema does not name are let through. */
export const compileShape = <T extends TSchema>(schema: T): ((sent: unknown) => sent is Static<T>) =>
  ajv.compile<Static<T>>(schema);
