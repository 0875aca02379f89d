// The calls that the site makes with the explorer's key for visitors: an explicit list, so that it contains no data of the account of that key.
import type { Endpoint } from '../contract/endpoint.ts';

export type RelayedCall = {
  readonly method: 'GET' | 'POST';
  /** Below `/v2` of the data API and below the prefix of the relay; parameters begin with a colon. */
  readonly path: string;
  /** Open calls are made without a key and are not counted. */
  readonly needsKey: boolean;
  /** Query parameters for what belongs to the account of the key: without a session they are refused. */
  readonly own?: readonly string[];
  /** Its answer has no end of its own. */
  readonly isEndless?: boolean;
};

const call = (method: 'GET' | 'POST', path: string): RelayedCall => ({ method, path, needsKey: true });
const openCall = (method: 'GET' | 'POST', path: string): RelayedCall => ({ method, path, needsKey: false });

export const RELAYED: readonly RelayedCall[] = [
  call('POST', '/snapshots'),
  call('POST', '/snapshots/history'),
  call('POST', '/screen'),
  call('POST', '/candles'),
  call('POST', '/books'),
  call('POST', '/liquidations'),
  call('GET', '/archive'),
  call('GET', '/archive/:listing/:layer/:day'),
  call('GET', '/anchors/proof'),
  { ...call('GET', '/stream'), own: ['rules'], isEndless: true },
  openCall('GET', '/anchors/:day'),
  openCall('GET', '/venues'),
  openCall('GET', '/instruments'),
  openCall('GET', '/dql/catalogue'),
  openCall('POST', '/dql/parse'),
];

/** The path of an endpoint as the router writes it. */
export const toRoute = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1');

/** Whether the site may make this call for a visitor who is not signed in: without a key, or as one of the relayed. */
export const isForVisitors = ({ key, method, path }: Pick<Endpoint, 'key' | 'method' | 'path'>): boolean =>
  key === 'open' || RELAYED.some((relayed) => relayed.method === method && `/v2${relayed.path}` === toRoute(path));

/** A path with its parameters. Null when one is missing or would lead to another call. */
export const fillPath = (route: string, params: Readonly<Record<string, string>>): string | null => {
  const segments = route.split('/').map((part) => (part.startsWith(':') ? (params[part.slice(1)] ?? '') : part));
  if (segments.slice(1).some((segment) => segment === '' || segment === '.' || segment === '..')) return null;
  return segments.map(encodeURIComponent).join('/').replaceAll('%3A', ':');
};
