// Book sync: the table of its transitions, any interleaving by property, and the long recorded sessions.
import fc from 'fast-check';
import t from 'tap';
import { binance } from '../../../../ingest/venues/binance/index.ts';
import type { BookRule, Chain } from '../../../../ingest/venues/shared/book-sync.ts';
import { type BookSync, isWhole, makeBookSync, stepBookSync } from '../../../../ingest/venues/shared/book-sync.ts';
import { readRecording } from '../../../support/venues/recordings.ts';

const rule = binance.bookRule;
const diff = (first: number, last: number, previous: number): Chain => ({
  symbol: 'A',
  kind: 'update',
  first: BigInt(first),
  last: BigInt(last),
  previous: BigInt(previous),
});
const snapshot = (id: number): Chain => ({
  symbol: 'A',
  kind: 'snapshot',
  first: null,
  last: BigInt(id),
  previous: null,
});
const toName = ({ kind, last }: Chain): string => `${kind === 'snapshot' ? 's' : 'd'}${last}`;

type Trace = { readonly state: BookSync<string>; readonly steps: readonly string[] };

/** Each step as `applied names | broke? need?`. */
const run = (chains: readonly Chain[], by: BookRule = rule): Trace => {
  let state = makeBookSync<string>();
  const steps = chains.map((chain) => {
    // Through JSON and back: the state must be plain.
    const step = stepBookSync(by, JSON.parse(JSON.stringify(state)) as BookSync<string>, {
      chain,
      payload: toName(chain),
    });
    state = step.state;
    return `${step.apply.join(' ')}${step.broke ? ' broke' : ''}${step.needSnapshot ? ' need' : ''}`.trim();
  });
  return { state, steps };
};

t.test('the table of transitions', (t) => {
  const table: readonly (readonly [string, readonly Chain[], readonly string[], string])[] = [
    ['waits for a snapshot', [diff(1, 2, 0)], ['need'], 'unsynced'],
    ['joins inside a diff', [diff(1, 4, 0), diff(5, 9, 4), snapshot(6)], ['need', 'need', 's6 d9'], 'live'],
    ['joins where a diff continues it directly', [diff(5, 9, 4), snapshot(4)], ['need', 's4 d9'], 'live'],
    ['joins in front of the next diff', [diff(1, 4, 0), snapshot(4), diff(5, 9, 4)], ['need', 's4 d4', 'd9'], 'live'],
    [
      'drops what the snapshot holds already',
      [diff(1, 2, 0), diff(3, 4, 2), snapshot(7), diff(5, 6, 4), diff(7, 9, 6)],
      ['need', 'need', 's7', '', 'd9'],
      'live',
    ],
    ['takes a snapshot before any diff', [snapshot(4), diff(1, 3, 0), diff(4, 6, 3)], ['s4', '', 'd6'], 'live'],
    [
      'refuses a snapshot older than the diffs kept',
      [diff(5, 9, 4), snapshot(3), snapshot(8)],
      ['need', 'need', 's8 d9'],
      'live',
    ],
    [
      'breaks when the first diff lies beyond the snapshot',
      [snapshot(3), diff(5, 9, 4)],
      ['s3', 'broke need'],
      'broken',
    ],
    ['breaks at a hole', [snapshot(3), diff(4, 5, 3), diff(7, 9, 6)], ['s3', 'd5', 'broke need'], 'broken'],
    [
      'keeps what came after the hole for the next snapshot',
      [snapshot(3), diff(4, 5, 3), diff(7, 9, 6), diff(10, 11, 9), snapshot(8)],
      ['s3', 'd5', 'broke need', 'need', 's8 d9 d11'],
      'live',
    ],
    ['breaks once', [snapshot(3), diff(7, 9, 6), diff(10, 11, 9)], ['s3', 'broke need', 'need'], 'broken'],
    ['skips a repeat', [snapshot(3), diff(4, 5, 3), diff(4, 5, 3), diff(6, 7, 5)], ['s3', 'd5', '', 'd7'], 'live'],
    ['ignores a late snapshot', [snapshot(3), diff(4, 9, 3), snapshot(5)], ['s3', 'd9', ''], 'live'],
    [
      'takes a confirmation of the same place',
      [snapshot(3), diff(4, 9, 3), snapshot(9), diff(10, 11, 9)],
      ['s3', 'd9', 's9', 'd11'],
      'live',
    ],
    [
      'takes a snapshot ahead of the diffs',
      [snapshot(3), snapshot(9), diff(4, 8, 3), diff(9, 12, 8)],
      ['s3', 's9', '', 'd12'],
      'live',
    ],
  ];
  for (const [what, chains, steps, phase] of table) {
    const trace = run(chains);
    t.same(trace.steps, steps, what);
    t.equal(trace.state.phase, phase, what);
  }
  t.end();
});

/** As `run`, with the second at which each message is received. */
const runTimed = (timed: readonly (readonly [second: number, chain: Chain])[]): Trace => {
  let state = makeBookSync<string>();
  const steps = timed.map(([second, chain]) => {
    const message = { chain, payload: toName(chain), receivedAt: second * 1_000_000 };
    const step = stepBookSync(rule, JSON.parse(JSON.stringify(state)) as BookSync<string>, message);
    state = step.state;
    return `${step.apply.join(' ')}${step.broke ? ' broke' : ''}${step.needSnapshot ? ' need' : ''}`.trim();
  });
  return { state, steps };
};

t.test('a numbering that the venue restarts breaks a book that joined and had no diff since', (t) => {
  const { state, steps } = runTimed([
    [0, diff(905, 906, 904)],
    [1, snapshot(1_000)],
    [2, diff(907, 908, 906)],
    [11, diff(1, 2, 0)],
    [12, diff(3, 4, 2)],
    [13, diff(5, 6, 4)],
    [14, snapshot(4)],
  ]);
  t.same(steps, ['need', 's1000', '', '', 'broke need', 'need', 's4 d4 d6']);
  t.equal(state.phase, 'live');
  t.end();
});

t.test('a snapshot with older ids is a late answer while one may be late, then a restarted numbering', (t) => {
  const { state, steps } = runTimed([
    [0, snapshot(1_000)],
    [5, diff(1_001, 1_002, 1_000)],
    [15, snapshot(990)],
    [16, snapshot(7)],
    [17, snapshot(7)],
    [18, diff(8, 9, 7)],
  ]);
  t.same(steps, ['s1000', 'd1002', '', 'broke need', 's7', 'd9']);
  t.equal(state.phase, 'live');
  t.end();
});

t.test('a diff may be overtaken by a snapshot, and a diff that comes twice is never a restart', (t) => {
  const { steps } = runTimed([
    [0, snapshot(1_000)],
    [10, diff(995, 998, 994)],
    [11, diff(999, 1_003, 998)],
    [40, diff(999, 1_003, 998)],
    [41, diff(1_004, 1_005, 1_003)],
  ]);
  t.same(steps, ['s1000', '', 'd1003', '', 'd1005']);
  t.end();
});

t.test('diffs kept from before a restarted numbering do not keep its snapshots from joining', (t) => {
  const chains = [diff(905, 906, 904), diff(907, 908, 906), diff(1, 2, 0), diff(3, 4, 2), snapshot(2)];
  const { steps } = runTimed(chains.map((chain, second) => [second, chain]));
  t.equal(steps.at(-1), 's2 d2 d4');
  t.end();
});

t.test('a feed that sends its own snapshots keeps nothing, and subscribes again after a hole', (t) => {
  const stream: BookRule = { ...rule, style: 'stream', bufferLimit: 0 };
  t.same(run([diff(1, 2, 0), snapshot(4), diff(5, 6, 4), diff(8, 9, 7), diff(10, 11, 9), snapshot(12)], stream).steps, [
    'need',
    's4',
    'd6',
    'broke need',
    'need',
    's12',
  ]);
  t.end();
});

t.test('a feed of whole messages applies each of them', (t) => {
  const full: BookRule = { style: 'full', continues: () => 'break', bufferLimit: 0 };
  t.same(run([snapshot(1), diff(9, 9, 8), snapshot(2)], full).steps, ['s1', 'd9', 's2']);
  t.end();
});

t.test('keeps no more diffs than its limit, the newest', (t) => {
  const short: BookRule = { ...rule, bufferLimit: 2 };
  const { state, steps } = run([diff(1, 2, 0), diff(3, 4, 2), diff(5, 6, 4)], short);
  t.same(
    state.waiting.map(({ payload }) => payload),
    ['d4', 'd6'],
  );
  t.same(steps, ['need', 'need', 'need']);
  t.same(
    run([diff(1, 2, 0), diff(3, 4, 2), diff(5, 6, 4), snapshot(1)], short).steps.at(-1),
    'need',
    'its beginning is gone',
  );
  t.same(run([diff(1, 2, 0), diff(3, 4, 2), diff(5, 6, 4)], { ...rule, bufferLimit: 1 }).state.waiting.length, 1);
  t.end();
});

t.test('whenever the snapshot comes, what is applied is the snapshot and every diff behind it once', (t) => {
  const lengths = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 30 });
  fc.assert(
    fc.property(lengths, fc.nat(), fc.nat(), (sizes, at, id) => {
      let last = 100;
      const chains = sizes.map((size) => {
        const chain = diff(last + 1, last + size, last);
        last += size;
        return chain;
      });
      const place = at % (chains.length + 1);
      // A snapshot is taken before it arrives, at any moment since the first diff.
      const taken = 100 + (id % (Number(chains[Math.max(0, place - 1)]?.last) - 99));
      const { state, steps } = run([...chains.slice(0, place), snapshot(taken), ...chains.slice(place)]);
      const applied = steps
        .join(' ')
        .split(' ')
        .filter((name) => /^[sd]\d/.test(name));
      const expected = [
        `s${taken}`,
        ...chains
          .filter(
            (chain) => Number(chain.last) > taken || (Number(chain.last) === taken && Number(chain.first) <= taken),
          )
          .map(toName),
      ];
      const joinsAt = expected.length > 1 || place === chains.length;
      // A diff that ends exactly at the snapshot may be applied again: its sizes are absolute.
      t.same(
        applied.filter((name) => name !== `d${taken}`),
        expected.filter((name) => name !== `d${taken}`),
      );
      return !steps.some((step) => step.includes('broke')) && (isWhole(state) || !joinsAt);
    }),
    { numRuns: 500 },
  );
  t.end();
});

type Session = {
  readonly name: string;
  readonly files: readonly string[];
  readonly symbols: number;
  readonly least: number;
};
const SESSIONS: readonly Session[] = [
  { name: 'USD-M of 2024', files: ['hftbacktest-usdm-btcusdt-20240808.ndjson.gz'], symbols: 1, least: 1_590 },
  { name: 'COIN-M of 2024', files: ['hftbacktest-coinm-btcusd_perp-20240808.ndjson.gz'], symbols: 1, least: 4_190 },
  {
    name: 'USD-M of 2021',
    files: ['cryptofeed-usdm-rest-http.ndjson.gz', 'cryptofeed-usdm-ws-1.ndjson.gz'],
    symbols: 3,
    least: 570,
  },
  {
    name: 'COIN-M of 2021',
    files: ['cryptofeed-coinm-rest-http.ndjson.gz', 'cryptofeed-coinm-ws-1.ndjson.gz'],
    symbols: 3,
    least: 490,
  },
];

/** Chains of a session; a snapshot without a symbol is the requested one, or the session's only one. */
const readChains = ({ files }: Session): readonly Chain[] =>
  files.flatMap((file) =>
    readRecording(`binance/${file}`).flatMap((line) => {
      const chain = line.dir === 'in' ? binance.sequence(line.raw) : null;
      if (!chain || /_\d{6}$/.test(chain.symbol)) return [];
      return [
        chain.symbol === '' ? { ...chain, symbol: /symbol=([A-Z]+)/.exec(line.url ?? '')?.[1] ?? 'BTCUSDT' } : chain,
      ];
    }),
  );

const follow = (
  chains: readonly Chain[],
): { readonly applied: number; readonly breaks: readonly Chain[]; readonly states: Map<string, BookSync<null>> } => {
  const states = new Map<string, BookSync<null>>();
  const breaks: Chain[] = [];
  let applied = 0;
  for (const chain of chains) {
    const step = stepBookSync(rule, states.get(chain.symbol) ?? makeBookSync<null>(), { chain, payload: null });
    states.set(chain.symbol, step.state);
    applied += step.apply.length;
    if (step.broke) breaks.push(chain);
  }
  return { applied, breaks, states };
};

t.test('recorded sessions join their snapshots and never break', (t) => {
  for (const session of SESSIONS) {
    const { applied, breaks, states } = follow(readChains(session));
    t.same(breaks, [], session.name);
    t.equal(states.size, session.symbols);
    t.ok(
      [...states.values()].every((state) => state.phase === 'live'),
      'every book is live at the end',
    );
    t.ok(applied >= session.least, `${applied} messages applied`);
  }
  t.end();
});

t.test('a diff taken out of a session is found at exactly that place', (t) => {
  for (const session of SESSIONS) {
    const chains = readChains(session);
    const joined = chains.findIndex((chain) => chain.kind === 'snapshot');
    for (const share of [0.3, 0.6, 0.9]) {
      const out = chains.findIndex(
        (chain, i) => i > Math.max(joined, chains.length * share) && chain.kind === 'update',
      );
      const removed = chains[out] as Chain;
      const next = chains.slice(out + 1).find((chain) => chain.symbol === removed.symbol);
      const { breaks, states } = follow(chains.toSpliced(out, 1));
      t.same(breaks, next ? [next] : [], `${session.name}, message ${out}`);
      t.equal(states.get(removed.symbol)?.phase, next ? 'broken' : 'live');
    }
  }
  t.end();
});
