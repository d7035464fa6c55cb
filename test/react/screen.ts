import { Window } from 'happy-dom';
import type { ReactNode } from 'react';

/**
 * A page in the test's process. Of the browser's names only those are made global that React looks
 * for, and before it is loaded: the client has a platform of the test's own.
 */
const window = new Window({ url: 'http://test/' });
const { document, navigator } = window;
// Later versions of Node have a `navigator` of their own.
if (!('navigator' in globalThis)) Object.assign(globalThis, { navigator });
Object.assign(globalThis, { window, document, IS_REACT_ACT_ENVIRONMENT: true });
const { act, createElement, StrictMode } = await import('react');
const { createRoot, hydrateRoot } = await import('react-dom/client');

interface Root {
  render(node: ReactNode): void;
  unmount(): void;
}

/** What a component tree shows. */
export class Screen {
  readonly #element = document.createElement('div');
  readonly #root: Root;
  readonly #isStrict: boolean;
  /** What React has to say about a tree that is not the one that the server rendered. */
  readonly complaints: unknown[] = [];

  private constructor(
    node: ReactNode,
    how: { readonly isStrict: boolean; readonly html?: string },
  ) {
    this.#isStrict = how.isStrict;
    document.body.append(this.#element);
    // The types of React know the DOM of browsers only.
    const element = this.#element as never;
    if (how.html === undefined) {
      // What a boundary caught is for the test to see, not for its log.
      this.#root = createRoot(element, { onCaughtError: () => {} });
      return;
    }
    this.#element.innerHTML = how.html;
    this.#root = hydrateRoot(element, this.#wrapped(node), {
      onRecoverableError: (error) => this.complaints.push(error),
    });
  }

  /** Renders as programs do in development: everything is mounted twice. */
  static async strict(node: ReactNode): Promise<Screen> {
    const screen = new Screen(node, { isStrict: true });
    await screen.show(node);
    return screen;
  }

  static async plain(node: ReactNode): Promise<Screen> {
    const screen = new Screen(node, { isStrict: false });
    await screen.show(node);
    return screen;
  }

  /** Takes over what a server has rendered. */
  static async over(html: string, node: ReactNode): Promise<Screen> {
    return act(async () => new Screen(node, { isStrict: false, html }));
  }

  show(node: ReactNode): Promise<void> {
    return act(async () => this.#root.render(this.#wrapped(node)));
  }

  get text(): string {
    return this.#element.textContent;
  }

  async leave(): Promise<void> {
    await act(async () => this.#root.unmount());
    this.#element.remove();
  }

  #wrapped(node: ReactNode): ReactNode {
    return this.#isStrict ? createElement(StrictMode, null, node) : node;
  }
}

/** Does something and lets React finish what follows from it. */
export async function during(work: () => unknown): Promise<void> {
  await act(async () => {
    await work();
  });
}
