// What is kept of the description of a client, whether it registered or was fetched from an address of its own (T-08).
import { errors } from 'oidc-provider';
import { isStorableJson } from '../../infra/runtime/postgres/storable.ts';
import { isOwnHttps, isRedirectAllowed } from './redirects.ts';

const MOST_REDIRECTS = 10;
const LONGEST_NAME = 120;
export const GRANT_TYPES = ['authorization_code', 'refresh_token'];
/** No token is ever signed; the library wants an algorithm that it has a key for. */
export const ID_TOKEN_ALG = 'ES256';

/** What a client says of itself. Everything else of its description is decided here or means nothing here. */
export const DESCRIBED: readonly string[] = [
  ...['redirect_uris', 'client_name', 'client_uri', 'logo_uri', 'tos_uri', 'policy_uri', 'contacts'],
  ...['software_id', 'software_version'],
];
const KEPT: ReadonlySet<string> = new Set([...DESCRIBED, 'client_id', 'client_id_issued_at']);

/** Runs for every client that is registered, read or fetched, before the library judges what is left of its metadata. */
export const checkClient = (metadata: Record<string, unknown>): void => {
  if (!isStorableJson(metadata))
    throw new errors.InvalidClientMetadata('a text contains a character that is not allowed');
  for (const name of Object.keys(metadata)) if (!KEPT.has(name)) delete metadata[name];
  const { redirect_uris: redirects, client_name: name } = metadata;
  if (Array.isArray(redirects)) {
    if (redirects.length > MOST_REDIRECTS)
      throw new errors.InvalidClientMetadata(`redirect_uris has at most ${MOST_REDIRECTS} members`);
    for (const one of redirects) {
      if (typeof one !== 'string' || !isRedirectAllowed(one))
        throw new errors.InvalidClientMetadata('redirect_uris must be https, or http on localhost or 127.0.0.1');
    }
  }
  if (typeof name === 'string' && name.length > LONGEST_NAME)
    throw new errors.InvalidClientMetadata(`client_name has at most ${LONGEST_NAME} characters`);
  // Native clients may mix https and loopback addresses.
  const hasOwnHttps = Array.isArray(redirects) && redirects.some(isOwnHttps);
  metadata['application_type'] = hasOwnHttps ? 'web' : 'native';
  metadata['grant_types'] = GRANT_TYPES;
  metadata['response_types'] = ['code'];
  metadata['token_endpoint_auth_method'] = 'none';
  metadata['id_token_signed_response_alg'] = ID_TOKEN_ALG;
};
