// A call of a tool: one call of the API, its answer as the result or its refusal as a failure (T-02, T-05).
import type { ApiAnswer, Arguments, CallApi, Caller } from './call-api.ts';
import { parseKeepingDigits } from './digits.ts';
import { type Failure, readErrors, toFailure, UNREACHABLE } from './failures.ts';
import type { Tool } from './tools.ts';

type ToolResult =
  | {
      readonly content: [{ readonly type: 'text'; readonly text: string }];
      readonly structuredContent: Record<string, unknown>;
    }
  | Failure;

/** The caller, and the answer to the whole request when the API does not accept its key. */
export type ToolCaller = Caller & { readonly onUnauthorized: () => void };

const isAnswer = ({ status }: ApiAnswer): boolean => status >= 200 && status < 300;

/** Null: the text is of something before the API, such as a page of a proxy. Every answer of the API is an object. */
const readAnswer = (text: string): Record<string, unknown> | null => {
  try {
    return text.startsWith('{') ? (parseKeepingDigits(text) as Record<string, unknown>) : null;
  } catch {
    return null;
  }
};

/** Never rejects: whatever went wrong is a failure that a model can read. */
export const callTool = async (
  tool: Tool,
  { args, caller }: { readonly args: Arguments; readonly caller: ToolCaller },
  callApi: CallApi,
): Promise<ToolResult> => {
  const answer = await callApi(tool, args, caller).catch(() => UNREACHABLE);
  if (answer.status === 401 && readErrors(answer.text).length > 0) caller.onUnauthorized();
  if (!isAnswer(answer)) return toFailure(answer);
  const { text } = answer;
  const structuredContent = readAnswer(text);
  return structuredContent === null ? toFailure(UNREACHABLE) : { content: [{ type: 'text', text }], structuredContent };
};
