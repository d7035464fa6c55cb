import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { findChromium, launch, troublesOf } from '../browser/chromium.ts';

/** Two windows of one browser, which show the same page. */
export class Windows {
  readonly one: Page;
  readonly other: Page;
  readonly #browser: Browser;
  readonly #troubles: readonly (readonly string[])[];

  private constructor(browser: Browser, [one, other]: readonly [Page, Page]) {
    this.#browser = browser;
    this.one = one;
    this.other = other;
    this.#troubles = [troublesOf(one), troublesOf(other)];
  }

  static async open(url: string): Promise<Windows> {
    const browser = await launch(findChromium() ?? '');
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
    });
    // Front ends are bundled when they are first asked for.
    context.setDefaultTimeout(120_000);
    const windows = new Windows(browser, [await context.newPage(), await context.newPage()]);
    for (const page of windows.pages) await page.goto(url);
    return windows;
  }

  get pages(): readonly Page[] {
    return [this.one, this.other];
  }

  /** Closes the browser; no page may have complained. */
  async close(): Promise<void> {
    await this.#browser.close();
    expect(this.#troubles.flat()).toEqual([]);
  }
}
