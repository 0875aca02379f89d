// Whether the document of a client may be fetched from its host: one whose addresses are all public, before anything connects to them (T-08).
import { limitTime } from '../../infra/runtime/time/within.ts';
import { listPublicAddresses, type Resolve, resolveHost } from '../rules/public-address.ts';

/** As long as the library waits for the document. */
const LOOKUP_MS = 2_500;

/** The library refuses an address that it has connected to: how long that takes would tell strangers what listens in our network. */
export const isPublicHost = (clientId: string, resolve: Resolve = resolveHost): Promise<boolean> =>
  limitTime(listPublicAddresses(new URL(clientId).hostname, { resolve, allowsLoopback: false }), LOOKUP_MS).then(
    () => true,
    () => false,
  );
