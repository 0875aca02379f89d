// A layer is its file, its Avro schema, a line in the registries and in the tests of names, and its case in the task: a sample added to a copy of the tree has all the rest.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { addLanguageChange, checkTouchList, copyTree, findFailures } from '../support/scratch-copy.ts';
import { fixturePath } from '../support/venues/recordings.ts';

type Report = {
  readonly ddl: string;
  readonly columns: readonly string[];
  readonly openapi: string;
  readonly docs: string;
  readonly field: unknown;
  readonly alias: string;
  readonly plans: readonly string[];
  readonly select: string;
  readonly topics: readonly string[];
  readonly anchored: readonly (readonly [string, readonly string[]])[];
  readonly row: unknown;
  readonly stored: unknown;
  readonly record: unknown;
};

t.test('a layer is two files, two registries and a case in the task', async (t) => {
  const copy = copyTree(t);
  const { files, edited } = copy.add('new-layer');
  copy.run('test/schemas/avro/codec.test.ts', { GOLDEN_UPDATE: '1', TAP_GREP: '/append-only/' });
  checkTouchList(t, 'a layer', 'premium', { files, edited: [...edited, addLanguageChange(copy)] });
  cpSync(fixturePath('new-layer-report.ts.txt'), join(copy.root, 'infra/report.ts'));
  const report = JSON.parse(copy.run('infra/report.ts')) as Report;
  const folders = ['schemas', 'processors', 'api', 'ingest', 'infra/runtime', 'infra/report.ts'];
  t.equal(copy.checkTypes(folders), '', 'the copy compiles');

  t.match(report.ddl, /CREATE TABLE IF NOT EXISTS 'premium'/);
  t.match(report.ddl, /CREATE OR REPLACE VIEW 'v_premium' AS/);
  t.match(report.ddl, /'premium' layer, from_at from_at, at to_at/, 'its gaps are in v_gaps');
  const own = ['premium', 'impact_size', 'quantity_unit', 'measured_at'];
  const at = report.columns.indexOf('premium');
  t.same(report.columns.slice(at, at + own.length), own);
  t.match(report.select, /r\.quantity_unit quantity_unit, r\.measured_at::long measured_at, r\.premium premium/);

  t.match(report.openapi, /Layers to return: ticker, mark, funding, oi, book, stats, venue_depth, premium\./);
  t.match(report.openapi, /of ticker, mark, funding, oi, book, stats, book_bands, premium, candles/, 'on the stream');
  t.match(report.docs, /\| `premium` \| `premium` fraction, `impact_size` quantity \| 45s \| 10s \|/);
  t.match(report.field, { layer: 'premium', unit: 'quantity', additive: true, sampleable: true });
  t.match(report.field, { description: 'Quantity that impact prices are measured at.' });
  t.equal(report.alias, 'premium');
  t.same(report.plans, ['Pro Plus'], 'the plan that has all layers (AC-02)');

  t.ok(report.topics.includes('md.premium'));
  t.same(report.record, { premium: '0.0001', impact_size: '5', size_unit: 'base' });
  const [, columns = []] = report.anchored.find(([table]) => table === 'premium') ?? [];
  t.same(columns.slice(-3), ['premium', 'seq', 'late']);
  t.match(report.row, { figures: { premium: '0.0001', impact_size: '5' }, texts: { quantity_unit: 'base' } });
  t.match(report.stored, { layer: 'premium', values: { impact_size: '5' }, instants: { measured_at: Number } });
  t.same(
    findFailures(
      copy,
      ['test/schemas/layers.test.ts', 'test/schemas/avro/codec.test.ts'],
      '/every reading|freshness|each surface|append-only/',
    ),
    [],
  );
});
