// Kraken Futures' changes of a book are read from their text: they give what JSON.parse of the same frame gives, in every spelling.
import fc from 'fast-check';
import t from 'tap';
import { VenueError } from '../../../ingest/venues/contract/listings.ts';
import { readBookFrame } from '../../../ingest/venues/kraken-futures/book-frames.ts';
import { krakenFutures as venue } from '../../../ingest/venues/kraken-futures/index.ts';
import { formatElement } from '../../../ingest/venues/shared/element-text.ts';
import { readRecording } from '../../support/venues/recordings.ts';

const mapText = (text: string): unknown => {
  const message = { kind: 'frame' as const, received_at: 1, request: null, payload: Buffer.from(text) };
  try {
    return venue.map({}, message, { listings: new Map() }).map(({ element, ...mapped }) => ({
      ...mapped,
      element: formatElement(element),
    }));
  } catch (error) {
    if (!(error instanceof VenueError)) throw error;
    return { code: error.code, kind: error.kind, message: error.message };
  }
};

/** A space at the end leaves the frame to JSON.parse. */
const mapParsed = (text: string): unknown => mapText(`${text} `);

const writeFrame = (members: Readonly<Record<string, string>>): string =>
  `{${Object.entries(members)
    .map(([name, value]) => `"${name}":${value}`)
    .join(',')}}`;

const FRAME = {
  feed: '"book"',
  product_id: '"PI_XBTUSD"',
  side: '"sell"',
  seq: '326094134',
  price: '34981.5',
  qty: '120.0',
  timestamp: '1612269953629',
};

t.test('recorded changes are read from their text', (t) => {
  const frames = readRecording('kraken-futures/cryptofeed-v1-ws-1.ndjson.gz')
    .map(({ raw }) => raw)
    .filter((raw) => raw.startsWith('{"feed":"book",'));
  const read = frames.filter((frame) => readBookFrame(Buffer.from(frame)) !== null);
  t.ok(read.length > 500, `${read.length} changes`);
  t.equal(read.length, frames.length, 'all of them');
  for (const frame of frames) t.strictSame(mapText(frame), mapParsed(frame), frame);
  t.end();
});

t.test('a change in another spelling is left to JSON.parse', (t) => {
  const { side, ...others } = FRAME;
  const spellings: readonly Readonly<Record<string, string>>[] = [
    { ...FRAME, price: '034981' },
    { ...FRAME, price: '34981.' },
    { ...FRAME, price: '3.4981e4' },
    { ...FRAME, price: '34981.123456789' },
    { ...FRAME, price: '0.12345678901234567' },
    { ...FRAME, qty: '-1' },
    { ...FRAME, qty: '12345678' },
    { ...FRAME, qty: '"120"' },
    { ...FRAME, seq: '0' },
    { ...FRAME, seq: '9007199254740993' },
    { ...FRAME, side: '"both"' },
    { ...FRAME, timestamp: '0' },
    { ...FRAME, timestamp: '16122699536290' },
    { ...FRAME, more: '1' },
    { side, ...others },
  ];
  for (const members of spellings) {
    const text = writeFrame(members);
    t.equal(readBookFrame(Buffer.from(text)), null, text);
    t.strictSame(mapText(text), mapParsed(text), text);
  }
  t.end();
});

t.test('a change gives the same records, or the same error, whichever way it is read', (t) => {
  const figure = fc.oneof(
    fc.stringMatching(/^-?\d{1,9}(\.\d{1,10})?$/),
    fc.stringMatching(/^\d\.?\d?e-?\d{1,3}$/),
    fc.constantFrom('0', '0.0', '00', '1.', 'null', '""', '"1"'),
  );
  const frame = fc.record({
    feed: fc.constantFrom('"book"', '"books"', '"trade"'),
    product_id: fc.constantFrom('"PI_XBTUSD"', '"PF_ETHUSD"', '"FI_XBTUSD_210924"', '"pi_xbtusd"', '""', 'null'),
    side: fc.constantFrom('"buy"', '"sell"', '"none"', 'null'),
    seq: fc.stringMatching(/^\d{1,17}$/),
    price: figure,
    qty: figure,
    timestamp: fc.stringMatching(/^\d{12,14}$/),
  });
  fc.assert(
    fc.property(frame, (members) => {
      const text = writeFrame(members);
      t.strictSame(mapText(text), mapParsed(text), text);
    }),
    { numRuns: 500 },
  );
  t.end();
});
