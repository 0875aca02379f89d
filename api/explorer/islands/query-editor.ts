// The editor of queries: CodeMirror in a shadow root, where its style sheets are allowed under a policy that allows none in the page.
import { acceptCompletion, autocompletion, type Completion, type CompletionSource } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { type Diagnostic, linter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { EditorState, Prec } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, keymap, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import type { ApiFault } from './call.ts';
import { KEYWORDS, STATUSES, splitWords } from './query-words.ts';

export type Catalogue = {
  readonly fields: readonly Described[];
  readonly sources: readonly Described[];
  readonly functions: readonly (Described & { readonly signature: string })[];
  readonly venues: readonly string[];
  readonly currencies: readonly string[];
  readonly assets: readonly string[];
  readonly instruments: readonly string[];
  readonly timeframes: readonly string[];
  readonly bands: readonly string[];
  readonly earliest_retained: string | null;
};
type Described = { readonly name: string; readonly unit: string; readonly scope: string; readonly description: string };

type Editor = {
  readonly text: () => string;
  /** Replaces the whole text; it can be undone. */
  readonly setText: (text: string) => void;
  readonly show: (faults: readonly ApiFault[]) => void;
  readonly focus: () => void;
};

type EditorDeps = {
  readonly host: HTMLElement;
  readonly text: string;
  /** Null until it has come. */
  readonly catalogue: () => Catalogue | null;
  readonly onChange: () => void;
  readonly onRun: () => void;
  /** Called a moment after the last change. */
  readonly check: (text: string) => Promise<readonly ApiFault[]>;
};

const CHECK_DELAY_MS = 250;

const THEME = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--bg)', fontSize: '14px', borderRadius: 'var(--radius)' },
  '&.cm-focused': { outline: '3px solid var(--focus)', outlineOffset: '2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { padding: '11px 0', minHeight: '104px', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 13px' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--line)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--panel)',
    color: 'var(--text)',
    border: '1px solid var(--line-strong)',
    maxWidth: '92vw',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '15em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionDetail': { marginLeft: '10px', fontStyle: 'normal', opacity: '0.85' },
  '.cm-completionInfo': { fontFamily: 'var(--sans)', padding: '8px 12px' },
  '.cm-diagnostic': { fontFamily: 'var(--sans)', borderLeftColor: 'var(--bad)', padding: '6px 12px' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textDecorationSkipInk: 'none',
  },
  '.w-keyword': { color: 'var(--series-3)', fontWeight: '600' },
  '.w-function': { color: 'var(--series-1)' },
  '.w-code': { color: 'var(--series-2)' },
  '.w-number, .w-instant': { color: 'var(--series-4)' },
  '.w-string': { color: 'var(--series-5)' },
  '.w-op': { color: 'var(--muted)' },
});

const colour = (view: EditorView): DecorationSet =>
  Decoration.set(
    splitWords(view.state.doc.toString()).map(({ kind, from, to }) =>
      Decoration.mark({ class: `w-${kind}` }).range(from, to),
    ),
  );

/** A query has at most 8 KiB: all of it is coloured again with each change. */
const colours = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = colour(view);
    }
    update({ docChanged, view }: ViewUpdate): void {
      if (docChanged) this.decorations = colour(view);
    }
  },
  { decorations: ({ decorations }) => decorations },
);

const toCompletions = (type: string, labels: readonly string[]): Completion[] =>
  labels.map((label) => ({ label, type }));

/** Venues follow `venue =` and `venue in (`, and so on. */
const AFTER: readonly (readonly [RegExp, (catalogue: Catalogue) => readonly string[]])[] = [
  [/\bvenue\s*(?:=|in\s*\([^)]*)\s*$/, ({ venues }) => venues],
  [/\bbase\s*(?:=|in\s*\([^)]*)\s*$/, ({ assets }) => assets],
  [/\bquote\s*(?:=|in\s*\([^)]*)\s*$/, ({ currencies }) => currencies],
  [/\binstrument\s*(?:=|in\s*\([^)]*)\s*$/, ({ instruments }) => instruments],
  [/\btimeframe\s+$/, ({ timeframes }) => timeframes],
  [/\bdepth_(?:bid|ask)(?:_value)?\(\s*$/, ({ bands }) => bands],
  [/\bstatus\([^)]*\)\s*=\s*$/, () => STATUSES],
];

const listAnywhere = ({ fields, sources, functions }: Catalogue): Completion[] => [
  ...functions.map(({ name, signature, description }) => ({
    label: name,
    detail: signature,
    info: description,
    type: 'function',
    apply: `${name}(`,
  })),
  ...fields.map(({ name, unit, scope, description }) => ({
    label: name,
    detail: `${scope}, ${unit}`,
    info: description,
    type: 'property',
  })),
  ...sources.map(({ name, unit, description }) => ({
    label: name,
    detail: `series, ${unit}`,
    info: description,
    type: 'variable',
  })),
  ...toCompletions('keyword', KEYWORDS),
];

/** Completes what is allowed at the cursor, from the catalogue of the service. */
const completeFrom =
  (catalogue: () => Catalogue | null): CompletionSource =>
  ({ state, pos, explicit }) => {
    const known = catalogue();
    if (known === null) return null;
    const before = state.doc.sliceString(0, pos);
    const from = pos - (/[A-Za-z0-9_-]*$/.exec(before)?.[0].length ?? 0);
    const listed = AFTER.find(([pattern]) => pattern.test(before.slice(0, from)))?.[1](known);
    if (listed !== undefined) return { from, options: toCompletions('constant', listed), validFor: /^[\w-]*$/ };
    return from === pos && !explicit ? null : { from, options: listAnywhere(known), validFor: /^\w*$/ };
  };

/** Over a selection Chromium would keep the colour of what it replaces as an inline style, which the policy of the site refuses. */
const replacing = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { inputType, data, isComposing } = event as InputEvent;
    if (inputType !== 'insertText' || data === null || isComposing || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** A fault without a place is shown below the editor alone. */
const toDiagnostics = (faults: readonly ApiFault[], length: number): Diagnostic[] =>
  faults.flatMap(({ position, message, hint }) => {
    if (position == null) return [];
    const from = Math.min(position.offset, Math.max(0, length - 1));
    const to = Math.min(Math.max(position.offset + position.length, from + 1), length);
    return [{ from, to, severity: 'error' as const, message: hint == null ? message : `${message} ${hint}` }];
  });

export const createEditor = ({ host, text, catalogue, onChange, onRun, check }: EditorDeps): Editor => {
  const root = host.attachShadow({ mode: 'open' });
  const run = {
    key: 'Mod-Enter',
    run: () => {
      onRun();
      return true;
    },
  };
  const view = new EditorView({
    root,
    parent: root as unknown as Element,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([run])),
        history(),
        autocompletion({ override: [completeFrom(catalogue)], icons: false }),
        // Tab leads on to the next control, as everywhere: only an open list of completions takes it.
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap, { key: 'Tab', run: acceptCompletion }]),
        linter(async ({ state }) => toDiagnostics(await check(state.doc.toString()), state.doc.length), {
          delay: CHECK_DELAY_MS,
        }),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Query', spellcheck: 'false', autocapitalize: 'off' }),
        EditorView.updateListener.of(({ docChanged }) => {
          if (docChanged) onChange();
        }),
        replacing,
        colours,
        THEME,
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText: (to) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: to } }),
    show: (faults) => view.dispatch(setDiagnostics(view.state, toDiagnostics(faults, view.state.doc.length))),
    focus: () => view.focus(),
  };
};
