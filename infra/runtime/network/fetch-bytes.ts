// One HTTP request with a deadline and a byte limit; returns the bytes of the response unchanged.

type HttpRequest = {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
};
export type HttpAnswer = { readonly status: number; readonly headers: Headers; readonly body: Buffer };

/** The response is larger than the caller allows; nothing of it is kept. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** Resolves for any status. Rejects with `TimeoutError` or `AbortError` (DOMException), `AnswerTooLarge`, or fetch's own TypeError. */
export const fetchBytes = async (request: HttpRequest): Promise<HttpAnswer> => {
  const { url, method = 'GET', body, headers = {}, timeoutMs, maxBytes, signal } = request;
  const deadline = AbortSignal.timeout(timeoutMs);
  const answer = await fetch(url, {
    method,
    headers,
    signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
    ...(body === undefined ? {} : { body }),
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // A throw inside the loop cancels the stream, and with it the download.
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new AnswerTooLarge(`${url} answered more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return { status: answer.status, headers: answer.headers, body: Buffer.concat(chunks) };
};
