import path from 'node:path';
import {
  Client as ClientTwo,
  StreamableHTTPClientTransport as HttpTwo,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTwo } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOne } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root, Sandbox } from './harness.ts';
import { type Inn, openInn } from './inn.ts';

/** Official clients whose user is asked in the middle of a call, by the form of their era. */

let inn: Inn;
let sandbox: Sandbox;
beforeAll(async () => {
  inn = await openInn();
  sandbox = await Sandbox.make(inn.running.service.address.port);
  await sandbox.ok(['login', '--token', inn.owner.token]);
});
afterAll(async () => {
  await inn.running.stop();
  sandbox.remove();
});

type ElicitAnswer =
  | { readonly action: 'accept'; readonly content: { readonly confirm: boolean } }
  | { readonly action: 'decline' };

interface Outcome {
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly content: readonly { readonly text: string }[];
}

/** Both generations, as far as the test needs them. */
interface AnyClient {
  connect(transport: unknown): Promise<void>;
  callTool(request: { name: string; arguments?: object }): Promise<Outcome>;
  close(): Promise<void>;
}

type Ask = (message: string) => ElicitAnswer;

interface Generation {
  readonly title: string;
  client(ask: Ask): AnyClient;
  readonly transports: {
    readonly Http: new (url: URL, options: object) => unknown;
    readonly Stdio: new (command: { command: string; args: string[] }) => unknown;
  };
}

const info = { name: 'test', version: '1.0.0' };
const capabilities = { elicitation: {} };

function generationTwo(title: string, mode: 'legacy' | 'auto'): Generation {
  const client = (ask: Ask) => {
    const made = new ClientTwo(info, { capabilities, versionNegotiation: { mode } });
    made.setRequestHandler('elicitation/create', ({ params }) => ask(params.message));
    return made as unknown as AnyClient;
  };
  return { title, client, transports: { Http: HttpTwo, Stdio: StdioTwo } };
}

const generations: readonly Generation[] = [
  {
    title: '1.x',
    client: (ask) => {
      const made = new ClientOne(info, { capabilities });
      made.setRequestHandler(ElicitRequestSchema, ({ params }) => ask(params.message));
      return made as unknown as AnyClient;
    },
    transports: { Http: HttpOne, Stdio: StdioOne },
  },
  generationTwo('2.x, in the legacy era', 'legacy'),
  generationTwo('2.x, in the modern era', 'auto'),
];

const doors: readonly [string, (generation: Generation) => unknown][] = [
  [
    'over HTTP',
    ({ transports: { Http } }) => {
      const where = `${inn.running.service.url}/v1/database/inn/mcp?features=preview`;
      const headers = { authorization: `Bearer ${inn.owner.token}` };
      return new Http(new URL(where), { requestInit: { headers } });
    },
  ],
  [
    'over stdio',
    ({ transports: { Stdio } }) => {
      const main = path.join(root, 'dist/cli/main.js');
      const user = ['--root-dir', path.join(sandbox.folder, 'root')];
      const args = [main, ...user, 'mcp', 'inn', '--features', 'preview'];
      return new Stdio({ command: process.execPath, args });
    },
  ],
];

const names = async () =>
  (await inn.running.rows('inn', 'SELECT name FROM person')).map(([name]) => name);

describe.each(generations)('[mcp §B6] the official client $title', (generation) => {
  it.each(doors)('has its user confirm what is applied, %s', async (door, transport) => {
    const asked: string[] = [];
    let answer: ElicitAnswer = { action: 'decline' };
    const client = generation.client((message) => {
      asked.push(message);
      return answer;
    });
    await client.connect(transport(generation));
    const name = `${generation.title} ${door}`;
    const previewed = await client.callTool({
      name: 'preview_call',
      arguments: { reducer: 'add_person', args: [name] },
    });
    const apply = () => {
      const preview = previewed.structuredContent?.preview;
      return client.callTool({ name: 'apply_preview', arguments: { preview } });
    };
    expect((await apply()).content[0]?.text).toContain('the user did not confirm');
    expect(await names()).not.toContain(name);
    answer = { action: 'accept', content: { confirm: true } };
    expect((await apply()).structuredContent).toMatchObject({ applied: true });
    expect(await names()).toContain(name);
    const question = expect.stringContaining('Apply this to the database');
    expect(asked).toEqual([question, question]);
    await client.close();
  });
});
