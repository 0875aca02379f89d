// The clock of an API node while its host's clock steps: what is stale never reads as present, and the node says that it is behind (D-509).
import t from 'tap';
import { findUnready } from '../../../api/data-app/operational.ts';
import { createAnswerClock, findLead } from '../../../api/live/answer-clock.ts';
import { LiveMemory } from '../../../api/live/memory.ts';
import { createClock } from '../../../infra/runtime/time/clock.ts';
import { codecs } from '../../../schemas/avro/codec.ts';
import { MICROS_PER_DAY, MICROS_PER_SECOND } from '../../../schemas/instants.ts';
import type { Micros } from '../../../schemas/records.ts';
import { makeLiveEntry } from '../../../schemas/topics.ts';
import { markReading } from '../../support/apps/live-fixture.ts';

const HOUR = 3_600 * MICROS_PER_SECOND;
/** Half a minute before a year ends. */
const BEGUN = Date.UTC(2026, 11, 31, 23, 59, 30) * 1_000;

/** A node whose host's clocks, and whose log, are moved by hand; `off` is how wrong the host's clock is when the process begins. */
const openNode = ({ off = 0 } = {}) => {
  const host = { wall: BEGUN + off, monotonic: 0 };
  const live = new LiveMemory(['okx']);
  live.expectPartitions('okx', [0]);
  live.markReady('okx', 0);
  const wallMicros = (): Micros => host.wall;
  const { nowMicros: ownMicros } = createClock({ wallMicros, monotonicMicros: () => host.monotonic });
  const nowMicros = createAnswerClock(live, { ownMicros, wallMicros });
  let offset = 0;
  return {
    host,
    nowMicros,
    lead: () => findLead(live, { nowMicros, wallMicros }),
    /** W of the only task. */
    tell: (watermark: Micros): void => {
      offset += 1;
      const entry = { recorded_at: watermark, offset, index: 0, kind: 'watermark', watermark } as const;
      live.applyLive('okx', 0, codecs.live.encode(makeLiveEntry(entry)));
    },
    /** A price that the task published before the next W. */
    tellPrice: (recordedAt: Micros): void => {
      offset += 1;
      const reading = { ...markReading('6'), received_at: recordedAt - 20_000, recorded_at: recordedAt };
      const place = { recorded_at: recordedAt, offset, index: 0 };
      live.applyLive(
        'okx',
        0,
        codecs.live.encode(makeLiveEntry({ ...place, kind: 'reading', symbol: 'BTC', reading })),
      );
    },
    pass: (micros: Micros): void => {
      host.wall += micros;
      host.monotonic += micros;
    },
    unready: () => findUnready({ live, nowMicros, areKeysReachable: async () => true }),
  };
};

t.test('a node that was suspended for an hour answers as of now with the first watermark', (t) => {
  const node = openNode();
  node.tell(BEGUN - 250_000);
  t.equal(node.nowMicros(), BEGUN, 'W is behind: the node goes by its own clock');
  node.host.wall += HOUR;
  t.ok(node.nowMicros() < BEGUN + MICROS_PER_SECOND, 'the wall alone moves nothing');
  node.tell(BEGUN + HOUR - 250_000);
  t.equal(node.nowMicros(), BEGUN + HOUR - 250_000);
  node.pass(MICROS_PER_SECOND);
  node.tell(BEGUN + HOUR + 750_000);
  const ahead = node.nowMicros() - (BEGUN + HOUR + 750_000);
  t.ok(ahead >= 0 && ahead < 1_000, 'and goes on, slewed towards the wall by half a millisecond a second');
  t.end();
});

t.test('a node that was suspended notices when the log stands (L-07)', async (t) => {
  const node = openNode();
  node.tell(BEGUN - 250_000);
  node.nowMicros();
  node.host.wall += HOUR;
  node.tell(BEGUN + HOUR - 250_000);
  t.same(await node.unready(), []);
  node.pass(5 * MICROS_PER_SECOND + 1_000);
  // Slewed towards the wall meanwhile, by half a millisecond a second.
  t.ok(Math.abs(node.nowMicros() - (BEGUN + HOUR + 4_751_000)) < 3_000);
  t.match(await node.unready(), [/^okx is 500\d ms behind\.$/]);
  node.host.wall -= HOUR;
  node.pass(MICROS_PER_SECOND);
  t.match(await node.unready(), [/^okx is 600\d ms behind\.$/], 'whatever the wall does');
});

t.test(
  'after every clock of a service stepped and was set back a node ends, since its own cannot go back',
  async (t) => {
    const node = openNode();
    node.tell(BEGUN - 250_000);
    node.nowMicros();
    node.host.wall += 60 * MICROS_PER_SECOND;
    node.tell(BEGUN + 60 * MICROS_PER_SECOND - 250_000);
    t.equal(node.lead(), 0);
    node.host.wall -= 60 * MICROS_PER_SECOND;
    for (let second = 1; second <= 60; second++) {
      node.pass(MICROS_PER_SECOND);
      // The broker's time does not go back in the log.
      node.tell(BEGUN + 60 * MICROS_PER_SECOND - 250_000);
      const [problem = ''] = await node.unready();
      t.equal(problem.includes('behind'), second > 5, `${second} s: ${problem}`);
    }
    t.ok(node.lead() > 50 * MICROS_PER_SECOND, 'the log and the wall agree again');
  },
);

t.test('a node that was suspended knows how far behind a log is that works through what waited (L-07)', async (t) => {
  const node = openNode();
  node.host.wall += HOUR;
  node.tell(BEGUN + HOUR - 250_000);
  node.nowMicros();
  node.pass(30 * MICROS_PER_SECOND);
  for (const done of [1, 10, 20]) {
    node.tell(BEGUN + HOUR + done * MICROS_PER_SECOND);
    const behind = 29_750 - done * 1_000;
    t.match(await node.unready(), [new RegExp(`^okx is ${String(behind).slice(0, -2)}\\d\\d ms behind`)]);
  }
  node.tell(BEGUN + HOUR + 29_750_000);
  t.same(await node.unready(), []);
});

t.test('nothing that is served was received after the instant of the answer (F-05)', (t) => {
  const node = openNode();
  node.host.wall += HOUR;
  node.tell(BEGUN + HOUR - 250_000);
  t.equal(node.nowMicros(), BEGUN + HOUR - 250_000);
  node.tellPrice(BEGUN + HOUR - 100_000);
  t.equal(node.nowMicros(), BEGUN + HOUR - 100_000, 'W of it has not come yet');
  t.end();
});

t.test('a node that began before its host had the time does not stay behind', async (t) => {
  const node = openNode({ off: -MICROS_PER_DAY });
  node.tell(BEGUN);
  t.equal(node.nowMicros(), BEGUN - MICROS_PER_DAY);
  t.match(await node.unready(), ['The clock of this node is 86400000 ms behind that of the log.']);
  node.host.wall += MICROS_PER_DAY;
  t.equal(node.nowMicros(), BEGUN);
  t.same(await node.unready(), []);
});

t.test(
  'a node that is ready serves nothing of after its own instant: a few seconds behind, it goes with the log (F-05)',
  async (t) => {
    const node = openNode({ off: -2 * MICROS_PER_SECOND });
    node.tell(BEGUN);
    t.equal(node.nowMicros(), BEGUN);
    node.pass(MICROS_PER_SECOND);
    t.equal(node.nowMicros(), BEGUN, 'not back to its own clock');
    node.tell(BEGUN + MICROS_PER_SECOND);
    t.equal(node.nowMicros(), BEGUN + MICROS_PER_SECOND);
    t.same(await node.unready(), []);
    const far = openNode({ off: -5 * MICROS_PER_SECOND - 1_000 });
    far.tell(BEGUN);
    t.equal(
      far.nowMicros(),
      BEGUN - 5 * MICROS_PER_SECOND - 1_000,
      'further behind it goes with its wall, and is not ready',
    );
    t.match(await far.unready(), ['The clock of this node is 5001 ms behind that of the log.']);
  },
);

t.test('a node that is a few seconds behind goes with the log also after its wall was set back (F-05)', async (t) => {
  const node = openNode({ off: -2 * MICROS_PER_SECOND });
  node.tell(BEGUN);
  node.host.wall -= HOUR;
  for (let second = 1; second <= 10; second++) {
    node.pass(MICROS_PER_SECOND);
    node.tell(BEGUN + second * MICROS_PER_SECOND);
    t.equal(node.nowMicros(), BEGUN + second * MICROS_PER_SECOND);
    t.same(await node.unready(), []);
  }
  node.tell(BEGUN + MICROS_PER_DAY);
  t.ok(node.nowMicros() < BEGUN + 11 * MICROS_PER_SECOND, 'a log that is far from both is not believed');
});

t.test('a broker a day ahead, and a wall clock a day ahead or an hour back, move nothing alone', async (t) => {
  const node = openNode();
  node.tell(BEGUN + MICROS_PER_DAY);
  t.equal(node.nowMicros(), BEGUN, 'the wall knows better');
  t.match(await node.unready(), [/^The clock of this node is 86400000 ms behind/]);
  const other = openNode();
  other.tell(BEGUN - 250_000);
  for (const step of [MICROS_PER_DAY, -MICROS_PER_DAY, -HOUR, HOUR]) {
    other.host.wall += step;
    other.pass(1_000);
    t.ok(Math.abs(other.nowMicros() - BEGUN) < 10_000, String(step));
  }
});

t.test('a node is ahead where the wall and the log agree that it is', (t) => {
  const node = openNode({ off: MICROS_PER_DAY });
  node.tell(BEGUN - 250_000);
  t.equal(node.lead(), 0, 'its wall is ahead too: a new process would be no better');
  node.host.wall -= MICROS_PER_DAY;
  t.equal(node.lead(), MICROS_PER_DAY);
  node.pass(10 * MICROS_PER_SECOND);
  t.equal(node.lead(), 0, 'the log stands: nothing is known of the time');
  node.tell(BEGUN + 10 * MICROS_PER_SECOND);
  t.ok(node.lead() > MICROS_PER_DAY - MICROS_PER_SECOND);
  const right = openNode();
  for (const step of [-HOUR, 2 * HOUR, -MICROS_PER_DAY]) {
    right.host.wall = BEGUN + step;
    right.tell(BEGUN - 250_000);
    t.equal(right.lead(), 0, 'a wall that steps alone ends no node');
  }
  t.end();
});

t.test('it never goes backwards', (t) => {
  const node = openNode();
  let last = 0;
  const check = (): void => {
    const now = node.nowMicros();
    t.ok(now >= last);
    last = now;
  };
  for (const step of [0, HOUR, -HOUR, 2 * HOUR, -MICROS_PER_DAY, MICROS_PER_DAY]) {
    node.host.wall += step;
    node.tell(node.host.wall - 250_000);
    check();
    node.pass(250_000);
    check();
  }
  t.end();
});
