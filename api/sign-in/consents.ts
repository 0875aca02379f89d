// What the consent page decides: Allow makes a connection and lets the authorisation go on, Deny makes nothing (T-10).
import type { IncomingMessage, ServerResponse } from 'node:http';
import type Provider from 'oidc-provider';
import { errors } from 'oidc-provider';
import type { Session } from '../accounts/sessions.ts';
import { type Connections, NoRoom } from './connections.ts';
import { isLoopbackRedirect } from './redirects.ts';
import type { Units } from './units.ts';

/** The client and what it requests, as the page shows it. */
export type Asking = {
  readonly clientId: string;
  /** The client's own name for itself; it is not verified. */
  readonly clientName: string | null;
  readonly redirectUri: string;
  readonly isLoopback: boolean;
  /** Where the browser goes when the page was answered before; else null. */
  readonly answeredTo: string | null;
};

/** The request of a browser: its cookie determines which interaction it may answer. */
type Browser = { readonly req: IncomingMessage; readonly res: ServerResponse };

const readName = (name: unknown): string | null => (typeof name === 'string' && name.trim() !== '' ? name : null);

/** Null: there is no such interaction, its time is over, or it is another browser's. */
const readConsent = async (provider: Provider, { req, res }: Browser, uid: string): Promise<Asking | null> => {
  const details = await provider.interactionDetails(req, res).catch((error: unknown) => {
    if (error instanceof errors.SessionNotFound) return null;
    throw error;
  });
  if (details === null || details.uid !== uid) return null;
  const { client_id: clientId, redirect_uri: redirectUri } = details.params;
  if (typeof clientId !== 'string' || typeof redirectUri !== 'string') return null;
  const client = await provider.Client.find(clientId);
  if (client === undefined) return null;
  return {
    clientId,
    clientName: readName(client.clientName),
    redirectUri,
    isLoopback: isLoopbackRedirect(redirectUri),
    answeredTo: details.result === undefined ? null : details.returnTo,
  };
};

export const openConsents = ({
  provider,
  connections,
  units,
}: {
  readonly provider: Provider;
  readonly connections: Connections;
  readonly units: Units;
}) => {
  const read = (browser: Browser, uid: string): Promise<Asking | null> => readConsent(provider, browser, uid);
  return {
    read,
    /**
     * Connection, key and the answer to the provider are one transaction. Answers where the browser goes; `full`: the account holds five
     * connections and none was chosen to be ended; `ended`: its session has; null: as of `read`. A second press goes where the first one went.
     */
    allow: async (
      { req, res }: Browser,
      {
        uid,
        session: { accountId, sessionId },
        instead,
      }: {
        readonly uid: string;
        readonly session: Pick<Session, 'accountId' | 'sessionId'>;
        readonly instead: string | null;
      },
    ): Promise<string | 'full' | 'ended' | null> => {
      // Outside the transaction, because the document of a client may have to be fetched.
      if ((await read({ req, res }, uid)) === null) return null;
      try {
        return await units.run(async () => {
          await connections.lockAccount(accountId);
          if (!(await connections.hasSession(sessionId))) return 'ended';
          const asking = await read({ req, res }, uid);
          if (asking === null || asking.answeredTo !== null) return asking?.answeredTo ?? null;
          const grantId = await connections.allow({ ...asking, accountId, instead });
          const result = { login: { accountId, remember: false }, consent: { grantId } };
          return provider.interactionResult(req, res, result, { mergeWithLastSubmission: false });
        });
      } catch (error) {
        if (error instanceof NoRoom) return 'full';
        throw error;
      }
    },
    /** Answers where the browser goes; null: as of `read`. */
    deny: async ({ req, res }: Browser, uid: string): Promise<string | null> => {
      const asking = await read({ req, res }, uid);
      if (asking === null || asking.answeredTo !== null) return asking?.answeredTo ?? null;
      const result = { error: 'access_denied', error_description: 'The user denied the connection.' };
      return provider.interactionResult(req, res, result, { mergeWithLastSubmission: false });
    },
  };
};
export type Consents = ReturnType<typeof openConsents>;
