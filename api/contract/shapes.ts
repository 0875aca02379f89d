/** Checks of a shape that another service or a header sent: yes or no. Requests of callers are told their faults (`api/data-app/shape-faults.ts`). */
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';

/** Schemas are TypeBox's, which strict mode does not know whole. */
const ajv = new Ajv2020({ strict: false });

/** Members that the schema does not name are let through. */
export const compileShape = <T extends TSchema>(schema: T): ((sent: unknown) => sent is Static<T>) =>
  ajv.compile<Static<T>>(schema);
