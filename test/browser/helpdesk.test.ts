import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { blocksOf } from '../docs/blocks.ts';
import { type RunningService, root, Sandbox } from '../service/harness.ts';
import { githubDelivery, issueOpened } from '../support/github-delivery.ts';
import { findChromium, howToInstall, launch, troublesOf } from './chromium.ts';

const executable = findChromium();
if (executable === undefined) console.warn(`test/browser is skipped: ${howToInstall}`);

const app = path.join(root, 'examples/helpdesk');
const secret = 'a secret of two';
const hasTools = ['bash', 'curl', 'openssl'].every((tool) => {
  return spawnSync(tool, ['version'], { stdio: 'ignore' }).error === undefined;
});
const patience = { timeout: 20_000 };

describe.skipIf(executable === undefined)('the helpdesk', () => {
  let sandbox: Sandbox;
  let service: RunningService;
  let elsewhere: Elsewhere;
  let outDir: string;
  let browser: Browser;
  let ada: Person;
  let bob: Person;
  let grace: Person;

  beforeAll(async () => {
    outDir = mkdtempSync(path.join(tmpdir(), 'reducerdb-helpdesk-'));
    sandbox = await Sandbox.make();
    elsewhere = await Elsewhere.start();
    service = await sandbox.start([`--module-http-allow=helpdesk=127.0.0.1:${elsewhere.port}`]);
    const vite = path.join(root, 'node_modules/vite/bin/vite.js');
    const build = [vite, 'build', '--outDir', outDir, '--emptyOutDir', '--logLevel', 'error'];
    // The runner's own is `test`, for which Vite would build a page to be worked on.
    const env = { ...process.env, NODE_ENV: 'production' };
    await promisify(execFile)(process.execPath, build, { cwd: app, env });
    const values = [
      ...['--set-secret', 'TEAM_CODE=tea', '--set-secret', `WEBHOOK_SECRET=${secret}`],
      ...['--set-env', `DIGEST_URL=http://127.0.0.1:${elsewhere.port}/`],
      ...['--set-secret', 'DIGEST_KEY=k-4711'],
    ];
    // Built here: the command would also check its types, and its cron in a process that comes last.
    const bundle = path.join(sandbox.folder, 'bundle.js');
    writeFileSync(bundle, (await buildModule(app)).program);
    const publish = ['publish', 'helpdesk', '--js-path', bundle, '--static', outDir, '-y'];
    const printed = await sandbox.ok([...publish, ...values]);
    const [, url = ''] = /^App: (\S+)$/m.exec(printed) ?? [];
    expect(url).toBe(`http://helpdesk.localhost:${sandbox.port}/`);
    browser = await launch(executable ?? '');
    [ada, bob, grace] = await Promise.all([
      Person.arrive(browser, url),
      Person.arrive(browser, url),
      Person.arrive(browser, url),
    ]);
  }, 240_000);

  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await elsewhere?.stop();
    sandbox?.remove();
    rmSync(outDir, { recursive: true, force: true });
  });

  it('[living 3.4] is a page at an origin of its own, without the code of its module', () => {
    const assets = path.join(outDir, 'assets');
    const texts = readdirSync(assets).map((name) => readFileSync(path.join(assets, name), 'utf8'));
    expect(texts.join('\n')).toContain('Nobody is waiting.');
    expect(texts.join('\n')).not.toContain('Closed, as there was no further question.');
  });

  it('[living 4.2] lets those into the team who know the secret', async () => {
    await ada.callMyself('Ada');
    await grace.callMyself('Grace');
    await grace.joinTeam('coffee');
    await grace.page.getByText('That is not the code of the team.').waitFor();
    await grace.joinTeam('tea');
    await grace.page.getByRole('button', { name: 'Leave the team' }).waitFor();
    await grace.closeDialog();
    await ada.page.getByText('Grace is here').waitFor();
  });

  it('[client-sdk 9] shows customers and agents at once what the others do', async () => {
    await grace.page.getByText('Nobody is waiting.').waitFor();
    await ada.ask('Where are the cups?', 'There are none left.');
    await grace.open('Where are the cups?');
    await grace.sees(['There are none left.']);
    await grace.note('Third time this week');
    await grace.say('In the dishwasher.');
    await ada.sees(['There are none left.', 'In the dishwasher.']);
    await grace.sees(['There are none left.', 'Third time this week', 'In the dishwasher.']);
    await ada.page.getByText('Closes in 3 days if nobody writes.').waitFor();
    await grace.page.getByText('Nobody is waiting.').waitFor();
  });

  it('[module-sdk 6.6, living 3.2] shows the ticket of a customer to no other', async () => {
    await bob.page.goto(`${bob.page.url()}#/tickets/1`);
    await bob.page.getByText('There is no ticket #1').waitFor();
    await bob.page.getByText('You have not asked anything yet.').waitFor();
    // For programs, too, with the tokens that their pages keep.
    const ticketFor = async (person: Person) => {
      const headers = { authorization: `Bearer ${await person.token()}` };
      return fetch(`${sandbox.url}/v1/database/helpdesk/route/tickets/1`, { headers });
    };
    expect((await ticketFor(bob)).status).toBe(404);
    const found = await (await ticketFor(ada)).json();
    const texts = ['There are none left.', 'In the dishwasher.'];
    expect(found).toMatchObject({
      ...{ id: '1', subject: 'Where are the cups?', status: 'Answered' },
      messages: texts.map((text) => ({ text })),
    });
  });

  it('[living 3.5] shows what a signed webhook brings, and refuses any other', async () => {
    const hook = `${sandbox.url}/v1/database/helpdesk/route/hooks/github`;
    const issue = { event: 'issues', payload: issueOpened(7, 'Handle broken') };
    const guessed = await fetch(hook, githubDelivery({ ...issue, secret: 'guessed', id: 'd1' }));
    expect(guessed.status).toBe(401);
    const init = githubDelivery({ ...issue, secret, id: 'd1' });
    for (const _ of ['first', 'again']) {
      const answer = await fetch(hook, init);
      expect([answer.status, await answer.json()]).toEqual([200, { ticket: '2' }]);
    }
    if (hasTools) expect(await byHand(sandbox.url)).toBe('{"ticket":"2"}');
    await grace.open('Handle broken (tea/pots#7)');
    await grace.sees(['The text of Handle broken']);
  });

  it('[living 1.12, 2.2, 2.7] sends the digest elsewhere, once more if it has to', async () => {
    // The first time it is refused.
    await sandbox.ok(['schedule', 'run', 'helpdesk', 'nightly']);
    await grace.page.getByText('Delivered.').waitFor(patience);
    expect(elsewhere.received).toHaveLength(2);
    const [first, second] = elsewhere.received;
    expect(second).toEqual(first);
    expect(second).toMatchObject({
      authorization: 'Bearer k-4711',
      body: { open: 1, answered: 1, closed: 0 },
    });
    expect(await ada.page.getByText('Delivered.').count()).toBe(0);
  });

  it('[living 1.1, 4.3] closes a ticket after an answer, as long as it is told to wait', async () => {
    await sandbox.ok(['env', 'set', 'helpdesk', 'CLOSE_AFTER_SECONDS=1']);
    await ada.say('Found them!');
    await grace.open('Where are the cups?');
    await grace.say('Enjoy your tea.');
    const why = 'Closed, as there was no further question.';
    for (const { page } of [ada, grace]) await page.getByText(why).waitFor(patience);
    await ada.page.getByText('closed', { exact: true }).first().waitFor();
    await ada.page.getByPlaceholder('Write to open this ticket again').waitFor();
  });

  it('complains of nothing', () => {
    expect([ada, bob, grace].flatMap(({ troubles }) => troubles)).toEqual([]);
  });
});

/** The same issue once more, as a reader of the example's README would send it. */
async function byHand(url: string): Promise<string> {
  const readme = readFileSync(path.join(app, 'README.md'), 'utf8');
  const block = blocksOf(readme).find(({ text }) => text.includes('openssl'));
  const text = block?.text.replace('curl http://127.0.0.1:3000', `curl -s ${url}`) ?? '';
  const env = { ...process.env, WEBHOOK_SECRET: secret };
  return (await promisify(execFile)('bash', ['-ec', text], { env })).stdout;
}

/** Somebody with storage of their own. */
class Person {
  readonly page: Page;
  readonly troubles: readonly string[];

  private constructor(page: Page) {
    this.page = page;
    this.troubles = troublesOf(page);
    page.setDefaultTimeout(patience.timeout);
  }

  static async arrive(browser: Browser, url: string): Promise<Person> {
    const context = await browser.newContext();
    const person = new Person(await context.newPage());
    await person.page.goto(url);
    await person.page.getByRole('link', { name: 'New question' }).waitFor();
    return person;
  }

  async callMyself(name: string): Promise<void> {
    await this.page.getByRole('button', { name: 'Who are you?' }).click();
    await this.page.getByLabel('Your name').fill(name);
    await this.page.getByRole('button', { name: 'Save' }).click();
    await this.page.getByRole('button', { name }).waitFor();
  }

  async joinTeam(code: string): Promise<void> {
    const field = this.page.getByLabel('Code of the team');
    if (!(await field.isVisible())) await this.page.locator('.who').click();
    await field.fill(code);
    await field.press('Enter');
  }

  async closeDialog(): Promise<void> {
    await this.page.getByRole('button', { name: 'Close', exact: true }).click();
  }

  async ask(subject: string, text: string): Promise<void> {
    await this.page.getByRole('link', { name: 'New question' }).click();
    await this.page.getByLabel('Subject').fill(subject);
    await this.page.getByLabel('What can we do for you?').fill(text);
    await this.page.getByRole('button', { name: 'Send' }).click();
    await this.page.getByRole('heading', { name: subject }).waitFor();
  }

  /** Chooses a ticket of the queue. */
  async open(subject: string): Promise<void> {
    await this.page.getByRole('link', { name: subject }).click();
    await this.page.getByRole('heading', { name: subject }).waitFor();
  }

  async say(text: string): Promise<void> {
    const field = this.page.getByLabel('Message', { exact: true });
    await field.fill(text);
    await field.press('Enter');
  }

  async note(text: string): Promise<void> {
    await this.page.getByLabel('Only for the team').check();
    const field = this.page.getByLabel('Note for the team');
    await field.fill(text);
    await field.press('Enter');
    await this.page.getByLabel('Only for the team').uncheck();
  }

  /** Waits until these messages are shown, and no others. */
  async sees(texts: readonly string[]): Promise<void> {
    await expect
      .poll(() => this.page.locator('.line .text').allTextContents(), patience)
      .toEqual(texts);
  }

  /** The token that the page keeps. */
  token(): Promise<string> {
    return this.page.evaluate<string>("localStorage.getItem('helpdesk ')");
  }
}

/** A server that takes digests, but not the first one. */
class Elsewhere {
  readonly received: unknown[] = [];
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on('request', async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const { authorization, 'idempotency-key': key } = request.headers;
      this.received.push({ authorization, key, body: JSON.parse(text) });
      response.writeHead(this.received.length === 1 ? 503 : 204).end();
    });
  }

  static async start(): Promise<Elsewhere> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Elsewhere(server);
  }

  stop(): Promise<unknown> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(resolve));
  }
}
