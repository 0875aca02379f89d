// A long period is requested in parts that neither overlap nor leave anything out, and no longer than the service answers.
import t from 'tap';
import { ApiError } from '../../../clients/typescript/src/errors.ts';
import { requestWindows } from '../../../clients/typescript/src/windows.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Asked = { readonly from?: string; readonly to?: string; readonly interval?: string; readonly timeframe?: string };
type Part = Readonly<Required<Pick<Asked, 'from' | 'to'>>>;

const refuse = (code: 'DQL_LIMIT' | 'DQL_JSON_SCHEMA'): ApiError =>
  new ApiError([{ code, message: 'refused', hint: 'ask for less', path: '/from' }], { status: 400 });

/** The parts that were answered by a service that answers a period of at most `mostMs`, and the number of requests. */
const ask = async (request: Asked, mostMs: number) => {
  const parts: Part[] = [];
  let requests = 0;
  const answers = requestWindows(request, async (part) => {
    requests++;
    if (Date.parse(String(part.to)) - Date.parse(String(part.from)) > mostMs) throw refuse('DQL_LIMIT');
    return part as Part;
  });
  for await (const part of answers) parts.push(part);
  return { parts, requests };
};

const PERIODS: readonly (readonly [asked: Asked, stepMs: number, mostMs: number])[] = [
  [{ from: '2026-01-15T12:00:00Z', to: '2026-01-15T13:00:00Z' }, MINUTE, 7 * MINUTE],
  [{ from: '2026-01-15T12:00:10.5Z', to: '2026-01-15T12:31:47Z' }, MINUTE, 2 * MINUTE],
  [{ from: '2026-01-15T12:00:10.5Z', to: '2026-01-15T12:31:47Z', interval: '10s' }, MINUTE, MINUTE],
  [{ from: '2026-01-15T09:20:00Z', to: '2026-01-16T10:40:00Z', interval: '1h' }, HOUR, 3 * HOUR],
  [{ from: '2026-01-15T00:00:00Z', to: '2026-01-18T00:00:00Z', timeframe: '4h' }, 4 * HOUR, 4 * HOUR],
];

t.test('the parts meet where periods end, and have the ends of the request', async (t) => {
  for (const [asked, stepMs, mostMs] of PERIODS) {
    const { parts } = await ask(asked, mostMs);
    const name = JSON.stringify(asked);
    t.equal(parts[0]?.from, asked.from, name);
    t.equal(parts.at(-1)?.to, asked.to, name);
    t.ok(parts.length > 1, name);
    for (const [i, { to }] of parts.slice(0, -1).entries()) {
      t.equal(to, parts[i + 1]?.from, name);
      t.equal(Date.parse(to) % stepMs, 0, `${name}: ${to}`);
    }
    t.ok(parts.every(({ from, to }) => from < to));
  }
});

t.test('a period that is answered at once is one request, and one without an end is sent as it is', async (t) => {
  const hour = { from: '2026-01-15T12:00:00Z', to: '2026-01-15T13:00:00Z' };
  t.same(await ask(hour, HOUR), { parts: [hour], requests: 1 });
  t.same(await ask({ from: hour.from }, HOUR), { parts: [{ from: hour.from }], requests: 1 });
  t.same(await ask({ to: hour.to }, HOUR), { parts: [{ to: hour.to }], requests: 1 });
});

t.test('what is too much in one period, and any other refusal, reaches the caller', async (t) => {
  const day = { from: '2026-01-15T00:00:00Z', to: '2026-01-16T00:00:00Z', interval: '1h' };
  await t.rejects(ask(day, HOUR - 1), { code: 'DQL_LIMIT' });
  let requests = 0;
  const answers = requestWindows(day, async () => {
    requests++;
    throw refuse('DQL_JSON_SCHEMA');
  });
  await t.rejects(answers.next(), { code: 'DQL_JSON_SCHEMA' });
  t.equal(requests, 1);
});
