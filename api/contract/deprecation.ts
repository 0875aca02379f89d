// Headers of an endpoint that will be removed (VER-01): Deprecation (RFC 9745), Sunset (RFC 8594) and a link to the announcement.
import { MS_PER_DAY } from '../../schemas/instants.ts';

export type Deprecation = {
  /** Day of its entry in the changelog. */
  readonly announced: string;
  /** First day on which it may be removed: at least 180 days later. */
  readonly sunset: string;
};

const LEAST_DAYS = 180;

const toStartOfDay = (day: string): number => {
  const at = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(at)) throw new Error(`"${day}" is not a day`);
  return at;
};

/** Throws when the time between announcement and end is too short. */
export const makeDeprecationHeaders = (
  { announced, sunset }: Deprecation,
  baseUrl: string,
): Readonly<Record<string, string>> => {
  const [from, to] = [toStartOfDay(announced), toStartOfDay(sunset)];
  if (to - from < LEAST_DAYS * MS_PER_DAY)
    throw new Error(`an endpoint works for ${LEAST_DAYS} days after ${announced}, not until ${sunset}`);
  return {
    deprecation: `@${from / 1_000}`,
    sunset: new Date(to).toUTCString(),
    link: `<${baseUrl}/changelog.json>; rel="deprecation"; type="application/json"`,
  };
};
