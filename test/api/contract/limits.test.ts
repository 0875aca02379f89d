// The sentences of limits: one of a thing is not several.
import t from 'tap';
import { describeLimit, SERVICE_LIMITS } from '../../../api/contract/limits.ts';

t.test('a limit is told in the singular where it is one', (t) => {
  const refusal = { figure: 1, retryAfterS: 1 };
  t.equal(
    describeLimit('The plan Free', { ...refusal, limit: 'streams' }).message,
    'The plan Free allows 1 stream at once.',
  );
  for (const limit of SERVICE_LIMITS) {
    const one = describeLimit('The plan', { ...refusal, limit });
    t.match(one.message, /^The plan allows 1 [A-Za-z ]*[a-rt-z] (at once|a second|a minute|a day)\.$/, limit);
    t.notMatch(one.hint, /1 seconds/);
    const several = describeLimit('The plan', { figure: 20, retryAfterS: 2, limit });
    t.match(several.message, /^The plan allows 20 [A-Za-z ]*s (at once|a second|a minute|a day)\.$/, limit);
  }
  t.end();
});
