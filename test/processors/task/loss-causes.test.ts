// Boundaries of what explains a window `(from, at]` without a reading: alive spans, losses, failed attempts, unreadable and late messages, the end of a listing (L-08, F-02).
import t from 'tap';
import {
  createConnection,
  findLossCause,
  hadUnreadable,
  noteUnreadable,
  wasLate,
} from '../../../processors/task/connections.ts';
import { type Connection, createState } from '../../../processors/task/state.ts';
import { createStore, type Store } from '../../../processors/task/store.ts';
import { hasEnded } from '../../../processors/task/versions.ts';
import type { GapCause } from '../../../schemas/gap-causes.ts';
import type { ListingVersion } from '../../../schemas/topics.ts';
import { SECOND } from '../../support/tasks/task-driver.ts';

type Ended = readonly [from: number, to: number, cause: GapCause];
/** `alive`: start of the span that lasts. */
type Given = Partial<Pick<Connection, 'covers' | 'failures' | 'unreadable' | 'late'>> & {
  readonly ended?: readonly Ended[];
  readonly alive?: number;
};

const open = (...given: readonly Given[]): Store => {
  const store = createStore(createState());
  store.changeCore((core) => {
    core.recordedAt = 1_000 * SECOND;
  });
  for (const [i, { ended = [], alive, ...rest }] of given.entries()) {
    const conn_id = `k${i}`;
    const spans = ended.map(([from, to, cause]) => ({ conn_id, slot: 'market', from, to, cause }));
    const last = spans.at(-1) ?? { conn_id, slot: 'market', from: 0, to: 0, cause: null };
    const span = alive === undefined ? last : { ...last, from: alive, to: null, cause: null };
    const covers = [{ layers: ['mark'], symbols: ['A'] }];
    store.addConnection({ ...createConnection(span, 1_000 * SECOND), covers, ended: spans, closed: true, ...rest });
  }
  return store;
};

const WINDOW = { layer: 'mark', symbol: 'A', from: 10, at: 20 };

t.test('the cause of a window is the last loss by its end, unless connections were alive throughout', (t) => {
  const cases: readonly (readonly [name: string, given: readonly Given[], cause: GapCause | null])[] = [
    ['alive from the start of the window', [{ alive: 10 }], null],
    ['alive from later on, and nothing was lost before', [{ alive: 11 }], null],
    [
      'lost at the end of the window, which is part of it',
      [{ ended: [[0, 20, 'connection_lost']] }],
      'connection_lost',
    ],
    ['lost after the window', [{ ended: [[0, 21, 'connection_lost']] }], null],
    [
      'another was lost only after it',
      [{ ended: [[0, 12, 'connection_lost']] }, { ended: [[0, 21, 'venue_down']] }],
      null,
    ],
    ['lost at its start, opened again at once', [{ ended: [[0, 10, 'venue_down']], alive: 10 }], null],
    ['opened again after its start', [{ ended: [[0, 10, 'venue_down']], alive: 11 }], 'venue_down'],
    ['another takes over', [{ alive: 15 }, { ended: [[0, 15, 'venue_down']] }], null],
    ['another opens later', [{ alive: 16 }, { ended: [[0, 15, 'venue_down']] }], 'venue_down'],
    [
      'a long span spans a short one',
      [{ ended: [[0, 18, 'venue_down']] }, { ended: [[5, 12, 'connection_lost']] }, { alive: 18 }],
      null,
    ],
    [
      'the last of two losses',
      [{ ended: [[13, 18, 'venue_down']] }, { ended: [[0, 12, 'connection_lost']] }],
      'venue_down',
    ],
    [
      'a loss after the window explains nothing',
      [
        {
          ended: [
            [0, 12, 'connection_lost'],
            [13, 21, 'venue_down'],
          ],
        },
      ],
      'connection_lost',
    ],
    [
      'an attempt that failed at its end',
      [{ ended: [[0, 12, 'connection_lost']], failures: [{ at: 20, cause: 'venue_rate_limit' }] }],
      'venue_rate_limit',
    ],
    [
      'an attempt that failed after it',
      [{ ended: [[0, 12, 'connection_lost']], failures: [{ at: 21, cause: 'venue_rate_limit' }] }],
      'connection_lost',
    ],
    [
      'connections of other layers and listings',
      [
        { ended: [[0, 12, 'connection_lost']] },
        { alive: 0, covers: [{ layers: ['oi'], symbols: null }] },
        { alive: 0, covers: [{ layers: ['mark'], symbols: ['B'] }] },
      ],
      'connection_lost',
    ],
  ];
  for (const [name, given, cause] of cases) t.equal(findLossCause(open(...given).state, WINDOW), cause, name);
  t.end();
});

t.test('a frame that cannot be read is in the window of its receipt, and noted once in ten seconds', (t) => {
  const found = [10, 11, 20, 21].filter((at) => hadUnreadable(open({ alive: 0, unreadable: [at] }).state, WINDOW));
  t.same(found, [11, 20]);
  const store = open({ alive: 0 });
  for (const at of [1, 10 * SECOND, 10 * SECOND + 1, 20 * SECOND]) noteUnreadable(store, 'k0', at);
  t.same(store.state.connections.get('k0')?.unreadable, [1, 10 * SECOND + 1]);
  t.end();
});

t.test('a late stretch is in the windows that it reaches into', (t) => {
  const cases = [
    [0, 10, false],
    [0, 11, false],
    [0, 12, true],
    [14, 20, true],
    [15, 20, false],
  ] as const;
  const { state } = open({ alive: 0, late: [{ from: 11, to: 15 }] });
  for (const [from, at, isLate] of cases) t.equal(wasLate(state, { ...WINDOW, from, at }), isLate, `${from} to ${at}`);
  t.end();
});

t.test('a listing has ended from its end on', (t) => {
  const version = { delisted_at: 20 } as ListingVersion;
  t.same(
    [19, 20, 21].map((at) => hasEnded(version, at)),
    [false, true, true],
  );
  t.notOk(hasEnded({ ...version, delisted_at: null }, 20));
  t.end();
});
