// The documents by which an OAuth client finds the sign-in, served without credentials (T-07, T-08; RFC 9728, RFC 8414).

export type Addresses = {
  readonly mcpUrl: string;
  /** Issuer of the sign-in, without a slash at its end; null where there is none and a key is the only way in. */
  readonly authUrl: string | null;
};

const SCOPE = 'market:read';
const RESOURCE_PATH = '/.well-known/oauth-protected-resource';

const makeResourceDocument = ({ mcpUrl, authUrl }: Addresses) => ({
  resource: mcpUrl,
  ...(authUrl === null ? {} : { authorization_servers: [authUrl] }),
  scopes_supported: [SCOPE],
  bearer_methods_supported: ['header'],
  resource_name: 'Perpetual-futures market data',
});

const makeServerDocument = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/oauth/authorize`,
  token_endpoint: `${issuer}/oauth/token`,
  registration_endpoint: `${issuer}/oauth/register`,
  revocation_endpoint: `${issuer}/oauth/revoke`,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
  scopes_supported: [SCOPE, 'offline_access'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
});

/** By path. */
export const makeMetadataDocuments = (addresses: Addresses): ReadonlyMap<string, string> => {
  const resource = JSON.stringify(makeResourceDocument(addresses));
  const { authUrl } = addresses;
  return new Map([
    [RESOURCE_PATH, resource],
    [`${RESOURCE_PATH}${new URL(addresses.mcpUrl).pathname}`, resource],
    ...(authUrl === null
      ? []
      : ([['/.well-known/oauth-authorization-server', JSON.stringify(makeServerDocument(authUrl))]] as const)),
  ]);
};

/** The credentials of a request that gets a 401. */
export type Unaccepted = 'missing' | 'refused';

/** `WWW-Authenticate` of a 401. */
export const makeChallengeHeader = ({ mcpUrl, authUrl }: Addresses, credentials: Unaccepted): string => {
  const parts = [
    `resource_metadata="${authUrl ?? new URL(mcpUrl).origin}${RESOURCE_PATH}"`,
    `scope="${SCOPE}"`,
    ...(credentials === 'refused' ? ['error="invalid_token"'] : []),
  ];
  return `Bearer ${parts.join(', ')}`;
};
