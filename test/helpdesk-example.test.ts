import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { productVersion } from '../src/service/version.ts';
import { TestClock } from '../src/testing/test-clock.ts';
import { openTestDatabase, type TestDatabase } from '../src/testing/test-database.ts';
import { CallFailed } from '../src/testing/test-errors.ts';
import type { Identity } from '../src/values/identity.ts';
import { Timestamp } from '../src/values/timestamp.ts';
import { definitionOfProject, textsOf } from './codegen/described.ts';
import { commentCreated, githubDelivery, issueOpened } from './support/github-delivery.ts';

const helpdeskFolder = fileURLToPath(new URL('../examples/helpdesk', import.meta.url));
const secret = 'a secret of two';
const minute = 60_000;
const hour = 60 * minute;

let db: TestDatabase;
let ada: Identity;
let bob: Identity;
let grace: Identity;

beforeEach(async () => {
  const evening = Timestamp.fromDate(new Date('2026-03-28T20:00:00Z'));
  db = await openTestDatabase({
    module: helpdeskFolder,
    clock: new TestClock(evening),
    env: { TEAM_CODE: 'tea', WEBHOOK_SECRET: secret, CLOSE_AFTER_SECONDS: 3_600 },
  });
  [ada, bob, grace] = [db.identity('ada'), db.identity('bob'), db.identity('grace')];
  await db.call('set_name', ['Ada'], { as: ada });
  await db.call('set_name', ['Grace'], { as: grace });
  expect(await db.call('join_team', ['tea'], { as: grace })).toBe(true);
});
afterEach(() => db.close());

const open = (subject: string, as: Identity) =>
  db.call<bigint>('open_ticket', { subject, text: `About ${subject}` }, { as });

const reply = (ticket: bigint, text: string, as: Identity, internal = false) =>
  db.call('reply', { ticket, text, internal }, { as });

const statusOf = async (ticket: bigint) => {
  const [row] = await db.query(`SELECT status FROM ticket WHERE id = ${ticket}`);
  return (row?.status as { tag: string } | undefined)?.tag;
};

const textsSeenBy = async (as: Identity) => {
  const rows = await db.query('SELECT id, text FROM message', { as });
  return rows.toSorted((a, b) => Number(a.id) - Number(b.id)).map(({ text }) => text);
};

const refusal = async (call: Promise<unknown>): Promise<unknown> => {
  const error = await call.then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CallFailed)) throw error;
  return error.error;
};

describe('the helpdesk', () => {
  it('[module-sdk 6.6] shows tickets to their customer and to the team', async () => {
    const ticket = await open('cups', ada);
    await open('saucers', bob);
    await reply(ticket, 'They are in the kitchen', grace);
    await reply(ticket, 'Third time this week', grace, true);
    expect(await textsSeenBy(ada)).toEqual(['About cups', 'They are in the kitchen']);
    expect(await textsSeenBy(bob)).toEqual(['About saucers']);
    expect(await textsSeenBy(grace)).toEqual([
      ...['About cups', 'About saucers', 'They are in the kitchen', 'Third time this week'],
    ]);
    expect(await db.query('SELECT subject FROM ticket', { as: bob })).toEqual([
      { subject: 'saucers' },
    ]);
  });

  it('[module-sdk 6.3] has a queue for agents, and says to each caller who they are', async () => {
    const ticket = await open('cups', ada);
    const queue = (as: Identity) => db.query('SELECT ticket, assignee FROM queue', { as });
    expect(await queue(grace)).toEqual([{ ticket, assignee: undefined }]);
    expect(await queue(ada)).toEqual([]);
    await db.call('take_ticket', { ticket }, { as: grace });
    expect(await queue(grace)).toEqual([{ ticket, assignee: 'Grace' }]);
    await reply(ticket, 'Here', grace);
    expect(await queue(grace)).toEqual([]);
    const me = (as: Identity) => db.query('SELECT name, is_agent FROM me', { as });
    expect(await me(grace)).toEqual([{ name: 'Grace', is_agent: true }]);
    expect(await me(ada)).toEqual([{ name: 'Ada', is_agent: false }]);
  });

  it('[module-sdk 6.1] refuses with values', async () => {
    const ticket = await open('cups', ada);
    expect(await refusal(reply(ticket, 'Me too', bob))).toEqual({ tag: 'noTicket', value: ticket });
    expect(await refusal(reply(99n, 'hello', grace))).toEqual({ tag: 'noTicket', value: 99n });
    const take = (as: Identity) => db.call('take_ticket', { ticket }, { as });
    expect(await refusal(take(ada))).toMatchObject({ tag: 'agentsOnly' });
    expect(await refusal(reply(ticket, 'pst', ada, true))).toMatchObject({ tag: 'agentsOnly' });
    expect(await refusal(open(' ', ada))).toEqual({
      ...{ tag: 'badText', value: 'The subject is empty.' },
    });
    await take(grace);
    await db.call('join_team', ['tea'], { as: bob });
    expect(await refusal(take(bob))).toEqual({ tag: 'taken', value: 'Grace' });
  });

  it('[living 4.2] lets those into the team who know its code', async () => {
    const join = (code: string) => db.call('join_team', { code }, { as: ada });
    for (const code of ['', 'te', 'teas', 'tee', 'teatea']) expect(await join(code)).toBe(false);
    expect(await join('tea')).toBe(true);
    await db.call('leave_team', [], { as: ada });
    expect(await db.query('SELECT name FROM agent')).toEqual([{ name: 'Grace' }]);
  });
});

describe('the bindings of the page', () => {
  it('[client-sdk 8] are those of the module', async () => {
    const folder = path.join(helpdeskFolder, 'web/module_bindings');
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name));
    const kept = files.map((file) => [path.relative(folder, file), readFileSync(file, 'utf8')]);
    const style = { extension: '', library: 'reducerdb/client' } as const;
    const definition = await definitionOfProject(helpdeskFolder);
    // If this fails: npm run build, in examples/helpdesk.
    expect(Object.fromEntries(kept)).toEqual(
      textsOf(definition, { style, version: productVersion }),
    );
  });
});

describe('what the helpdesk does by itself', () => {
  it('[living 1.1] closes a ticket an hour after the last answer', async () => {
    const ticket = await open('cups', ada);
    await reply(ticket, 'In the kitchen', grace);
    await db.clock.advance(59 * minute);
    await reply(ticket, 'The blue ones', grace);
    await db.clock.advance(59 * minute);
    expect(await statusOf(ticket)).toBe('answered');
    await reply(ticket, 'And the saucers?', ada);
    expect(await db.clock.advance(3 * hour)).toEqual([]);
    expect(await statusOf(ticket)).toBe('open');
    await reply(ticket, 'There, too', grace);
    const ran = await db.clock.advance(hour);
    expect(ran).toMatchObject([{ function: 'close_quiet_ticket', outcome: 'committed' }]);
    expect(await statusOf(ticket)).toBe('closed');
    expect((await textsSeenBy(ada)).at(-1)).toBe('Closed, as there was no further question.');
    await reply(ticket, 'One more thing', ada);
    expect(await statusOf(ticket)).toBe('open');
  });

  it('[living 1.11, 1.12] counts in the morning, and repeats what could not be sent', async () => {
    await db.setEnv('DIGEST_URL', 'http://127.0.0.1:9/');
    await open('cups', ada);
    await reply(await open('saucers', bob), 'Here', grace);
    // It is the night on which clocks go forward: six in Berlin is eight hours away.
    const ran = [...(await db.clock.advance(8 * hour))];
    expect(ran.filter(({ schedule }) => schedule === 'nightly')).toHaveLength(1);
    // Requests take real time, for which the clock of the test does not wait.
    const tries = () => ran.filter((run) => run.function === 'send_digest');
    const goOn = async () => ran.push(...(await db.clock.advance(minute)));
    await expect.poll(async () => (await goOn()) && tries().length).toBe(5);
    expect(tries().map(({ outcome }) => outcome)).toEqual(tries().map(() => 'failed'));
    await goOn();
    expect(tries()).toHaveLength(5);
    const digests = await db.query('SELECT * FROM digests', { as: grace });
    expect(digests).toMatchObject([{ open: 1, answered: 0, closed: 1, sent: undefined }]);
    expect(await db.query('SELECT * FROM digests', { as: ada })).toEqual([]);
  });
});

describe('what the helpdesk answers', () => {
  const deliver = async (
    event: string,
    payload: unknown,
    { id = 'd1', signedBy = secret } = {},
  ) => {
    const init = githubDelivery({ event, payload, secret: signedBy, id });
    const response = await db.request('/hooks/github', init);
    return { status: response.status, body: response.json() };
  };
  const tickets = () => db.query('SELECT id, subject, from FROM ticket');

  it('[living 3.5] takes what is signed with its secret, and nothing else', async () => {
    const issue = issueOpened(7, 'Handle broken');
    const refused = { status: 401, body: { error: expect.any(String) } };
    expect(await deliver('issues', issue, { signedBy: 'guessed' })).toEqual(refused);
    const unsigned = { method: 'POST', body: JSON.stringify(issue) };
    expect((await db.request('/hooks/github', unsigned)).status).toBe(401);
    const init = githubDelivery({ event: 'issues', payload: issue, secret, id: 'd1' });
    const changed = { ...init, body: init.body.replace('broken', 'gone') };
    expect((await db.request('/hooks/github', changed)).status).toBe(401);
    expect(await tickets()).toEqual([]);
    expect(await deliver('issues', issue)).toEqual({ status: 200, body: { ticket: '1' } });
    expect(await tickets()).toEqual([
      { id: 1n, subject: 'Handle broken (tea/pots#7)', from: 'linus' },
    ]);
    expect(await deliver('ping', { zen: 'Keep it logically awesome.' })).toMatchObject({
      status: 202,
    });
  });

  it('[living 3.5] does the same thing once, however often it is delivered', async () => {
    const issue = issueOpened(7, 'Handle broken');
    const comment = commentCreated(7, 'Handle broken', 11, 'Mine, too');
    await deliver('issues', issue, { id: 'd1' });
    await deliver('issue_comment', comment, { id: 'd2' });
    const { length } = await textsSeenBy(grace);
    expect(length).toBe(2);
    // By its sender once more, or by somebody who has seen it, under another id.
    for (const id of ['d2', 'd3']) {
      expect(await deliver('issue_comment', comment, { id })).toEqual({
        ...{ status: 200, body: { ticket: '1' } },
      });
      await deliver('issues', issue, { id });
    }
    expect(await textsSeenBy(grace)).toEqual(['The text of Handle broken', 'Mine, too']);
    await reply(1n, 'We send a new one', grace);
    await deliver('issue_comment', commentCreated(7, '', 12, 'Thanks'), { id: 'd4' });
    expect(await statusOf(1n)).toBe('open');
    expect(await textsSeenBy(ada)).toEqual([]);
  });

  it('[living 3.1, 3.2] gives a ticket to its customer and to agents, as JSON', async () => {
    const ticket = await open('cups', ada);
    await reply(ticket, 'Again?', grace, true);
    const ask = (path: string, as?: Identity) => db.request(path, as ? { as } : {});
    expect((await ask(`/tickets/${ticket}`)).status).toBe(401);
    expect((await ask(`/tickets/${ticket}`, bob)).status).toBe(404);
    expect((await ask('/tickets/cups', ada)).status).toBe(404);
    const { messages, ...rest } = (await ask(`/tickets/${ticket}`, ada)).json();
    expect(rest).toEqual({ id: '1', subject: 'cups', from: 'Ada', status: 'Open' });
    expect(messages).toMatchObject([{ author: 'Customer', name: 'Ada', text: 'About cups' }]);
    const forAgents = (await ask(`/tickets/${ticket}`, grace)).json();
    expect(forAgents.messages).toHaveLength(2);
  });
});
