// Calls of the explorer's pages: to this site, which passes them on to the data API. No page knows a key.

const RELAY = '/api/explore';

export type ApiFault = {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | null;
  /** Where in the text of a query, in UTF-16 units. */
  readonly position?: { readonly offset: number; readonly length: number } | null;
  readonly path?: string | null;
};

/** The API refused, or did not answer; `faults` are its errors. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly faults: readonly ApiFault[];
  constructor(status: number, faults: readonly ApiFault[]) {
    super(faults.map(({ message }) => message).join(' '));
    this.status = status;
    this.faults = faults;
  }
}

const AWAY: ApiFault = { code: 'UNAVAILABLE', message: 'The service does not respond. Try again in a few seconds.' };

const readFaults = async (answer: Response): Promise<readonly ApiFault[]> => {
  try {
    const { errors } = (await answer.json()) as { readonly errors?: readonly ApiFault[] };
    return errors ?? [AWAY];
  } catch {
    return [AWAY];
  }
};

type CallOptions = { readonly body?: unknown; readonly accept?: string; readonly signal?: AbortSignal };

/** Requests a path below `/v2` (`/snapshots`); a body makes it a POST. Throws `Refused`, or the AbortError of `signal`. */
export const callApi = async (path: string, { body, accept = 'application/json', signal }: CallOptions = {}) => {
  let answer: Response;
  try {
    answer = await fetch(`${RELAY}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new Refused(0, [AWAY]);
  }
  if (!answer.ok) throw new Refused(answer.status, await readFaults(answer));
  return answer;
};

/** The body that is being read (`answer.text()`). Throws `Refused` when the connection is lost before its end, or the AbortError of its call. */
export const readWhole = async <T>(body: Promise<T>): Promise<T> => {
  try {
    return await body;
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new Refused(0, [AWAY]);
  }
};

/** The JSON of an answer. Request `number_format: "string"` where digits matter: a number of JavaScript has only 17 of them. */
export const callJson = async <T>(path: string, asked: CallOptions = {}): Promise<T> =>
  JSON.parse(await readWhole((await callApi(path, asked)).text())) as T;

/** The live stream; after a loss the browser itself reconnects with the id of the last event. Close it with the page. */
export const openStream = (query: Readonly<Record<string, string>>): EventSource =>
  new EventSource(`${RELAY}/stream?${new URLSearchParams(query)}`);
