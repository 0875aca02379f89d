// The error catalogue, the order of errors and the suggestions.
import t from 'tap';
import {
  type ApiError,
  CATALOGUE,
  type ErrorCode,
  findNearest,
  makeServiceError,
  ServiceError,
  sortErrors,
} from '../../schemas/errors.ts';

// E-06, copied from the table.
const STATUS: Readonly<Record<number, string>> = {
  400:
    'DQL_JSON_SCHEMA DQL_VERSION DQL_LIMIT DQL_COMPLEXITY KEY_IN_URL PAYMENT_MALFORMED DQL_SYNTAX DQL_UNKNOWN_FIELD DQL_UNKNOWN_FUNCTION ' +
    'DQL_UNKNOWN_VENUE DQL_UNKNOWN_CURRENCY DQL_UNKNOWN_ASSET DQL_UNKNOWN_INSTRUMENT DQL_SCOPE DQL_NESTING DQL_TYPE DQL_TIMEFRAME_REQUIRED ' +
    'DQL_TIMEFRAME_UNSUPPORTED DQL_TIMEFRAME_MISMATCH DQL_ARGUMENT DQL_DUPLICATE_CLAUSE DQL_AS_OF_RANGE',
  401: 'AUTH_REQUIRED AUTH_INVALID',
  402: 'PAYMENT_REQUIRED',
  403: 'PLAN_LIMIT PLAN_VENUE_NOT_INCLUDED',
  404: 'ANCHOR_NOT_FOUND NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  409: 'ANCHOR_CHANGED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'RATE_LIMITED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

t.test('every code has the status of E-06, and there is no other code', (t) => {
  const listed = Object.entries(STATUS).flatMap(([status, codes]) =>
    codes.split(' ').map((code) => [code, Number(status)]),
  );
  t.same(
    Object.fromEntries(Object.entries(CATALOGUE).map(([code, entry]) => [code, entry.status])),
    Object.fromEntries(listed),
  );
  for (const [code, { meaning, fix }] of Object.entries(CATALOGUE)) {
    t.match(meaning, /^[A-Z].*\.$/, `${code} has a meaning of one sentence`);
    t.match(fix, /^[A-Z].*\.?$/, `${code} has a hint`);
  }
  t.end();
});

const error = (code: ErrorCode, offset?: number, path?: string): ApiError => ({
  code,
  message: `${code} ${offset ?? ''}${path ?? ''}`,
  ...(offset === undefined ? {} : { position: { line: 1, column: offset + 1, offset, length: 1 } }),
  ...(path === undefined ? {} : { path }),
});

t.test('errors come by position, then path, at most twenty, and the first gives the status (E-05)', (t) => {
  const late = error('DQL_TYPE', 9);
  const early = error('DQL_SYNTAX', 2, '/where');
  const same = error('DQL_SYNTAX', 2, '/query');
  const pathB = error('PLAN_LIMIT', undefined, '/b');
  const pathA = error('DQL_JSON_SCHEMA', undefined, '/a');
  t.same(sortErrors([pathB, late, pathA, early, same]), [same, early, late, pathA, pathB]);
  t.equal(sortErrors(Array.from({ length: 30 }, (_, i) => error('DQL_SYNTAX', 30 - i))).length, 20);
  const failure = new ServiceError([pathB, pathA]);
  t.equal(failure.status, 400);
  t.equal(failure.message, pathA.message);
  t.same(failure.errors, [pathA, pathB]);
  const single = makeServiceError('RATE_LIMITED', 'Too many calls.', { hint: 'Wait 3 seconds.' });
  t.equal(single.status, 429);
  t.same(single.errors, [{ code: 'RATE_LIMITED', message: 'Too many calls.', hint: 'Wait 3 seconds.' }]);
  t.ok(single instanceof Error);
  t.end();
});

t.test('suggestions are at most three names within two edits, nearest first (E-08)', (t) => {
  const venues = ['binance', 'bybit', 'bitget', 'bitmex', 'bitfinex', 'okx', 'gate'];
  t.same(findNearest('binnance', venues), ['binance'], 'one letter too many');
  t.same(findNearest('bniance', venues), ['binance'], 'two letters swapped are one edit');
  t.same(findNearest('ibnanec', venues), ['binance'], 'two swaps are two edits');
  t.same(findNearest('okex', venues), ['okx']);
  t.same(findNearest('ea', ['age', 'ema']), ['ema', 'age'], 'swapped with a letter put between are two edits');
  t.same(findNearest('hgbihest', ['highest']), ['highest'], 'swapped with a letter taken out between are two edits');
  t.same(findNearest('BYBIT', venues), ['bybit'], 'letter case does not matter');
  t.same(findNearest('hyperliquid', venues), []);
  t.same(
    findNearest('aab', ['aaa', 'bbb', 'aabx', 'aab', 'ab', 'zab']),
    ['aab', 'aaa', 'aabx'],
    'nearest first, then by bytes, three at most',
  );
  t.same(findNearest('', ['a', 'ab', 'abc']), ['a', 'ab']);
  t.end();
});
