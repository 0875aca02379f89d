// The stream of a page in the hands of its user: what he does counts, whatever is still under way.
import { mock } from 'node:test';
import t from 'tap';
import { type FeedState, LiveFeed } from '../../../api/explorer/islands/live-feed.ts';

/** A stream of the browser that the test refuses. */
class Stream extends EventTarget {
  static readonly CLOSED = 2;
  static readonly opened: Stream[] = [];
  readyState = 0;
  constructor() {
    super();
    Stream.opened.push(this);
  }
  close(): void {
    this.readyState = Stream.CLOSED;
  }
  refuse(): void {
    this.close();
    this.dispatchEvent(new Event('error'));
  }
}

const refusal = () => Response.json({ errors: [{ code: 'RATE_LIMITED', message: 'Too many.' }] }, { status: 429 });

const setUp = (t: { teardown: (end: () => void) => void }) => {
  const held = { EventSource: globalThis.EventSource, fetch: globalThis.fetch };
  const asked = Promise.withResolvers<Response>();
  mock.timers.enable({ apis: ['setTimeout'] });
  Stream.opened.length = 0;
  Object.assign(globalThis, { EventSource: Stream, fetch: () => asked.promise });
  const states: FeedState[] = [];
  const feed = new LiveFeed({}, { onState: (state) => void states.push(state), onTold: () => undefined });
  t.teardown(() => {
    feed.close();
    mock.timers.reset();
    Object.assign(globalThis, held);
  });
  const answer = async (): Promise<void> => {
    asked.resolve(refusal());
    for (let i = 0; i < 10; i++) await new Promise((done) => setImmediate(done));
  };
  return { feed, states, answer };
};

t.test('a refused stream says why, and is opened again', async (t) => {
  const { feed, states, answer } = setUp(t);
  feed.open();
  Stream.opened[0]?.refuse();
  await answer();
  t.same(states, ['connecting', 'refused']);
  mock.timers.tick(1_100);
  t.equal(Stream.opened.length, 2);
});

t.test('a page that is paused while the reason of a refusal is asked for stays paused', async (t) => {
  const { feed, states, answer } = setUp(t);
  feed.open();
  Stream.opened[0]?.refuse();
  feed.pause();
  await answer();
  t.same(states, ['connecting', 'paused']);
  mock.timers.tick(1_100);
  t.equal(Stream.opened.length, 1, 'no stream was opened behind the button');
});

t.test('a page that goes on while the reason is asked for keeps its new stream', async (t) => {
  const { feed, states, answer } = setUp(t);
  feed.open();
  Stream.opened[0]?.refuse();
  feed.pause();
  feed.open();
  await answer();
  t.same(states, ['connecting', 'paused', 'connecting']);
  mock.timers.tick(1_100);
  t.equal(Stream.opened.length, 2, 'it is the only one');
});
