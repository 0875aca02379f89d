// The protocol library answers parameters that are none with what its validator found, as a failure of its own: here they become one sentence.

const INVALID_PARAMS = -32_602;
/** An error whose message is the validator's list of issues. */
const LISTED = /"error":\{"code":-3260[23],"message":"(?:Invalid [\w/]+ request: )?\[/;

type Issue = { readonly path?: readonly unknown[]; readonly message?: string };
type Refusal = { readonly id?: unknown; readonly error?: { readonly message?: string } };

const readJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** The first issue, which names the member and what it should be. */
const readIssue = (message: string): Issue | null => {
  const issues = readJson(message.slice(message.indexOf('[')));
  return Array.isArray(issues) && issues.length > 0 ? (issues[0] as Issue) : null;
};

const toSentence = ({ path = [], message = '' }: Issue): string => {
  const wanted = message.replace(/^Invalid input:? ?/, '');
  return `"${path.join('.').slice(0, 120)}" is not valid${wanted === '' ? '' : `: ${wanted}`}.`;
};

/** The text of an answer, in which a list of issues is replaced by -32602 with the first of them. */
export const clearFaults = (text: string): string => {
  if (!LISTED.test(text)) return text;
  const { id, error } = (readJson(text) ?? {}) as Refusal;
  const issue = readIssue(error?.message ?? '');
  if (issue === null) return text;
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code: INVALID_PARAMS, message: toSentence(issue) } });
};
