import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { type PreviewServer, preview } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, root, Sandbox } from '../service/harness.ts';
import { findChromium, howToInstall, launch, troublesOf } from './chromium.ts';

const executable = findChromium();
if (executable === undefined) console.warn(`test/browser is skipped: ${howToInstall}`);

const app = path.join(root, 'examples/live-chat');

describe.skipIf(executable === undefined)('the live chat', () => {
  let sandbox: Sandbox;
  let service: RunningService;
  let pages: PreviewServer;
  let outDir: string;
  const people: Person[] = [];

  beforeAll(async () => {
    outDir = mkdtempSync(path.join(tmpdir(), 'reducerdb-live-chat-'));
    sandbox = await Sandbox.make();
    service = await sandbox.start();
    await sandbox.ok(['publish', 'chat', '--module-path', path.join(root, 'examples/chat'), '-y']);
    const command = ['--prefix', app, 'run', 'build', '--', '--outDir', outDir, '--emptyOutDir'];
    const env = { ...process.env, VITE_REDUCERDB_URI: sandbox.url };
    await promisify(execFile)('npm', command, { env });
    const served = { build: { outDir }, preview: { host: '127.0.0.1', port: 0 } };
    pages = await preview({ root: app, logLevel: 'error', ...served });
    const url = pages.resolvedUrls?.local[0] ?? '';
    people.push(await Person.arrive(url), await Person.arrive(url));
  }, 120_000);

  afterAll(async () => {
    for (const person of people) await person.leave();
    await pages?.close();
    await service?.stop();
    sandbox?.remove();
    rmSync(outDir, { recursive: true, force: true });
  });

  it('[client-sdk 20.7] is built without the code of its module', () => {
    const assets = path.join(outDir, 'assets');
    const texts = readdirSync(assets).map((name) => readFileSync(path.join(assets, name), 'utf8'));
    const built = texts.join('\n');
    expect(built).toContain('Nothing has been said in');
    expect(built).not.toContain('the lobby stays open');
  });

  it('[client-sdk 16] shows two people what each of them does', async () => {
    const [ada, grace] = both(people);
    await ada.callMyself('Ada');
    await grace.callMyself('Grace');
    await ada.seesOnline('Grace');
    await grace.seesOnline('Ada');
    await ada.say('Is anybody here?');
    await grace.sees(['Is anybody here?']);
    await grace.say('I am.');
    await ada.sees(['Is anybody here?', 'I am.']);
    expect(await ada.page.locator('.line.mine .text').allTextContents()).toEqual([
      'Is anybody here?',
    ]);
  });

  it('[client-sdk 14] says in words what the module refuses, and takes the line back', async () => {
    const [ada] = both(people);
    await ada.say('x'.repeat(2_001));
    await ada.page.getByText('the message has more than 2000 characters').waitFor();
    await ada.sees(['Is anybody here?', 'I am.']);
    expect(await ada.composer.inputValue()).toHaveLength(2_001);
    await ada.composer.fill('');
  });

  it('[client-sdk 16] shows a room to both, and what is said there only there', async () => {
    const [ada, grace] = both(people);
    await ada.page.getByRole('button', { name: '+ New room' }).click();
    await ada.page.getByLabel('Name of the room').fill('kitchen');
    await ada.page.getByLabel('Topic').fill('Who has the cups?');
    await ada.page.getByRole('button', { name: 'Open', exact: true }).click();
    await ada.page.getByRole('heading', { name: '# kitchen' }).waitFor();
    await ada.say('Not me');
    await grace.sees(['Is anybody here?', 'I am.']);
    await grace.page.getByRole('button', { name: '# kitchen' }).click();
    await grace.sees(['Not me']);
    await grace.say('Nor me');
    await ada.sees(['Not me', 'Nor me']);
  });

  it('[client-sdk 13] outlives the end of its service: nothing is lost, nothing doubled', async () => {
    const [ada, grace] = both(people);
    await service.stop('SIGKILL');
    for (const { page } of people) await page.getByText('No connection.').waitFor();
    await grace.say('Are you still there?');
    // It is there already, for her alone, and goes out when there is somebody to send it to.
    await grace.sees(['Not me', 'Nor me', 'Are you still there?']);
    await grace.page.getByText('1 waiting to be sent').waitFor();
    await ada.sees(['Not me', 'Nor me']);
    service = await sandbox.start();
    for (const { page } of people) {
      await page.getByText('No connection.').waitFor({ state: 'hidden', timeout: 20_000 });
    }
    await ada.sees(['Not me', 'Nor me', 'Are you still there?']);
    await grace.sees(['Not me', 'Nor me', 'Are you still there?']);
    await ada.seesOnline('Grace');
    const said = await sandbox.ok(['sql', 'chat', 'SELECT COUNT(*) AS n FROM message']);
    expect(said).toMatch(/^ 5\s*$/m);
  }, 90_000);

  it('[client-sdk 12] knows people again who come back, and complains of nothing', async () => {
    const [ada] = both(people);
    await ada.page.reload();
    await ada.sees(['Not me', 'Nor me', 'Are you still there?']);
    await ada.page.getByText('that is you').waitFor();
    expect(await ada.page.locator('.me .name').textContent()).toBe('Ada');
    expect(people.flatMap(({ troubles }) => troubles)).toEqual([]);
  });
});

/** Somebody with a browser of their own. */
class Person {
  readonly page: Page;
  readonly troubles: readonly string[];
  readonly #browser: Browser;

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser;
    this.page = page;
    this.troubles = troublesOf(page);
    page.setDefaultTimeout(10_000);
  }

  static async arrive(url: string): Promise<Person> {
    const browser = await launch(executable ?? '');
    const person = new Person(browser, await browser.newPage());
    await person.page.goto(url);
    await person.page.getByRole('heading', { name: '# lobby' }).waitFor();
    return person;
  }

  get composer() {
    return this.page.getByLabel('Message', { exact: true });
  }

  async callMyself(name: string): Promise<void> {
    await this.page.getByText('choose a name').click();
    await this.page.getByLabel('Your name').fill(name);
    await this.page.getByRole('button', { name: 'Save' }).click();
    await this.page.getByText('that is you').waitFor();
  }

  async say(text: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press('Enter');
  }

  /** Waits until these lines are shown, and no others. */
  async sees(lines: readonly string[]): Promise<void> {
    await expect
      .poll(() => this.page.locator('.line .text').allTextContents(), { timeout: 10_000 })
      .toEqual(lines);
  }

  async seesOnline(name: string): Promise<void> {
    await this.page.locator('.people .online', { hasText: name }).waitFor();
  }

  async leave(): Promise<void> {
    await this.#browser.close();
  }
}

function both(people: readonly Person[]): [Person, Person] {
  const [ada, grace] = people;
  if (ada === undefined || grace === undefined) throw new Error('somebody is missing');
  return [ada, grace];
}
