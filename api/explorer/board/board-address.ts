// A board as an address: measure, order and filter, so that a view can be shared; read from it and written back the same.
import { type Filter, SORT_BY_NAME, SORT_BY_RANGE, type Sort } from './board-rows.ts';
import { DEFAULT_MEASURE, findMeasure, type Measure, type MeasureId } from './measures.ts';

export type BoardView = { readonly measure: MeasureId; readonly sort: Sort; readonly filter: Filter };

const CODE = /^[A-Za-z0-9_-]{1,40}$/;
const MOST_CODES = 32;
const BOARD_PATH = '/explore';

const list = (text: string | null, spelling: (code: string) => string): readonly string[] =>
  [...new Set((text ?? '').split(/[\s,]+/).filter((code) => CODE.test(code)))].slice(0, MOST_CODES).map(spelling);

const toUpper = (code: string): string => code.toUpperCase();
const toLower = (code: string): string => code.toLowerCase();

const readSort = (text: string | null): Sort => {
  const isDescending = text?.startsWith('-') === true;
  const by = isDescending ? text.slice(1) : (text ?? '');
  return CODE.test(by) ? { by, isAscending: !isDescending } : { by: SORT_BY_NAME, isAscending: true };
};

/** Whether differences between venues compare: quantities are of another asset in each row, and of several units within one. */
export const hasRangeOrder = ({ scale }: Measure): boolean => scale.kind !== 'share';

/** Parts that cannot be understood are ignored. */
export const readBoardView = (query: URLSearchParams): BoardView => {
  const measure = findMeasure(query.get('measure') ?? undefined);
  const sort = readSort(query.get('sort'));
  return {
    measure: measure.id,
    sort: sort.by === SORT_BY_RANGE && !hasRangeOrder(measure) ? readSort(null) : sort,
    filter: {
      bases: list(query.get('base'), toUpper),
      quotes: list(query.get('quote'), toUpper),
      venues: list(query.get('venue'), toLower),
    },
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
  for (const [name, codes] of [
    ['base', filter.bases],
    ['quote', filter.quotes],
    ['venue', filter.venues],
  ] as const)
    if (codes.length > 0) query.set(name, codes.join(','));
  const text = String(query).replaceAll('%2C', ',');
  return text === '' ? BOARD_PATH : `${BOARD_PATH}?${text}`;
};

/** The order after a press on a heading: figures begin with the largest, names with the first. */
export const toggleSort = (sort: Sort, by: string): Sort => ({
  by,
  isAscending: sort.by === by ? !sort.isAscending : by === SORT_BY_NAME,
});
