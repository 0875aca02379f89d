// Every operation of the data API; routes, documents and tools are rendered from this list.
import { account } from './account.ts';
import { agentState } from './agent-state.ts';
import { anchorDay } from './anchor-day.ts';
import { anchorProof } from './anchor-proof.ts';
import { archive } from './archive.ts';
import { archiveFile } from './archive-file.ts';
import { books } from './books.ts';
import { candles } from './candles.ts';
import { dqlCatalogue } from './dql-catalogue.ts';
import { dqlParse } from './dql-parse.ts';
import { history } from './history.ts';
import { instruments } from './instruments.ts';
import { liquidations } from './liquidations.ts';
import type { Operation } from './operation.ts';
import { receipt } from './receipt.ts';
import { screen } from './screen.ts';
import { snapshots } from './snapshots.ts';
import { venues } from './venues.ts';

export const OPERATIONS: readonly Operation[] = [
  venues,
  instruments,
  dqlCatalogue,
  dqlParse,
  screen,
  snapshots,
  history,
  candles,
  books,
  liquidations,
  agentState,
  archive,
  archiveFile,
  anchorDay,
  anchorProof,
  receipt,
  account,
];
