// Values of records: members that come in several messages are joined, and a message goes before its listing (L-02, records.md).
import t from 'tap';
import type { MappedVenue } from '../../../ingest/venues/contract/mapping.ts';
import { measure, type ReadingRecord } from '../../../processors/task/readings.ts';
import { createLayer } from '../../../processors/task/state.ts';
import type { FundingRecord, ListingRecord, MarkRecord } from '../../../schemas/records.ts';
import { listingValues } from '../../support/apps/live-fixture.ts';

const STAMPS = { venue: 'paper', venue_symbol: 'LIN', received_at: 100 };
const LISTING: ListingRecord = {
  ...STAMPS,
  layer: 'listing',
  venue_ts: null,
  values: listingValues({ venue_symbol: 'LIN', funding_interval: '4h' }),
};

const mark = (venueTs: number | null, values: MarkRecord['values']): ReadingRecord => ({
  ...STAMPS,
  layer: 'mark',
  venue_ts: venueTs,
  values,
});
const funding = (intervalMs: number | null): ReadingRecord => ({
  ...STAMPS,
  layer: 'funding',
  venue_ts: 5,
  values: {
    funding: '0.0001',
    funding_interval_ms: intervalMs,
    next_funding_at: null,
  } satisfies FundingRecord['values'],
});

const readMarks = (venue: Pick<MappedVenue, 'sendsMarksApart'>) => {
  const layer = createLayer();
  return (record: ReadingRecord) => {
    const { values, venueTs } = measure(record, LISTING, { layer, venue });
    return [values['mark'], values['index'], venueTs];
  };
};

t.test('of a message with both a mark or an index that is none has no value', (t) => {
  const read = readMarks({});
  t.same(read(mark(10, { mark: '101', index: '100' })), ['101', '100', 10]);
  t.same(read(mark(20, { mark: null, index: '99' })), [undefined, '99', 20]);
  t.same(read(mark(30, { mark: '103', index: null })), ['103', undefined, 30]);
  t.end();
});

t.test('mark and index of different messages are the newest of each, with the older stamp', (t) => {
  const read = readMarks({ sendsMarksApart: true });
  t.same(read(mark(10, { mark: '101', index: null })), ['101', undefined, 10]);
  t.same(read(mark(20, { mark: null, index: '100' })), ['101', '100', 10]);
  t.same(read(mark(30, { mark: '102', index: null })), ['102', '100', 20]);
  t.same(read(mark(null, { mark: null, index: '99' })), ['102', '99', 30]);
  t.end();
});

t.test("a message's own interval of funding goes before its listing's", (t) => {
  const read = (record: ReadingRecord) => {
    const { values } = measure(record, LISTING, { layer: createLayer(), venue: {} });
    return [values['funding_interval'], values['funding_8h']];
  };
  t.same(read(funding(3_600_000)), ['3600000', '0.0008']);
  t.same(read(funding(null)), ['14400000', '0.0002']);
  t.end();
});
