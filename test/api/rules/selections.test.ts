// Rules that are made, changed and deleted for weeks, over a catalogue that stays as it is: what is kept of their selections is bounded.
import t from 'tap';
import { Questions, Selections } from '../../../api/rules/questions.ts';
import { market, NOW } from '../live-fixture.ts';

const EVERYTHING = { venues: null, instruments: null };

t.test('selections of questions that are not asked any more make room, and the present ones are right', (t) => {
  const { memory } = market();
  const [questions, selections] = [new Questions(memory), new Selections(memory, 100)];
  const ask = (where: string, venues: readonly string[] | null = null): number => {
    const query = `any(venues where mark > 1) where ${where}`;
    const question = questions.of({ query, units: 'published', freshness: null });
    return selections.at(NOW, question, { ...EVERYTHING, venues }).length;
  };
  const sizes: number[] = [];
  for (let day = 0; day < 1_000; day++) {
    // The choice of a plan that narrows is another one each day.
    ask('base = BTC', ['binance', `venue${day}`]);
    sizes.push(selections.size);
  }
  t.equal(Math.max(...sizes), 100);
  t.same([ask('base = BTC'), ask('base = ETH'), ask('venue = okx')], [2, 1, 1]);
  t.same([ask('base = BTC'), ask('base = ETH'), ask('venue = okx')], [2, 1, 1]);
  t.end();
});
