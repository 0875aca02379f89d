// Checks the query of a rule: the language with the codes of the catalogue, and no clause that a rule does not support (AG-01).
import { fetchJson } from '../../infra/runtime/network/fetch-json.ts';
import { type ApiError, makeUnavailable, ServiceError } from '../../schemas/errors.ts';
import { type Codes, foldCase } from '../language/codes.ts';
import { type Compiled, compile } from '../language/compile.ts';
import type { RuleDraft } from './rule.ts';

type RuleQuery = Pick<RuleDraft, 'query' | 'units'>;

/** The query of a rule, compiled. Throws ServiceError with all its faults, each with its place in the text. */
export const compileRule = ({ query, units }: RuleQuery, codes: Codes): Compiled =>
  compile({ text: query }, codes, {
    where: null,
    refuseQuantitySums: units === 'published',
    outOfRange: () => null,
    isRule: true,
  });

/** As `compileRule`; the faults name the member that contains the text. */
export const checkRule = (draft: RuleQuery, codes: Codes): Compiled => {
  try {
    return compileRule(draft, codes);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(error.errors.map((one): ApiError => ({ path: '/query', ...one })));
  }
};

type Named = { readonly name: string; readonly description: string };

/** Of `GET /v2/dql/catalogue`: what checks and completion of queries read. */
export type Catalogue = Readonly<
  Record<'venues' | 'currencies' | 'assets' | 'instruments' | 'instruments_delisted', string[]>
> & {
  readonly fields: readonly Named[];
  readonly sources: readonly Named[];
  readonly functions: readonly (Named & { readonly signature: string })[];
};

export const toCodes = ({ venues, currencies, assets, instruments, instruments_delisted }: Catalogue): Codes => ({
  venue: new Map(venues.map((code) => [foldCase('venue', code), code])),
  quote: new Map(currencies.map((code) => [foldCase('quote', code), code])),
  base: new Map(assets.map((code) => [foldCase('base', code), code])),
  instrument: new Map([...instruments, ...instruments_delisted].map((code) => [foldCase('instrument', code), code])),
});

const CATALOGUE_PATH = '/v2/dql/catalogue';
const ANSWER_MS = 5_000;

/** As the data API has it, for processes without a memory copy. Throws ServiceError UNAVAILABLE. */
export const fetchCatalogue = async (baseUrl: string): Promise<Catalogue> => {
  const catalogue = await fetchJson(`${baseUrl}${CATALOGUE_PATH}`, { withinMs: ANSWER_MS }).catch(() => null);
  if (catalogue !== null) return catalogue as Catalogue;
  throw makeUnavailable('The catalogue that a query is checked with cannot be read now.');
};

export const fetchCodes = async (baseUrl: string): Promise<Codes> => toCodes(await fetchCatalogue(baseUrl));
