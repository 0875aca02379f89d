// Small pieces that several pages are made of.
import { html } from 'htm/preact';
import type { Content } from './shell.ts';

type Tone = 'good' | 'bad' | 'warn';

/** Screen readers announce it at once when it is about a failure. */
export const renderMessage = (tone: Tone, content: Content): Content =>
  html`<div class=${`message ${tone}`} role=${tone === 'bad' ? 'alert' : 'status'}>${content}</div>`;

/** Id of the message about a field. */
const toFaultId = (field: string): string => `${field}-fault`;

/** The fault of a form: `of` names the field at fault, whose `isAtFault` is then set. */
export const renderFault = (content: Content, of?: string): Content =>
  renderMessage('bad', html`<p id=${of === undefined ? undefined : toFaultId(of)}>${content}</p>`);

type Field = {
  readonly name: string;
  readonly label: string;
  readonly type?: 'text' | 'email' | 'password' | 'date';
  readonly value?: string;
  readonly autocomplete?: string;
  readonly hint?: string;
  readonly isOptional?: boolean;
  /** Marked, and described by the message that `fault` shows of it. */
  readonly isAtFault?: boolean;
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
};

export const renderField = ({
  name,
  label,
  type = 'text',
  value,
  autocomplete,
  hint,
  isOptional,
  isAtFault = false,
  attributes,
}: Field): Content => {
  const described = [...(isAtFault ? [toFaultId(name)] : []), ...(hint === undefined ? [] : [`${name}-hint`])];
  return html`<div class="field">
    <label for=${name}>${label}</label>
    <input
      id=${name}
      name=${name}
      type=${type}
      value=${value}
      autocomplete=${autocomplete ?? 'off'}
      required=${isOptional !== true}
      aria-invalid=${isAtFault ? 'true' : undefined}
      aria-describedby=${described.length === 0 ? undefined : described.join(' ')}
      ...${attributes ?? {}}
    />
    ${hint === undefined ? null : html`<span class="hint" id=${`${name}-hint`}>${hint}</span>`}
  </div>`;
};

/** A text to take away; its button appears once the script can copy. */
export const renderCopyable = (
  id: string,
  text: string,
  options: { readonly isSecret?: boolean; readonly wraps?: boolean } = {},
): Content =>
  html`<div class="copyable">
    <pre id=${id} class=${`${options.wraps ? 'wrap' : ''} ${options.isSecret ? 'secret' : ''}`.trim() || undefined} tabindex="0"><code>${text}</code></pre>
    <button type="button" class="quiet small" data-copy=${id} hidden>Copy</button>
  </div>`;

const padTwo = (figure: number): string => String(figure).padStart(2, '0');

/** An instant in UTC, to the minute; the local time is in its title once the script runs. */
export const renderInstant = (at: Date | null): Content => {
  if (at === null) return 'Never';
  const day = at.toISOString().slice(0, 10);
  const clock = `${padTwo(at.getUTCHours())}:${padTwo(at.getUTCMinutes())}`;
  return html`<time datetime=${at.toISOString()} data-local>${`${day} ${clock} UTC`}</time>`;
};

/** The day alone, where the minute is of no use; its instant is in the title. */
export const renderDay = (at: Date | null): Content => {
  if (at === null) return 'Never';
  const text = at.toISOString();
  return html`<time datetime=${text} title=${text} data-local>${text.slice(0, 10)}</time>`;
};

export const renderTag = (tone: Tone | 'plain', text: string): Content =>
  html`<span class=${tone === 'plain' ? 'tag' : `tag ${tone}`}>${text}</span>`;

type Column = { readonly label: string; readonly isNumber?: boolean; readonly isAction?: boolean };

/** A table that scrolls by itself on a phone. */
export const renderTable = (caption: string, columns: readonly Column[], rows: readonly Content[]): Content =>
  html`<div class="table" role="region" aria-label=${caption} tabindex="0">
    <table>
      <thead>
        <tr>
          ${columns.map(
            ({ label, isNumber, isAction }) =>
              html`<th scope="col" class=${isNumber ? 'number' : undefined}>
                ${isAction ? html`<span class="hidden-text">${label}</span>` : label}
              </th>`,
          )}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
