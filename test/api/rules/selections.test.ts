// Rules that are made, changed and deleted for weeks, over a catalogue that stays as it is: what is kept of them is bounded, whatever they say.
import t from 'tap';
import { type Question, Questions, Selections } from '../../../api/rules/questions.ts';
import { market, NOW } from '../../support/apps/live-fixture.ts';

const EVERYTHING = { venues: null, instruments: null };

t.test('selections of questions that are not asked any more make room, and the present ones are right', (t) => {
  const { memory } = market();
  const [questions, selections] = [new Questions(memory), new Selections(memory, 100)];
  const ask = (where: string, venues: readonly string[] | null = null, instruments: string[] | null = null): number => {
    const query = `any(venues where mark > 1) where ${where}`;
    const question = questions.of({ query, units: 'published', freshness: null });
    return selections.at(NOW, question, { venues, instruments }).length;
  };
  const sizes: number[] = [];
  for (let day = 0; day < 1_000; day++) {
    // The choice of a plan that narrows is another one each day.
    ask('base = BTC', ['binance', `venue${day}`]);
    sizes.push(selections.size);
  }
  t.ok(Math.max(...sizes) <= 100 && Math.max(...sizes) > 90);
  t.same([ask('base = BTC'), ask('base = ETH'), ask('venue = okx')], [2, 1, 1]);
  t.same([ask('base = BTC'), ask('base = ETH'), ask('venue = okx')], [2, 1, 1]);
  const [btc, none] = [ask('base = BTC', null, ['BTC-PERP']), ask('base = BTC', null, ['ETH-PERP'])];
  t.same([btc, none, ask('base = BTC', ['okx'])], [2, 0, 1], 'of each scope its own');
  t.end();
});

t.test(
  'questions and the names of selections are counted by their length: few long ones take as much as many short ones',
  (t) => {
    const { memory } = market();
    const [questions, selections] = [new Questions(memory, 20_000), new Selections(memory, 100)];
    const terms = Array.from({ length: 40 }, (_, i) => `mark > ${i}.5`).join(' and ');
    const ask = (query: string) => questions.of({ query, units: 'published', freshness: null });
    const askOf = (change: number) => ask(`any(venues where ${terms} and spread > ${change})`);
    const selectOf = (change: number, question: Question) => {
      const venues = Array.from({ length: 50 }, (_, i) => `unknown${change}x${i}`);
      return selections.at(NOW, question, { ...EVERYTHING, venues });
    };
    for (let change = 0; change < 200; change++) {
      const question = askOf(change);
      t.ok(questions.size <= 20_000, 'texts');
      t.equal(askOf(change), question, 'the newest is kept');
      t.same(selectOf(change, question), []);
      t.ok(selections.size <= 100, 'names that select nothing');
    }
    t.ok(questions.size > 15_000 && selections.size > 80, 'they are filled');
    const [question, selected] = [askOf(200), selectOf(200, askOf(200))];
    for (let change = 201; change < 250; change++) selectOf(change, askOf(change));
    t.not(askOf(200), question, '49 long ones take the place of another');
    t.not(selectOf(200, question), selected);
    t.end();
  },
);
