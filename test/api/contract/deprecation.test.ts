// Headers of an endpoint that will go (VER-01).
import t from 'tap';
import { makeDeprecationHeaders } from '../../../api/contract/deprecation.ts';

t.test('an announced end is stated with its day, its date and its announcement', (t) => {
  t.same(makeDeprecationHeaders({ announced: '2026-01-01', sunset: '2026-06-30' }, 'https://api.test'), {
    deprecation: '@1767225600',
    sunset: 'Tue, 30 Jun 2026 00:00:00 GMT',
    link: '<https://api.test/changelog.json>; rel="deprecation"; type="application/json"',
  });
  t.throws(() => makeDeprecationHeaders({ announced: '2026-01-01', sunset: '2026-06-29' }, ''), /180 days/);
  t.throws(() => makeDeprecationHeaders({ announced: '2026-13-01', sunset: '2027-06-29' }, ''), /not a day/);
  t.end();
});
