// A frame is JSON to the collector exactly if it is to JSON.parse; books of every venue are seen to be without it.
import t from 'tap';
import { checkJson, isPlainJson, LONGEST } from '../../../ingest/feed/check-json.ts';
import { venues } from '../../../ingest/venues/index.ts';
import { createRandom, mutate } from '../../support/mutations.ts';
import { readRecording, recordingsIn } from '../../support/venues/recordings.ts';

const tellError = (check: (text: string) => unknown, text: string): string => {
  try {
    check(text);
    return '';
  } catch (error) {
    return String(error);
  }
};

for (const { id } of venues.values()) {
  t.test(`${id}: recorded frames, whole and damaged`, (t) => {
    const random = createRandom(7);
    const frames = recordingsIn(id).flatMap((name) => readRecording(name).filter(({ kind }) => kind !== 'rest'));
    const texts = frames
      .map(({ raw }) => raw)
      .filter((raw) => raw.startsWith('{') && tellError(JSON.parse, raw) === '');
    t.ok(texts.length > 0);
    for (const text of texts.slice(0, 1_000)) {
      const isBook = /"(?:bids|asks|b|a|levels)":\[/.test(text) && text.length <= LONGEST && !/[\s\\]/.test(text);
      if (isBook && !isPlainJson(text)) t.fail(`left to JSON.parse: ${text.slice(0, 200)}`);
      for (const damaged of [text.slice(0, random(text.length)), mutate(Buffer.from(text), random).toString()])
        if (tellError(checkJson, damaged) !== tellError(JSON.parse, damaged)) t.fail(damaged.slice(0, 200));
    }
    t.end();
  });
}

t.test('spellings', (t) => {
  for (const text of [
    ...['', '{', '{}', '[]', '[1,]', '{"a":1,}', '{,}', '[,]', '{"a"}', '[1 2]', '{"a":1}}', '{"a":01}', '{"a":1.}'],
    ...['{"a":"\n"}', '{"a":"\\n"}', '{"a":"\\x"}', '{a:1}', "{'a':1}", '{"a":-}', '{"a":1e}', '{"a":+1}', '{"a":nul}'],
    ...[' {"a": 1} ', '\ufeff{}', '[[[[[[[[1]]]]]]]]', '{"a":[["1","2"]', '"a"', '1', 'null', '[}', '{]', '[1}'],
  ])
    t.equal(tellError(checkJson, text), tellError(JSON.parse, text), text);
  t.notOk(isPlainJson(`[${'1,'.repeat(LONGEST / 2)}1]`), 'a long one is left to JSON.parse');
  t.end();
});
