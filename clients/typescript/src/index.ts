// What programs import: everything that runs in Node and in browsers. `perp-market-data-client/node` adds what needs files.
export type * from './api-types.ts';
export type { CallOptions, Retry } from './call.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  type PagedName,
  type TableFormat,
  type TableName,
} from './client.ts';
export { type AnyCode, ApiError, type ClientCode, isApiError } from './errors.ts';
export {
  type Followed,
  type FollowedGap,
  type FollowedStale,
  type FollowOptions,
  type FollowRequest,
  figuresOf,
} from './followed.ts';
export type { Connection, LiveEvent, LiveOptions, LiveRequest } from './live.ts';
