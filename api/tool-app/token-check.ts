// Checks an access token with the sign-in service, on every request: the tool server keeps nothing, so an ended connection ends at once (T-10).
import { Type } from 'typebox';
import { Agent } from 'undici';
import { limitTime } from '../../infra/runtime/time/within.ts';
import { compileShape } from '../contract/shapes.ts';

/** A caller that waits longer gets the answer to retry (T-07). */
const ANSWER_MS = 2_000;

/** `key` is what the API is called with instead of the token. */
type TokenFound = { readonly key: string } | 'refused' | 'unreachable';

export type Tokens = {
  readonly find: (token: string) => Promise<TokenFound>;
  readonly close: () => Promise<void>;
};

const Answer = Type.Union([
  Type.Object({ active: Type.Literal(false) }),
  Type.Object({ active: Type.Literal(true), key: Type.String() }),
]);
const isAnswer = compileShape(Answer);

/** Tokens are 43 characters; keys have another length, so neither is ever looked up as the other. */
const TOKEN = /^[\w-]{43}$/;
export const isToken = (text: string): boolean => TOKEN.test(text);

export type SignInAddress = {
  /** The private listener of the sign-in. */
  readonly url: string;
  /** The bearer it wants; rejects while it cannot be read. */
  readonly secret: () => Promise<Buffer>;
};

export const openTokens = ({ url, secret }: SignInAddress): Tokens => {
  const dispatcher = new Agent();
  const queryToken = async (token: string): Promise<TokenFound> => {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const bearer = (await limitTime(secret(), ANSWER_MS)).toString('base64url');
    const answer = await dispatcher.request({
      origin: new URL(url).origin,
      path: '/internal/token-check',
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
      signal,
    });
    const body: unknown = await answer.body.json();
    if (answer.statusCode !== 200 || !isAnswer(body)) return 'unreachable';
    return body.active ? { key: body.key } : 'refused';
  };
  return {
    find: (token) => queryToken(token).catch(() => 'unreachable' as const),
    close: () => dispatcher.close(),
  };
};
