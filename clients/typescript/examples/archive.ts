// Every archive file of BTC funding that the plan includes, into a folder, with progress; a second run fetches what is new.
import { createClient } from 'perp-market-data-client';
import { downloadArchive } from 'perp-market-data-client/node';

const files = await downloadArchive(
  createClient(),
  { where: 'base = BTC', layer: 'funding' },
  {
    folder: process.argv[2] ?? 'archive',
    onProgress: ({ file, bytes, total, state }) => console.error(file.listing, file.day, state, bytes, 'of', total),
  },
);
for (const { path, sha256 } of files) console.log(path, sha256);
