// Calls the data API like a client with many keys: keep-alive connections, no compression, the time of each whole response.
import { Agent, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { hashKey, makeKey, shortenKey } from '../../../../api/access/keys.ts';
import { makeKeyId } from '../../../../api/contract/ids.ts';
import { openPostgres } from '../../../runtime/postgres/postgres.ts';

export type Timed = { readonly ms: number; readonly text: string; readonly bytes: number };

export type ApiClient = {
  readonly post: (path: string, body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Timed>;
  /** Follows a stream; once it is ready, resolves to the function that ends it. `onEvent` receives each event's name and its data as JSON. */
  readonly stream: (
    query: Readonly<Record<string, string>>,
    onEvent: (event: string, data: string) => void,
  ) => Promise<() => void>;
  /** Venue symbols the API lists, ascending. */
  readonly symbols: () => Promise<readonly string[]>;
  /** One of the keys, the same for the same number. */
  readonly key: (n: number) => string;
  readonly close: () => void;
};

/** A key may send 50 requests a second: enough keys in turn that no limit is reached. */
const KEYS = 200;
const FRAME = /^event: (.*)\ndata: (.*)$/m;
const ACCOUNT = 'acc_bench';

export const storeKeys = async (databaseUrl: string): Promise<readonly string[]> => {
  const keys = Array.from({ length: KEYS }, makeKey);
  const pool = openPostgres(databaseUrl, { max: 1 });
  try {
    await pool.query("insert into accounts (account_id, plan) values ($1, 'pro_plus') on conflict do nothing", [
      ACCOUNT,
    ]);
    await pool.query(
      `insert into api_keys (key_id, account_id, hash, display, name, plan)
       select id, $1, hash, display, 'bench', 'pro_plus' from unnest($2::text[], $3::bytea[], $4::text[]) as k (id, hash, display)`,
      [ACCOUNT, keys.map(() => makeKeyId(Date.now())), keys.map(hashKey), keys.map(shortenKey)],
    );
  } finally {
    await pool.end();
  }
  return keys;
};

export const openApiClient = async (baseUrl: string, databaseUrl: string): Promise<ApiClient> => {
  const keys = await storeKeys(databaseUrl);
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const post: ApiClient['post'] = (path, body, over = {}) => {
    const payload = JSON.stringify(body);
    turn += 1;
    const headers = {
      authorization: `Bearer ${keys[turn % keys.length]}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
      ...over,
    };
    return sendTimed(`${baseUrl}${path}`, { method: 'POST', agent, headers }, payload);
  };
  return {
    post,
    stream: (query, onEvent) => {
      const url = `${baseUrl}/v2/stream?${new URLSearchParams(query)}`;
      return followStream(url, { agent: false, headers: { authorization: `Bearer ${keys[0]}` } }, onEvent);
    },
    symbols: async () => {
      const { text } = await post('/v2/snapshots', { layers: ['mark'] });
      const { items } = JSON.parse(text) as { items: readonly { readonly venue_symbol: string }[] };
      return items.map(({ venue_symbol: symbol }) => symbol);
    },
    key: (n) => keys[n % keys.length] ?? '',
    close: () => agent.destroy(),
  };
};

/** The time to the last byte; rejects for any status but 200, with the start of the response text. */
const sendTimed = (url: string, options: RequestOptions, payload: string): Promise<Timed> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    const call = request(url, options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const ms = performance.now() - began;
        const whole = Buffer.concat(chunks);
        const text = whole.toString('utf8');
        if (answer.statusCode === 200) resolve({ ms, text, bytes: whole.length });
        else reject(toError(url, answer, text));
      });
    });
    call.on('error', reject);
    call.end(payload);
  });

/** Resolves at `ready` to the function that ends the stream. */
const followStream = (
  url: string,
  options: RequestOptions,
  onEvent: (event: string, data: string) => void,
): Promise<() => void> =>
  new Promise((resolve, reject) => {
    const call = request(url, options, (answer) => {
      let rest = '';
      answer.on('error', () => undefined);
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        if (answer.statusCode !== 200) return reject(toError(url, answer, chunk));
        const frames = `${rest}${chunk}`.split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) {
          const [, event = '', data = ''] = FRAME.exec(frame) ?? [];
          if (event === 'ready') resolve(() => call.destroy());
          onEvent(event, data);
        }
      });
    });
    call.on('error', reject);
    call.end();
  });

const toError = (url: string, { statusCode }: IncomingMessage, text: string): Error =>
  new Error(`${url}: ${statusCode} ${text.slice(0, 500)}`);
