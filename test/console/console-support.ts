import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { findChromium, howToInstall, launch } from '../browser/chromium.ts';
import { type RunningService, root, Sandbox } from '../service/harness.ts';
import { writtenFrom } from '../service/written-module.ts';

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

/** A service with the console, a browser, and somebody who owns the databases. */
export class ConsoleStage {
  readonly sandbox: Sandbox;
  service: RunningService;
  /** The token of the owner of what `publish` makes. */
  ownerToken = '';
  readonly #browser: Browser;
  readonly #visitors: Visitor[] = [];

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

  /** Somebody with a window of their own; signed in with `token`, `null`: signed out. */
  async visit(
    place: string,
    options: { readonly token?: string | null; readonly form?: Partial<Form> } = {},
  ): Promise<Visitor> {
    const { token = this.ownerToken, form = {} } = options;
    const context = await this.#browser.newContext({
      viewport: form.size ?? wide,
      colorScheme: form.scheme ?? 'light',
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const visitor = new Visitor(context, await context.newPage(), this.url);
    this.#visitors.push(visitor);
    if (token !== null) {
      const script = `if (sessionStorage.getItem('reducerdb.session') === null)
        sessionStorage.setItem('reducerdb.session', ${JSON.stringify(`token ${token}`)});`;
      await context.addInitScript(script);
    }
    await visitor.go(place);
    return visitor;
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

  constructor(context: BrowserContext, page: Page, url: string) {
    this.#context = context;
    this.page = page;
    this.#url = url;
    page.setDefaultTimeout(20_000);
    page.on('pageerror', (error) => this.#note(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.#note(message.text());
    });
    page.on('request', (request) => {
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

  async leave(): Promise<void> {
    await this.#context.close();
  }
}

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
