// Every operation of the data API; routes, documents and tools are rendered from this list.
import { account } from './account.ts';
import { books } from './books.ts';
import { dqlCatalogue } from './dql-catalogue.ts';
import { dqlParse } from './dql-parse.ts';
import { history } from './history.ts';
import { instruments } from './instruments.ts';
import type { Operation } from './operation.ts';
import { snapshots } from './snapshots.ts';
import { venues } from './venues.ts';

export const OPERATIONS: readonly Operation[] = [
  venues,
  instruments,
  dqlCatalogue,
  dqlParse,
  snapshots,
  history,
  books,
  account,
];
