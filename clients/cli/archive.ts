// `perp archive` and `perp proof verify`: archive files, and proofs of stored rows.
import type { AnchorProofRequest, ArchiveRequest } from '../typescript/src/index.ts';
import { type DownloadOptions, downloadArchive, verifyProof } from '../typescript/src/node.ts';
import { main as verifyFiles } from '../typescript/src/verify.mjs';
import { Ended, UsageError } from './exit.ts';
import { waitUnlessStopped } from './interrupts.ts';
import { cleanText } from './output.ts';
import { formatCount, toFileRows } from './rows.ts';
import { makeRequest, print, type Run, readNumberOption, readTextOption } from './run.ts';

const readArchiveRequest = (run: Run): ArchiveRequest => {
  const { layer, from, to } = run.options;
  return makeRequest<ArchiveRequest>(run, { layer, from, to });
};

export const listFiles = async (run: Run): Promise<void> => {
  const items = [];
  for await (const page of run.client.pages('archive', readArchiveRequest(run), { signal: run.world.signal }))
    items.push(...page.items);
  const bytes = items.reduce((sum, file) => sum + file.bytes, 0);
  print(run, {
    objects: items,
    rows: toFileRows(items),
    note: `${formatCount(items.length, 'file')}, ${(bytes / 1e6).toFixed(1)} MB`,
  });
};

/** Paths go to standard output, progress to standard error. */
export const fetchFiles = async (run: Run, folder: string): Promise<void> => {
  const { world, client } = run;
  const isShown = world.err.isTTY === true;
  const format = readTextOption(run.options, 'format') as DownloadOptions['format'];
  const files = await downloadArchive(client, readArchiveRequest(run), {
    folder,
    ...(format !== undefined && { format }),
    signal: world.signal,
    onProgress: ({ path, bytes, total, state }) => {
      if (isShown) world.err.write(`\r\x1b[K${state} ${path} ${Math.round((100 * bytes) / Math.max(1, total))} %`);
      else if (state !== 'fetching') world.err.write(`${state} ${path}\n`);
    },
  });
  if (isShown) world.err.write('\r\x1b[K');
  for (const { path } of files) world.out.write(`${path}\n`);
  world.err.write(`${formatCount(files.length, 'file')}, each with the hash that the service states\n`);
};

const readProofRequest = (run: Run): AnchorProofRequest => {
  const { venue, symbol, layer, at, id, priceType } = run.options;
  for (const [name, value] of Object.entries({ venue, symbol, layer, at }))
    if (typeof value !== 'string')
      throw new UsageError(`--${name} is missing.`, 'Give a file, or --venue, --symbol, --layer and --at.');
  const more = { price_type: priceType, id, seq: readNumberOption(run.options, 'seq') };
  return makeRequest<AnchorProofRequest>(run, { venue, symbol, layer, at, ...more });
};

/** The verifier's own report; exit code 1 when a step fails. */
export const verify = async (run: Run, file?: string): Promise<void> => {
  const rpc = readTextOption(run.options, 'rpc') ?? null;
  const { world, client } = run;
  if (file !== undefined) {
    const code = await waitUnlessStopped(world, verifyFiles([file, ...(rpc === null ? [] : ['--rpc', rpc])]));
    if (code !== 0) throw new Ended(code);
    return;
  }
  const tell = (line: string) => world.out.write(`${cleanText(line)}\n`);
  const check = await waitUnlessStopped(world, verifyProof(client, readProofRequest(run), { rpc, tell }));
  if (!check.verified) throw new Ended(1);
};
