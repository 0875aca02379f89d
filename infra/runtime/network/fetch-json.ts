// One GET with a deadline: its JSON, or an error that has the status.
const ANSWER_MS = 20_000;

export class NotAnswered extends Error {
  override readonly name = 'NotAnswered';
  readonly status: number;
  constructor(url: string, status: number) {
    super(`${url} answered ${status}`);
    this.status = status;
  }
}

type Options = {
  readonly headers?: Readonly<Record<string, string>>;
  /** Without an answer by then it rejects. */
  readonly withinMs?: number;
};

/** Rejects with NotAnswered when the answer is a refusal, otherwise when there is none. */
export const fetchJson = async (
  url: string,
  { headers = {}, withinMs = ANSWER_MS }: Options = {},
): Promise<unknown> => {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(withinMs) });
  if (!answer.ok) throw new NotAnswered(url, answer.status);
  return answer.json();
};
