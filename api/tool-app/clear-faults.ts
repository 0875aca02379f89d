// The protocol library answers parameters that are none with what its validator found, as a failure of its own: here they become one sentence.
import { ProtocolErrorCode } from '@modelcontextprotocol/server';
import { parseJson } from '../../schemas/json-object.ts';
import { CLIPPED_PATH, clip } from '../contract/sent-text.ts';

/** A message that is the validator's list of issues. */
const LIST = /^(?:Invalid [\w/]+ request: )?(\[[\s\S]*\])$/;
/** An answer that may have one: most have none, and are not read again. */
const LISTED = /"error":\{"code":-3260[23],"message":"(?:Invalid [\w/]+ request: )?\[/;

type Issue = { readonly path?: readonly unknown[]; readonly message?: string };
type Message = { readonly id?: unknown; readonly error?: { readonly message?: string } };

/** The first issue, which names the member and what it should be. */
const readIssue = (message: string): Issue | null => {
  const [, listed] = LIST.exec(message) ?? [];
  const issues = listed === undefined ? null : parseJson(listed);
  return Array.isArray(issues) && issues.length > 0 ? (issues[0] as Issue) : null;
};

const toSentence = ({ path = [], message = '' }: Issue): string => {
  const wanted = message.replace(/^Invalid input:? ?/, '').replace('expected record', 'expected object');
  return `"${clip(path.join('.'), CLIPPED_PATH)}" is not valid${wanted === '' ? '' : `: ${wanted}`}.`;
};

/** The message with a list of issues replaced by -32602 and the first of them. */
export const clearFault = <M extends object>(message: M): M => {
  const { id, error } = message as Message;
  const issue = readIssue(error?.message ?? '');
  if (issue === null) return message;
  return {
    jsonrpc: '2.0',
    id,
    error: { code: ProtocolErrorCode.InvalidParams, message: toSentence(issue) },
  } as unknown as M;
};

/** The same for the text of an answer. */
export const clearFaults = (text: string): string =>
  LISTED.test(text) ? JSON.stringify(clearFault((parseJson(text) ?? {}) as object)) : text;
