// One call to the data API for a page: its JSON, or an error that has the status.
const ANSWER_MS = 20_000;

export class NotAnswered extends Error {
  override readonly name = 'NotAnswered';
  readonly status: number;
  constructor(url: string, status: number) {
    super(`${url} answered ${status}`);
    this.status = status;
  }
}

/** Rejects with NotAnswered when the answer is a refusal, otherwise when there is none. */
export const fetchJson = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> => {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(ANSWER_MS) });
  if (!answer.ok) throw new NotAnswered(url, answer.status);
  return answer.json();
};
