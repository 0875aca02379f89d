// Retry-After as a collector reads it: seconds, dates, and the pause of a status without one.
import t from 'tap';
import { readRetryAfterMs } from '../../../ingest/feed/rest-client.ts';

t.test('Retry-After is read as seconds or as a date, with the pause of the status when it is absent', async (t) => {
  const wait = (status: number, value?: string) =>
    readRetryAfterMs({ status, headers: new Headers(value === undefined ? {} : { 'retry-after': value }) });
  t.equal(wait(429, '7'), 7_000);
  t.equal(wait(503, '3'), 3_000);
  t.equal(wait(429), 30_000);
  t.equal(wait(418), 120_000, 'a ban is at least two minutes');
  t.equal(wait(500), null);
  t.equal(wait(429, 'soon'), 30_000, 'what cannot be read is absent');
  t.equal(wait(418, '999999'), 600_000, 'never longer than ten minutes');
  t.equal(wait(429, '0'), 1_000, 'never at once');
  t.equal(wait(429, new Date(Date.now() - 60_000).toUTCString()), 1_000, 'also where their clock is behind ours');
  const dated = wait(429, new Date(Date.now() + 60_000).toUTCString()) ?? 0;
  t.ok(dated > 55_000 && dated <= 60_000);
  for (const text of ['-5', '+5', '1/2', '1e3', '2026-11-27', '5 minutes', ''])
    t.equal(wait(418, text), 120_000, `"${text}" is neither seconds nor a date, however Date.parse reads it`);
  t.equal(wait(418, '119.5'), 119_500, 'seconds with a fraction');
  // The three forms of RFC 9110, section 5.6.7; the last one has no zone and is in UTC.
  const at = new Date(Date.now() + 60_000);
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) (\S+)/.exec(at.toUTCString()) ?? [];
  const long = at.toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  for (const text of [
    `${long}, ${day}-${month}-${year?.slice(2)} ${time} GMT`,
    `${long.slice(0, 3)} ${month} ${day} ${time} ${year}`,
  ]) {
    const ms = wait(429, text) ?? 0;
    t.ok(ms > 55_000 && ms <= 60_000, text);
  }
});
