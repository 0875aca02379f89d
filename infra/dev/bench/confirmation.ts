// Which readings say nothing of our speed.
import type { Micros } from '../../../schemas/records.ts';

const CONFIRMED: Micros = 1_000_000;

/** A reading that was longer on its way to us confirms a quiet book: its stamp is that of the last change. */
export const isConfirmation = (stamp: Micros, received: Micros): boolean => received - stamp >= CONFIRMED;
