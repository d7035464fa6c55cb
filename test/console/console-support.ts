import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { expect, onTestFinished, TestRunner } from 'vitest';
import { findChromium, howToInstall, launch } from '../browser/chromium.ts';
import { type RunningService, root, Sandbox } from '../service/harness.ts';
import { writtenFrom } from '../service/written-module.ts';
import { someOf } from '../support/share.ts';

/** Without a browser, tests of the console are skipped, and say so. */
export const hasChromium = findChromium() !== undefined;
if (!hasChromium) console.warn(`test/console is skipped: ${howToInstall}`);

/** How long a service, a browser and a module may take to be there, on a busy machine. */
export const stageMillis = 300_000;

/** Where screenshots are kept; not in git. */
export const shotsFolder = path.join(root, 'test/console/.shots');
const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export const wide = { width: 1280, height: 800 };
export const narrow = { width: 380, height: 780 };
export const forms = [
  { name: 'wide-light', size: wide, scheme: 'light' },
  { name: 'wide-dark', size: wide, scheme: 'dark' },
  { name: 'narrow-light', size: narrow, scheme: 'light' },
  { name: 'narrow-dark', size: narrow, scheme: 'dark' },
] as const;
export type Form = (typeof forms)[number];

/** Both sizes and both schemes: two forms that differ in both, by turns, or all four. */
export function someForms(): readonly Form[] {
  const [wideLight, wideDark, narrowLight, narrowDark] = forms;
  return someOf([[wideLight, narrowDark] as const, [wideDark, narrowLight] as const]).flat();
}

/** For titles: the forms in which a page is looked at. */
export function nameOf(looks: readonly Form[]): string {
  return looks.map(({ name }) => name).join(', ');
}

/** A service with the console, a browser, and somebody who owns the databases. */
export class ConsoleStage {
  readonly sandbox: Sandbox;
  service: RunningService;
  /** The token of the owner of what `publish` makes. */
  ownerToken = '';
  readonly #browser: Browser;
  readonly #visitors: Visitor[] = [];
  /** Left by visitors, with nothing of theirs but the cache: a new one costs a second to make. */
  readonly #vacant: BrowserContext[] = [];

  private constructor(parts: {
    sandbox: Sandbox;
    service: RunningService;
    browser: Browser;
  }) {
    this.sandbox = parts.sandbox;
    this.service = parts.service;
    this.#browser = parts.browser;
  }

  static async open(flags: readonly string[] = []): Promise<ConsoleStage> {
    const sandbox = await Sandbox.make();
    const service = await sandbox.start(flags);
    const browser = await launch(findChromium() ?? '');
    const stage = new ConsoleStage({ sandbox, service, browser });
    stage.ownerToken = await stage.strangerToken();
    return stage;
  }

  /** The identity of the owner, as hex digits. */
  get ownerIdentity(): string {
    const claims = Buffer.from(this.ownerToken.split('.')[1] ?? '', 'base64url');
    return String(JSON.parse(String(claims)).hex_identity);
  }

  /** Ends the service and starts it again with other flags, at the same address. */
  async restart(flags: readonly string[] = []): Promise<void> {
    await this.service.stop();
    this.service = await this.sandbox.start(flags);
  }

  /** Where the console is. */
  get url(): string {
    return this.sandbox.url;
  }

  /** Publishes a module from its source, as the owner. */
  async publish(database: string, source: string): Promise<void> {
    await this.send('PUT', `/v1/database/${database}?host_type=Js`, await writtenFrom(source));
  }

  /** Calls a reducer as the owner. */
  async call(database: string, reducer: string, args: unknown): Promise<void> {
    await this.callAs(this.ownerToken, database, reducer, args);
  }

  async callAs(token: string, database: string, reducer: string, args: unknown): Promise<void> {
    const path = `/v1/database/${database}/call/${reducer}`;
    await this.send('POST', path, JSON.stringify(args), token);
  }

  /** Sends a request, as the owner unless a token says otherwise, and demands that it succeeds. */
  async send(
    method: string,
    place: string,
    body?: string | Uint8Array<ArrayBuffer>,
    token = this.ownerToken,
  ): Promise<string> {
    const answer = await fetch(`${this.sandbox.url}${place}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream',
      },
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${place}: ${answer.status} ${text}`);
    return text;
  }

  /** A token of an identity that nobody has seen yet. */
  async strangerToken(): Promise<string> {
    const answer = await fetch(`${this.sandbox.url}/v1/identity`, { method: 'POST' });
    const { token } = (await answer.json()) as { token: string };
    return token;
  }

  /**
   * Somebody with a window of their own; signed in with `token`, `null`: signed out. Who comes in a
   * test leaves at its end.
   */
  async visit(
    place: string,
    options: { readonly token?: string | null; readonly form?: Partial<Form> } = {},
  ): Promise<Visitor> {
    const { token = this.ownerToken, form = {} } = options;
    const context = this.#vacant.pop() ?? (await this.#newContext());
    const page = await context.newPage();
    await page.setViewportSize(form.size ?? wide);
    await page.emulateMedia({ colorScheme: form.scheme ?? 'light', reducedMotion: 'reduce' });
    const visitor = new Visitor(context, page, this.url, () => this.#vacant.push(context));
    this.#visitors.push(visitor);
    if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => visitor.leave());
    if (token !== null) {
      const script = `if (sessionStorage.getItem('reducerdb.session') === null)
        sessionStorage.setItem('reducerdb.session', ${JSON.stringify(`token ${token}`)});`;
      await page.addInitScript(script);
    }
    await visitor.go(place);
    return visitor;
  }

  #newContext(): Promise<BrowserContext> {
    return this.#browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  }

  async close(): Promise<void> {
    for (const visitor of this.#visitors) await visitor.leave();
    await this.#browser.close();
    await this.service.stop();
    this.sandbox.remove();
  }
}

/** A window with the console, and what went wrong in it. */
export class Visitor {
  readonly page: Page;
  /** Errors, breaches of the policy, and requests to other hosts. */
  readonly troubles: string[] = [];
  /** Answers that a test provokes and that the browser's console complains about. */
  readonly expected: RegExp[] = [/ERR_CONNECTION_(REFUSED|RESET|CLOSED)|ERR_EMPTY_RESPONSE/];
  readonly #context: BrowserContext;
  readonly #url: string;
  readonly #unanswered = new Set<Request>();
  readonly #vacate: () => void;
  #leaving: Promise<void> | undefined;

  /** `vacate` is told when the next one can have the context. */
  constructor(context: BrowserContext, page: Page, url: string, vacate: () => void) {
    this.#context = context;
    this.#vacate = vacate;
    this.page = page;
    this.#url = url;
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (error) => this.#note(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.#note(message.text());
    });
    const answered = (request: Request) => this.#unanswered.delete(request);
    page.on('response', (response) => answered(response.request()));
    page.on('requestfailed', answered);
    page.on('request', (request) => {
      this.#unanswered.add(request);
      const { protocol, host } = new URL(request.url());
      const isOwn = host === new URL(url).host || protocol === 'blob:';
      if (!isOwn) this.#note(`a request to another host: ${request.url()}`);
    });
  }

  #note(text: string): void {
    if (!this.expected.some((pattern) => pattern.test(text))) this.troubles.push(text);
  }

  /** Goes to an address of the console, such as `db/market/data`. */
  async go(place: string): Promise<void> {
    await this.page.goto(`${this.#url}/console/${place}`);
  }

  /**
   * Waits until every request has an answer (a stream of lines has begun), and no part of the page
   * says that it is loading.
   */
  async untilLoaded(): Promise<void> {
    const loading = this.page.getByRole('status', { name: /^Loading/ });
    await expect
      .poll(async () => {
        // What an answer leads to is drawn, and asked for, in the frames after it.
        await this.page.evaluate(twoFrames);
        return this.#unanswered.size + (await loading.count());
      })
      .toBe(0);
  }

  /** Fails if anything went wrong so far. */
  expectNoTroubles(): void {
    expect(this.troubles).toEqual([]);
  }

  /** Fails on findings of axe that are serious or critical. */
  async expectAccessible(): Promise<void> {
    // By the debugger's protocol: a script element would be against the policy.
    await this.page.evaluate(await axeSource());
    const found = await this.page.evaluate(async () => {
      const { axe } = globalThis as unknown as { axe: AxeGlobal };
      const { violations } = await axe.run(document, { resultTypes: ['violations'] });
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`,
        );
    });
    expect(found).toEqual([]);
  }

  /** Fails if the page is wider than its window. */
  async expectNoOverflow(): Promise<void> {
    const over = await this.page.evaluate(() => {
      return document.documentElement.scrollWidth - document.documentElement.clientWidth;
    });
    expect(over).toBeLessThanOrEqual(0);
  }

  /** Keeps a picture as `<name>.png`. */
  async shoot(name: string): Promise<void> {
    mkdirSync(shotsFolder, { recursive: true });
    await this.page.screenshot({ path: path.join(shotsFolder, `${name}.png`) });
  }

  /** Closes the window. Nobody finds anything of this visitor afterwards. */
  leave(): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    try {
      await this.page.evaluate(() => localStorage.clear());
      await this.#context.clearCookies();
      for (const page of this.#context.pages()) await page.close();
      this.#vacate();
    } catch {
      // A page that cannot be asked, as one that crashed.
      await this.#context.close();
    }
  }
}

const twoFrames = () =>
  new Promise<void>((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(() => resolve()));
  });

interface AxeGlobal {
  run(
    root: unknown,
    options: object,
  ): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
}

let axe: Promise<string> | undefined;

function axeSource(): Promise<string> {
  axe ??= import('node:fs/promises').then(({ readFile }) => readFile(axeFile, 'utf8'));
  return axe;
}
