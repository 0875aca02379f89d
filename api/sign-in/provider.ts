// The OAuth provider with the settings of T-08: public clients, code with PKCE S256, one scope, one resource, every time a page.
import { generateKeyPairSync } from 'node:crypto';
import Provider, { type Configuration, errors, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { createAdapter, OFFLINE, SCOPE } from './adapter.ts';
import { checkClient, GRANT_TYPES, ID_TOKEN_ALG } from './client-metadata.ts';
import { makeSignInSecret } from './connection-key.ts';
import type { Connections } from './connections.ts';
import { isPublicHost } from './document-hosts.ts';
import type { Exchanges } from './exchanges.ts';
import { isSameRedirect } from './redirects.ts';
import type { Units } from './units.ts';

const ACCESS_TOKEN_S = 3_600;
const REFRESH_TOKEN_S = 30 * 86_400;
const CODE_S = 60;
/** How long a consent page may stay open. */
const PAGE_S = 600;

type ProviderDeps = {
  readonly units: Units;
  readonly connections: Connections;
  readonly exchanges: Exchanges;
  /** `AUTH_URL` without a slash at its end. */
  readonly issuer: string;
  readonly mcpUrl: string;
  readonly secret: Buffer;
  readonly nowMs: () => number;
  readonly fetch?: typeof fetch;
};

/** Tokens are opaque, so nothing is ever signed; without a key of ours the library would bring one that everybody knows. */
const makeUnusedKey = () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'unused' }] };
};

/** One page resolves everything, and every authorisation shows it (T-08). */
const makePagePolicy = () => {
  const { Check, Prompt } = interactionPolicy;
  const policy = interactionPolicy.base();
  policy.clear();
  const check = new Check('page', 'the user has to allow it', 'consent_required', ({ oidc }) =>
    oidc.result?.consent === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
  );
  policy.add(new Prompt({ name: 'consent', requestable: false }, check));
  return policy;
};

const findGrant = async ({ oidc }: KoaContextWithOIDC) => {
  const grantId = oidc.result?.consent?.grantId;
  return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
};

const makeFeatures = ({ mcpUrl, exchanges, fetch }: ProviderDeps): NonNullable<Configuration['features']> => ({
  devInteractions: { enabled: false },
  userinfo: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  claimsParameter: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  registration: { enabled: true, issueRegistrationAccessToken: false },
  revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
  clientIdMetadataDocument: {
    enabled: true,
    ack: 'draft-02',
    allowFetch: async (_ctx, clientId) => exchanges.mayFetch() && (fetch !== undefined || isPublicHost(clientId)),
  },
  resourceIndicators: {
    enabled: true,
    defaultResource: () => mcpUrl,
    useGrantedResource: () => true,
    getResourceServerInfo: (_ctx, resource) => {
      if (resource !== mcpUrl) throw new errors.InvalidTarget();
      return { scope: SCOPE, audience: mcpUrl, accessTokenFormat: 'opaque', accessTokenTTL: ACCESS_TOKEN_S };
    },
  },
});

const makeCookies = ({ issuer, secret }: ProviderDeps): NonNullable<Configuration['cookies']> => {
  const options = { httpOnly: true, sameSite: 'lax', secure: issuer.startsWith('https:'), signed: true } as const;
  return {
    keys: [makeSignInSecret(secret, 'cookies').toString('base64url')],
    short: options,
    long: options,
    names: { session: '_connect_session', interaction: '_connect', resume: '_connect_resume' },
  };
};

const makeConfiguration = (deps: ProviderDeps): Configuration => ({
  adapter: createAdapter({ ...deps, endReason: deps.exchanges.endReason }),
  clientAuthMethods: ['none'],
  clientDefaults: {
    token_endpoint_auth_method: 'none',
    application_type: 'native',
    grant_types: GRANT_TYPES,
    id_token_signed_response_alg: ID_TOKEN_ALG,
    response_types: ['code'],
  },
  extraClientMetadata: {
    properties: ['software_id', 'software_version'],
    // Called with the context, the name and value of one property, and all that the client registers.
    validator: (...given) => checkClient(given[3] as Record<string, unknown>),
  },
  features: makeFeatures(deps),
  scopes: [SCOPE, OFFLINE],
  responseTypes: ['code'],
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  rotateRefreshToken: () => true,
  revokeGrantPolicy: () => true,
  expiresWithSession: async () => false,
  loadExistingGrant: findGrant,
  // A grant lives as long as its connection, which the adapter knows.
  ttl: {
    AuthorizationCode: CODE_S,
    AccessToken: ACCESS_TOKEN_S,
    RefreshToken: REFRESH_TOKEN_S,
    Grant: REFRESH_TOKEN_S,
    Interaction: PAGE_S,
    Session: PAGE_S,
  },
  findAccount: async (_ctx, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
  jwks: makeUnusedKey() as NonNullable<Configuration['jwks']>,
  cookies: makeCookies(deps),
  clientBasedCORS: () => true,
  renderError: async (ctx, out) => deps.exchanges.renderError(ctx, out),
  interactions: { policy: makePagePolicy(), url: (_ctx, { uid }) => `/connect/${uid}` },
  routes: {
    authorization: '/oauth/authorize',
    token: '/oauth/token',
    registration: '/oauth/register',
    revocation: '/oauth/revoke',
    jwks: '/oauth/jwks',
  },
  ...(deps.fetch === undefined ? {} : { fetch: deps.fetch }),
});

export const createProvider = (deps: ProviderDeps): Provider => {
  const provider = new Provider(deps.issuer, makeConfiguration(deps));
  // Addresses of links and cookies are those of the issuer, whatever proxy is before this process: see exchanges.ts.
  provider.proxy = true;
  // The library lets only native clients vary their loopback ports, which those with https on the own machine are not.
  provider.Client.prototype.redirectUriAllowed = function isAllowed(asked: string): boolean {
    return (this.redirectUris ?? []).some((registered) => isSameRedirect(registered, asked));
  };
  provider.use(deps.exchanges.middleware);
  return provider;
};
