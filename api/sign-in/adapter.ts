// Where the provider keeps what it gives out: PostgreSQL, by hashes. A grant of the provider is a connection, so no token is good without one.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import { errors } from 'oidc-provider';
import { isStorable } from '../../infra/runtime/postgres/storable.ts';
import { hashToken } from '../accounts/token-hash.ts';
import type { Connections, EndReason } from './connections.ts';
import type { Units } from './units.ts';

export const SCOPE = 'market:read';
export const OFFLINE = 'offline_access';

type AdapterDeps = {
  readonly units: Units;
  readonly connections: Connections;
  readonly issuer: string;
  readonly mcpUrl: string;
  /** Why the request that is being answered ends connections. */
  readonly endReason: () => EndReason;
  readonly nowMs: () => number;
};

/** The provider's address of an interaction has its id: it is put in again when it is read. */
const toResumeUrl = (issuer: string, id: string): string => `${issuer}/oauth/authorize/${id}`;

type ItemRow = { readonly payload: AdapterPayload; readonly consumed_at: Date | null };

const FIND = 'select payload, consumed_at from oidc_items where model = $1 and id_hash = $2 and expires_at > $3';
const CONNECTION_OF = 'select connection_id from oidc_items where model = $1 and id_hash = $2 and expires_at > $3';
const UPSERT = `
  insert into oidc_items (model, id_hash, payload, connection_id, expires_at) values ($1, $2, $3, $4, $5)
  on conflict (model, id_hash) do update set payload = excluded.payload, expires_at = excluded.expires_at`;
/** The provider looks first, and so do two at once: only one of them may go on. */
const CONSUME = `
  update oidc_items set consumed_at = $3 where model = $1 and id_hash = $2 and consumed_at is null returning connection_id`;
const DESTROY = 'delete from oidc_items where model = $1 and id_hash = $2';

const FIND_CLIENT = 'select metadata from oidc_clients where client_id = $1';
const UPSERT_CLIENT = `
  insert into oidc_clients (client_id, metadata) values ($1, $2)
  on conflict (client_id) do update set metadata = excluded.metadata`;

const toSeconds = (ms: number): number => Math.floor(ms / 1_000);

const unused = {
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  /** Everything of a grant goes with its connection. */
  revokeByGrantId: async () => undefined,
};

/** Codes and tokens: they prolong their connection, and are read under its lock. */
const PROLONGING: ReadonlySet<string> = new Set(['AuthorizationCode', 'RefreshToken']);

const createItemAdapter = (model: string, { units, connections, issuer, nowMs }: AdapterDeps): Adapter => {
  const { query } = units;
  const now = (): Date => new Date(nowMs());
  const isInteraction = model === 'Interaction';
  return {
    ...unused,
    async upsert(id, { jti: _id, returnTo: _address, ...payload }, expiresIn = 0) {
      const { grantId = null } = payload;
      const until = new Date(nowMs() + expiresIn * 1_000);
      await query(UPSERT, [model, hashToken(id), payload, isInteraction ? null : grantId, until]);
      if (grantId !== null && PROLONGING.has(model)) await connections.prolong(grantId, until);
    },
    async find(id) {
      const key = [model, hashToken(id), now()];
      if (!isInteraction) {
        const { rows } = await query<{ connection_id: string }>(CONNECTION_OF, key);
        if (rows[0] === undefined) return undefined;
        await connections.lock(rows[0].connection_id);
      }
      const row = (await query<ItemRow>(FIND, key)).rows[0];
      if (row === undefined) return undefined;
      const consumed = row.consumed_at === null ? {} : { consumed: toSeconds(row.consumed_at.getTime()) };
      return { ...row.payload, jti: id, ...consumed, ...(isInteraction ? { returnTo: toResumeUrl(issuer, id) } : {}) };
    },
    async consume(id) {
      const { rows } = await query(CONSUME, [model, hashToken(id), now()]);
      if (rows.length === 0) throw new errors.InvalidGrant('already used');
    },
    destroy: async (id) => void (await query(DESTROY, [model, hashToken(id)])),
  };
};

/** Clients are read outside transactions: a request that is refused for its client holds none. */
const createClientAdapter = ({ units: { alone } }: AdapterDeps): Adapter => ({
  ...unused,
  upsert: async (id, payload) => void (await alone(UPSERT_CLIENT, [id, payload])),
  find: async (id) =>
    isStorable(id) ? (await alone<{ metadata: AdapterPayload }>(FIND_CLIENT, [id])).rows[0]?.metadata : undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
});

/** A live connection seen as the provider's grant; both scopes are always granted (T-08). */
const createGrantAdapter = ({ connections, mcpUrl, endReason }: AdapterDeps): Adapter => ({
  ...unused,
  upsert: async () => undefined,
  async find(id) {
    const live = await connections.live(id);
    if (live === null) return undefined;
    return {
      jti: id,
      kind: 'Grant',
      accountId: live.account_id,
      clientId: live.client_id,
      openid: { scope: `openid ${OFFLINE} ${SCOPE}` },
      resources: { [mcpUrl]: SCOPE },
    };
  },
  consume: async () => undefined,
  destroy: async (id) => void (await connections.end(id, endReason())),
});

/** The account site's session is the only one: the provider's own begins and ends with a request. */
const NOTHING: Adapter = {
  ...unused,
  upsert: async () => undefined,
  find: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
};

const ITEMS: ReadonlySet<string> = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken', 'Interaction']);

export const createAdapter =
  (deps: AdapterDeps): ((model: string) => Adapter) =>
  (model) => {
    if (ITEMS.has(model)) return createItemAdapter(model, deps);
    if (model === 'Client') return createClientAdapter(deps);
    return model === 'Grant' ? createGrantAdapter(deps) : NOTHING;
  };
