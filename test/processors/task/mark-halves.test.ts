// Mark and index of different messages: a half from before the loss of its connection is not joined with one after it (F-02, F-04, D-476).
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { okx } from '../../../ingest/venues/okx/index.ts';
import { listReadings, listRows, runTask, SECOND, TestLog } from '../../support/tasks/task-driver.ts';
import { SPEC } from '../../support/tasks/task-logs.ts';

const COVERS = [{ layers: ['ticker', 'mark', 'funding', 'oi', 'stats', 'trades'], symbols: null }];

const RECORDING = gunzipSync(readFileSync('test/fixtures/okx/cryptofeed-v5-rest-instruments.ndjson.gz')).toString();
const INSTRUMENTS: { readonly raw: string } = JSON.parse(RECORDING.split('\n')[0] ?? '');

const begin = (): TestLog => {
  const log = new TestLog();
  log.capability(okx);
  const answer = (path: string, payload: string): void => {
    const request = `GET https://www.okx.com/api/v5/public/${path}`;
    log.append({ kind: 'response', slot: 'reference', conn_id: 'ref', request, payload: Buffer.from(payload) });
  };
  answer('funding-rate?instId=ANY', '{"code":"0","data":[]}');
  answer('instruments?instType=SWAP', INSTRUMENTS.raw);
  log.open('k1', 'market', COVERS);
  return log;
};

const makeBody = (half: 'mark' | 'index', digits: string, at: number) => {
  const ts = String(at / 1000);
  return half === 'mark'
    ? {
        arg: { channel: 'mark-price', instId: 'BTC-USDT-SWAP' },
        data: [{ instId: 'BTC-USDT-SWAP', markPx: digits, ts }],
      }
    : { arg: { channel: 'index-tickers', instId: 'BTC-USDT' }, data: [{ instId: 'BTC-USDT', idxPx: digits, ts }] };
};

const send = (log: TestLog, connId: string, half: 'mark' | 'index', digits: string): void => {
  log.now += SECOND;
  log.json('frame', 'market', connId, makeBody(half, digits, log.now));
};

/** A message that was received some seconds before it is recorded. */
const sendBehind = (log: TestLog, connId: string, { mark, seconds }: { mark: string; seconds: number }): void => {
  const { now } = log;
  log.now = now - seconds * SECOND;
  log.json('frame', 'market', connId, makeBody('mark', mark, log.now), { recordedAt: now });
  log.now = now;
};

const reconnect = (log: TestLog, lost = 'k1', next = 'k2'): void => {
  log.now += SECOND;
  log.json('lost', 'market', lost, { lost_at: log.now, cause: 'connection_lost', detail: '' });
  log.run(60 * SECOND, []);
  log.open(next, 'market', COVERS);
};

const read = (log: TestLog) => {
  const { outputs } = runTask({ ...SPEC, venue: okx }, log.records);
  return listReadings(outputs, 'mark').map(({ values, null_reasons: reasons }) => ({
    half: [values['mark'] ?? reasons['mark'], values['index'] ?? reasons['index']],
    basis: values['basis'] ?? reasons['basis'],
  }));
};

const BEFORE = [
  { half: ['60000', 'no_value'], basis: 'no_value' },
  { half: ['60000', '60000'], basis: '0' },
];

const joined = (log: TestLog): TestLog => {
  send(log, 'k1', 'mark', '60000');
  send(log, 'k1', 'index', '60000');
  return log;
};

t.test('after a reconnect there is no reading until both halves came on the new connection', (t) => {
  const log = joined(begin());
  reconnect(log);
  send(log, 'k2', 'index', '61000');
  send(log, 'k2', 'index', '61100');
  t.same(read(log), BEFORE, 'the old mark is not joined with the new index');
  send(log, 'k2', 'mark', '61100');
  t.same(read(log), [...BEFORE, { half: ['61100', '61100'], basis: '0' }]);
  send(log, 'k2', 'index', '61000');
  t.equal(read(log).length, 4, 'from then on every half is a reading again');
  t.end();
});

t.test('a half that stays alone for the bound of the layer is the reading, and the other has no value', (t) => {
  const log = joined(begin());
  reconnect(log);
  send(log, 'k2', 'index', '61000');
  log.run(28 * SECOND, ['k2']);
  send(log, 'k2', 'index', '61001');
  t.same(read(log), BEFORE, '29 s after the first');
  send(log, 'k2', 'index', '61002');
  t.same(read(log), [...BEFORE, { half: ['no_value', '61002'], basis: 'no_value' }], '30 s after it');
  t.end();
});

t.test('a connection that is lost before both halves came begins the wait anew', (t) => {
  const log = joined(begin());
  reconnect(log);
  send(log, 'k2', 'index', '61000');
  reconnect(log, 'k2', 'k3');
  send(log, 'k3', 'index', '62000');
  t.same(read(log), BEFORE, 'the first wait is long over');
  send(log, 'k3', 'mark', '62000');
  t.same(read(log), [...BEFORE, { half: ['62000', '62000'], basis: '0' }]);
  t.end();
});

t.test('a layer whose other half did not come within the wait has one half only from then on', (t) => {
  const log = joined(begin());
  reconnect(log);
  for (const digits of ['61000', '61001']) {
    send(log, 'k2', 'index', digits);
    log.run(30 * SECOND, ['k2']);
  }
  reconnect(log, 'k2', 'k3');
  send(log, 'k3', 'index', '62000');
  const alone = (index: string) => ({ half: ['no_value', index], basis: 'no_value' });
  t.same(read(log), [...BEFORE, alone('61001'), alone('62000')]);
  t.end();
});

t.test('a layer that had one half only does not wait for the other', (t) => {
  const log = begin();
  send(log, 'k1', 'index', '60000');
  reconnect(log);
  send(log, 'k2', 'index', '61000');
  t.same(read(log), [
    { half: ['no_value', '60000'], basis: 'no_value' },
    { half: ['no_value', '61000'], basis: 'no_value' },
  ]);
  t.end();
});

t.test('a half of a connection that is still alive is joined with one of its successor', (t) => {
  const log = joined(begin());
  log.open('k2', 'market', COVERS);
  send(log, 'k2', 'index', '30000');
  t.same(read(log).at(-1), { half: ['60000', '30000'], basis: '1' });
  t.end();
});

t.test('a connection that was out for silence and returns begins without its halves', (t) => {
  const log = joined(begin());
  log.run(4 * SECOND, []);
  send(log, 'k1', 'mark', '61000');
  t.same(read(log), BEFORE);
  send(log, 'k1', 'index', '61000');
  t.same(read(log), [...BEFORE, { half: ['61000', '61000'], basis: '0' }]);
  t.end();
});

t.test('a half that was received before the held one does not replace it, whether or not it is late (N-11)', (t) => {
  for (const seconds of [20, 150]) {
    const log = joined(begin());
    log.open('k2', 'market', COVERS);
    log.run(200 * SECOND, ['k1', 'k2']);
    send(log, 'k1', 'mark', '61000');
    sendBehind(log, 'k2', { mark: '30000', seconds });
    send(log, seconds === 20 ? 'k2' : 'k1', 'index', '61000');
    t.same(read(log).at(-1), { half: ['61000', '61000'], basis: '0' }, `${seconds} s`);
  }
  t.end();
});

t.test('the row of a late half has the half itself', (t) => {
  const log = joined(begin());
  log.open('k2', 'market', COVERS);
  log.run(200 * SECOND, ['k1', 'k2']);
  send(log, 'k1', 'mark', '61000');
  sendBehind(log, 'k2', { mark: '30000', seconds: 150 });
  const rows = listRows(runTask({ ...SPEC, venue: okx }, log.records).outputs, 'mark').filter(
    ({ flags }) => flags.late,
  );
  t.same(
    rows.map(({ figures }) => [figures['mark'], figures['index_price']]),
    [['30000', '60000']],
  );
  t.end();
});
