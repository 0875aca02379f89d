// A board as an address: measure, order and filter, so that a view can be shared; read from it and written back the same.
import { clip } from '../../contract/sent-text.ts';
import { type Filter, SORT_BY_NAME, SORT_BY_RANGE, type Sort } from './board-rows.ts';
import { DEFAULT_MEASURE, findMeasure, type Measure, type MeasureId } from './measures.ts';

export type BoardView = { readonly measure: MeasureId; readonly sort: Sort; readonly filter: Filter };

const CODE = /^[A-Za-z0-9_-]{1,40}$/;
/** Of one kind in a filter. */
export const MOST_CODES = 32;
const BOARD_PATH = '/explore';

const toUpper = (code: string): string => code.toUpperCase();
const toLower = (code: string): string => code.toLowerCase();

const FILTERS = [
  { name: 'base', member: 'bases', spell: toUpper },
  { name: 'quote', member: 'quotes', spell: toUpper },
  { name: 'venue', member: 'venues', spell: toLower },
] as const;
type FilterEntry = (typeof FILTERS)[number];

/** Each code once, as codes are spelled. */
const listAsked = (query: URLSearchParams, { name, spell }: FilterEntry): readonly string[] => {
  const codes = query.getAll(name).flatMap((text) => text.split(/[\s,]+/));
  return [...new Set(codes.filter((code) => code !== '').map(spell))];
};

const readFilter = (query: URLSearchParams): Filter => {
  const [bases = [], quotes = [], venues = []] = FILTERS.map((entry) =>
    listAsked(query, entry)
      .filter((code) => CODE.test(code))
      .slice(0, MOST_CODES),
  );
  return { bases, quotes, venues };
};

/** Codes of the filter that no listing has, each with its member: `base NOPE`. */
export const listLeftOut = (query: URLSearchParams, { filter }: BoardView): readonly string[] =>
  FILTERS.flatMap((entry) =>
    listAsked(query, entry)
      .filter((code) => !filter[entry.member].includes(code))
      .slice(0, MOST_CODES)
      .map((code) => `${entry.name} ${clip(code)}`),
  );

const readSort = (text: string | null): Sort => {
  const isDescending = text?.startsWith('-') === true;
  const by = isDescending ? text.slice(1) : (text ?? '');
  return CODE.test(by) ? { by, isAscending: !isDescending } : { by: SORT_BY_NAME, isAscending: true };
};

/** Whether differences between venues can be compared: quantities are of a different asset in each row, and of several units within a row. */
export const hasRangeOrder = ({ scale }: Measure): boolean => scale.kind !== 'share';

/** Parts that cannot be understood are ignored. */
export const readBoardView = (query: URLSearchParams): BoardView => {
  const measure = findMeasure(query.get('measure') ?? undefined);
  const sort = readSort(query.get('sort'));
  return {
    measure: measure.id,
    sort: sort.by === SORT_BY_RANGE && !hasRangeOrder(measure) ? readSort(null) : sort,
    filter: readFilter(query),
  };
};

const formatSort = ({ by, isAscending }: Sort): string | null =>
  by === SORT_BY_NAME && isAscending ? null : `${isAscending ? '' : '-'}${by}`;

/** The shortest address of a view. */
export const toBoardAddress = ({ measure, sort, filter }: BoardView): string => {
  const query = new URLSearchParams();
  if (measure !== DEFAULT_MEASURE) query.set('measure', measure);
  const order = formatSort(sort);
  if (order !== null) query.set('sort', order);
  for (const { name, member } of FILTERS) if (filter[member].length > 0) query.set(name, filter[member].join(','));
  const text = String(query).replaceAll('%2C', ',');
  return text === '' ? BOARD_PATH : `${BOARD_PATH}?${text}`;
};

/** The order after a press on a heading: figures begin with the largest, names with the first. */
export const toggleSort = (sort: Sort, by: string): Sort => ({
  by,
  isAscending: sort.by === by ? !sort.isAscending : by === SORT_BY_NAME,
});
