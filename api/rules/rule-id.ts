// Ids of rules: 128 random bits, so that they cannot be guessed (AG-01), and what follows from an id alone: its second and its shard.
import { createHash, randomBytes } from 'node:crypto';
import { CROCKFORD, printCrockford } from '../contract/crockford.ts';

const SHAPE = new RegExp(`^rule_${CROCKFORD}$`);
/** Of one parameter: an id, or several separated by commas. */
export const RULE_IDS_FORM = `^rule_${CROCKFORD}(,rule_${CROCKFORD})*$`;

export const makeRuleId = (): string => `rule_${printCrockford(BigInt(`0x${randomBytes(16).toString('hex')}`))}`;

export const isRuleId = (text: string): boolean => SHAPE.test(text);

/** Spreads rules over the seconds of their interval and over shards: below 2^31, the same for a name for ever. */
export const derivePhase = (ruleId: string): number =>
  createHash('sha256').update(ruleId).digest().readUInt32BE() >>> 1;
