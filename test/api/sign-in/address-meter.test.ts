// How often an address may do a thing: a limit holds in any order of events and of clocks.
import t from 'tap';
import { AddressMeter } from '../../../api/sign-in/address-meter.ts';

const HOUR_MS = 3_600_000;
const ADDRESS = '192.0.2.1';

t.test('an address that has had its share waits until the oldest is past the window', (t) => {
  const meter = new AddressMeter(2, HOUR_MS);
  for (const at of [0, 60_000]) {
    t.equal(meter.waitS(ADDRESS, at), null);
    meter.note(ADDRESS, at);
  }
  t.equal(meter.waitS(ADDRESS, 60_000), 3_540);
  t.equal(meter.waitS('192.0.2.2', 60_000), null, 'another address has its own');
  t.equal(meter.waitS(ADDRESS, HOUR_MS), null);
  t.end();
});

t.test('of more at once than there may be, the wait is until fewer are left', (t) => {
  const meter = new AddressMeter(2, HOUR_MS);
  for (const at of [0, 60_000, 120_000]) meter.note(ADDRESS, at);
  const waitS = meter.waitS(ADDRESS, 120_000) ?? 0;
  t.equal(waitS, 3_540, 'the one that is over first leaves two');
  t.equal(meter.waitS(ADDRESS, 120_000 + waitS * 1_000), null);
  t.end();
});

t.test('a clock that is set back refuses nobody for longer than the window', (t) => {
  const meter = new AddressMeter(1, HOUR_MS);
  meter.note(ADDRESS, 100 * HOUR_MS);
  t.equal(meter.waitS(ADDRESS, 10 * HOUR_MS), null, 'an attempt of a time to come is none');
  meter.note(ADDRESS, 10 * HOUR_MS);
  t.equal(meter.waitS(ADDRESS, 10 * HOUR_MS), 3_600);
  t.equal(meter.waitS(ADDRESS, 11 * HOUR_MS), null);
  t.end();
});
