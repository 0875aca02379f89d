// Calls of a text as nodes: with the timeframe among their arguments, or without their end.
import { joinPlaces } from './faults.ts';
import { FUNCTIONS } from './functions.ts';
import type { Token } from './lexer.ts';
import { makeBroken, makeCall, type Node } from './tree.ts';

/** A duration behind the arguments is the timeframe of a function that reads periods. */
export const makeTimedCall = (token: Token, args: readonly Node[], end: Token): Node => {
  const last = args.at(-1);
  const isTimed = FUNCTIONS.get(token.text)?.readsPeriods === true && last?.type === 'duration';
  const timeframe = isTimed ? { text: last.value, place: last.place } : undefined;
  return makeCall(token.text, { args: isTimed ? args.slice(0, -1) : args, timeframe }, joinPlaces(token, end));
};

/** A call that is not closed: its arguments cannot be assigned to the function, but its name was read. */
export const makeOpenCall = (token: Token, parts: readonly Node[]): Node =>
  FUNCTIONS.has(token.text)
    ? makeBroken(token, parts, 'call')
    : makeBroken(token, [makeCall(token.text, { args: parts, timeframe: undefined }, token)]);
