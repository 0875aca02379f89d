// One bubble for a whole page: shows `data-tip` of an element while the pointer is on it or it has the focus; Escape closes it.

const GAP_PX = 6;
const MARGIN_PX = 8;

const addBubble = (): HTMLElement => {
  const bubble = document.createElement('div');
  bubble.id = 'tip';
  bubble.className = 'tip';
  bubble.setAttribute('role', 'tooltip');
  bubble.hidden = true;
  (document.querySelector('main') ?? document.body).append(bubble);
  return bubble;
};

/** Below the element, or above it where the screen ends. */
const putBubble = (bubble: HTMLElement, element: HTMLElement): void => {
  const at = element.getBoundingClientRect();
  const size = bubble.getBoundingClientRect();
  const isAbove = at.bottom + GAP_PX + size.height > innerHeight;
  const rightmost = document.documentElement.clientWidth - size.width - MARGIN_PX;
  bubble.style.left = `${Math.max(MARGIN_PX, Math.min(at.left, rightmost))}px`;
  bubble.style.top = `${isAbove ? at.top - size.height - GAP_PX : at.bottom + GAP_PX}px`;
};

/** Watches a part of the page, including elements that are added later. */
export const enableTips = (part: HTMLElement): void => {
  const bubble = addBubble();
  let told: HTMLElement | null = null;
  const hide = (): void => {
    told = null;
    bubble.hidden = true;
    document.querySelector('[aria-describedby="tip"]')?.removeAttribute('aria-describedby');
  };
  const show = (element: HTMLElement): void => {
    hide();
    told = element;
    bubble.textContent = element.dataset['tip'] ?? '';
    bubble.hidden = false;
    element.setAttribute('aria-describedby', 'tip');
    putBubble(bubble, element);
  };
  /** The focus itself scrolls to what it is on: the bubble goes along. */
  const follow = (): void => {
    if (told?.contains(document.activeElement)) putBubble(bubble, told);
    else hide();
  };
  const tipped = ({ target }: Event): HTMLElement | null =>
    (target as HTMLElement).closest?.<HTMLElement>('[data-tip]') ?? null;
  for (const event of ['pointerover', 'focusin'])
    part.addEventListener(event, (happened) => {
      const element = tipped(happened);
      if (element !== null) show(element);
    });
  part.addEventListener('focusout', hide);
  // The element with the focus keeps its bubble when the pointer leaves, or the page scrolls away below a pointer at rest.
  part.addEventListener('pointerout', () => {
    const focused = (document.activeElement as HTMLElement | null)?.closest<HTMLElement>('[data-tip]') ?? null;
    if (focused === null || !part.contains(focused)) hide();
    else if (told !== focused) show(focused);
  });
  addEventListener('scroll', follow, { passive: true, capture: true });
  addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') hide();
  });
};
