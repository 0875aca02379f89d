// Detects readings that do not measure our latency.
import type { Micros } from '../../../../schemas/records.ts';

const CONFIRMED: Micros = 1_000_000;

/** A reading with a longer delay confirms a quiet book: its stamp is that of the last change. */
export const isConfirmation = (stamp: Micros, received: Micros): boolean => received - stamp >= CONFIRMED;
