// Checks the dependencies of the structure: allowed imports, the top level, and what to move where.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import t from 'tap';

const ROOT = resolve(import.meta.dirname, '..');
const ROOMS = ['schemas', 'infra', 'ingest', 'processors', 'api', 'clients', 'test'];
const LONGEST_FILE = 400;
/** Printed, not written. */
const PRINTED = ['clients/typescript/src/api-types.ts'];

const walk = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ['fixtures', 'node_modules', 'dist'].includes(entry.name) ? [] : walk(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });

const files = ROOMS.flatMap((room) => walk(join(ROOT, room))).map((path) => relative(ROOT, path));

type Import = { readonly from: string; readonly to: string; readonly bare: boolean };

const readImports = (file: string): Import[] => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const found: Import[] = [];
  for (const match of text.matchAll(
    /^\s*(?:import|export)\b[^'";]*?from\s+'([^']+)'|^\s*import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
  )) {
    const target = match[1] ?? match[2] ?? match[3] ?? '';
    const bare = !target.startsWith('.');
    found.push({ from: file, to: bare ? target : relative(ROOT, resolve(ROOT, dirname(file), target)), bare });
  }
  return found;
};
const imports = files.flatMap(readImports);

/** Rooms that run the whole: they may import everything, and no other room imports them. */
const ASSEMBLERS = ['infra/dev', 'infra/tools', 'test'];
const within = (path: string, room: string): boolean => path === room || path.startsWith(`${room}/`);
const isAssembler = (path: string): boolean => ASSEMBLERS.some((room) => within(path, room));

type Rule = { readonly room: string; readonly may: readonly string[]; readonly because: string };
/** Parts that a task takes: mapping of messages, their elements as text, continuation of books (which the collector has too). */
const MAPPING_PART = [
  'ingest/venues/contract/listings.ts',
  'ingest/venues/contract/mapping.ts',
  'ingest/venues/shared/book-sync.ts',
  'ingest/venues/shared/element-text.ts',
];
const RULES: readonly Rule[] = [
  { room: 'schemas/merkle', may: ['schemas/merkle'], because: 'the verifier can be copied out unchanged' },
  { room: 'schemas', may: ['schemas'], because: 'what bytes and words mean depends on nothing of ours' },
  {
    room: 'infra/runtime',
    may: ['infra/runtime', 'schemas'],
    because: 'it touches the world for every process and knows none',
  },
  {
    room: 'infra/dev/engines',
    may: ['infra/dev/engines', 'infra/runtime', 'schemas'],
    because: 'engines know no process',
  },
  {
    room: 'processors/task',
    may: ['processors', 'infra/runtime', 'schemas', ...MAPPING_PART],
    because: 'a task maps messages: it takes the mapping part of a venue (and its listings), and no feed',
  },
  {
    room: 'processors',
    may: [
      ...['processors', 'infra/runtime', 'infra/questdb', 'infra/postgres', 'schemas'],
      ...['ingest/venues/index.ts', 'ingest/venues/shared/unexpected.ts', ...MAPPING_PART],
    ],
    because: 'a task shares with ingest only the venues; move shared meaning to schemas, shared I/O to infra/runtime',
  },
  {
    room: 'ingest/feed',
    may: [
      ...['ingest/feed', 'ingest/outlet/raw-writer.ts', 'infra/runtime', 'schemas'],
      ...['ingest/venues/contract/feed.ts', 'ingest/venues/contract/listings.ts', 'ingest/venues/shared/book-sync.ts'],
    ],
    because: 'a collector takes the feed of a venue and its listings: it maps no message and knows no venue',
  },
  {
    room: 'ingest/venues',
    may: ['ingest/venues', 'schemas'],
    because: 'a venue is a pure value, and knows nothing of what runs it',
  },
  {
    room: 'ingest',
    may: ['ingest', 'infra/runtime', 'schemas'],
    because: 'processes meet at topics: move shared meaning to schemas',
  },
  {
    room: 'api',
    // The verifier imports nothing: pages run it as outsiders do.
    may: ['api', 'infra/runtime', 'infra/postgres', 'infra/verify/verify.mjs', 'schemas'],
    because: 'processes meet at topics and tables: move shared meaning to schemas',
  },
  {
    room: 'clients/typescript',
    may: ['clients/typescript'],
    because:
      'a client is a package of its own: what it shares with the service is printed from its documents (npm run docs)',
  },
  { room: 'clients', may: ['clients'], because: 'a client knows the service by its documents alone' },
];

t.test('imports follow the arrows process -> infra/runtime -> schemas', (t) => {
  for (const { from, to, bare } of imports) {
    if (bare || (isAssembler(from) && !within(from, 'infra/dev/engines'))) continue;
    const rule = RULES.find(({ room }) => within(from, room));
    if (!rule) continue;
    const allowed = rule.may.some((room) => within(to, room));
    if (!allowed)
      t.fail(`${from} imports ${to}; allowed from ${rule.room}: ${rule.may.join(', ')}, because ${rule.because}`);
  }
  t.pass('every import looked at');
  t.end();
});

/** Floors of the API, lowest first: a folder imports only folders named before it, types included. */
const FLOORS = [
  ...[
    'contract',
    'language',
    'live',
    'history',
    'series',
    'selection',
    'access',
    'payments',
    'screen',
    'archive',
    'anchors',
    'files',
    'accounts',
  ],
  ...[
    'rules',
    'operations',
    'stream',
    'status',
    'data-app',
    'tool-app',
    'account-app',
    'sign-in',
    'explorer',
    'open-pages',
  ],
];
const findFloor = (path: string): string | null => /^api\/([^/]+)\//.exec(path)?.[1] ?? null;

t.test('each folder of the API imports only the floors below it', (t) => {
  const folders = new Set(files.map(findFloor).filter((floor) => floor !== null));
  for (const floor of folders) {
    if (!FLOORS.includes(floor)) t.fail(`api/${floor} is on no floor; name it in FLOORS, above all that it imports`);
  }
  for (const { from, to, bare } of imports) {
    const [floor, below] = [findFloor(from), findFloor(to)];
    if (bare || floor === null || floor === below) continue;
    if (below === null && within(to, 'api')) t.fail(`${from} imports ${to}; main.ts hands it down as a parameter`);
    if (below === null || FLOORS.indexOf(below) < FLOORS.indexOf(floor)) continue;
    t.fail(`${from} imports ${to}; move what it needs to api/${floor} or below, because api/${below} stands above`);
  }
  t.pass('every import looked at');
  t.end();
});

t.test('the manual of the API names its floors, lowest first', (t) => {
  const manual = readFileSync(join(ROOT, 'api/README.md'), 'utf8');
  const rows = [...manual.matchAll(/^\| `([\w-]+)\/` \|/gm)].map(([, floor]) => floor);
  t.same(rows, FLOORS, 'the table of folders in api/README.md is FLOORS');
  t.end();
});

/** Groups of files that reach each other (Tarjan), types included. */
const findCircles = (): readonly (readonly string[])[] => {
  const targets = new Map<string, string[]>();
  for (const { from, to, bare } of imports) if (!bare) targets.set(from, [...(targets.get(from) ?? []), to]);
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const number = order.size;
    order.set(file, number);
    open.push(file);
    let low = number;
    for (const to of targets.get(file) ?? []) {
      if (!order.has(to)) low = Math.min(low, visit(to));
      else if (open.includes(to)) low = Math.min(low, lowest.get(to) ?? order.get(to) ?? low);
    }
    lowest.set(file, low);
    if (low === number) {
      const circle = open.splice(open.indexOf(file));
      if (circle.length > 1) circles.push(circle);
    }
    return low;
  };
  for (const file of files) if (!order.has(file)) visit(file);
  return circles;
};

t.test('no files import each other in a circle, types included', (t) => {
  for (const circle of findCircles()) {
    t.fail(`${circle.join(', ')} import each other; move what they share to a file that imports none of them`);
  }
  t.pass('every file looked at');
  t.end();
});

/** Read from outside: the package of the client, and what stands for modules of Node in a browser. */
const READ_OUTSIDE = [
  'clients/typescript/src/index.ts',
  'clients/typescript/src/node.ts',
  'api/account-app/islands/node',
];

/** Names that files import, as `file name`; `file *` where one is imported whole. */
const listTakenNames = (): ReadonlySet<string> => {
  const taken = new Set<string>();
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const toPath = (target = ''): string => relative(ROOT, resolve(ROOT, dirname(file), target));
    for (const [, names, target] of text.matchAll(/^(?:import|export) (?:type )?\{([^}]*)\} from '(\.[^']+)'/gm))
      for (const name of names?.split(',') ?? [])
        taken.add(
          `${toPath(target)} ${name
            .trim()
            .replace(/^type /, '')
            .replace(/ as .*$/, '')}`,
        );
    for (const [, target] of text.matchAll(
      /(?:^(?:import|export) (?:type )?\*(?: as \w+)? from |\bimport\()\s*'(\.[^']+)'/gm,
    ))
      taken.add(`${toPath(target)} *`);
  }
  return taken;
};

t.test('what a file exports another one imports', (t) => {
  const taken = listTakenNames();
  let exported = 0;
  for (const file of files.filter((one) => !within(one, 'test') && !READ_OUTSIDE.some((room) => within(one, room)))) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    for (const [, name] of text.matchAll(/^export (?:async )?(?:const|function\*?|class|type|interface) (\w+)/gm)) {
      exported += 1;
      if (taken.has(`${file} ${name}`) || taken.has(`${file} *`)) continue;
      t.fail(`${file} exports ${name}, which no file imports; leave out \`export\`, so that readers look no further`);
    }
  }
  t.ok(exported > 1_000, `${exported} exports looked at`);
  t.end();
});

t.test('the language imports schemas and the wording of messages only', (t) => {
  const may = ['api/language', 'schemas', 'api/contract/counts.ts', 'api/contract/sent-text.ts'];
  for (const { from, to, bare } of imports) {
    if (bare || !within(from, 'api/language') || may.some((room) => within(to, room))) continue;
    t.fail(`${from} imports ${to}; pass it as a parameter, because a query is read without a service`);
  }
  t.pass('every import looked at');
  t.end();
});

t.test('nobody imports the rooms that assemble the whole', (t) => {
  for (const { from, to, bare } of imports) {
    if (bare || isAssembler(from)) continue;
    if (isAssembler(to)) t.fail(`${from} imports ${to}; move what it needs to infra/runtime or schemas`);
  }
  t.pass('every import looked at');
  t.end();
});

t.test('merkle needs nothing but node:crypto, schemas nothing that touches the world', (t) => {
  const worldly = [
    'node:fs',
    'node:net',
    'node:http',
    'node:https',
    'node:child_process',
    'kafkajs',
    'pg',
    'fastify',
    'ws',
    'pino',
  ];
  for (const { from, to, bare } of imports) {
    if (!bare) continue;
    if (within(from, 'schemas/merkle') && to !== 'node:crypto')
      t.fail(`${from} imports ${to}; schemas/merkle has only node:crypto`);
    const loadsAvro = within(from, 'schemas/avro') && to === 'node:fs';
    if (within(from, 'schemas') && worldly.includes(to) && !loadsAvro)
      t.fail(`${from} imports ${to}; use infra/runtime, because schemas is pure`);
  }
  t.pass('every import looked at');
  t.end();
});

t.test('the client needs nothing that is installed, and in a browser nothing of Node', (t) => {
  const forNode = ['clients/typescript/src/node.ts', 'clients/typescript/src/download.ts'];
  for (const { from, to, bare } of imports) {
    if (!bare || !within(from, 'clients/typescript/src')) continue;
    if (!to.startsWith('node:')) t.fail(`${from} imports ${to}; write it here, because the client has no dependencies`);
    else if (!forNode.includes(from))
      t.fail(`${from} imports ${to}; move it to node.ts, because browsers run the rest`);
  }
  for (const { from, to } of imports) {
    if (within(from, 'clients/typescript/src') && forNode.includes(to) && !forNode.includes(from))
      t.fail(`${from} imports ${to}, which needs Node, and browsers run ${from}`);
  }
  t.pass('every import looked at');
  t.end();
});

t.test('a task and a venue read no clock and roll no dice', (t) => {
  const pure = files.filter((f) => within(f, 'processors/task') || within(f, 'ingest/venues') || within(f, 'schemas'));
  for (const file of pure) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const found =
      /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\bsetTimeout\(|\bsetInterval\(/.exec(text);
    if (found) t.fail(`${file} uses ${found[0]}; take time from the record, because a replay must give the same bytes`);
  }
  t.pass('every pure file looked at');
  t.end();
});

t.test('everything is written to Kafka by one publisher: kafkajs sends in one file only', (t) => {
  const may = [
    'infra/runtime/kafka/sender.ts',
    // These compare with kafkajs as it comes, look at a broker as any client may, and count refusals that the publisher repeats.
    ...[
      'test/infra/runtime/kafka/brokers.test.ts',
      'test/infra/dev/engines.test.ts',
      'test/infra/runtime/kafka/kafka.test.ts',
    ],
  ];
  const because = 'its own repeat of a send acknowledges records that it did not send';
  for (const file of files) {
    const found = /\.producer\(|\.sendBatch\(|\.transaction\(/.exec(readFileSync(join(ROOT, file), 'utf8'));
    if (found && !may.includes(file) && file !== 'test/architecture.test.ts')
      t.fail(`${file} uses ${found[0]}; use createPublisher of infra/runtime/kafka/kafka.ts, because ${because}`);
  }
  for (const { from, to, bare } of imports) {
    const isClient = bare && (to === 'kafkajs' || to.startsWith('kafkajs/src/producer'));
    if (isClient && ['ingest', 'processors', 'api'].some((room) => within(from, room)))
      t.fail(`${from} imports ${to}; use infra/runtime/kafka/kafka.ts, because ${because}`);
  }
  t.pass('every file looked at');
  t.end();
});

t.test('nobody asks QuestDB for its tables(): while it starts they are a part', (t) => {
  const services = ['ingest', 'processors', 'api', 'schemas', 'infra/runtime'];
  for (const file of files.filter((one) => services.some((room) => within(one, room)))) {
    const code = readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    if (/(?<!wal_)\btables\(\)/.test(code))
      t.fail(`${file} asks for tables(); use hasTable of infra/runtime/questdb/has-table.ts, or wal_tables()`);
  }
  t.pass('every file looked at');
  t.end();
});

t.test('no venue is named outside its file, the registry, the simulator and tests', (t) => {
  const venues = readdirSync(join(ROOT, 'ingest/venues'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !['contract', 'shared'].includes(entry.name))
    .map((entry) => entry.name);
  for (const file of files) {
    if (isAssembler(file) || within(file, 'ingest/venues')) continue;
    const code = readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    for (const venue of venues) {
      const allowed = within(file, 'api/operations');
      if (!allowed && new RegExp(`\\b${venue}\\b`).test(code))
        t.fail(`${file} names ${venue}; ask the Venue value instead`);
    }
  }
  t.pass('every file looked at');
  t.end();
});

t.test('files stay readable in one sitting and describe themselves in their first line', (t) => {
  for (const file of files) {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n');
    if (!/^(?:\/\/ |\/\*\* |#!)/.test(lines[0] ?? '')) t.fail(`${file} begins without its one sentence`);
    const isTest = within(file, 'test');
    if (!isTest && !PRINTED.includes(file) && lines.length > LONGEST_FILE) {
      t.fail(
        `${file} has ${lines.length} lines; cut it where the words change, because ${LONGEST_FILE} is one sitting`,
      );
    }
  }
  t.pass('every file looked at');
  t.end();
});

/** The text of a call from its opening parenthesis to the closing one. */
const argumentsAt = (code: string, open: number): string => {
  let depth = 1;
  let at = open + 1;
  for (; depth > 0 && at < code.length; at++) depth += code[at] === '(' ? 1 : code[at] === ')' ? -1 : 0;
  return code.slice(open, at);
};

t.test('a refusal of the API says what to do (E-05)', (t) => {
  let calls = 0;
  for (const file of files.filter((one) => within(one, 'api') && !one.includes('/islands/'))) {
    const code = readFileSync(join(ROOT, file), 'utf8');
    for (const { index } of code.matchAll(/makeServiceError\(/g)) {
      const call = argumentsAt(code, index + 'makeServiceError'.length);
      calls += 1;
      if (!/\b(?:hint|extra)\b/.test(call))
        t.fail(`${file} refuses without a hint: ${call.slice(0, 90)}; add one sentence`);
    }
    for (const [entry] of code.matchAll(/\{\s*code: '[A-Z_]+',\s*message: (?:'[^']*'|`[^`]*`),?\s*\}/g))
      t.fail(`${file} refuses without a hint: ${entry.slice(0, 90)}; add one sentence`);
  }
  t.ok(calls > 30, `${calls} refusals looked at`);
  t.end();
});

t.test('what a name says is a total is a counter (the naming of Prometheus)', (t) => {
  let totals = 0;
  for (const file of files.filter((one) => !within(one, 'test'))) {
    const code = readFileSync(join(ROOT, file), 'utf8');
    for (const [, maker, name] of code.matchAll(/\b(\w*(?:Gauge|Counter|Histogram))\(\s*(?:\{\s*name: )?'(\w+)'/g)) {
      const isCounter = maker?.endsWith('Counter');
      totals += isCounter ? 1 : 0;
      if (isCounter !== name?.endsWith('_total'))
        t.fail(`${file}: found ${maker} for ${name}, use a counter where the name ends in _total and nowhere else`);
    }
  }
  t.ok(totals > 20, `${totals} counters looked at`);
  t.end();
});

t.test('the order of a run names test files that exist', (t) => {
  const text = readFileSync(join(ROOT, 'test/run.ts'), 'utf8');
  const lists = text.slice(text.indexOf('const ON_REQUEST'), text.indexOf('/** Folders whose tests need'));
  const names = [...lists.matchAll(/'([a-z][\w/-]*)'/g)].map(([, name]) => name);
  for (const name of names) {
    const isThere = [`test/${name}.test.ts`, `test/e2e/${name}.test.ts`].some((file) => files.includes(file));
    if (!isThere)
      t.fail(`test/run.ts names ${name}; use its path below test, because a name of no file orders nothing`);
  }
  t.ok(names.length > 20, `${names.length} names looked at`);
  t.end();
});
