// The identity of the site for authenticators (WebAuthn relying party).
import type { RelyingParty } from '../accounts/passkeys.ts';
import { SITE_NAME } from './shell.ts';
import type { Site } from './site.ts';

export const makeRelyingParty = ({ urls }: Pick<Site, 'urls'>): RelyingParty => {
  const { hostname, origin } = new URL(urls.account);
  return { id: hostname, origin, name: SITE_NAME };
};
