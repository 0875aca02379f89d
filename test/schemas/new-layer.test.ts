// A layer is its file, its Avro schema, a line in two registries and its case in the task: a sample added to a copy of the tree has all the rest.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '../..');
const SAMPLE = join(ROOT, 'test/fixtures/new-layer');
const COPIED = ['schemas', 'infra', 'ingest', 'processors', 'api', 'test/support', 'package.json', 'tsconfig.json'];
/** What the shared files of tests import besides. */
const FIXTURES = ['test/api/live-fixture.ts'];
const NEW_FILES = ['schemas/layers/premium.ts', 'schemas/avro/md.premium/1.avsc'];

type Edit = { readonly file: string; readonly after: string; readonly insert: string };
const EDITS = JSON.parse(readFileSync(join(SAMPLE, 'edits.json'), 'utf8')) as readonly Edit[];

const copyTree = (): string => {
  const copy = mkdtempSync(join(tmpdir(), 'new-layer-'));
  for (const path of [...COPIED, ...FIXTURES]) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
};

const addLayer = (copy: string): void => {
  cpSync(join(SAMPLE, 'schemas/avro'), join(copy, 'schemas/avro'), { recursive: true });
  cpSync(join(SAMPLE, 'schemas/layers/premium.ts.txt'), join(copy, 'schemas/layers/premium.ts'));
  for (const { file, after, insert } of EDITS) {
    const text = readFileSync(join(copy, file), 'utf8');
    if (text.split(after).length !== 2) throw new Error(`${file} has not one "${after}": change edits.json`);
    writeFileSync(
      join(copy, file),
      text.replace(after, () => `${after}${insert}`),
    );
  }
};

type Report = {
  readonly ddl: string;
  readonly columns: readonly string[];
  readonly openapi: string;
  readonly docs: string;
  readonly field: unknown;
  readonly alias: string;
  readonly select: string;
  readonly topics: readonly string[];
  readonly anchored: readonly (readonly [string, readonly string[]])[];
  readonly row: unknown;
  readonly stored: unknown;
  readonly record: unknown;
};

const readReport = (copy: string): Report => {
  cpSync(join(SAMPLE, 'report.ts.txt'), join(copy, 'infra/report.ts'));
  const options = { cwd: copy, encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 } as const;
  return JSON.parse(execFileSync(process.execPath, ['infra/report.ts'], options)) as Report;
};

/** Complaints of the compiler about the code of the copy. */
const checkTypes = (copy: string): string => {
  const base = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as object;
  const include = ['schemas', 'processors', 'api', 'ingest', 'infra/runtime', 'infra/report.ts'];
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ ...base, include }));
  try {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    return execFileSync(process.execPath, [tsc, '-p', copy], { encoding: 'utf8' });
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
};

t.test('a layer is two files, two registries and a case in the task', async (t) => {
  const copy = copyTree();
  t.teardown(() => rmSync(copy, { recursive: true }));
  addLayer(copy);
  t.same(
    [...new Set(EDITS.map(({ file }) => file))],
    ['schemas/layers/index.ts', 'schemas/avro/ids.json', 'processors/task/readings.ts'],
    'files that are edited',
  );
  for (const file of NEW_FILES) t.ok(readFileSync(join(copy, file)), `${dirname(file)} has the new file`);
  const report = readReport(copy);
  t.equal(checkTypes(copy), '', 'the copy compiles');

  t.match(report.ddl, /CREATE TABLE IF NOT EXISTS 'premium'/);
  t.match(report.ddl, /CREATE OR REPLACE VIEW 'v_premium' AS/);
  t.match(report.ddl, /'premium' layer, from_at from_at, at to_at/, 'its gaps are in v_gaps');
  const own = ['premium', 'impact_size', 'quantity_unit', 'measured_at'];
  const at = report.columns.indexOf('premium');
  t.same(report.columns.slice(at, at + own.length), own);
  t.match(report.select, /r\.quantity_unit quantity_unit, r\.measured_at::long measured_at, r\.premium premium/);

  t.match(report.openapi, /Layers to answer: ticker, mark, funding, oi, book, stats, venue_depth, premium\./);
  t.match(report.openapi, /of ticker, mark, funding, oi, book, stats, book_bands, premium, candles/, 'on the stream');
  t.match(report.docs, /\| `premium` \| `premium` fraction, `impact_size` quantity \| 45s \| 10s \|/);
  t.match(report.field, { layer: 'premium', unit: 'quantity', additive: true, sampleable: true });
  t.match(report.field, { description: 'Quantity that impact prices are measured at.' });
  t.equal(report.alias, 'premium');

  t.ok(report.topics.includes('md.premium'));
  t.same(report.record, { premium: '0.0001', impact_size: '5', size_unit: 'base' });
  const [, columns = []] = report.anchored.find(([table]) => table === 'premium') ?? [];
  t.same(columns.slice(-3), ['premium', 'seq', 'late']);
  t.match(report.row, { figures: { premium: '0.0001', impact_size: '5' }, texts: { quantity_unit: 'base' } });
  t.match(report.stored, { layer: 'premium', values: { impact_size: '5' }, instants: { measured_at: Number } });
});
