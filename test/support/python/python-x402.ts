// The stock Python client of x402, installed by pip once, as commands that buy with an account of a test: by itself, and as the payer of our
// client. They need Python 3.11 or newer.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PaidCall } from '../services/paid-service.ts';
import { installPackages } from './python-packages.ts';

const VERSION = '2.25.0';
const CLIENT = fileURLToPath(new URL('../../../clients/python/src', import.meta.url));
const CONSTRAINTS = fileURLToPath(new URL('../../../clients/python/tests/requirements.txt', import.meta.url));

/** Default settings; a given amount is the one of a plan, which is above what a client pays without consent. */
const BUYER = `
import json, sys
from eth_account import Account
from x402 import x402ClientSync
from x402.http.clients.requests import x402_requests
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact.register import register_exact_evm_client

asked = json.loads(sys.argv[1])
amount = asked.get('amount')
choose = None if amount is None else lambda version, offers: next(offer for offer in offers if offer.amount == amount)
client = x402ClientSync(choose)
if amount is not None:
    client.set_spend_controls({'max_amount_per_payment': '$300'})
register_exact_evm_client(client, EthAccountSigner(Account.from_key(asked['key'])))
answer = x402_requests(client).request(asked['method'], asked['url'], data=asked['body'],
                                       headers={'Content-Type': 'application/json'}, allow_redirects=False)
print(json.dumps({'status': answer.status_code, 'receipt': answer.headers['X-Service-Receipt'], 'text': answer.text}))
`;

/** Our client with its `x402_payer`, as its README has it. */
const OUR_BUYER = `
import json, sys
from eth_account import Account
import perp

asked = json.loads(sys.argv[1])
client = perp.Client(base_url=asked['url'], payer=perp.x402_payer(Account.from_key(asked['key'])))
answer = client.snapshots('base = BTC', layers=['mark']).data
print(json.dumps({'status': 200, 'receipt': answer['receipt_id'], 'text': json.dumps(answer)}))
`;

type Bought = { readonly status: number; readonly receipt: string; readonly text: string };

const run = async (program: string, asked: object): Promise<Bought> => {
  const packages = ['--constraint', CONSTRAINTS, `x402[requests,evm]==${VERSION}`, 'httpx2'];
  const home = await installPackages(`x402-${VERSION}`, packages);
  const env = { PATH: process.env['PATH'], PYTHONPATH: `${home}:${CLIENT}`, PYTHONDONTWRITEBYTECODE: '1' };
  const words = ['-c', program, JSON.stringify(asked)];
  const { stdout } = await promisify(execFile)('python3', words, { env, maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as Bought;
};

/** Buys with the first offer, or with that of `amount`. */
export const buyWithPython = async (
  baseUrl: string,
  key: string,
  { path, ...call }: PaidCall & { readonly amount?: string },
): Promise<Bought> => {
  return run(BUYER, { ...call, key, url: `${baseUrl}${path}` });
};

/** Buys snapshots of BTC with our client. */
export const buyWithOurPython = (baseUrl: string, key: string): Promise<Bought> =>
  run(OUR_BUYER, { key, url: baseUrl });
