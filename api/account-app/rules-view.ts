// Parts of the pages of rules: the form with its check, the states, what matches now, the moves.
import { html } from 'htm/preact';
import type { ServiceError } from '../../schemas/errors.ts';
import { formatInstant, MICROS_PER_MS } from '../../schemas/instants.ts';
import type { Micros } from '../../schemas/records.ts';
import { RULE_UNITS, type Rule } from '../rules/rule.ts';
import type { OwnState, Transition } from '../rules/store.ts';
import { renderDay, renderField, renderInstant, renderMessage, renderTable, renderTag } from './components.ts';
import type { MatchedNow } from './rule-check.ts';
import type { RuleFields } from './rule-fields.ts';
import { type Content, type Exchange, renderFormField } from './shell.ts';
import type { Site } from './site.ts';

export const RULES_PATH = '/rules';
/** Codes that are listed of what matches now. */
const SHOWN_CODES = 50;

const toDate = (at: Micros): Date => new Date(at / MICROS_PER_MS);

const formatReason = (reason: string | null): string => (reason ?? 'unknown').replaceAll('_', ' ');

const formatCodes = (codes: readonly string[], total: number): string =>
  `${codes.join(', ')}${total > codes.length ? ` and ${total - codes.length} more` : ''}`;

const describeState = ({ state, reason, matched, matchedTotal }: OwnState): string => {
  if (state === 'unknown') return `unknown: ${formatReason(reason)}`;
  return state === 'false' ? 'false' : `true: ${formatCodes(matched, matchedTotal)}`;
};

/** Every fault of what was sent, with its place in the query. */
export const renderFaultList = ({ errors }: ServiceError): Content =>
  renderMessage(
    'bad',
    html`<ul class="plain">
      ${errors.map(
        ({ message: text, hint, position }) =>
          html`<li>
            ${position === undefined ? '' : `Line ${position.line}, column ${position.column}: `}${text} ${hint}
          </li>`,
      )}
    </ul>`,
  );

const formatShownCodes = (codes: readonly string[]): string => formatCodes(codes.slice(0, SHOWN_CODES), codes.length);

/** What a valid query matches now; null: the data API could not be queried. */
export const renderMatchedNow = (now: MatchedNow | null): Content => {
  if (now === null)
    return renderMessage('warn', html`<p>The query is valid. What it matches now cannot be read at the moment.</p>`);
  const { at, matched, unknown, isMore } = now;
  return renderMessage(
    'good',
    html`<p>The query is valid.</p>
      <p>
        ${matched.length === 0 ? 'It matches nothing' : html`It matches <strong>${formatShownCodes(matched)}</strong>`} at
        ${' '}<time datetime=${at}>${at}</time>${isMore ? ', as far as one page of your plan shows' : ''}.
        ${unknown.length === 0 ? '' : ` Unknown because an input is not known: ${formatShownCodes(unknown)}.`}
      </p>`,
  );
};

const check = (name: 'enabled' | 'shared', label: string, fields: RuleFields): Content =>
  html`<label class="check"><input type="checkbox" name=${name} checked=${fields[name] === 'on'} /> ${label}</label>`;

const renderQueryField = ({ query }: RuleFields): Content =>
  html`<div class="field">
    <label for="query">Query</label>
    <textarea
      id="query"
      name="query"
      rows="4"
      required
      spellcheck="false"
      autocomplete="off"
      aria-describedby="query-hint query-told"
      data-check="/api/rules/check"
      data-words="/api/rules/words"
    >${query}</textarea>
    <p class="hint" id="query-told" role="status"></p>
    <span class="hint" id="query-hint">DQL without as of, select and order by, such as any(venues where funding > 5bps).</span>
  </div>`;

const renderUnitsField = ({ units }: RuleFields): Content =>
  html`<div class="field">
    <label for="units">Units</label>
    <select id="units" name="units">
      ${RULE_UNITS.map((unit) => html`<option value=${unit} selected=${units === unit}>${unit}</option>`)}
    </select>
  </div>`;

type RuleForm = { readonly path: string; readonly fields: RuleFields; readonly verb: string };

export const renderRuleForm = (site: Site, exchange: Exchange, { path, fields, verb }: RuleForm): Content =>
  html`<form method="post" action=${path} class="panel">
    ${renderFormField(site, exchange, path)} ${renderField({ name: 'name', label: 'Name', value: fields.name })}
    ${renderQueryField(fields)}
    <div class="row even">
      ${renderField({ name: 'interval', label: 'Every', value: fields.interval })}
      ${renderUnitsField(fields)}
      ${renderField({ name: 'freshness', label: 'Freshness', value: fields.freshness, isOptional: true, attributes: { placeholder: 'the defaults' } })}
    </div>
    ${check('enabled', 'Enabled', fields)}
    ${check('shared', 'Shared: others may read its state by its name', fields)}
    <p class="actions">
      <button type="submit" name="do" value="save">${verb}</button>
      <button type="submit" name="do" value="check" class="quiet">Check, and show what it matches now</button>
    </p>
  </form>`;

const TONES = { true: 'good', false: 'plain', unknown: 'warn' } as const;

const renderRuleRow = (rule: Rule, state: OwnState | undefined): Content =>
  html`<tr class=${rule.enabled ? undefined : 'off'}>
    <th scope="row" class="wraps"><a href=${`${RULES_PATH}/${rule.ruleId}`}>${rule.name}</a></th>
    <td class="wraps"><code>${rule.query}</code></td>
    <td>${state === undefined ? '' : renderTag(TONES[state.state], describeState(state))}</td>
    <td>${state === undefined ? '' : renderInstant(toDate(state.since))}</td>
    <td>${rule.shared ? 'Shared' : ''}</td>
  </tr>`;

const makeColumns = (...labels: readonly string[]) => labels.map((label) => ({ label }));

export const renderRuleTable = (rules: readonly Rule[], states: ReadonlyMap<string, OwnState>): Content =>
  rules.length === 0
    ? html`<p class="muted">You have no rule yet.</p>`
    : renderTable(
        'Your rules',
        makeColumns('Name', 'Query', 'State', 'Since', 'Shared'),
        rules.map((rule) => renderRuleRow(rule, states.get(rule.ruleId))),
      );

/** Instants of moves to the microsecond, as the answer of the API has them. */
const renderMoveRow = ({ at, from, to, reason, matched, matchedTotal }: Transition): Content =>
  html`<tr>
    <td><time datetime=${formatInstant(at)}>${formatInstant(at)}</time></td>
    <td>${from}</td>
    <td>${to}</td>
    <td>${reason === null ? formatCodes(matched, matchedTotal) : formatReason(reason)}</td>
  </tr>`;

export const renderMoveTable = (moves: readonly Transition[]): Content =>
  moves.length === 0
    ? html`<p class="muted">Its state has not changed yet.</p>`
    : renderTable('Last moves', makeColumns('At', 'From', 'To', 'Why'), moves.map(renderMoveRow));

export const renderStateLead = (state: OwnState, rule: Rule): Content =>
  html`<p class="lead">
    ${describeState(state)}, since ${formatInstant(state.since)};
    ${state.evaluatedAt === null ? ' not evaluated yet' : ` evaluated at ${formatInstant(state.evaluatedAt)}`}. Made on ${renderDay(rule.createdAt)}.
  </p>`;
