// The facilitator of a local run as a process: places the token on the chain of RPC_URL, then serves on loopback.
import { placeUsdc } from './local-usdc.ts';
import { serveFacilitator } from './server.ts';

const { RPC_URL: rpcUrl = '', FACILITATOR_PORT: port = '0' } = process.env;

await placeUsdc(rpcUrl);
const server = await serveFacilitator(rpcUrl, Number(port));
process.stdout.write(`${JSON.stringify({ listening: server.url })}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.stop());
