// How long steps held the thread of each process (`process_step_seconds`), and how long of it they ran (`process_step_cpu_seconds`): none should
// be longer than 5 ms.
import { fetchText, type Run } from '../run.ts';
import { type Figure, makeFigure, makeUpperAim } from './figures.ts';

/** Steps up to each bound in milliseconds, ascending; the last bound is infinite. */
type Buckets = readonly (readonly [bound: number, steps: number])[];
/** By process and step, such as `processors: records`, also without waits for a core. */
type StepCounts = ReadonlyMap<string, Buckets>;

const METERED = ['processors', 'api'] as const;
const BUCKET = /^process_step_(cpu_)?seconds_bucket\{le="([^"]+)",step="([^"]+)"\} (\d+)$/gm;
const AIM_MS = 5;

export const readSteps = async ({ service }: Pick<Run, 'service'>): Promise<StepCounts> => {
  const counts = new Map<string, [number, number][]>();
  for (const name of METERED) {
    const text = await fetchText(service.endpoints.metrics_urls[name]);
    for (const [, cpu, bound = '', step = '', steps] of text.matchAll(BUCKET)) {
      const key = `${name}: ${step}${cpu ? ', waits for a core left out' : ''}`;
      const buckets = counts.get(key) ?? [];
      counts.set(key, buckets);
      buckets.push([bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound) * 1_000, Number(steps)]);
    }
  }
  return counts;
};

/** The longest step of each name between the two readings, as the bound of its bucket. */
export const toStepFigures = (at: string, before: StepCounts, after: StepCounts): Figure[] =>
  [...after].flatMap(([key, buckets]) => {
    const old = new Map(before.get(key) ?? []);
    const grown = buckets.map(([bound, steps]) => [bound, steps - (old.get(bound) ?? 0)] as const);
    const total = grown.at(-1)?.[1] ?? 0;
    if (total === 0) return [];
    const longest = grown.find(([, steps]) => steps === total)?.[0] ?? Number.POSITIVE_INFINITY;
    const within = grown.findLast(([bound]) => bound <= AIM_MS)?.[1] ?? 0;
    const p99 = grown.find(([, steps]) => steps >= 0.99 * total)?.[0];
    return [
      makeFigure({
        name: `longest step ${at}, ${key}`,
        unit: 'ms',
        measured: longest,
        aim: makeUpperAim(AIM_MS + 1e-9),
        note: `bound of its bucket; p99 up to ${p99} ms; ${total - within} of ${total} longer than ${AIM_MS} ms`,
      }),
    ];
  });
