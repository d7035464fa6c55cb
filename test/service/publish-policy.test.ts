import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type IssuerSigner, LocalIssuer } from '../support/local-issuer.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Person } from './running.ts';
import { type Program, written } from './written-module.ts';

/** Who may publish on a service that other machines can reach. */

let issuer: LocalIssuer;
let sign: IssuerSigner;
let program: Program;
let sandbox: Sandbox;
let service: RunningService | undefined;

beforeAll(async () => {
  issuer = await LocalIssuer.start();
  sign = await issuer.addKey('ES256', 'one');
  program = await written({ tables: { note: '{ public: true }, { id: t.u32() }' } });
});
afterAll(() => issuer.stop());
beforeEach(async () => {
  sandbox = await Sandbox.make();
});
afterEach(async () => {
  await service?.stop('SIGKILL');
  service = undefined;
  sandbox.remove();
});

const everywhere = () => ['--listen-addr', `0.0.0.0:${sandbox.port}`];

async function startWith(...flags: string[]): Promise<void> {
  service = await sandbox.startAt(sandbox.port, [...everywhere(), ...flags]);
}

async function newPerson(): Promise<Person> {
  const answer = await fetch(`${sandbox.url}/v1/identity`, { method: 'POST' });
  return (await answer.json()) as Person;
}

/** Status and text of creating a database, without a token or with one. */
async function publish(name: string, token?: string): Promise<string> {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const where = `${sandbox.url}/v1/database/${name}?host_type=Js`;
  const answer = await fetch(where, { method: 'PUT', headers, body: program });
  return `${answer.status} ${answer.ok ? 'created' : await answer.text()}`;
}

describe('[cli 8] a service that other machines can reach', () => {
  it('does not start before it is said who may publish', async () => {
    const { code, stdout, stderr } = await sandbox.run(['start', ...everywhere()]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      'Error: Listening on 0.0.0.0 lets other machines connect, so say first who may publish ' +
        'databases:\n' +
        '  --publish-policy anyone                      every caller, anonymous ones too\n' +
        '  --publish-policy authenticated               callers who present a token\n' +
        '  --publish-policy owners-list:<identity,...>  these identities only\n' +
        '  --publish-policy issuer:<issuer,...>         callers with a token of these issuers\n',
    );
    expect(stdout).not.toContain('listening on');
    await expect(fetch(`${sandbox.url}/v1/ping`)).rejects.toThrow();
    const other = await sandbox.run(['start', '--listen-addr', `[::]:${sandbox.port}`]);
    expect(other.stderr).toContain('Listening on :: lets other machines connect');
    // Nor does a check of the settings call them good.
    expect(await sandbox.run(['config', 'check', ...everywhere()])).toMatchObject({
      code: 1,
      stderr,
    });
  });

  it('`anyone` lets in whoever comes', async () => {
    await startWith('--publish-policy', 'anyone');
    expect(await publish('first')).toBe('200 created');
    expect(await publish('second', (await newPerson()).token)).toBe('200 created');
  });

  it('`authenticated` wants a token', async () => {
    await startWith('--publish-policy', 'authenticated');
    expect(await publish('first')).toBe('401 To create a database, you must be logged in.');
    const person = await newPerson();
    expect(await publish('second', person.token)).toBe('200 created');
    // Nothing was taken by the one who was refused.
    expect(await publish('first', person.token)).toBe('200 created');
  });

  it('`owners-list` lets in the identities on it, and operators', async () => {
    await startWith('--publish-policy', 'anyone');
    const [listed, other, operator, unlisted] = await Promise.all(
      [1, 2, 3, 4].map(() => newPerson()),
    );
    await service?.stop();
    const list = `owners-list:${listed?.identity},${other?.identity}`;
    await startWith('--publish-policy', list, '--operator', operator?.identity ?? '');
    const refused =
      '401 To create a database, you need an identity that the operator has admitted.';
    expect(await publish('first')).toBe(refused);
    expect(await publish('first', unlisted?.token)).toBe(refused);
    expect(await publish('first', listed?.token)).toBe('200 created');
    expect(await publish('second', other?.token)).toBe('200 created');
    expect(await publish('third', operator?.token)).toBe('200 created');
    // Whoever owns a database goes on publishing over it; others never did.
    expect(await publish('first', listed?.token)).toBe('200 created');
    expect(await publish('first', unlisted?.token)).toMatch(/^403 .*update database$/);
  });

  it('`issuer` lets in whoever these issuers vouch for', async () => {
    const policy = ['--publish-policy', `issuer:${issuer.url},https://other.example`];
    await startWith(...policy, '--private-issuers');
    const refused =
      `401 To create a database, you must be logged in with an account of ${issuer.url} or ` +
      'https://other.example.';
    expect(await publish('first')).toBe(refused);
    expect(await publish('first', (await newPerson()).token)).toBe(refused);
    expect(await publish('first', await sign())).toBe('200 created');
    expect(await publish('second', await sign({ sub: 'grace' }))).toBe('200 created');
    expect(await publish('first', await sign({ sub: 'grace' }))).toMatch(/^403 /);
    // Who says to be of the issuer, but is not, does not come in.
    const stranger = await LocalIssuer.start();
    const forge = await stranger.addKey('ES256', 'one');
    expect(await publish('third', await forge({ iss: issuer.url }))).toMatch(
      /^401 Invalid token: /,
    );
    stranger.stop();
  });

  it('[cli 8.2] takes the policy from config.toml or a variable, too', async () => {
    const args = ['start', ...everywhere()];
    const bad = await sandbox.run(args, { env: { REDUCERDB_PUBLISH_POLICY: 'all' } });
    expect(bad.stderr).toContain(
      'REDUCERDB_PUBLISH_POLICY: `all` is not a publish policy; use one of:',
    );
    const env = { REDUCERDB_PUBLISH_POLICY: 'authenticated' };
    const shown = await sandbox.ok(['config', 'check', ...everywhere()], { env });
    expect(shown).toContain('Who may publish: authenticated.');
  });
});
