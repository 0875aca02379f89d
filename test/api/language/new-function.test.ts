// A function of the language is its entry, its rule, a case and the instant of the change: a sample added to a copy of the tree is parsed, evaluated and documented.
import t from 'tap';
import { addLanguageChange, checkTouchList, copyTree, findFailures } from '../../support/scratch-copy.ts';

t.test('a function is an entry in the table, a rule and a case', async (t) => {
  const copy = copyTree(t);
  const { files: written, edited } = copy.add('new-function');
  checkTouchList(t, 'a function', 'midpoint', { files: written, edited: [...edited, addLanguageChange(copy)] });
  copy.run('infra/dev/documents/endpoint-docs.ts');
  t.equal(copy.checkTypes(['api', 'test/api/language']), '', 'the copy compiles');
  const files = [
    'test/api/language/scripts.test.ts',
    'test/api/operations/dql.test.ts',
    'test/infra/dev/documents/endpoint-docs.test.ts',
  ];
  t.same(findFailures(copy, files), []);
});
