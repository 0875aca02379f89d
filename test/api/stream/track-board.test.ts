// Moments of streams that have gone do not stay until they come: a bound may be a week, and a client may come and go each second (ST-07).
import t from 'tap';
import { PLANS } from '../../../api/contract/plans.ts';
import { readNames } from '../../../api/operations/listing-input.ts';
import { followListing, unfollowListing } from '../../../api/stream/listing-changes.ts';
import { readRequest, selectAt } from '../../../api/stream/request.ts';
import { Stream } from '../../../api/stream/stream.ts';
import { TrackBoard } from '../../../api/stream/track-board.ts';
import { market, NOW } from '../../support/apps/live-fixture.ts';
import { collectEvents } from '../../support/services/stream-client.ts';
import { SECOND } from './bench.ts';

const openBoard = () => {
  const feed = market();
  const { memory: live } = feed;
  const board = new TrackBoard(live);
  const changed = { live, board, now: NOW, awaitEnd: () => undefined };
  const account = { keyId: 'key', plan: PLANS.pro_plus };
  const choice = { venues: null, instruments: null };
  const open = (freshness: string): Stream => {
    const input = { where: 'venue = binance', layers: 'mark,funding', freshness };
    const names = readNames(input.where, live);
    const request = readRequest({ input, names }, { live, plan: PLANS.pro_plus, choice, at: NOW });
    const { out } = collectEvents();
    const nowMicros = () => NOW;
    const findKey = async () => 'unreachable' as const;
    const deps = { id: 'str_a', account, request, out, nowMicros, findKey };
    const stream = new Stream({ ...deps, isInScope: () => true, onEnd: () => undefined }, []);
    for (const selected of selectAt(request, live, NOW)) followListing(stream, selected, changed);
    return stream;
  };
  const leave = (stream: Stream): void => {
    for (const key of [...stream.selected.keys()]) unfollowListing(stream, key, board);
  };
  return { feed, board, open, leave };
};

t.test('streams that come and go leave a bounded number of moments behind', (t) => {
  const { board, open, leave } = openBoard();
  for (let i = 0; i < 3_000; i++) leave(open('604800s'));
  t.ok(board.moments > 0);
  t.ok(board.moments < 1_200, `${board.moments} moments wait`);
  t.end();
});

t.test('a stream that comes while moments are dropped is told what time changes', (t) => {
  const { feed, board, open, leave } = openBoard();
  const told: number[] = [];
  for (let i = 0; i < 10; i++) {
    // Four tracks a stream: with the first moment of the one that stays the others are dropped.
    for (let k = 0; k < 1_000 && board.moments < 8 * i + 1_028; k++) leave(open('604800s'));
    // Of a format of its own, so that it shares no tracks.
    const stays = open(`${i + 1}s`);
    t.ok(board.moments < 1_026, 'the others were dropped');
    stays.addDraft = (): void => void told.push(i);
  }
  // A venue that has fallen behind would be told of all its tracks.
  feed.watermark('binance', NOW + 60 * SECOND);
  board.advance(NOW + 60 * SECOND);
  const counts = Array.from({ length: 10 }, (_, i) => told.filter((each) => each === i).length);
  t.same(new Set(counts), new Set([4]), 'of each of its tracks');
  t.end();
});

t.test('a stream is told what time changes by its own bounds alone', (t) => {
  const { feed, board, open } = openBoard();
  const told: string[] = [];
  for (const bound of ['5s', '604800s']) open(bound).addDraft = (): void => void told.push(bound);
  feed.watermark('binance', NOW + 10 * SECOND);
  board.advance(NOW + 10 * SECOND);
  t.same(told, ['5s', '5s', '5s', '5s'], 'of each of its tracks');
  t.end();
});
