// The first call of a new key: the `curl` that the page shows, and the call that the page makes for it.
import type { ApiCall } from './call-api.ts';
import type { SiteUrls } from './site.ts';

const PATH = '/v2/snapshots';
const BODY = '{"where": "base = BTC", "layers": ["mark", "funding"]}';

export const FIRST_CALL: ApiCall = { method: 'POST', path: PATH, body: BODY };

export const formatExampleCurl = ({ base }: SiteUrls, key: string): string =>
  [
    `curl -s ${base}${PATH} \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${BODY}'`,
  ].join('\n');
