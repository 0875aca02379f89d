// Subscriptions of a socket against hand-driven servers: acknowledgements, refusals, quiet values and books, and minutes filled in.
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { createBookSnapshots } from '../../../ingest/feed/book-snapshots.ts';
import { createBookWatch } from '../../../ingest/feed/book-watch.ts';
import { runSocketSlot } from '../../../ingest/feed/socket-slot.ts';
import type { Venue } from '../../../ingest/venues/contract/venue.ts';
import type { ListingRecord } from '../../../schemas/records.ts';
import {
  makeSlot,
  openMemory,
  type PaperServer,
  type PaperSlot,
  paper,
  silentLog,
  startPaper,
  toRequest,
} from '../../support/venues/paper-venue.ts';
import { waitFor } from '../../support/wait.ts';
import { createParts } from './slot-parts.ts';

/** A venue whose data frames name their subscription: `{"sub":"a"}`; `{"minute":0,"of":"AAA"}` closes a minute. */
const talking: Venue = {
  ...paper,
  subscriptionOf: (text) => /"sub":"(\w+)"/.exec(text)?.[1] ?? null,
  renew: (names) => names.map((name) => `again ${name}`),
  confirm: (name, { rest }) => ({
    symbol: 'AAA',
    request: { method: 'GET', url: `${rest}/confirm?of=${name}`, weight: 1 },
  }),
  closedMinute: (text) => {
    const [, minute, symbol] = /"minute":(\d+),"of":"(\w+)"/.exec(text) ?? [];
    return minute === undefined || symbol === undefined ? null : { symbol, openMs: Number(minute) * 60_000 };
  },
  candles: ({ venue_symbol }, { fromMs, toMs }, { rest }) => ({
    method: 'GET',
    url: `${rest}/candles?of=${venue_symbol}&from=${fromMs}&to=${toMs}`,
    weight: 1,
  }),
};

const runTalking = async (
  t: Test,
  slotFrom: (server: PaperServer) => PaperSlot,
  wallMs = (): number => 0,
  deps: { readonly venue?: Venue; readonly onRefused?: () => void } = {},
) => {
  const server = await startPaper({ answer: (path, response) => response.end(`{"path":"${path}"}`) });
  const memory = openMemory();
  const { stop, shared } = createParts(server, memory, ['AAA', 'BBB']);
  const runner = runSocketSlot(slotFrom(server), { ...shared, venue: talking, wallMs, ...deps });
  t.teardown(async () => {
    runner.stop('collector_down', 'end of test');
    stop();
    await server.close();
  });
  await waitFor('subscribed', () => server.received(0).length >= 3);
  return { server, memory };
};

t.test(
  'a subscription that is silent on a live connection is renewed; heartbeats and other subscriptions do not count for it',
  async (t) => {
    const watched = [{ subscriptions: ['a', 'b'], silenceMs: 1_500 }];
    const { server, memory } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), watched }));
    const feed = setInterval(() => {
      server.sendAll('{"sub":"a"}');
      server.sendAll('hb');
    }, 50);
    t.teardown(() => clearInterval(feed));
    await waitFor('renewed', () => server.received(0).length >= 4);
    t.same(
      server.received(0).map(({ text }) => text),
      ['one', 'two', 'three', 'again b'],
    );
    t.same(memory.of('lost'), [], 'the connection stays');
  },
);

t.test(
  'of subscriptions that may be quiet, those that the venue refused are renewed, whatever the refusal says',
  async (t) => {
    const watched = [{ subscriptions: ['a', 'b', 'c'], silenceMs: 500, mayBeQuiet: true as const }];
    const { server } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), watched }));
    server.sendAll('{"ok":1,"sub":"a"}');
    server.sendAll('{"sub":"b"}');
    server.sendAll('{"err":"Internal error, could not fetch data for subscription"}');
    const feed = setInterval(() => server.sendAll('{"sub":"other"}'), 50);
    t.teardown(() => clearInterval(feed));
    await waitFor('renewed twice', () => server.received(0).length >= 5);
    t.same(
      server.received(0).map(({ text }) => text),
      ['one', 'two', 'three', 'again c', 'again c'],
    );
  },
);

/** The same, of whose books the socket itself sends the snapshots: `{"whole":"AAA","last":5}`. */
const streaming: Venue = {
  ...talking,
  subscriptionOf: (text) => /"(?:book|whole)":"(\w+)"/.exec(text)?.[1] ?? null,
  sequence: (text) => {
    const [, symbol = '', last = '0'] = /"whole":"(\w+)","last":(\d+)/.exec(text) ?? [];
    if (symbol === '') return paper.sequence(text);
    return { symbol, kind: 'snapshot', first: null, last: BigInt(last), previous: null };
  },
  bookRule: { ...paper.bookRule, style: 'stream' },
  without: (refusal, request) => (refusal.includes(`no ${request}`) ? `rest of ${request}` : null),
};

const listSent = (server: PaperServer): readonly string[] =>
  server
    .received(0)
    .slice(3)
    .map(({ text }) => text);

t.test('a book whose hole only a new snapshot of the socket can mend is subscribed again, and no other', async (t) => {
  const covers = [{ layers: ['book'], symbols: ['AAA', 'BBB'] }];
  const { server, memory } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), covers }), undefined, {
    venue: streaming,
  });
  for (const symbol of ['AAA', 'BBB']) server.sendAll(`{"whole":"${symbol}","last":5}`);
  server.sendAll('{"book":"AAA","first":6,"last":6}');
  server.sendAll('{"book":"AAA","first":8,"last":8}');
  server.sendAll('{"book":"AAA","first":9,"last":9}');
  server.sendAll('{"book":"BBB","first":6,"last":6}');
  await waitFor('all read', () => memory.of('frame').some(({ payload }) => String(payload).includes('BBB","first"')));
  await waitFor('subscribed again', () => listSent(server).length > 0);
  t.same(listSent(server), ['again AAA']);
  t.same(memory.of('lost'), [], 'the connection stays');
});

t.test('a request that is refused for one subscription is sent again without it', async (t) => {
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const { server } = await runTalking(t, ({ ws }) => makeSlot(ws), undefined, { venue: streaming, onRefused });
  server.sendAll('{"err":"no two"}');
  await waitFor('sent again', () => listSent(server).length > 0);
  server.sendAll('{"err":"no four"}');
  server.sendAll('{"err":"no rest of two"}');
  await waitFor('and again', () => listSent(server).length > 1);
  t.same(listSent(server), ['rest of two', 'rest of rest of two']);
  t.equal(refused, 2, 'the listings are requested again');
});

t.test("a quiet subscription's value is requested and written under its connection", async (t) => {
  const watched = [{ subscriptions: ['a', 'b'], silenceMs: 60_000, confirmAfterMs: 1_000 }];
  const { server, memory } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), watched }));
  const feed = setInterval(() => server.sendAll('{"sub":"a"}'), 50);
  t.teardown(() => clearInterval(feed));
  await waitFor('two confirmations', () => memory.of('response').length >= 2);
  for (const response of memory.of('response')) {
    t.equal(response.request, `GET ${server.rest}/confirm?of=b`);
    t.equal(response.conn_id, memory.of('open')[0]?.conn_id);
    t.same(response.shards, [1], 'only to the shard of its listing');
  }
});

t.test(
  'minutes that no frame closed are requested after connecting, once, and so is one whose frame cannot be read',
  async (t) => {
    const minute = 60_000;
    let nowMs = 10 * minute + 15_000;
    const covers = [{ layers: ['candles'], symbols: ['AAA', 'BBB'] }];
    const { server, memory } = await runTalking(
      t,
      ({ ws }) => ({ ...makeSlot(ws), covers }),
      () => nowMs,
    );
    await waitFor('both', () => memory.of('response').length >= 2);
    t.same(
      memory
        .of('response')
        .map(({ request }) => request)
        .sort(),
      ['AAA', 'BBB'].map((of) => `GET ${server.rest}/candles?of=${of}&from=${8 * minute}&to=${9 * minute}`),
    );
    server.sendAll('{"minute":10,"of":"AAA"}');
    server.sendAll('{"minute":10,"of":"BBB"');
    await waitFor('both frames', () => memory.of('frame').length >= 5);
    nowMs = 11 * minute + 15_000;
    await waitFor('the unreadable one', () => memory.of('response').length >= 3);
    t.match(memory.of('response')[2]?.request, /of=BBB&from=600000&to=600000$/);
    nowMs += 5_000;
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(memory.of('response').length, 3);
  },
);

t.test(
  'a frame that cannot be read ends a connection whose books have no ids: no later one shows what is missing',
  async (t) => {
    const unnumbered: Venue = {
      ...talking,
      bookRule: { style: 'stream', bufferLimit: 0, continues: () => 'apply', isUnnumbered: true },
      sequence: (text) => {
        const symbol = /"book":"(\w+)"/.exec(text)?.[1];
        return symbol === undefined ? null : { symbol, kind: 'update', first: null, last: null, previous: null };
      },
    };
    const covers = [{ layers: ['book'], symbols: ['AAA', 'BBB'] }];
    for (const cut of ['{"bo', '{"book":"AAA","changes":[']) {
      const { server, memory } = await runTalking(t, ({ ws }) => ({ ...makeSlot(ws), covers }), undefined, {
        venue: unnumbered,
      });
      server.sendAll('{"sub":"a"}\n');
      server.sendAll(cut);
      await waitFor('its end', () => memory.of('lost').length >= 1);
      t.match(memory.of('lost')[0]?.payload.toString(), /sequence_break/, cut);
      await waitFor('the next connection, which has the snapshots', () => memory.of('open').length >= 2);
    }
  },
);

t.test('a connection does not request minutes that the one before it closed', async (t) => {
  const minute = 60_000;
  let nowMs = 10 * minute + 15_000;
  const covers = [{ layers: ['candles'], symbols: ['AAA', 'BBB'] }];
  const { server, memory } = await runTalking(
    t,
    ({ ws }) => ({ ...makeSlot(ws), covers }),
    () => nowMs,
  );
  await waitFor('both', () => memory.of('response').length >= 2);
  for (const closed of ['10,"of":"AAA"', '11,"of":"AAA"', '10,"of":"BBB"']) server.sendAll(`{"minute":${closed}}`);
  await waitFor('three frames', () => memory.of('frame').length >= 6);
  server.sockets()[0]?.terminate();
  await waitFor('its end', () => memory.of('lost').length >= 1);
  nowMs = 12 * minute + 15_000;
  await waitFor('the missing one', () => memory.of('response').length >= 3);
  const [, , response] = memory.of('response');
  t.match(response?.request, /of=BBB&from=600000&to=660000$/, 'the listing whose eleventh nobody closed');
  t.equal(response?.conn_id, memory.of('open')[1]?.conn_id);
  t.equal(server.requests().length, 3, 'the other one was not requested');
});

type QuietParts = Pick<ReturnType<typeof createParts>, 'rest' | 'stop' | 'shared'> & { readonly server: PaperServer };

/** Snapshots of AAA and BBB for a venue that differs from the paper one by `change`; ends with the test, and so do the parts. */
const quietBooks = (
  t: Test,
  { server, rest, stop, shared }: QuietParts,
  change: Partial<Venue>,
  onRefused: () => void = () => undefined,
) => {
  const books = createBookSnapshots({
    venue: { ...paper, ...change },
    endpoints: { rest: server.rest },
    rest,
    listings: () => new Map(['AAA', 'BBB'].map((name) => [name, { venue_symbol: name } as ListingRecord])),
    shardOf: () => 0,
    isFull: () => false,
    meters: shared.meters,
    onRefused,
    log: silentLog,
  });
  t.teardown(async () => {
    books.stop();
    stop();
    await server.close();
  });
  return books;
};

t.test('a quiet book that the venue confirms by its id costs the short request only', async (t) => {
  const answers = ['{"snapshot":10}', '{"snapshot":12}', '{"snapshot":12}'];
  const server = await startPaper({ answer: (_path, response) => response.end(answers.shift()) });
  const memory = openMemory();
  const { connections, rest, stop, shared } = createParts(server, memory, ['AAA']);
  const short: Venue['bookConfirmation'] = (listing, { rest: base }) => ({
    ...toRequest(`${base}/short?symbol=${listing.venue_symbol}`),
    weight: 2,
  });
  const books = quietBooks(t, { server, rest, stop, shared }, { bookConfirmation: short });
  const quietSinceMs = performance.now() - 25_000;
  const watch = createBookWatch({ rule: paper.bookRule, symbols: ['AAA'], nowMs: quietSinceMs });
  const chain = { symbol: 'AAA', first: null, last: 10n, previous: null } as const;
  watch.take({ ...chain, kind: 'snapshot' }, quietSinceMs);
  books.add({ source: connections.open({ slot: 'book.0', shards: [0], url: '', covers: [] }), watch });
  await waitFor('confirmed', () => server.requests().length >= 1);
  await waitFor(
    'the answer',
    () => memory.of('response').length >= 1 && watch.oldest(performance.now(), 'confirm') === null,
  );
  t.equal(server.requests()[0]?.path, '/short?symbol=AAA');

  const laterMs = performance.now() - 25_000;
  watch.take({ ...chain, kind: 'confirmation' }, laterMs);
  await waitFor('another id, hence the whole book', () => server.requests().length >= 3);
  t.same(
    server.requests().map(({ path }) => path),
    ['/short?symbol=AAA', '/short?symbol=AAA', '/book?symbol=AAA'],
  );
});

t.test('a book that the venue reports as unknown is left alone, and the listings are requested again', async (t) => {
  const answer = (path: string, response: ServerResponse): void => {
    response.writeHead(path.includes('AAA') ? 400 : 200).end('{"snapshot":10}');
  };
  const server = await startPaper({ answer });
  const { connections, rest, stop, shared } = createParts(server, openMemory(), ['AAA', 'BBB']);
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const books = quietBooks(t, { server, rest, stop, shared }, {}, onRefused);
  const quietSinceMs = performance.now() - 25_000;
  const watch = createBookWatch({ rule: paper.bookRule, symbols: ['AAA', 'BBB'], nowMs: quietSinceMs });
  books.add({ source: connections.open({ slot: 'book.0', shards: [0], url: '', covers: [] }), watch });
  await waitFor('both requested', () => server.requests().length >= 2);
  await waitFor('refused', () => refused === 1);
  await waitFor('none is requested again for a while', () => watch.oldest(performance.now() + 20_000, 'join') === null);
  t.equal(watch.oldest(performance.now() + 40_000, 'join')?.symbol, 'AAA');
});
