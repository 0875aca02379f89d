// GET /docs/verify: both verifiers of anchored data and their use, without a key (AN-10).
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { anchorDay } from '../operations/anchor-day.ts';
import { anchorProof } from '../operations/anchor-proof.ts';

export const VERIFY_PATH = '/docs/verify';

const SCRIPTS = [
  { name: 'verify.mjs', type: 'text/javascript; charset=utf-8', needs: 'Node 22.15 or newer', runs: 'node' },
  { name: 'verify.py', type: 'text/x-python; charset=utf-8', needs: 'Python 3.9 or newer', runs: 'python3' },
] as const;
/** The site's colours and type. Long commands scroll in their own box; the policy of the API admits this text alone. */
const STYLE = [
  ':root{color-scheme:light dark;background:light-dark(#fff,#0f1419);color:light-dark(#16202b,#e6ebf0)}',
  'body{max-width:48rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 system-ui,sans-serif}h1{font-size:1.75rem}h2{margin-top:2rem;font-size:1.15rem}',
  'a{color:light-dark(#0b6e5a,#45c4a3)}pre,code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.875rem}',
  'pre{overflow-x:auto;padding:.75rem 1rem;border:1px solid light-dark(#dde3e9,#2a343e);border-radius:8px;background:light-dark(#f2f5f7,#161d24)}',
].join('');
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const POLICY = `default-src 'none';style-src 'sha256-${STYLE_HASH}';frame-ancestors 'none'`;
/** The scripts change only with a release. */
const CACHING = 'public, max-age=60';

/** The example of an operation as a query of a URL, in HTML; its day is that of the shell. */
const EXAMPLE = new URLSearchParams({ ...(anchorProof.example.input as Record<string, string>), at: '' })
  .toString()
  .replaceAll('&', '&amp;')
  .replace('at=', `at=\${DAY}T12:10:00Z`);

const renderPage = (baseUrl: string): string => {
  const scripts = SCRIPTS.map(
    ({ name, needs }) => `<li><a href="${baseUrl}${VERIFY_PATH}/${name}">${name}</a>: ${needs}, nothing else</li>`,
  );
  const runs = SCRIPTS.flatMap(({ name, runs: command }) => [
    `curl -sO ${baseUrl}${VERIFY_PATH}/${name}`,
    `${command} ${name} PROOF.json --rpc URL`,
  ]);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Verify anchored data</title><style>${STYLE}</style></head><body><main>
<h1>Verify anchored data</h1>
<p>Every stored row of a UTC day is a leaf of a hash tree, and the root of the tree is posted on a public chain a week later. Two scripts recompute
every step from a row to the posted root. Each is one file, needs nothing of this service, and can be read before it is run.</p>
<ul>
${scripts.join('\n')}
</ul>
<h2>One row</h2>
<pre tabindex="0">
DAY=${anchorDay.example.input.day}
curl -s -H "Authorization: Bearer $KEY" -o PROOF.json \\
  "${baseUrl}${anchorProof.path}?${EXAMPLE}"
${runs.join('\n')}
</pre>
<p>DAY is any anchored day: <code>GET /v2/archive</code> lists days, and the error for a day that is too early states the first. Either script is enough. URL is any node of the chain that the answer names, such as https://mainnet.base.org. Without <code>--rpc</code> the steps on the chain are
skipped.</p>
<h2>A whole table of a day</h2>
<pre tabindex="0">
curl -s ${baseUrl}/v2/anchors/$DAY &gt; DAY.json
python3 verify.py DAY.json FILE... --rpc URL
</pre>
<p>FILE... are the final archive files of all listings of one table, in any format (<code>GET /v2/archive</code> lists them).</p>
<h2>The result</h2>
<p>Each step is a line: <code>ok</code>, <code>FAIL</code> with what was expected and what was found, or <code>skip</code>. The exit code is 0 when
everything that was checked holds, 1 when a step fails, 2 when a file cannot be used. Compare <code>anchor.contract</code> with the address that this
service publishes: anyone can deploy the same code.</p>
</main></body></html>
`;
};

const send = (reply: FastifyReply, type: string, text: string | Buffer): FastifyReply =>
  reply.header('cache-control', CACHING).type(type).send(text);

export const addVerifyDocs = (app: FastifyInstance, baseUrl: string): void => {
  const page = renderPage(baseUrl);
  app.get(VERIFY_PATH, (_request, reply) =>
    send(reply.header('content-security-policy', POLICY), 'text/html; charset=utf-8', page),
  );
  for (const { name, type } of SCRIPTS) {
    const script = readFileSync(new URL(`../../infra/verify/${name}`, import.meta.url));
    app.get(`${VERIFY_PATH}/${name}`, (_request, reply) => send(reply, type, script));
  }
};
