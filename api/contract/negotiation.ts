// Content negotiation (RFC 9110 sections 12.4.2, 12.5.1, 12.5.3): which of the offered representations a request prefers.

type Liking = { readonly weight: number; readonly place: number };
const UNNAMED: Liking = { weight: 0, place: -1 };

/** The ranges of an `Accept` header, by name: each with its weight and its place in the header. */
const readRanges = (header: string): ReadonlyMap<string, Liking> =>
  new Map(
    header.split(',').map((range, place) => {
      const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
      const quality = parameters.find((parameter) => parameter.startsWith('q='));
      return [name, { weight: quality === undefined ? 1 : Number(quality.slice(2)), place }];
    }),
  );

const findLiking = (ranges: ReadonlyMap<string, Liking>, names: readonly string[]): Liking =>
  names.map((name) => ranges.get(name)).find((liking) => liking !== undefined) ?? UNNAMED;

/**
 * The media type that a request prefers; among equal ones, the one whose range is first, then the one offered first.
 * The most specific matching range determines the quality of a type. Undefined: no type is acceptable, or there is no preference.
 */
export const chooseMediaType = <T extends string>(accept: string | undefined, offered: readonly T[]): T | undefined => {
  const ranges = readRanges(accept ?? '');
  const liked = offered
    .map((type) => ({ type, ...findLiking(ranges, [type, type.replace(/\/.*/, '/*'), '*/*']) }))
    .filter(({ weight }) => weight > 0);
  return liked.sort((a, b) => b.weight - a.weight || a.place - b.place)[0]?.type;
};

/** Whether a content coding may be used for the answer: not where it is not named, or named with the weight 0. */
export const isCodingTaken = (acceptEncoding: string | undefined, coding: string): boolean =>
  findLiking(readRanges(acceptEncoding ?? ''), [coding, '*']).weight > 0;
