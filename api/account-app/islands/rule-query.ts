// The query of a rule while it is written: faults with their places, and completion of the word at the cursor.

type Fault = {
  readonly message: string;
  readonly hint?: string;
  readonly position?: { readonly line: number; readonly column: number };
};
type Checked = {
  readonly query?: string;
  readonly complexity?: { readonly cost: number };
  readonly errors?: readonly Fault[];
};
type Word = { readonly word: string; readonly says: string };

/** After the last key. */
const CHECK_AFTER_MS = 300;
const MOST_WORDS = 8;

const describeChecked = ({ errors = [], complexity }: Checked): string => {
  if (errors.length === 0) return `Valid, at a cost of ${complexity?.cost ?? 0}.`;
  const place = ({ position }: Fault): string =>
    position === undefined ? '' : `Line ${position.line}, column ${position.column}: `;
  return errors.map((one) => `${place(one)}${one.message} ${one.hint ?? ''}`.trim()).join(' ');
};

const watchFaults = (area: HTMLTextAreaElement, status: HTMLElement, units: HTMLSelectElement | null): void => {
  let [timer, asked] = [0, 0];
  const check = async (): Promise<void> => {
    const number = ++asked;
    const answer = await fetch(area.dataset['check'] ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: area.value, units: units?.value }),
    }).catch(() => null);
    // An answer to an earlier text does not apply to this one.
    if (number !== asked) return;
    const checked = answer === null ? null : ((await answer.json().catch(() => null)) as Checked | null);
    const isFaulty = (checked?.errors ?? []).length > 0;
    status.textContent = checked === null ? '' : describeChecked(checked);
    status.classList.toggle('bad', isFaulty);
    area.setAttribute('aria-invalid', String(isFaulty));
  };
  const later = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void check(), CHECK_AFTER_MS);
  };
  area.addEventListener('input', later);
  units?.addEventListener('change', later);
  void check();
};

const BEFORE = /[A-Za-z_][\w-]*$/;

/** The word that ends at the cursor; empty: there is none. */
const findBegunWord = ({ value, selectionStart }: HTMLTextAreaElement): string =>
  BEFORE.exec(value.slice(0, selectionStart))?.[0] ?? '';

class Completion {
  readonly #area: HTMLTextAreaElement;
  readonly #list = document.createElement('ul');
  #words: readonly Word[] = [];
  #found: readonly Word[] = [];
  #at = 0;

  constructor(area: HTMLTextAreaElement) {
    this.#area = area;
    this.#list.id = `${area.id}-words`;
    this.#list.className = 'words';
    this.#list.setAttribute('role', 'listbox');
    this.#list.setAttribute('aria-label', 'Words');
    this.#list.hidden = true;
    area.after(this.#list);
    area.setAttribute('aria-autocomplete', 'list');
    area.setAttribute('aria-controls', this.#list.id);
    area.addEventListener('focus', () => void this.#load(), { once: true });
    area.addEventListener('input', () => this.#show());
    area.addEventListener('blur', () => this.#hide());
    area.addEventListener('keydown', (event) => this.#press(event));
  }

  async #load(): Promise<void> {
    const answer = await fetch(this.#area.dataset['words'] ?? '').catch(() => null);
    if (answer?.ok === true) this.#words = ((await answer.json()) as { readonly words: readonly Word[] }).words;
  }

  #show(): void {
    const begun = findBegunWord(this.#area).toLowerCase();
    const begins = ({ word }: Word): boolean => word.toLowerCase().startsWith(begun) && word.toLowerCase() !== begun;
    this.#found = begun === '' ? [] : this.#words.filter(begins).slice(0, MOST_WORDS);
    if (this.#found.length === 0) return this.#hide();
    this.#list.replaceChildren(...this.#found.map((word, i) => this.#option(word, i)));
    this.#list.hidden = false;
    this.#choose(0);
  }

  #option({ word, says }: Word, i: number): HTMLLIElement {
    const option = document.createElement('li');
    option.id = `${this.#list.id}-${i}`;
    option.setAttribute('role', 'option');
    const [code, words] = [document.createElement('code'), document.createElement('span')];
    code.textContent = word;
    words.textContent = says;
    option.append(code, words);
    // Before the field loses the focus.
    option.addEventListener('mousedown', (event) => {
      event.preventDefault();
      this.#at = i;
      this.#take();
    });
    return option;
  }

  #choose(at: number): void {
    this.#at = (at + this.#found.length) % this.#found.length;
    [...this.#list.children].forEach((option, i) => {
      option.setAttribute('aria-selected', String(i === this.#at));
    });
    this.#area.setAttribute('aria-activedescendant', `${this.#list.id}-${this.#at}`);
  }

  #press(event: KeyboardEvent): void {
    if (this.#list.hidden || event.isComposing) return;
    const { key } = event;
    if (key === 'ArrowDown') this.#choose(this.#at + 1);
    else if (key === 'ArrowUp') this.#choose(this.#at - 1);
    else if (key === 'Enter') this.#take();
    else if (key === 'Escape') this.#hide();
    else return;
    event.preventDefault();
  }

  #take(): void {
    const word = this.#found[this.#at]?.word ?? '';
    const { selectionStart: end } = this.#area;
    this.#area.setRangeText(word, end - findBegunWord(this.#area).length, end, 'end');
    this.#hide();
    this.#area.dispatchEvent(new Event('input', { bubbles: true }));
  }

  #hide(): void {
    this.#list.hidden = true;
    this.#area.removeAttribute('aria-activedescendant');
  }
}

for (const area of document.querySelectorAll<HTMLTextAreaElement>('textarea[data-check]')) {
  const status = document.getElementById(`${area.id}-told`);
  const units = area.form?.querySelector<HTMLSelectElement>('select[name=units]') ?? null;
  if (status === null) continue;
  watchFaults(area, status, units);
  new Completion(area);
}
