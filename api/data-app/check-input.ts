// Steps 6 and 7 of E-01 as one list: the shape of a request, and the language and selection of every member whose shape is valid.
import { type ApiError, makeUnavailable, ServiceError } from '../../schemas/errors.ts';
import { isJsonObject, type JsonObject } from '../../schemas/json-object.ts';
import type { Micros } from '../../schemas/records.ts';
import type { Spoilt } from '../contract/endpoint.ts';
import type { LiveMemory } from '../live/memory.ts';
import type { ReadableEndpoint } from '../operations/operation.ts';
import type { Read } from './read-input.ts';
import { findShapeFaults } from './shape-faults.ts';

type Path = readonly string[];

/** Members that a JSON pointer names (RFC 6901). */
const toPath = ({ path = '' }: ApiError): Path =>
  path
    .split('/')
    .slice(1)
    .map((name) => (name.includes('~') ? name.replaceAll('~1', '/').replaceAll('~0', '~') : name));

/** The members without those that the paths name: of each path the deepest member of an object. Strangers send both by the thousand. */
const withoutPaths = (members: JsonObject, paths: readonly Path[]): JsonObject => {
  const byMember = Map.groupBy(paths, ([first]) => first);
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]): [string, unknown][] => {
      const named = byMember.get(name);
      if (named === undefined) return [[name, value]];
      if (!isJsonObject(value) || named.some(({ length }) => length === 1)) return [];
      const inside = named.map((path) => path.slice(1));
      return [[name, withoutPaths(value, inside)]];
    }),
  );
};

const withoutFaulty = (members: JsonObject, faults: readonly ApiError[]): JsonObject =>
  faults.length === 0 ? members : withoutPaths(members, faults.map(toPath));

const toSpoilt = (faults: readonly ApiError[]): Spoilt => {
  const spoilt = new Set<string>();
  for (const error of faults) {
    const [first] = toPath(error);
    if (first !== undefined) spoilt.add(first);
  }
  return spoilt;
};

type Checked = { readonly input: unknown; readonly understood: unknown };

const understand = (
  endpoint: ReadableEndpoint,
  {
    whole,
    faults,
    apart,
  }: { readonly whole: JsonObject; readonly faults: readonly ApiError[]; readonly apart: readonly ApiError[] },
  state: { readonly live: LiveMemory; readonly evaluatedAt: Micros },
): unknown => {
  const found = [...apart, ...faults];
  try {
    const understood = endpoint.understand(whole, { ...state, spoilt: toSpoilt(faults) });
    if (found.length === 0) return understood;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    found.push(...error.errors);
  }
  throw new ServiceError(found);
};

/** The input of an endpoint and what it means, or ServiceError with every fault of steps 6 and 7. */
export const checkInput = (
  endpoint: ReadableEndpoint,
  { input, faults, apart }: Read,
  state: { readonly live: LiveMemory; readonly evaluatedAt: Micros },
): Checked => {
  const shape = [...faults, ...findShapeFaults(endpoint, input)];
  if (!isJsonObject(input)) throw new ServiceError([...apart, ...shape]);
  const ofShape = withoutFaulty(input, shape);
  const finer = endpoint.refine(ofShape, toSpoilt(shape));
  const found = [...shape, ...finer];
  if (!state.live.isReady()) {
    // No names are known yet: only the shape can be checked.
    if (found.length + apart.length > 0) throw new ServiceError([...apart, ...found]);
    throw makeUnavailable('The service has not read its state yet.');
  }
  const whole = withoutFaulty(ofShape, finer);
  return { input, understood: understand(endpoint, { whole, faults: found, apart }, state) };
};
